//! PI2: a PI controller of the delay whose output is squared (De Schepper, Bondarenko, Briscoe, Tsang 2016).
//!
//! A Classic sender's rate falls with the square root of the drop probability, so p' = sqrt(p) is linear in the load.
//! The gains therefore need no scaling table, and scalable senders in the same queue can be signalled with k p'.

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::{Ecn, Packet};
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::Verdict;
use crate::parts::coupled::{Coupling, Overload, Toss, Tosses};
use crate::parts::delay_pi::{Base, Gains};
use crate::parts::drain_time::DrainTime;
use crate::parts::dual::signals::refuses;
use crate::{choice, params, probes};

choice! {
    /// Which packets are treated as scalable.
    pub enum Scalable {
        /// No packets.
        Off = "off",
        /// ECT(1) and CE packets: L4S.
        L4s = "l4s",
        /// All ECN-capable packets.
        Ect = "ect",
    }
}

choice! {
    /// When the probability is applied to a packet.
    pub enum At {
        /// At arrival.
        Arrival = "arrival",
        /// At departure.
        Departure = "departure",
    }
}

choice! {
    /// How the queuing delay is estimated.
    pub enum Latency {
        /// Sojourn time so far of the packet at the head.
        Head = "head",
        /// Backlog times the measured time per byte.
        Rate = "rate",
    }
}

params! {
    /// Parameters of PI2.
    pub struct Params {
        /// Target queuing delay.
        target: Span = Span::from_millis(20), in 1e-9 ..= 1e3, "tau_0", "the paper";
        /// Time between updates of p'.
        tupdate: Span = Span::from_millis(32), in 1e-6 ..= 1e3, "T", "the paper";
        /// Integral gain in Hz: p' per second of delay above the target, per update.
        alpha: f64 = 0.3125, in 0.0 ..= 1e6, "alpha", "the paper: 5/16";
        /// Proportional gain in Hz, on the growth of the delay.
        beta: f64 = 3.125, in 0.0 ..= 1e6, "beta", "the paper: 50/16";
        /// Packets that are marked with k p' instead of p'^2.
        scalable: Scalable = Scalable::L4s, in 0.0 ..= 1.0, "", "the authors' sch_pi2; RFC 9332 section 2.5.1.1";
        /// L4S support; off: ECT(1) is treated as Not-ECT and CE as Classic.
        l4s: bool = true, in 0.0 ..= 1.0, "", "RFC 9331 section 5.1";
        /// Coupling factor between Classic and scalable probability.
        k: f64 = 2.0, in 0.1 ..= 100.0, "k", "the paper; RFC 9332 section 2.5.1";
        /// How a probability is turned into signals.
        toss: Toss = Toss::Random, in 0.0 ..= 1.0, "", "the paper; RFC 9332 Figure 4 accumulates";
        /// When the probability is applied to a packet.
        at: At = At::Arrival, in 0.0 ..= 1.0, "", "the authors' sch_pi2; RFC 9332: departure";
        /// How the queuing delay is estimated.
        latency: Latency = Latency::Head, in 0.0 ..= 1.0, "", "RFC 9332 Appendix A.1; sch_pi2 measures the rate";
        /// latency=rate: number of bytes over which the departure rate is measured.
        dq_threshold: Bytes = Bytes(16_384), in 1.0 ..= 65536.0, "", "RFC 8033 section 5.2";
        /// No signal while the backlog is below this; auto: twice the mean packet.
        min_backlog: Auto<Bytes> = Auto::Auto, in 0.0 ..= 1e9, "2 MTU", "the authors' sch_pi2";
        /// Reaction to overload, when marks alone cannot control the load.
        overload: Overload = Overload::Drop, in 0.0 ..= 1.0, "", "RFC 9332 section 4.2.3";
        /// overload=drop: Classic probability from which ECT packets are dropped; auto: min(1/k^2, 1).
        p_cmax: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "p_Cmax", "RFC 9332 Appendix A.2";
    }
}

/// State of PI2.
pub struct Pi2 {
    params: Params,
    coupling: Coupling,
    min_backlog: u64,
    base: Base,
    tosses: Tosses,
    drain: DrainTime,
    due: Instant,
}

impl Pi2 {
    /// The verdict on `packet`.
    fn judge(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = [cx.rng.uniform(), cx.rng.uniform()];
        if level.bytes() < self.min_backlog {
            return Verdict::Accept;
        }
        let l4s = self.params.l4s;
        let scalable = match self.params.scalable {
            Scalable::Off => false,
            Scalable::L4s => matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce),
            Scalable::Ect => true,
        };
        let p = self.base.p();
        let verdict = match l4s && scalable && level.marks(packet) {
            true => self.coupling.scalable(p, 0.0, &mut self.tosses, u),
            false => self.coupling.classic(p, 0.0, &mut self.tosses, u),
        };
        if verdict == Verdict::Signal && refuses(l4s, packet) { Verdict::Drop } else { verdict }
    }
}

