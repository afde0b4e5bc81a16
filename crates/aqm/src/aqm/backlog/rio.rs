//! RIO: RED with In and Out (Clark and Fang 1998): packets beyond their profile are dropped earlier.
//!
//! An edge router marks each packet IN or OUT of its sender's profile. For IN packets RED uses the average number of
//! IN packets, for OUT packets the average of all packets and lower thresholds. Congestion therefore drops OUT packets
//! first, and IN packets only if there are too many IN packets.

mod band;

use alloc::string::{String, ToString};

use crate::aqm::backlog::red::{Average, Curve, Rule, Spacing, packets_per_sec};
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::{Colour, Packet};
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::{params, probes};
use band::Band;

params! {
    /// Parameters of RIO.
    pub struct Params {
        /// IN packets: thresholds of the average of IN packets, and the probability at the upper one.
        r#in: Band = Band::packets(40.0, 80.0, 0.02), in 0.0 ..= 1.0, "(min_in, max_in, p_in)", "MSVB section 4; ns-2.35 in_thresh_";
        /// OUT packets: thresholds of the average of all packets, and the probability at the upper one.
        out: Band = Band::packets(20.0, 40.0, 0.1), in 0.0 ..= 1.0, "(min_out, max_out, p_out)", "MSVB section 4; ns-2.35 out_thresh_";
        /// Weight of a new queue sample in both averages.
        w_q: f64 = 0.002, in 1e-9 ..= 1.0, "w_q", "ns-2.35 default";
        /// Packet size that converts bytes to packets; auto: the scenario's packet size.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 always uses 500";
        /// Above an upper threshold the probability rises to 1 at twice the threshold; off: it jumps to 1.
        gentle: bool = false, in 0.0 ..= 1.0, "gentle", "ns-2.35 in_gentle_, out_gentle_";
        /// Random signals to one colour (IN or OUT) are at least 1/p packets of that colour apart, where p is the base
        /// probability.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts as its length divided by the mean packet size.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 bytes_, off for RIO";
        /// ns-2's exact behaviour: OUT arrivals do not update the average; forced drops of OUT packets do not reset
        /// their count since the last signal.
        quirk: bool = false, in 0.0 ..= 1.0, "", "ns-2.35 rio.cc: its head comment reports the bug";
    }
}

/// ns-2 accepts every arrival while the queue is at most this long, in the unit of the thresholds.
const NEVER_SIGNALLED: f64 = 1.0;

/// RED for packets of one colour (IN or OUT).
struct Judge {
    curve: Curve,
    spacing: Spacing,
    /// Forced and overflow drops do not reset the count of packets since the last signal, as for OUT packets in ns-2.
    forgetful: bool,
}

impl Judge {
    fn forced(&mut self, len: u32) {
        if self.forgetful { self.spacing.pass(len) } else { self.spacing.forced() }
    }
}

/// State of RIO. Queues, averages and thresholds share one unit.
pub struct Rio {
    unit: Depth,
    quirk: bool,
    all: Average,
    inside: Average,
    in_pkts: u32,
    in_bytes: u64,
    /// RED for IN packets, then RED for OUT packets.
    judges: [Judge; 2],
    p: f64,
}

impl Rio {
    /// The queued IN packets, in the unit of the thresholds.
    fn inside(&self) -> f64 {
        match self.unit {
            Depth::Packets(_) => f64::from(self.in_pkts),
            Depth::Bytes(_) => self.in_bytes as f64,
        }
    }

    /// The queue at an arrival and its average: of IN packets for an IN packet, else of all packets.
    fn observe(&mut self, colour: Colour, level: &Level, cx: &Cx) -> (f64, f64) {
        let q = self.unit.measure(level);
        if colour == Colour::In {
            self.all.arrival(q, cx.now);
            let q_in = self.inside();
            (q_in, self.inside.arrival(q_in, cx.now))
        } else if self.quirk {
            (q, self.all.value())
        } else {
            (q, self.all.arrival(q, cx.now))
        }
    }
}

const fn index(colour: Colour) -> usize {
    match colour {
        Colour::In => 0,
        _ => 1,
    }
}

