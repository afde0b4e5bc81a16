//! The threshold marker of the AAQM paper (eq. 18). It can precede any discipline. It signals arrivals with a
//! probability that depends on how full the buffer is.
//!
//! Let x be the share of the buffer in use, including the arriving packet. The signal probability is 0 up to the
//! threshold and rises linearly to 1 at a full buffer. The threshold may change during the run. The discipline decides
//! about every arrival. If it accepts a packet that the marker signals, the packet is marked or dropped. The discipline
//! handles such a drop like an overflow drop.

use alloc::format;
use alloc::string::{String, ToString};

use crate::base::cx::Cx;
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::params::Value;
use crate::base::port::{MAIN, Port};
use crate::base::rng::Rng;
use crate::base::text::{self, BadValue};
use crate::base::time::{Instant, Span};
use crate::base::units::Limit;

/// Largest number of threshold values in one run.
const MAX_VALUES: usize = 8;

/// A threshold that changes at given times; off by default.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Steps {
    /// Start time and threshold, as a share of the buffer.
    steps: [(Span, f64); MAX_VALUES],
    len: u8,
}

impl Steps {
    /// Whether there is no threshold.
    pub const fn is_off(&self) -> bool {
        self.len == 0
    }

    /// The threshold, if it never changes.
    pub const fn constant(&self) -> Option<f64> {
        if self.len == 1 { Some(self.steps[0].1) } else { None }
    }

    /// The threshold at `now`.
    fn at(&self, now: Instant) -> f64 {
        let steps = &self.steps[..usize::from(self.len)];
        let begun = steps.iter().take_while(|(from, _)| Instant::ZERO + *from <= now);
        begun.last().map_or(1.0, |(_, share)| *share)
    }
}

impl Value for Steps {
    const ACCEPTS: &'static str =
        "off, a share of the buffer from 0 to 1, or steps with times such as 0.95/125s:0.5/175s:0.95";
    const UNIT: &'static str = "of the buffer";

    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(Self::ACCEPTS);
        let mut out = Self::default();
        if text.trim() == "off" {
            return Ok(out);
        }
        for (i, part) in text.split('/').enumerate() {
            let (from, share) = match part.split_once(':') {
                None if i == 0 => (Span::ZERO, part),
                Some((from, share)) if i > 0 => (text::span(from)?, share),
                _ => return Err(bad()),
            };
            let share = text::number(share).ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(bad)?;
            let later = i == 0 || from > out.steps[i - 1].0;
            let step = out
                .steps
                .get_mut(i)
                .filter(|_| later)
                .ok_or_else(|| bad().hint(format!("at most {} times, in increasing order", MAX_VALUES - 1)))?;
            *step = (from, share);
            out.len += 1;
        }
        Ok(out)
    }

    fn show(&self) -> String {
        let mut out = String::new();
        for (i, (from, share)) in self.steps[..usize::from(self.len)].iter().enumerate() {
            match i {
                0 => out.push_str(&share.to_string()),
                _ => out.push_str(&format!("/{}:{share}", text::show_span(*from))),
            }
        }
        if out.is_empty() { "off".to_string() } else { out }
    }
}

/// Eq. 18: the signal probability. `x` is the share of the buffer in use, including the arrival; `th` is the threshold.
fn d(x: f64, th: f64) -> f64 {
    if x <= th { 0.0 } else { ((x - th) / (1.0 - th)).min(1.0) }
}

/// A threshold marker in front of a discipline. It has its own random stream, so the discipline draws the same
/// numbers as without it.
pub struct Threshold<D> {
    th: Steps,
    rng: Rng,
    behind: D,
}

impl<D: Discipline> Threshold<D> {
    /// A marker in front of `behind`. Its stream of random numbers is derived from `rng`, which is not advanced.
    pub fn new(th: Steps, rng: &Rng, behind: D) -> Self {
        Self { th, rng: Rng::stream(rng.clone().bits(), "threshold"), behind }
    }

    /// The discipline behind the marker.
    pub const fn behind(&self) -> &D {
        &self.behind
    }

    /// The discipline behind the marker, mutable.
    pub const fn behind_mut(&mut self) -> &mut D {
        &mut self.behind
    }

    /// Whether `packet` is signalled if it joins `port` now.
    fn signals(&mut self, packet: &Packet, port: &Port, now: Instant) -> bool {
        let level = port.level(MAIN);
        let x = match level.link().limit {
            Limit::Packets(n) => f64::from(port.pkts() + 1) / f64::from(n.max(1)),
            Limit::Bytes(b) => (port.bytes() + u64::from(packet.len)) as f64 / b.max(1) as f64,
        };
        self.rng.uniform() < d(x, self.th.at(now))
    }
}

impl<D: Discipline> Discipline for Threshold<D> {
    fn lists(&self) -> usize {
        self.behind.lists()
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.enqueue_from(&packet, port, cx);
    }

