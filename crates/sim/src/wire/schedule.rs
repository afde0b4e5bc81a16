//! Links whose rate changes with time: steps of constant rate, or delivery opportunities from a trace.

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

/// Work is counted in bits times 1e9, so that a rate in bits per second does so much of it in a nanosecond.
pub(crate) const BIT: u128 = 1_000_000_000;
/// What one delivery opportunity of a trace carries, in bytes: mahimahi's `PACKET_SIZE`.
pub const OPPORTUNITY: u32 = 1500;
/// Later than any run ends, with room to add delays.
pub(crate) const NEVER: Instant = Instant::from_nanos(1 << 62);

/// When a link sends how much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// From each time on this rate, up to the next; the last one stays. A rate of 0 is a link that is down: what it
    /// is sending waits, and nothing new begins.
    Steps(Vec<(Instant, Rate)>),
    /// A packet delivery trace as that of mahimahi's mm-link(1).
    Trace(Trace),
}

/// Delivery opportunities in milliseconds: at each of them the link carries 1500 bytes, in no time.
///
/// As mm-link does it: several small packets may share an opportunity, a large one takes several and leaves with
/// its last byte; what finds no bytes waiting is lost, also for a packet that arrives in the same instant; after
/// the last opportunity the trace begins anew, with its last millisecond as time 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace(Vec<u32>);

/// Why a schedule is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSchedule {
    /// Line of the trace or number of the step, from 1.
    pub line: usize,
    /// What stood there.
    pub found: String,
    /// What is accepted instead.
    pub accepts: &'static str,
}

impl Schedule {
    /// Steps, the first of them at time zero and the others later and later.
    pub fn steps(steps: Vec<(Instant, Rate)>) -> Result<Self, BadSchedule> {
        let bad = |at: usize, found: String, accepts| Err(BadSchedule { line: at + 1, found, accepts });
        match steps.first() {
            None => return bad(0, "nothing".into(), "a step at time 0"),
            Some((from, _)) if *from > Instant::ZERO => {
                return bad(0, format!("{} s", from.secs()), "a first step at time 0");
            }
            Some(_) => {}
        }
        match steps.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            Some(at) => bad(at + 1, format!("{} s", steps[at + 1].0.secs()), "a time after that of the step before"),
            None => Ok(Self::Steps(steps)),
        }
    }

    /// The bits it can carry from `from` up to, and without, `to`.
    pub fn bits(&self, from: Instant, to: Instant) -> f64 {
        let work = match self {
            Self::Steps(steps) => steps_work(steps, from, to),
            Self::Trace(trace) => {
                u128::from(trace.before(to).saturating_sub(trace.before(from))) * u128::from(OPPORTUNITY * 8) * BIT
            }
        };
        work as f64 / BIT as f64
    }

    /// The most bits that it can carry in any second.
    pub fn most_in_a_second(&self) -> f64 {
        match self {
            Self::Steps(steps) => steps.iter().map(|(_, rate)| rate.0 as f64).fold(0.0, f64::max),
            Self::Trace(trace) => trace.most_in_a_second() as f64 * f64::from(OPPORTUNITY * 8),
        }
    }
}

/// What `steps` can do in [from, to).
fn steps_work(steps: &[(Instant, Rate)], from: Instant, to: Instant) -> u128 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Instant::NEVER]);
    let each = steps.iter().zip(ends).map(|((at, rate), end)| {
        let time = end.min(to).since((*at).max(from));
        u128::from(rate.0) * u128::from(time.nanos())
    });
    each.sum()
}

impl Trace {
    /// The text of a trace: one whole number of milliseconds a line, never smaller than the one before, the last
    /// one above 0. A byte order mark before the first is passed over, as editors leave it.
    pub fn parse(text: &str) -> Result<Self, BadSchedule> {
        const ACCEPTS: &str = "a whole number of milliseconds, at most 4294967295";
        let mut out: Vec<u32> = Vec::new();
        let bad = |line: usize, found: &str, accepts| Err(BadSchedule { line, found: found.to_string(), accepts });
        for (i, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
            let line = line.trim();
            let Ok(ms) = line.parse::<u32>() else {
                return bad(i + 1, if line.is_empty() { "an empty line" } else { line }, ACCEPTS);
            };
            if out.last().is_some_and(|&last| ms < last) {
                return bad(i + 1, line, "a time no earlier than that of the line before");
            }
            out.push(ms);
        }
        match out.last() {
            None => bad(1, "nothing", ACCEPTS),
            Some(0) => bad(out.len(), "0", "a last line above 0, for the trace repeats after it"),
            Some(_) => Ok(Self(out)),
        }
    }

    /// Its milliseconds.
    pub fn millis(&self) -> &[u32] {
        &self.0
    }

    /// The mean rate: all its opportunities, over its length.
    pub fn mean(&self) -> Rate {
        let work = self.0.len() as u128 * u128::from(OPPORTUNITY * 8) * BIT;
        let period = u128::from(self.period().nanos());
        Rate(((work + period / 2) / period) as u64)
    }