impl Design for Pi2 {
    type Params = Params;
    const ABOUT: About = About {
        summary: "proportional-integral controller of the queuing delay; its output is squared for Classic senders",
        source: "De Schepper, Bondarenko, Briscoe, Tsang: PI2: A Linearized AQM for both Classic and Scalable TCP, \
                 CoNEXT 2016",
        rule: "every tupdate:  p' = clamp(p' + alpha (delay - target) + beta (delay - before), 0, 1);  before = delay\n\
               arrival:        classic:  mark or drop if max(u1, u2) < p', which is p'^2\n\
               \u{20}               scalable: mark if u1 < k p'\n\
               overload:       classic from p'^2 >= p_cmax on: drop, also ECT;  scalable from k p' >= 1 on: drop with \
               p'^2, mark the rest",
        deviations: &[
            "source: we did not read the paper; values and rule are from the authors' module sch_pi2 and from RFC 9332",
            "the state differs from sch_pi2: it keeps k p' (at most 1: overload=delay), we keep p'; its gains 10/16 \
             and 100/16 are k times ours",
            "latency=rate differs from sch_pi2: it averages the measured times per byte; sch_pi2 averages the rates",
            "the decay of p' differs from sch_pi2: there is none; in sch_pi2 p' decays by 2 % at two delays of 0",
            "queues differ from sch_pi2: there is no second queue",
            "presets rfc9332 and linux differ from their sources: only the Classic queue of dualpi2, which also holds \
             ECT(1) and CE packets",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "target=20ms tupdate=32ms alpha=0.3125 beta=3.125 k=2 scalable=l4s toss=random at=arrival \
                       latency=rate dq_threshold=10000b min_backlog=3028b overload=delay",
            source: "the paper's values; rule of the authors' sch_pi2, which does not signal below 2 x 1514 bytes",
        },
        Preset {
            name: "rfc9332",
            settings: "target=15ms tupdate=15ms alpha=0.15 beta=3 k=2 scalable=l4s toss=accumulate at=departure \
                       latency=head min_backlog=0b overload=drop p_cmax=0.25",
            source: "RFC 9332 Figures 2, 7 and 8; section 2.5.1.1 for ECT(1)",
        },
        Preset {
            name: "linux",
            settings: "hard_limit=10000p target=15ms tupdate=16ms alpha=0.16 beta=3.2 k=2 scalable=l4s toss=random \
                       at=departure latency=head min_backlog=3028b overload=drop p_cmax=0.25",
            source: "Linux net/sched/sch_dualpi2.c, its Classic queue",
        },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        let Params { target, tupdate, alpha, beta, k, overload, .. } = *params;
        let coupling = Coupling { k, curve: 1, p_cmax: params.p_cmax.or(Coupling::p_cmax(k, 1)), overload };
        Self {
            coupling,
            min_backlog: params.min_backlog.or(Bytes(2 * link.mean_packet.0)).0,
            base: Base::new(Gains::new(target, alpha, beta), coupling.most()),
            tosses: Tosses::new(params.toss),
            drain: DrainTime::new(params.dq_threshold.0),
            due: Instant::ZERO + tupdate,
            params: params.clone(),
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (base, tosses) = (fresh.base.after(&self.base), fresh.tosses.after(&self.tosses));
        Some(Self { base, tosses, drain: self.drain.clone(), due: self.due, ..fresh })
    }
}

impl Aqm for Pi2 {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        match self.params.at {
            At::Arrival => self.judge(packet, level, cx),
            At::Departure => Verdict::Accept,
        }
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let verdict = match self.params.at {
            At::Arrival => Verdict::Accept,
            At::Departure => self.judge(packet, level, cx),
        };
        let leaves = verdict == Verdict::Accept || (verdict == Verdict::Signal && level.marks(packet));
        if leaves && self.params.latency == Latency::Rate {
            self.drain.departure(packet.len, level.bytes(), cx.now);
        }
        verdict
    }

    fn next_tick(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        let delay = match self.params.latency {
            Latency::Head => level.head().map_or(Span::ZERO, |packet| cx.now.since(packet.arrived)).secs(),
            Latency::Rate => self.drain.delay(level.bytes()),
        };
        self.base.update(delay);
        self.due = cx.now + self.params.tupdate;
    }
}

