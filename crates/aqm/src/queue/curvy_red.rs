//! Curvy RED: two coupled queues, Classic (C) and low-latency (L). The Classic signal probability is a power of the
//! average delay (RFC 9332 Appendix B).
//!
//! With r = (average Classic delay - min_th)/range and u = 1, Classic packets are signalled with probability r^2. More
//! load therefore raises both the delay and the drop probability; under PI2 it raises only the drop probability.
//! Coupling, queues and scheduler are those of DualPI2.

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
        /// Weight of a new sample in the average Classic delay, as a power of 1/2.
        g: u32 = 5, in 0.0 ..= 30.0, "g_C", "RFC 9332 Figure 9";
        /// Average Classic delay up to which it causes no signals.
        min_th: Span = Span::from_micros(500), in 0.0 ..= 1e3, "minTh", "RFC 9332 Figure 9: 500 ms, see differences";
        /// Width of the ramp from min_th to certain signals for Classic packets.
        range: Span = Span::from_millis(500), in 1e-6 ..= 1e3, "range_C", "RFC 9332 Figure 9: 2^S_C s, S_C = -1";
        /// Coupling factor; the ramp of scalable packets from min_th to certain signals has the width range/k.
        k: f64 = 2.0, in 0.1 ..= 100.0, "k", "RFC 9332 Figure 9: 2^k', k' = 1";
        /// Curviness, an exponent: the probability is r^(2u) for Classic packets, (k r)^u for scalable packets.
        u: u32 = 1, in 1.0 ..= 8.0, "U", "RFC 9332 Appendix B.1";
        /// Sojourn time above which L packets are marked; auto: five mean packets at the link's rate.
        t: Auto<Span> = Auto::Auto, in 0.0 ..= 1e3, "T", "RFC 9332 Appendix B.1; Figure 9: 1 ms, for 60 Mb/s";
        /// Width of the ramp from t to certain marking of L packets; 0: a step, as in RFC 9332.
        t_range: Span = Span::ZERO, in 0.0 ..= 1e3, "", "RFC 9332 Appendix B.1, Note 3: a ramp is recommended";
        /// Drops ECN-capable packets in overload, and includes the L queue in the average.
        overload: bool = true, in 0.0 ..= 1.0, "", "RFC 9332 section 2.5.1.1; not in Figure 10";
        /// overload=on: Classic probability from which ECN is disabled in the C queue; auto: min(1/k^(2u), 1).
        p_cmax: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "p_Cmax", "RFC 9332 Appendix A.2";
        /// Scheduler that limits the L queue's priority.
        scheduler: Scheduler = Scheduler::TsFifo, in 0.0 ..= 1.0, "", "RFC 9332 Figure 10";
        /// scheduler=ts-fifo: time shift in favour of the L queue.
        tshift: Span = Span::from_millis(50), in 0.0 ..= 1e3, "tshift", "RFC 9332 Figure 9";
        /// scheduler=wrr: the C queue's share of the link while both queues hold packets.
        weight: f64 = 0.0625, in 0.0 ..= 1.0, "", "RFC 9332 Appendix B.1, Note 2: 1/16";
        /// L4S support; off: all packets enter the C queue, and ECT(1) is treated as Not-ECT.
        l4s: bool = true, in 0.0 ..= 1.0, "", "RFC 9331 section 5.1";
        /// Class whose packets enter the L queue, independent of their ECN field.
        l_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Class whose packets enter the C queue, independent of their ECN field.
        c_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Another mechanism polices Not-ECT packets of the L queue: this AQM leaves them alone.
        protected: bool = false, in 0.0 ..= 1.0, "", "RFC 9332 section 2.5.1.1";
    }
}

/// State of Curvy RED.
pub type CurvyRed = Dual<Smoothed>;

/// A RED that uses the average Classic delay, and the coupled signals for both queues.
pub struct Smoothed {
    params: Params,
    gamma: f64,
    /// The parameter min_th in seconds.
    min_th: f64,
    /// The parameter range in seconds.
    range: f64,
    /// The parameter t: the sojourn time above which L packets are marked.
    step: Span,
    /// Average Classic delay in seconds.
    average: f64,
    /// Probability from the sojourn time of the latest L packet.
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
    /// r: the position of the average delay between min_th (0) and min_th + range (1). If u = 1, it is the square root
    /// of the Classic probability.
    fn root(&self) -> f64 {
        ((self.average - self.min_th) / self.range).clamp(0.0, 1.0)
    }

    fn smooth(&mut self, delay: Span) {
        self.average = self.gamma * delay.secs() + (1.0 - self.gamma) * self.average;
    }
}

impl Coupled for Smoothed {
    /// Figure 10: the verdict on `packet`, still the head of `list`.
    fn judge(&mut self, list: ListId, packet: &Packet, port: &Port, cx: &mut Cx) -> Verdict {
        let Params { u, t_range, overload, .. } = self.params;
        let t = self.step;
        // The larger of the two is the maximum of 2u numbers.
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
        self.aqm.verdict(list, packet, port.marks(packet), self.root(), self.native, most)
    }

    fn after(self, before: &Self) -> Self {
        let Self { average, native, .. } = *before;
        Self { aqm: self.aqm.after(&before.aqm), average, native, ..self }
    }
}

