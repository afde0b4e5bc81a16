//! BLUE: a signal probability that rises at overflows and falls when the link becomes idle (Feng, Kandlur, Saha, Shin
//! 1999).
//!
//! BLUE does not use the queue length. After a change p is frozen for a time, so that senders can react.

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::{params, probes};

params! {
    /// Parameters of BLUE.
    pub struct Params {
        /// Increase of p per overflow.
        d1: f64 = 0.0025, in 0.0 ..= 1.0, "d1", "scripts of the authors' ns code; d1 >> d2";
        /// Decrease of p when the link becomes idle.
        d2: f64 = 0.00025, in 0.0 ..= 1.0, "d2", "scripts of the authors' ns code";
        /// After a change, p does not change again within this time.
        freeze: Span = Span::from_millis(100), in 0.0 ..= 1e3, "freeze_time", "scripts of the authors' ns code";
        /// Queue length above which an arrival counts as an overflow; auto: only real overflows count.
        l: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "L", "Feng et al.: 'or Qlen > L'";
        /// Freezes p separately for increases and for decreases, each for the time `freeze` after the last one.
        apart: bool = false, in 0.0 ..= 1.0, "", "the authors' ns code; the paper has one freeze time";
    }
}

/// State of BLUE.
pub struct Blue {
    params: Params,
    p: f64,
    /// Times of the last increase and of the last decrease of p. Without `apart` the first is the time of the last
    /// change, and the second is not used.
    last: [Instant; 2],
}

impl Blue {
    /// Adds `by` to p, clamped to 0..1, unless p is frozen.
    fn change(&mut self, by: f64, now: Instant) {
        let Params { freeze, apart, .. } = self.params;
        let last = &mut self.last[usize::from(apart && by < 0.0)];
        if now.since(*last) > freeze {
            *last = now;
            self.p = (self.p + by).clamp(0.0, 1.0);
        }
    }
}

impl Design for Blue {
    type Params = Params;
    const ABOUT: About = About {
        summary: "p rises at overflows and falls when the link becomes idle",
        source: "Feng, Kandlur, Saha, Shin: BLUE: A New Class of Active Queue Management Algorithms, CSE-TR-387-99; \
                 IEEE/ACM ToN 2002",
        rule: "arrival:          if u < p: mark or drop\n\
               loss, q > l:      if now - last > freeze:  p = min(1, p + d1);  last = now\n\
               link idle:        if now - last > freeze:  p = max(0, p - d2);  last = now",
        deviations: &[
            "a drop at a full buffer differs from the authors' ns code: it counts as an overflow even if u < p; the \
             ns code tests p first",
            "idle time: p decreases once when a dequeue finds the queue empty, however long the idle time, as in the \
             paper",
            "source: we did not have the papers; rule and values follow the authors' ns code and the literature",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "ecn=off d1=0.0025 d2=0.00025 freeze=100ms l=auto apart=on",
            source: "the authors' ns code and its scripts, drops instead of marks; ns-2.35 has no BLUE",
        },
        Preset {
            name: "paper",
            settings: "d1=0.02 d2=0.002 freeze=100ms l=auto apart=off",
            source: "Feng et al. as cited in the literature; not checked against the paper",
        },
        Preset {
            name: "aaqm",
            settings: "d1=0.0025 d2=0.0025",
            source: "the AAQM paper has one delta for both directions; its value is unreadable",
        },
    ];

    fn build(params: &Params, _: &Link) -> Self {
        Self { params: params.clone(), p: 0.0, last: [Instant::ZERO; 2] }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { p: self.p, last: self.last, ..Self::build(params, link) })
    }
}

impl Aqm for Blue {
    #[inline]
    fn arrival(&mut self, _: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let signal = cx.rng.uniform() < self.p;
        if let Auto::Given(l) = self.params.l
            && l.measure(level) > l.value()
        {
            self.change(self.params.d1, cx.now);
        }
        if signal { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, cx: &mut Cx) {
        if fate.is_loss() {
            self.change(self.params.d1, cx.now);
        }
    }

    fn emptied(&mut self, cx: &mut Cx) {
        self.change(-self.params.d2, cx.now);
    }
}

probes! { Blue {
    /// Signal probability.
    p ["1"] probability = |s| s.p;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, ms as at};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(3), mean_packet: Bytes(500) };

    fn queue(settings: &str) -> Queue<Fifo<Blue>> {
        by_hand::fifo(settings, LINK, true)
    }

    /// p after four arrivals; the buffer holds three.
    fn overflow(queue: &mut Queue<Fifo<Blue>>, ms: u64) -> f64 {
        (0..4).for_each(|_| queue.arrive(Packet { len: 500, ..Packet::default() }, at(ms)));
        queue.discipline().aqm().p
    }

