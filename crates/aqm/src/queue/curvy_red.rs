//! Curvy RED: two coupled queues, the classic one under a RED in time whose curve is a power (RFC 9332 Appendix B).
//!
//! The smoothed classic delay over its range is the root of the drop probability, so delay may grow a little with the
//! load instead of drops growing much. The coupling, the queues and the scheduler are DualPI2's.

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Order, Preset};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{ListId, Port};
use crate::base::rng::Rng;
use crate::base::time::Span;
use crate::base::units::Link;
use crate::base::verdict::Verdict;
use crate::parts::coupled::{Coupling, Overload, Toss, ramp};
use crate::parts::dual::priority::{CLASSIC, LOW, Priority, Scheduler, age};
use crate::parts::dual::signals::{Class, DualAqm};
use crate::parts::dual::{Classifier, Coupled, Dual};
use crate::{params, probes};

params! {
    /// Parameters of Curvy RED.
    pub struct Params {
        /// Weight of a new sample in the average of classic delay, as a power of 1/2.
        g: u32 = 5, in 0.0 ..= 30.0, "g_C", "RFC 9332 Figure 9";
        /// Average classic delay below which nothing is signalled on its account.
        min_th: Span = Span::from_micros(500), in 0.0 ..= 1e3, "minTh", "RFC 9332 Figure 9 prints 500 ms, see there";
        /// From there to where all classic packets are signalled.
        range: Span = Span::from_millis(500), in 1e-6 ..= 1e3, "range_C", "RFC 9332 Figure 9: 2^S_C s, S_C = -1";
        /// Coupling factor; scalable packets have the range of classic ones over k.
        k: f64 = 2.0, in 0.1 ..= 100.0, "k", "RFC 9332 Figure 9: 2^k', k' = 1";
        /// Curviness: the probability is the 2u-th power for classic packets, the u-th for scalable ones.
        u: u32 = 1, in 1.0 ..= 8.0, "U", "RFC 9332 Appendix B.1";
        /// Stay above which L packets are marked; auto is that of five mean packets at the link's rate.
        t: Auto<Span> = Auto::Auto, in 0.0 ..= 1e3, "T", "RFC 9332 Appendix B.1; Figure 9: 1 ms, right for 60 Mb/s";
        /// From there to where all L packets are marked; 0 makes the step of the listing.
        t_range: Span = Span::ZERO, in 0.0 ..= 1e3, "", "RFC 9332 Appendix B.1, Note 3: a ramp is recommended";
        /// Drops for ECN-capable packets in overload, and an average that also knows the L queue.
        overload: bool = true, in 0.0 ..= 1.0, "", "RFC 9332 section 2.5.1.1; Figure 10 leaves it out";
        /// overload=on: classic probability from which ECN is disabled in the C queue; auto is min(1/k^2u, 1).
        p_cmax: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "p_Cmax", "RFC 9332 Appendix A.2";
        /// What bounds the L queue's priority.
        scheduler: Scheduler = Scheduler::TsFifo, in 0.0 ..= 1.0, "", "RFC 9332 Figure 10";
        /// scheduler=ts-fifo: the L queue's lead in time.
        tshift: Span = Span::from_millis(50), in 0.0 ..= 1e3, "tshift", "RFC 9332 Figure 9";
        /// scheduler=wrr: the C queue's share while both hold packets.
        weight: f64 = 0.0625, in 0.0 ..= 1.0, "", "RFC 9332 Appendix B.1, Note 2: 1/16";
        /// Scalable packets are treated as such; off: all go to the C queue, ECT(1) as if they were Not-ECT.
        l4s: bool = true, in 0.0 ..= 1.0, "", "RFC 9331 section 5.1";
        /// Class whose packets go to the L queue whatever their ECN field.
        l_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Class whose packets go to the C queue whatever their ECN field.
        c_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Something else keeps Not-ECT packets of the L queue in check: they pass untouched.
        protected: bool = false, in 0.0 ..= 1.0, "", "RFC 9332 section 2.5.1.1";
    }
}

/// State of Curvy RED.
pub type CurvyRed = Dual<Smoothed>;

/// RED of the smoothed delay, and what it is coupled to.
pub struct Smoothed {
    params: Params,
    gamma: f64,
    /// Seconds.
    min_th: f64,
    /// Seconds.
    range: f64,
    /// T.
    step: Span,
    /// Average classic delay in seconds.
    average: f64,
    /// Of the latest L packet.
    native: f64,
    aqm: DualAqm,
}

/// Figure 10: the largest of `n` random numbers.
fn maxrand(n: u32, rng: &mut Rng) -> f64 {
    (1..n).fold(rng.uniform(), |most, _| {
        let next = rng.uniform();
        if next > most { next } else { most }
    })
}