    #[inline]
    fn enqueue_from(&mut self, packet: &Packet, port: &mut Port, cx: &mut Cx) {
        cx.signalled = self.signals(packet, port, cx.now);
        self.behind.enqueue_from(packet, port, cx);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.behind.dequeue(port, cx)
    }

    fn held_until(&self) -> Option<Instant> {
        self.behind.held_until()
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        self.behind.next_tick()
    }

    fn tick(&mut self, port: &mut Port, cx: &mut Cx) {
        self.behind.tick(port, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::packet::Ecn;
    use crate::base::units::{Bytes, Link, Rate};
    use crate::{AnyDiscipline, Spec};

    #[test]
    fn signal_probability_rises_from_threshold_to_full_buffer() {
        for (x, th, p) in [(0.5, 0.95, 0.0), (0.95, 0.95, 0.0), (0.975, 0.95, 0.5), (1.0, 0.95, 1.0), (0.75, 0.5, 0.5)]
        {
            assert!((d(x, th) - p).abs() < 1e-12, "d({x}) with th {th}");
        }
        assert_eq!((d(1.0, 1.0), d(1.5, 0.5), d(0.0, 0.0), d(0.25, 0.0)), (0.0, 1.0, 0.0, 0.25));
    }

    #[test]
    fn threshold_steps_parse_and_apply_at_their_times() {
        for text in ["off", "0.95", "0.95/125s:0.5/175s:0.95"] {
            assert_eq!(Steps::parse(text).map(|th| th.show()), Ok(text.to_string()));
        }
        let bad = ["", "1.5", "-0.1", "0.5/0.6", "5s:0.5", "0.5/5s", "0.5/5s:0.4/5s:0.3", "0.5/9:0.4"];
        assert!(bad.iter().all(|text| Steps::parse(text).is_err()));
        assert!(Steps::parse("0.5/1s:0/2s:0/3s:0/4s:0/5s:0/6s:0/7s:0").is_ok());
        assert!(Steps::parse("0.5/1s:0/2s:0/3s:0/4s:0/5s:0/6s:0/7s:0/8s:0").is_err());
        let th = Steps::parse("0.95/125s:0.5/175s:0.9").unwrap();
        let at = |ms| th.at(Instant::ZERO + Span::from_millis(ms));
        assert_eq!([at(0), at(124_999), at(125_000), at(174_999), at(175_000)], [0.95, 0.95, 0.5, 0.5, 0.9]);
    }

    fn filled(words: &str, ecn: Ecn) -> crate::base::host::Queue<AnyDiscipline> {
        let link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };
        let mut queue = Spec::parse(words).unwrap().queue(link, Rng::stream(1, "queue"));
        // One flow per packet, in all classes, so that no discipline treats one differently.
        for slot in 0..100 {
            let class = (slot % 10) as u8;
            let packet = Packet { slot, len: 500, flow: slot, pair: slot, ecn, class, ..Packet::default() };
            queue.arrive(packet, Instant::ZERO);
        }
        queue
    }

    #[test]
    fn zero_threshold_signals_packets_of_every_discipline() {
        for name in crate::ENTRIES.iter().map(|entry| entry.name) {
            let queue = filled(&format!("{name} th=0"), Ecn::NotEct);
            let tally = queue.port.tally();
            assert_eq!((tally.offered.pkts, queue.port.check()), (100, Ok(())), "{name}");
            assert!(tally.dropped_early.pkts > 10, "{name}: {tally:?}");
            let queue = filled(&format!("{name} th=0"), Ecn::Ect0);
            assert!(queue.port.tally().marked.pkts > 10 && queue.port.check().is_ok(), "{name}");
            assert!(queue.discipline().lists() > 0);
        }
    }

    #[test]
    fn signalled_arrivals_reach_discipline_and_marks_count_once() {
        // AVQ's virtual queue counts every offered packet.
        let all = filled("avq limit=1000 bytes=off th=0.2", Ecn::NotEct);
        assert!(all.port.tally().dropped_early.pkts > 10);
        assert_eq!(all.discipline().probe(0), 100.0);
        for name in ["droptail th=0", "svb th=0", "codel th=0"] {
            let mut queue = filled(name, Ecn::Ect0);
            let now = Instant::ZERO + Span::from_millis(500);
            let marked =
                core::iter::from_fn(|| queue.depart(now)).filter(|packet| packet.ecn == Ecn::Ce).count() as u64;
            assert_eq!(queue.port.tally().marked.pkts, marked, "{name}");
        }
    }

    #[test]
    fn threshold_of_one_equals_plain_drop_tail() {
        let alone = filled("droptail", Ecn::NotEct).port.tally();
        let high = filled("droptail th=1", Ecn::NotEct).port.tally();
        assert_eq!((alone, high.dropped_early.pkts), (high, 0));
        // Up to half the buffer nothing is signalled; beyond, increasingly more.
        let half = filled("droptail th=0.5", Ecn::NotEct).port.tally();
        assert!(half.accepted.pkts > 60 && half.dropped_early.pkts > 5, "{half:?}");
    }
}