impl Design for CurvyRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "two queues coupled by a square, the Classic queue under a RED of its smoothed delay",
        source: "De Schepper, Briscoe, White: RFC 9332, section 2 and Appendix B",
        rule: "arrival:        ECT(1) and CE to L, the rest to C\n\
               departure:      L first, unless the head of C has waited for tshift longer\n\
               \u{20}               L: mark if its sojourn time > t, or k r > max of u random numbers\n\
               \u{20}               C: Q += (sojourn time - Q)/2^g;  r = (Q - min_th)/range\n\
               \u{20}                  if r > max of 2u random numbers: mark if ECT, else drop\n\
               overload:       k r >= 1: L packets are dropped like C packets, the rest is marked;\n\
               \u{20}               r^2u >= p_cmax: C packets are dropped, also ECT",
        deviations: &[
            "min_th differs from Figure 9: it is 500 us; the 500 ms printed there (preset=printed) would hold the \
             delay above the full range",
            "T differs from Figure 9: it is five mean packets at the link's rate, as Appendix B.1 recommends; Figure 9 \
             prints the value for 60 Mb/s, 1 ms (preset=printed), which on a slow link is less than one packet",
            "t_range is 0, the listing's step; Note 3 of Appendix B.1 recommends a ramp",
            "the delay of either queue differs from the listing: it is the sojourn time of the departing packet; the \
             listing takes the delay of the queue after it",
            "the scheduler differs from Figure 10: an empty queue is never selected; in Figure 10 it is, whenever the \
             head of the other is young",
            "overload differs from Figure 10, which only refers to Appendix A.2: it is DualPI2's, and the average \
             follows the larger of both delays, and L departures while C is empty, as in Figure 8; overload=off is \
             Figure 10, where the average does not change without Classic packets",
            "p_cmax differs from Appendix A.2, which has u = 1 only: it is compared with the Classic probability \
             r^2u, and auto is 1/k^2u, where all L packets are marked",
            "p_cmax below 1/k^2u: ECT packets of the C queue are dropped from p_cmax on, L4S packets from k r >= 1 \
             on, as in Figure 7, not as in the prose",
            "the buffer differs from the RFC: it is the link's, and a packet is accepted if it fits; the RFC has 250 \
             ms and leaves room for one MTU",
            "ECN off: L packets cannot be marked and are dropped like Not-ECT packets, section 2.5.1.1",
            "arithmetic differs from Figure 11: floating-point, no shifts",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc9332",
            settings: "g=5 min_th=500us range=500ms k=2 u=1 t=auto t_range=0s overload=on p_cmax=auto \
                       scheduler=ts-fifo tshift=50ms",
            source: "RFC 9332 Figures 9 and 10, with min_th=500us, T of Appendix B.1 and overload of Appendix A.2",
        },
        Preset {
            name: "printed",
            settings: "g=5 min_th=500ms range=500ms k=2 u=1 t=1ms t_range=0s overload=off scheduler=ts-fifo \
                       tshift=50ms",
            source: "RFC 9332 Figures 9 and 10 as printed",
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
    /// r: average delay, 0 at min_th and 1 at min_th + range. Classic probability: r^(2u).
    p ["1"] probability = |s| s.rule().root();
    /// Average Classic delay.
    average ["s"] = |s| s.rule().average;
    /// Probability from the sojourn time of the latest L packet.
    p_l ["1"] probability = |s| s.rule().native;
    /// min(k r, 1); its u-th power is the coupled probability for L packets.
    p_cl ["1"] probability = |s| s.rule().aqm.coupling.linear(s.rule().root());
    /// 1 in overload: L packets are dropped too.
    overload ["1"] switch = |s| f64::from(u8::from(s.rule().aqm.coupling.is_saturated(s.rule().root())));
    /// scheduler=wrr: credit of the C queue.
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
    fn root_of_p_is_linear_in_average_delay() {
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

    /// Marks and drops of 10,000 packets with a sojourn time of 150.5 ms. With g = 0 the average is the latest sojourn
    /// time, so r = 0.3.
    fn signals(settings: &str, ecn: Ecn) -> (u64, u64) {
        let mut queue = queue(&alloc::format!("g=0 t=1s {settings}"));
        (0..10_000).for_each(|_| queue.arrive(packet(ecn), at(0)));
        while queue.depart(at(150_500)).is_some() {}
        let tally = queue.port.tally();
        (tally.marked.pkts, tally.dropped_early.pkts)
    }

    #[test]
    fn classic_and_scalable_signals_match_the_coupling() {
        let near = |got: u64, want: u64| got.abs_diff(want) < 250;
        assert!(matches!(signals("", Ecn::NotEct), (0, dropped) if near(dropped, 900)));
        assert!(matches!(signals("", Ecn::Ect0), (marked, 0) if near(marked, 900)));
        assert!(matches!(signals("", Ecn::Ect1), (marked, 0) if near(marked, 6000)));
        // u = 2: the fourth power and the square.
        assert!(matches!(signals("u=2", Ecn::Ect0), (marked, 0) if near(marked, 81)));
        assert!(matches!(signals("u=2", Ecn::Ect1), (marked, 0) if near(marked, 3600)));
    }

    #[test]
    fn l_packets_are_marked_above_sojourn_time_t() {
        let marks = |settings: &str, us| {
            let mut queue = queue(settings);
            queue.arrive(packet(Ecn::Ect1), at(0));
            queue.depart(at(us));
            queue.port.tally().marked.pkts
        };
        assert_eq!([marks("t=1ms", 1000), marks("t=1ms", 1001), marks("t=1ms t_range=1ms", 2000)], [0, 1, 1]);
        assert_eq!([marks("", 5000), marks("", 5001)], [0, 1], "five packets of 1 ms");
    }

    /// The average delay includes the delay of the L queue with overload=on, the default, but not with overload=off.
    #[test]
    fn parameter_overload_adds_l_queue_delay_to_average() {
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