impl Smoothed {
    /// The root of the classic probability, if the curve is a square.
    fn root(&self) -> f64 {
        ((self.average - self.min_th) / self.range).clamp(0.0, 1.0)
    }

    fn smooth(&mut self, delay: Span) {
        self.average = self.gamma * delay.secs() + (1.0 - self.gamma) * self.average;
    }
}

impl Coupled for Smoothed {
    /// Figure 10: what `packet`, still the head of `list`, hears.
    fn judge(&mut self, list: ListId, packet: &Packet, port: &Port, cx: &mut Cx) -> Verdict {
        let Params { u, t_range, overload, .. } = self.params;
        let t = self.step;
        // Of two such numbers the larger one is that of 2u.
        let most = [maxrand(u, cx.rng), maxrand(u, cx.rng)];
        let stay = cx.now.since(packet.arrived);
        if list == CLASSIC {
            self.smooth(if overload { stay.max(age(port, LOW, cx.now)) } else { stay });
        } else {
            if overload && port.is_empty(CLASSIC) {
                self.smooth(stay);
            }
            self.native = if stay > t { ramp(stay, t, t_range) } else { 0.0 };
        }
        self.aqm.hear(list, packet, port.marks(packet), self.root(), self.native, most)
    }

    fn after(self, before: &Self) -> Self {
        let Self { average, native, .. } = *before;
        Self { aqm: self.aqm.after(&before.aqm), average, native, ..self }
    }
}

impl Design for CurvyRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "two queues coupled by a square, the classic one under a RED of its smoothed delay",
        source: "De Schepper, Briscoe, White: RFC 9332, section 2 and Appendix B",
        rule: "arrival:        ECT(1) and CE to L, the rest to C\n\
               departure:      L first, unless the head of C has waited for tshift longer\n\
               \u{20}               L: mark if its stay > t, or k r > max of u random numbers\n\
               \u{20}               C: Q += (stay - Q)/2^g;  r = (Q - min_th)/range\n\
               \u{20}                  if r > max of 2u random numbers: mark if ECT, else drop\n\
               overload:       k r >= 1: L packets are dropped like those of C, the rest marked;\n\
               \u{20}               r^2u >= p_cmax: C packets are dropped, also ECT",
        deviations: &[
            "min_th is 0.5 ms: the 500 ms that Figure 9 prints would hold the delay above the whole range; we read 500 us \
             (preset=printed has 500 ms)",
            "T is five mean packets at the link's rate, as Appendix B.1 recommends; Figure 9 prints its value for 60 Mb/s, \
             1 ms, which on a slow link is less than a packet takes (preset=printed)",
            "t_range is 0, the listing's step; Note 3 of Appendix B.1 recommends a ramp",
            "the delay of either queue is the stay of the packet that leaves, where the listing asks for the queue's after it",
            "an empty queue is not chosen; by the letter of Figure 10 it is, whenever the other's head is young",
            "overload is in Figure 10's words only, \"in exactly the same way as in Appendix A.2\": ours is DualPI2's. \
             The average follows the longer of both delays, and L departures while C is empty, as Figure 8's does; \
             overload=off is Figure 10, where the average stands still without classic packets",
            "p_cmax is compared with what classic packets meet, r^2u, and auto is where L packets are all marked, \
             1/k^2u: Appendix A.2 knows u = 1 only",
            "with p_cmax below 1/k^2u ECT packets of the C queue are dropped from there on, those of L4S from k r >= 1 \
             on: as Figure 7, not as the prose",
            "the buffer is the link's, and a packet enters if it fits; the RFC has 250 ms and leaves room for one MTU",
            "ECN off: L packets cannot be marked and are dropped as Not-ECT ones, section 2.5.1.1",
            "floating point: not the shifts of Figure 11",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc9332",
            settings: "g=5 min_th=500us range=500ms k=2 u=1 t=auto t_range=0s overload=on p_cmax=auto \
                       scheduler=ts-fifo tshift=50ms",
            source: "RFC 9332 Figures 9 and 10, min_th as we read it, T of Appendix B.1, the overload of Appendix A.2",
        },
        Preset {
            name: "printed",
            settings: "g=5 min_th=500ms range=500ms k=2 u=1 t=1ms t_range=0s overload=off scheduler=ts-fifo tshift=50ms",
            source: "RFC 9332 Figures 9 and 10 as they are printed",
        },
    ];
    const ORDER: Order = Order::Lists(2);

    fn build(params: &Params, link: &Link) -> Self {
        let overload = if params.overload { Overload::Drop } else { Overload::Delay };
        let Params { k, u, .. } = *params;
        let coupling = Coupling { k, curve: u, p_cmax: params.p_cmax.or(Coupling::p_cmax(k, u)), overload };
        let Params { l4s, l_class, c_class, .. } = *params;
        let rule = Smoothed {
            gamma: libm::exp2(-f64::from(params.g)),
            min_th: params.min_th.secs(),
            range: params.range.secs(),
            step: params.t.or(Span::from_secs(5.0 * link.mean_packet.0 as f64 / link.rate.bytes_per_sec())),
            average: 0.0,
            native: 0.0,
            aqm: DualAqm::new(coupling, Toss::Random, l4s, params.protected),
            params: params.clone(),
        };
        let priority = Priority::new(params.scheduler, params.weight, params.tshift, link.mean_packet);
        Self::new(rule, Classifier { l4s, l_class, c_class }, priority)
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self::build(params, link).after(self))
    }
}