    /// The most opportunities in any second: the busiest begins with one of them.
    fn most_in_a_second(&self) -> u64 {
        let from_each =
            self.0.iter().enumerate().map(|(i, &ms)| self.before(Instant::ZERO + millis(ms) + millis(1000)) - i as u64);
        from_each.max().unwrap_or(0)
    }

    /// How long it lasts.
    fn period(&self) -> Span {
        self.0.last().map_or(Span::from_nanos(1), |&ms| millis(ms))
    }

    /// When opportunity number `i` comes, from 0 on.
    pub(crate) fn at(&self, i: u64) -> Instant {
        let n = self.0.len() as u64;
        Instant::ZERO + self.period() * (i / n) + millis(self.0[(i % n) as usize])
    }

    /// How many opportunities come before `t`.
    pub(crate) fn before(&self, t: Instant) -> u64 {
        let (t, period) = (t.nanos(), self.period().nanos());
        let count = |whole: u64, rest: u64| {
            whole * self.0.len() as u64 + self.0.partition_point(|&ms| millis(ms).nanos() < rest) as u64
        };
        // The last opportunities of a round and the first of the next may come at the same time.
        match (t / period, t % period) {
            (whole, 0) if whole > 0 => count(whole - 1, period),
            (whole, rest) => count(whole, rest),
        }
    }
}

const fn millis(ms: u32) -> Span {
    Span::from_millis(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_most_in_a_second_is_that_of_the_busiest() {
        let rates = [(0, 5), (10, 80), (20, 1)].map(|(s, rate)| (ms(1000 * s), Rate(rate)));
        assert_eq!(Schedule::steps(rates.to_vec()).unwrap().most_in_a_second(), 80.0);
        let most = |text: &str| Trace::parse(text).unwrap().most_in_a_second();
        // Three between 1500 and 2499 ms; the rounds begin anew at 4 s.
        assert_eq!(most("0\n1500\n1500\n2499\n2500\n4000\n"), 3);
        // The last of a round and the first of the next.
        assert_eq!(most("100\n3900\n4000\n"), 3);
        // Shorter than a second.
        assert_eq!(most("100\n"), 10);
    }

    #[test]
    fn a_trace_repeats_from_its_last_millisecond() {
        let trace = Trace::parse("0\n2\n2\n5\n").unwrap();
        let at: Vec<u64> = (0..9).map(|i| trace.at(i).nanos() / 1_000_000).collect();
        assert_eq!(at, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
        for t in 0..30 {
            let then = Instant::from_nanos(t * 500_000);
            let counted = (0..100).filter(|&i| trace.at(i) < then).count() as u64;
            assert_eq!(trace.before(then), counted, "{t} half milliseconds");
        }
    }

    #[test]
    fn the_mean_of_a_trace_counts_its_last_opportunities() {
        let mean = |text: &str| Trace::parse(text).unwrap().mean();
        assert_eq!(mean("5\n"), Rate(2_400_000), "a packet each 5 ms");
        assert_eq!(mean("1\n10\n10\n10\n"), Rate(4_800_000), "four each 10 ms, three of them in its last instant");
        assert_eq!(mean("0\n5\n"), Rate(4_800_000), "those of its first instant too");
        assert_eq!(mean("4294967295\n"), Rate(0), "less than a bit in two seconds");
    }

    #[test]
    fn capacity_of_a_window() {
        let trace = Schedule::Trace(Trace::parse("0\n2\n2\n5\n").unwrap());
        assert_eq!(trace.bits(ms(2), ms(5)), 2.0 * 12_000.0, "those at 2 ms, not that at 5");
        let steps = vec![(ms(0), Rate(8000)), (ms(10), Rate(0)), (ms(20), Rate(2000))];
        let steps = Schedule::steps(steps).unwrap();
        assert_eq!(steps.bits(ms(5), ms(25)), 40.0 + 10.0);
    }

    #[test]
    fn what_is_no_trace_is_refused_at_its_line() {
        for (text, line) in [("", 1), ("1\nx\n", 2), ("1\n\n2\n", 2), ("3\n2\n", 2), ("0\n0\n", 2), ("-1\n", 1)] {
            assert_eq!(Trace::parse(text).unwrap_err().line, line, "{text:?}");
        }
        assert_eq!(Trace::parse("1\n \n2\n").unwrap_err().found, "an empty line");
        assert_eq!(Trace::parse("\u{feff}1\r\n2\r\n"), Trace::parse("1\n2\n"), "as some editors write it");
        for (steps, at) in [(vec![], 1), (vec![(ms(1), Rate(1))], 1), (vec![(ms(0), Rate(1)), (ms(0), Rate(2))], 2)] {
            assert_eq!(Schedule::steps(steps).unwrap_err().line, at);
        }
    }
}