    /// p after the queue has been emptied.
    fn idle(queue: &mut Queue<Fifo<Blue>>, ms: u64) -> f64 {
        while queue.depart(at(ms)).is_some() {}
        queue.discipline().aqm().p
    }

    #[test]
    fn overflow_and_idle_change_p_unless_frozen() {
        let mut queue = queue("d1=0.01 d2=0.004 freeze=10ms");
        assert_eq!(overflow(&mut queue, 10), 0.0, "the start freezes too");
        assert_eq!(overflow(&mut queue, 11), 0.01);
        assert_eq!(overflow(&mut queue, 21), 0.01, "10 ms later is not longer than 10 ms");
        assert_eq!(idle(&mut queue, 21), 0.01, "one freeze for both");
        assert_eq!(idle(&mut queue, 22), 0.01 - 0.004);
        assert_eq!(overflow(&mut queue, 32), 0.01 - 0.004);
        assert_eq!(overflow(&mut queue, 33), 0.01 - 0.004 + 0.01);
    }

    #[test]
    fn freeze_time_can_limit_rises_and_falls_separately() {
        let mut queue = queue("d1=0.01 d2=0.004 freeze=10ms apart=on");
        assert_eq!(overflow(&mut queue, 11), 0.01);
        assert_eq!(idle(&mut queue, 12), 0.01 - 0.004, "nothing has frozen decreases yet");
        assert_eq!(overflow(&mut queue, 21), 0.01 - 0.004);
        assert_eq!(overflow(&mut queue, 22), 0.01 - 0.004 + 0.01);
        assert_eq!(idle(&mut queue, 22), 0.01 - 0.004 + 0.01);
        assert_eq!(idle(&mut queue, 23), 0.01 - 0.004 + 0.01 - 0.004);
    }

    #[test]
    fn p_stays_between_0_and_1() {
        let mut queue = queue("d1=0.7 d2=0.8 freeze=0s");
        assert_eq!(overflow(&mut queue, 1), 0.7);
        let mut full = || (2..50).map(|ms| overflow(&mut queue, ms)).fold(0.0, f64::max);
        assert_eq!(full(), 1.0);
        assert!(idle(&mut queue, 60) < 0.21);
        assert_eq!(idle(&mut queue, 61), 0.0);
    }

    #[test]
    fn long_queue_counts_as_overflow() {
        // The third arrival finds two packets, more than 1; with L = 2 only the fourth, which overflows, counts.
        for (l, after) in
            [("1p", [0.0, 0.0, 0.01, 0.01]), ("999b", [0.0, 0.0, 0.01, 0.01]), ("2p", [0.0, 0.0, 0.0, 0.01])]
        {
            let mut queue = queue(&alloc::format!("d1=0.01 freeze=10ms l={l}"));
            let p = after.map(|_| {
                queue.arrive(Packet { len: 500, ..Packet::default() }, at(100));
                queue.discipline().aqm().p
            });
            assert_eq!(p, after, "l={l}");
        }
    }

    /// BLUE counts a drop by the threshold marker in front of it (parameter th) as a loss, but not a mark.
    #[test]
    fn drop_by_marker_in_front_raises_p() {
        let p_after = |ecn| {
            // The second of two packets fills the buffer: the marker is certain.
            let link = Link { limit: Limit::Packets(2), ..LINK };
            let mut queue =
                crate::Spec::parse("blue d1=0.01 freeze=10ms th=0.5").unwrap().queue(link, Rng::stream(1, "q"));
            (0..2).for_each(|_| queue.arrive(Packet { len: 500, ecn, ..Packet::default() }, at(100)));
            let tally = queue.port.tally();
            (queue.discipline().probe(0), tally.dropped_early.pkts, tally.dropped_overflow.pkts, tally.marked.pkts)
        };
        assert_eq!(p_after(Ecn::NotEct), (0.01, 1, 0, 0));
        assert_eq!(p_after(Ecn::Ect0), (0.0, 0, 0, 1));
    }

    #[test]
    fn signals_come_with_probability_p() {
        let mut queue = queue("d1=0.3 freeze=1s");
        overflow(&mut queue, 2000);
        queue.port.discarded().clear();
        // p = 0.3 of 20,000: the standard deviation is 65; allow five.
        for _ in 0..20_000 {
            queue.depart(at(2000));
            queue.arrive(Packet { len: 500, ..Packet::default() }, at(2000));
        }
        let early = queue.port.tally().dropped_early.pkts as f64;
        assert!((early - 6000.0).abs() < 325.0, "{early}");
    }
}