probes! { Pi2 {
    /// Base probability p'; Classic packets are subject to its square.
    p ["1"] probability = |s| s.base.p();
    /// Queuing delay at the last update.
    delay ["s"] = |s| s.base.delay();
    /// Probability for Classic packets.
    p_c ["1"] probability = |s| s.base.p() * s.base.p();
    /// Probability for scalable packets.
    p_cl ["1"] probability = |s| s.coupling.linear(s.base.p());
    /// toss=accumulate: sum of the packets' signal probabilities, minus 1 for each signal; toss=random: 0.
    count ["1"] = |s| s.tosses.count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::ms as at;
    use crate::{AnyDiscipline, Spec};

    /// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100_000), mean_packet: Bytes(1000) };

    fn packet(ecn: Ecn) -> Packet {
        Packet { len: 1000, ecn, ..Packet::default() }
    }

    /// A queue of 100 packets that arrived at time 0, after an update at 30 ms: p' = alpha (30 - 20) ms + beta 30 ms.
    fn congested(words: &str) -> Queue<AnyDiscipline> {
        let mut queue =
            Spec::parse(&alloc::format!("pi2 tupdate=30ms {words}")).unwrap().queue(LINK, Rng::stream(1, "q"));
        (0..100).for_each(|_| queue.arrive(packet(Ecn::NotEct), at(0)));
        queue.tick(at(30));
        queue
    }

    /// How many of 10,000 arrivals are marked, and how many dropped.
    fn offer(queue: &mut Queue<AnyDiscipline>, ecn: Ecn) -> (u64, u64) {
        let before = queue.port.tally();
        (0..10_000).for_each(|_| queue.arrive(packet(ecn), at(30)));
        let happened = queue.port.tally().since(&before);
        (happened.marked.pkts, happened.dropped_early.pkts)
    }

    #[test]
    fn delay_of_the_head_packet_drives_p() {
        let queue = congested("");
        // 0.3125 x 10 ms + 3.125 x 30 ms.
        assert!((queue.discipline().probe(0) - 0.096_875).abs() < 1e-12);
        let mut empty = congested("");
        while empty.depart(at(31)).is_some() {}
        empty.tick(at(60));
        assert_eq!((empty.discipline().probe(0), empty.discipline().probe(1)), (0.0, 0.0));
    }

    #[test]
    fn classic_and_scalable_packets_have_different_signal_probabilities() {
        // p' = 30 x 10 ms = 0.3: 0.09 for Classic senders, 0.6 for scalable ones; within 5 sigma.
        let (near, words) = (|got: u64, want: u64| got.abs_diff(want) < 250, "alpha=30 beta=0");
        let signals = |more: &str, ecn| offer(&mut congested(&alloc::format!("{words} {more}")), ecn);
        assert!(matches!(signals("", Ecn::NotEct), (0, dropped) if near(dropped, 900)));
        assert!(matches!(signals("", Ecn::Ect0), (marked, 0) if near(marked, 900)));
        assert!(matches!(signals("", Ecn::Ect1), (marked, 0) if near(marked, 6000)));
        assert!(matches!(signals("scalable=ect", Ecn::Ect0), (marked, 0) if near(marked, 6000)));
        assert!(matches!(signals("scalable=off", Ecn::Ect1), (marked, 0) if near(marked, 900)));
        assert!(matches!(signals("ecn=off", Ecn::Ect1), (0, dropped) if near(dropped, 900)));
        assert!(matches!(signals("k=1", Ecn::Ect1), (marked, 0) if near(marked, 3000)));
    }

    #[test]
    fn overload_drops_ecn_packets_too_or_caps_p() {
        // p' = 0.6: p'^2 = 0.36 is above 1/k^2, k p' above 1.
        let signals = |more: &str, ecn| offer(&mut congested(&alloc::format!("alpha=60 beta=0 {more}")), ecn);
        assert!(matches!(signals("", Ecn::Ect0), (0, dropped) if dropped.abs_diff(3600) < 250));
        assert!(matches!(signals("", Ecn::Ect1), (m, d) if d.abs_diff(3600) < 250 && m + d == 10_000));
        assert!(matches!(signals("overload=delay", Ecn::Ect0), (marked, 0) if marked.abs_diff(2500) < 250));
        assert_eq!(signals("overload=delay", Ecn::Ect1), (10_000, 0));
    }

    #[test]
    fn no_signal_below_min_backlog() {
        let mut queue = congested("alpha=100 beta=0 ecn=off");
        while queue.depart(at(30)).is_some() {}
        queue.port.discarded().clear();
        let mut dropped = |n| {
            (0..n).for_each(|_| queue.arrive(packet(Ecn::NotEct), at(30)));
            queue.port.discarded().drain(..).count()
        };
        assert_eq!((dropped(2), dropped(5)), (0, 5), "from two packets on; p' = 1");
    }

    #[test]
    fn dequeue_drops_packets_until_one_passes() {
        let mut queue = congested("at=departure alpha=100 beta=0 ecn=off");
        assert_eq!(queue.depart(at(31)).map(|packet| packet.len), Some(1000), "two are left behind the last drop");
        assert_eq!((queue.port.tally().dropped_early.pkts, queue.port.pkts()), (98, 1));
    }

    /// With latency=rate the queuing delay is estimated from the measured departure rate.
    #[test]
    fn estimated_delay_is_backlog_over_departure_rate() {
        let words = "pi2 latency=rate at=departure min_backlog=0b";
        let mut queue = Spec::parse(words).unwrap().queue(LINK, Rng::stream(1, "q"));
        (0..100).for_each(|_| queue.arrive(packet(Ecn::NotEct), at(0)));
        assert!((0..40).all(|ms| queue.depart(at(ms)).is_some()));
        queue.tick(at(40));
        // 17 departures in 17 ms for 16,384 bytes; 60 packets are queued.
        assert!((queue.discipline().probe(1) - 60_000.0 * 0.017 / 16_384.0).abs() < 1e-12);
    }
}
