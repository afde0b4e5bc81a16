//! Links whose rate varies with time: steps of constant rate, or delivery opportunities of a trace.

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

/// Units of work per bit. With 1e9 a rate of 1 bit/s does exactly 1 unit of work per nanosecond.
pub(crate) const BIT: u128 = 1_000_000_000;
/// Capacity of one delivery opportunity of a trace in bytes: mahimahi's `PACKET_SIZE`.
pub const OPPORTUNITY: u32 = 1500;
/// Later than the end of any run, with room to add delays.
pub(crate) const NEVER: Instant = Instant::from_nanos(1 << 62);

/// Capacity of a link over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// Each rate holds from its time to the next step; the last one stays. At rate 0 the link is down: the current
    /// transmission pauses, and no new one begins.
    Steps(Vec<(Instant, Rate)>),
    /// A packet delivery trace of mahimahi's mm-link(1).
    Trace(Trace),
}

/// Delivery opportunities in milliseconds. At each of them the link carries 1500 bytes in zero time.
///
/// As in mm-link:
/// - several small packets may share an opportunity;
/// - a large packet uses several opportunities; its transmission ends with the one that carries its last byte;
/// - capacity that no waiting packet uses is lost; a packet that arrives at the time of an opportunity to an idle link
///   does not get it;
/// - after the last opportunity the trace repeats; the time of the last opportunity is time 0 of the repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace(Vec<u32>);

/// Why a schedule is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSchedule {
    /// Line of the trace or number of the step, from 1.
    pub line: usize,
    /// The text found.
    pub found: String,
    /// The values accepted.
    pub accepts: &'static str,
}

impl Schedule {
    /// Steps of rate: the first at time zero, with increasing times.
    ///
    /// # Errors
    /// If there are no steps, the first is not at time zero, or the times do not increase.
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

    /// Capacity in bits in [`from`, `to`).
    pub fn bits(&self, from: Instant, to: Instant) -> f64 {
        let work = match self {
            Self::Steps(steps) => steps_work(steps, from, to),
            Self::Trace(trace) => {
                u128::from(trace.before(to).saturating_sub(trace.before(from))) * u128::from(OPPORTUNITY * 8) * BIT
            }
        };
        work as f64 / BIT as f64
    }

    /// Maximum capacity in bits in any second.
    pub fn most_in_a_second(&self) -> f64 {
        match self {
            Self::Steps(steps) => steps.iter().map(|(_, rate)| rate.0 as f64).fold(0.0, f64::max),
            Self::Trace(trace) => trace.most_in_a_second() as f64 * f64::from(OPPORTUNITY * 8),
        }
    }
}

/// Capacity of `steps` in [from, to), in units of 1e-9 bit.
fn steps_work(steps: &[(Instant, Rate)], from: Instant, to: Instant) -> u128 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Instant::NEVER]);
    let each = steps.iter().zip(ends).map(|((at, rate), end)| {
        let time = end.min(to).since((*at).max(from));
        u128::from(rate.0) * u128::from(time.nanos())
    });
    each.sum()
}

impl Trace {
    /// Parses a trace: one integer of milliseconds per line, non-decreasing, the last one above 0. Ignores a byte
    /// order mark at the start.
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

    /// The times of the opportunities in milliseconds.
    pub fn millis(&self) -> &[u32] {
        &self.0
    }

    /// The mean rate: the capacity of all opportunities divided by the trace's length.
    pub fn mean(&self) -> Rate {
        let work = self.0.len() as u128 * u128::from(OPPORTUNITY * 8) * BIT;
        let period = u128::from(self.period().nanos());
        Rate(((work + period / 2) / period) as u64)
    }

    /// Maximum number of opportunities in any second. It is enough to count in the seconds that begin at an
    /// opportunity.
    fn most_in_a_second(&self) -> u64 {
        let from_each =
            self.0.iter().enumerate().map(|(i, &ms)| self.before(Instant::ZERO + millis(ms) + millis(1000)) - i as u64);
        from_each.max().unwrap_or(0)
    }

    /// Length of the trace.
    fn period(&self) -> Span {
        self.0.last().map_or(Span::from_nanos(1), |&ms| millis(ms))
    }

    /// Time of opportunity `i`, from 0.
    pub(crate) fn at(&self, i: u64) -> Instant {
        let n = self.0.len() as u64;
        Instant::ZERO + self.period() * (i / n) + millis(self.0[(i % n) as usize])
    }

    /// Number of opportunities before `t`.
    pub(crate) fn before(&self, t: Instant) -> u64 {
        let (t, period) = (t.nanos(), self.period().nanos());
        let count = |whole: u64, rest: u64| {
            whole * self.0.len() as u64 + self.0.partition_point(|&ms| millis(ms).nanos() < rest) as u64
        };
        // The last opportunities of one repetition and the first of the next may have the same time.
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
    fn largest_capacity_is_that_of_busiest_second() {
        let rates = [(0, 5), (10, 80), (20, 1)].map(|(s, rate)| (ms(1000 * s), Rate(rate)));
        assert_eq!(Schedule::steps(rates.to_vec()).unwrap().most_in_a_second(), 80.0);
        let most = |text: &str| Trace::parse(text).unwrap().most_in_a_second();
        // Three between 1500 and 2499 ms; the trace starts again at 4 s.
        assert_eq!(most("0\n1500\n1500\n2499\n2500\n4000\n"), 3);
        // The last of one repetition and the first of the next.
        assert_eq!(most("100\n3900\n4000\n"), 3);
        // Shorter than a second.
        assert_eq!(most("100\n"), 10);
    }

    #[test]
    fn trace_repeats_from_its_last_millisecond() {
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
    fn trace_mean_counts_first_and_last_opportunities() {
        let mean = |text: &str| Trace::parse(text).unwrap().mean();
        assert_eq!(mean("5\n"), Rate(2_400_000), "a packet each 5 ms");
        assert_eq!(mean("1\n10\n10\n10\n"), Rate(4_800_000), "four per 10 ms, three of them at its end");
        assert_eq!(mean("0\n5\n"), Rate(4_800_000), "the one at its start counts too");
        assert_eq!(mean("4294967295\n"), Rate(0), "less than a bit in two seconds");
    }

    #[test]
    fn capacity_of_time_interval_excludes_its_end() {
        let trace = Schedule::Trace(Trace::parse("0\n2\n2\n5\n").unwrap());
        assert_eq!(trace.bits(ms(2), ms(5)), 2.0 * 12_000.0, "the two at 2 ms, not the one at 5 ms");
        let steps = vec![(ms(0), Rate(8000)), (ms(10), Rate(0)), (ms(20), Rate(2000))];
        let steps = Schedule::steps(steps).unwrap();
        assert_eq!(steps.bits(ms(5), ms(25)), 40.0 + 10.0);
    }

    #[test]
    fn errors_give_line_of_trace_or_step_number() {
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