probes! { CurvyRed {
    /// Where the average is in its range: classic packets meet its 2u-th power.
    p ["1"] probability = |s| s.rule().root();
    /// Average classic delay.
    average ["s"] = |s| s.rule().average;
    /// Probability that the latest L packet's own stay asked for.
    p_l ["1"] probability = |s| s.rule().native;
    /// What is coupled to L packets: they meet its u-th power.
    p_cl ["1"] probability = |s| s.rule().aqm.coupling.linear(s.rule().root());
    /// 1 in overload: L packets are dropped too.
    overload ["1"] switch = |s| f64::from(u8::from(s.rule().aqm.coupling.is_saturated(s.rule().root())));
    /// scheduler=wrr: what the C queue is owed.
    credit ["bytes"] signed = |s| s.priority().credit();
} then Priority = |s| s.priority() }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::design::Probes;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, us as at};

    /// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100_000), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<CurvyRed> {
        by_hand::queue(settings, LINK, true)
    }

    fn packet(ecn: Ecn) -> Packet {
        Packet { len: 1000, ecn, ..Packet::default() }
    }

    #[test]
    fn the_average_moves_by_a_thirty_second_and_gives_the_root() {
        let mut queue = queue("");
        (0..2).for_each(|_| queue.arrive(packet(Ecn::Ect0), at(0)));
        queue.depart(at(320_000));
        assert!((queue.discipline().rule().average - 0.010).abs() < 1e-12);
        // (10 - 0.5) ms/500 ms, and 250 ms for L packets.
        assert!((queue.discipline().rule().root() - 0.019).abs() < 1e-12);
        assert!((queue.discipline().probe(3) - 0.038).abs() < 1e-12);
        queue.depart(at(640_000));
        assert!((queue.discipline().rule().average - (0.020 + 0.010 * 31.0 / 32.0)).abs() < 1e-12);
    }

    /// Of 10,000 packets with a stay of 150.5 ms, which the average is with g = 0: r = 0.3. Marked, and dropped.
    fn heard(settings: &str, ecn: Ecn) -> (u64, u64) {
        let mut queue = queue(&alloc::format!("g=0 t=1s {settings}"));
        (0..10_000).for_each(|_| queue.arrive(packet(ecn), at(0)));
        while queue.depart(at(150_500)).is_some() {}
        let tally = queue.port.tally();
        (tally.marked.pkts, tally.dropped_early.pkts)
    }

    #[test]
    fn classic_packets_meet_the_square_and_scalable_ones_twice_the_root() {
        let near = |got: u64, want: u64| got.abs_diff(want) < 250;
        assert!(matches!(heard("", Ecn::NotEct), (0, dropped) if near(dropped, 900)));
        assert!(matches!(heard("", Ecn::Ect0), (marked, 0) if near(marked, 900)));
        assert!(matches!(heard("", Ecn::Ect1), (marked, 0) if near(marked, 6000)));
        // u = 2: the fourth power and the square.
        assert!(matches!(heard("u=2", Ecn::Ect0), (marked, 0) if near(marked, 81)));
        assert!(matches!(heard("u=2", Ecn::Ect1), (marked, 0) if near(marked, 3600)));
    }

    #[test]
    fn the_step_is_above_t_and_the_ramp_begins_there() {
        let marks = |settings: &str, us| {
            let mut queue = queue(settings);
            queue.arrive(packet(Ecn::Ect1), at(0));
            queue.depart(at(us));
            queue.port.tally().marked.pkts
        };
        assert_eq!([marks("t=1ms", 1000), marks("t=1ms", 1001), marks("t=1ms t_range=1ms", 2000)], [0, 1, 1]);
        assert_eq!([marks("", 5000), marks("", 5001)], [0, 1], "five packets of 1 ms");
    }

    #[test]
    fn without_classic_packets_the_average_follows_the_l_queue_in_overload() {
        let average = |settings: &str| {
            let mut queue = queue(settings);
            queue.arrive(packet(Ecn::Ect1), at(0));
            queue.depart(at(32_000));
            queue.discipline().rule().average
        };
        assert!((average("") - 0.001).abs() < 1e-12);
        assert_eq!(average("overload=off"), 0.0);
    }
}