impl Design for Rio {
    type Params = Params;
    const ABOUT: About = About {
        summary: "RED with In and Out: packets beyond their profile have lower thresholds",
        source: "Clark, Fang: Explicit Allocation of Best-Effort Packet Delivery Service, IEEE/ACM ToN 1998; ns-2.35 \
                 rio.cc",
        rule: "arrival:  avg as red, over all packets;  of an IN packet also avg_in, over IN packets\n\
               \u{20}         IN:   as red, with avg_in, the queued IN packets and (min_in, max_in, p_in)\n\
               \u{20}         OUT:  as red, with avg, all queued packets and (min_out, max_out, p_out)\n\
               \u{20}         a signal marks while the average is below max, else it drops",
        deviations: &[
            "the average differs from ns-2.35: every arrival updates it, as in the paper; in ns-2 (quirk=on) only IN \
             arrivals do",
            "the count differs from ns-2.35: a forced or overflow drop resets it for both colours; in ns-2 (quirk=on) \
             only for IN",
            "idle time differs from ns-2.35: an average is idle from the first dequeue that finds the queue empty; in \
             ns-2 (quirk=on) from the last one",
            "the signal test differs from ns-2: u < p, not u <= p; one u is drawn at every arrival",
            "the test q <= 1 uses the unit of the thresholds, as in ns-2: in bytes it means an empty queue",
            "gentle differs from ns-2: one switch for both colours; ns-2 has one for each",
            "unmarked packets differ from ns-2: they are IN; in ns-2 they are OUT",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off in=40p/80p/0.02 out=20p/40p/0.1 w_q=0.002 gentle=off wait=on bytes=off quirk=off",
            source: "MSVB section 4 and ns-2.35's other defaults; Clark and Fang's numbers were not available",
        },
        Preset {
            name: "ns2",
            settings: "ecn=off in=15p/30p/0.02 out=5p/15p/0.1 w_q=0.002 mean_packet=500b gentle=off wait=on bytes=off \
                       quirk=on",
            source: "ns-2.35 defaults; ns-2 reads linterm_, not out_linterm_",
        },
    ];
    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.r#in.min_th.with(0.0) == params.out.min_th.with(0.0) {
            Ok(())
        } else {
            Err("in and out both in packets, or both in bytes".to_string())
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { gentle, wait, bytes, quirk, w_q, .. } = params;
        let mean = params.mean_packet.or(link.mean_packet);
        let average = Average::new(w_q, packets_per_sec(link, mean));
        let judge = |band: &Band, forgetful| Judge {
            curve: band.curve(gentle),
            spacing: Spacing::new(Rule::Ns2, wait, bytes.then_some(mean.0)),
            forgetful,
        };
        Self {
            unit: params.out.min_th,
            quirk,
            all: average.clone(),
            inside: average,
            in_pkts: 0,
            in_bytes: 0,
            judges: [judge(&params.r#in, false), judge(&params.out, quirk)],
            p: 0.0,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (all, inside) = (fresh.all.clone().after(&self.all), fresh.inside.clone().after(&self.inside));
        let Self { in_pkts, in_bytes, p, .. } = *self;
        let [inner, outer] = fresh.judges;
        let after = |judge: Judge, before: &Judge| Judge { spacing: judge.spacing.after(&before.spacing), ..judge };
        let judges = [after(inner, &self.judges[0]), after(outer, &self.judges[1])];
        fresh.unit.is_like(self.unit).then_some(Self { all, inside, in_pkts, in_bytes, judges, p, ..fresh })
    }
}

impl Aqm for Rio {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        let (q, avg) = self.observe(packet.colour, level, cx);
        let judge = &mut self.judges[index(packet.colour)];
        let p_b = judge.curve.base_probability(avg).filter(|_| q > NEVER_SIGNALLED);
        self.p = p_b.unwrap_or(0.0);
        let Curve { max_th, gentle, .. } = judge.curve;
        if p_b.is_some() && avg >= if gentle { 2.0 * max_th } else { max_th } {
            judge.forced(packet.len);
            return Verdict::Drop;
        }
        if !judge.spacing.arrival(p_b, packet.len, u) {
            Verdict::Accept
        } else if avg < max_th {
            Verdict::Signal
        } else {
            Verdict::Drop
        }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        let judge = &mut self.judges[index(packet.colour)];
        match fate {
            Fate::Queued { .. } if packet.colour == Colour::In => {
                self.in_pkts += 1;
                self.in_bytes += u64::from(packet.len);
            }
            Fate::Dropped(Reason::Overflow) if !judge.forgetful => judge.spacing.overflowed(),
            _ => {}
        }
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, _: &Level, _: &mut Cx) -> Verdict {
        if packet.colour == Colour::In {
            self.in_pkts -= 1;
            self.in_bytes -= u64::from(packet.len);
        }
        if self.quirk {
            self.all.forget_idle();
        }
        Verdict::Accept
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        for average in [&mut self.all, &mut self.inside] {
            if self.quirk { average.restart_idle(cx.now) } else { average.emptied(cx.now) }
        }
    }
}

probes! { Rio {
    /// Average queue of all packets, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.all.value();
    /// Average of the queued IN packets.
    avg_in ["packets|bytes"] = |s| s.inside.value();
    /// Base probability of the latest arrival, before the spacing of signals.
    p ["1"] probability = |s| s.p;
    /// IN packets since the last signal to an IN packet.
    count_in ["packets"] = |s| s.judges[0].spacing.count();
    /// OUT packets since the last signal to an OUT packet.
    count_out ["packets"] = |s| s.judges[1].spacing.count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::time::{Instant, Span};
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::{self, params};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Rio>> {
        by_hand::fifo(settings, LINK, false)
    }

    /// Offers packets of a colour at `ms`; returns how many were accepted.
    fn offer(queue: &mut Queue<Fifo<Rio>>, colour: Colour, packets: u32, ms: u64) -> u32 {
        let before = queue.port.pkts();
        let now = Instant::ZERO + Span::from_millis(ms);
        (0..packets).for_each(|_| queue.arrive(Packet { len: 1000, colour, ..Packet::default() }, now));
        queue.port.pkts() - before
    }

    fn averages(queue: &Queue<Fifo<Rio>>) -> (f64, f64) {
        let rio = queue.discipline().aqm();
        (rio.all.value(), rio.inside.value())
    }

    #[test]
    fn out_verdicts_use_average_of_all_packets() {
        let mut queue = queue("in=40p/80p/0.02 out=20p/40p/0.1 w_q=1");
        assert_eq!(offer(&mut queue, Colour::In, 40, 0), 40, "below both");
        assert_eq!(averages(&queue), (39.0, 39.0));
        assert_eq!(offer(&mut queue, Colour::Out, 10, 0), 0, "40 in all: forced");
        assert_eq!(averages(&queue), (40.0, 39.0));
        // At most one of 30 is dropped: drops are at least 1/0.02 = 50 apart.
        assert!(offer(&mut queue, Colour::In, 30, 0) >= 29);
    }

    #[test]
    fn average_of_in_packets_ignores_out_packets() {
        let mut queue = queue("in=2p/4p/1 out=50p/60p/1 w_q=1");
        assert_eq!(offer(&mut queue, Colour::Out, 50, 0), 50);
        assert_eq!(offer(&mut queue, Colour::In, 2, 0), 2);
        assert_eq!(averages(&queue), (51.0, 1.0));
        // The IN packets leave with the OUT packets before them.
        while queue.depart(Instant::ZERO).is_some() {}
        let rio = queue.discipline().aqm();
        assert_eq!((rio.in_pkts, rio.in_bytes, rio.inside()), (0, 0, 0.0));
    }

    /// With `quirk=on`, as in ns-2, OUT arrivals do not update the average of all packets.
    #[test]
    fn with_quirk_out_arrivals_do_not_update_average() {
        for (quirk, all) in [("off", 20.0), ("on", 10.0)] {
            let mut queue = queue(&alloc::format!("w_q=1 quirk={quirk}"));
            offer(&mut queue, Colour::In, 11, 0);
            offer(&mut queue, Colour::Out, 10, 0);
            assert_eq!(averages(&queue), (all, 10.0), "quirk={quirk}");
        }
    }

    #[test]
    fn average_of_in_packets_decays_during_out_traffic() {
        // 1250 packets a second and a weight of 1/2: a packet time of 0.8 ms halves an average.
        for (quirk, halvings) in [("off", 11.0), ("on", 1.0)] {
            let mut queue = queue(&alloc::format!("w_q=0.5 quirk={quirk}"));
            offer(&mut queue, Colour::In, 2, 0);
            let (_, before) = averages(&queue);
            let drain = |queue: &mut Queue<Fifo<Rio>>, us: u64| {
                while queue.depart(Instant::ZERO + Span::from_micros(us)).is_some() {}
            };
            drain(&mut queue, 0);
            offer(&mut queue, Colour::Out, 1, 7);
            drain(&mut queue, 8_000);
            // 0 ms to 8 ms are ten packet times; the arrival itself counts one more.
            offer(&mut queue, Colour::In, 1, 8);
            assert!((averages(&queue).1 - before * libm::pow(0.5, halvings)).abs() < 1e-12, "quirk={quirk}");
        }
    }

    #[test]
    fn mixed_threshold_units_are_rejected() {
        assert!(Rio::check(&params("in=40000b/80000b/0.02")).is_err());
        assert!(Rio::check(&params("in=40000b/80000b/0.02 out=20000b/40000b/0.1")).is_ok());
    }
}
