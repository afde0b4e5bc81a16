//! A propagation delay that varies: a trace of delays, and jitter. Packets do not overtake each other.

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

/// Times, in increasing order, from which on the propagation delay is another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayTrace(Vec<(Instant, Span)>);

/// A line of a trace that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What it has.
    pub found: String,
}

/// What a line of a delay trace has.
pub const DELAY_LINE: &str = "a time and a delay in ms, such as 1500 42.5; times increase";

impl DelayTrace {
    /// A trace with these steps: times and the delays from then on.
    ///
    /// # Errors
    /// The index of the first step that is not after the one before it, or 0 if there are no steps.
    pub fn new(steps: Vec<(Instant, Span)>) -> Result<Self, usize> {
        let late = steps.windows(2).position(|pair| pair[1].0 <= pair[0].0);
        match late {
            Some(index) => Err(index + 1),
            None if steps.is_empty() => Err(0),
            None => Ok(Self(steps)),
        }
    }

    /// Reads a file with one step per line: a time and a delay in milliseconds. `#` begins a comment.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let mut steps: Vec<(Instant, Span)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words = line.split('#').next().unwrap_or_default();
            if words.trim().is_empty() {
                continue;
            }
            let bad = || BadLine { line: number + 1, found: line.trim().to_string() };
            let millis = |word: &str| word.parse::<f64>().ok().filter(|ms| (0.0..=1e9).contains(ms));
            let mut words = words.split_whitespace();
            let (Some(at), Some(delay), None) = (words.next(), words.next(), words.next()) else { return Err(bad()) };
            let (at, delay) = (millis(at).ok_or_else(bad)?, millis(delay).ok_or_else(bad)?);
            let at = Instant::ZERO + Span::from_secs(at * 1e-3);
            if steps.last().is_some_and(|(before, _)| at <= *before) {
                return Err(bad());
            }
            steps.push((at, Span::from_secs(delay * 1e-3)));
        }
        Self::new(steps).map_err(|_| BadLine { line: 1, found: "nothing".to_string() })
    }

    /// The steps.
    pub fn steps(&self) -> &[(Instant, Span)] {
        &self.0
    }
}

/// How a propagation delay varies. The default: not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DelayModel {
    /// Delays in place of the constant one, from the first step on.
    pub trace: Option<Arc<DelayTrace>>,
    /// A random delay in addition, uniform from 0 to this.
    pub jitter: Span,
}

impl DelayModel {
    /// Does the delay never vary?
    pub fn is_constant(&self) -> bool {
        *self == Self::default()
    }
}

/// The delays of one link during a run.
#[derive(Clone, Debug)]
pub struct Delays {
    model: DelayModel,
    rng: Rng,
    /// Number of steps of the trace that have begun.
    begun: usize,
    /// Arrival of the packet before.
    last: Instant,
}

impl Delays {
    /// The delays of `model`, drawn from `rng`.
    pub const fn new(model: DelayModel, rng: Rng) -> Self {
        Self { model, rng, begun: 0, last: Instant::ZERO }
    }

    /// When a packet whose transmission ends at `end` arrives; `constant`: the link's constant delay. Successive calls
    /// need non-decreasing times.
    pub fn arrival(&mut self, end: Instant, constant: Span) -> Instant {
        let mut delay = constant;
        if let Some(trace) = &self.model.trace {
            let steps = trace.steps();
            while steps.get(self.begun).is_some_and(|(from, _)| *from <= end) {
                self.begun += 1;
            }
            delay = self.begun.checked_sub(1).map_or(delay, |step| steps[step].1);
        }
        if self.model.jitter > Span::ZERO {
            delay = delay + Span::from_nanos(self.rng.below(self.model.jitter.nanos() + 1));
        }
        self.last = self.last.max(end.plus(delay));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn trace_replaces_the_delay_and_keeps_order() {
        let trace = DelayTrace::parse("# time delay\n10 50\n20 5.5\n").unwrap();
        let model = DelayModel { trace: Some(Arc::new(trace)), jitter: Span::ZERO };
        let mut delays = Delays::new(model, Rng::stream(1, "delay"));
        let arrivals: Vec<Instant> =
            [0, 10, 19, 20, 60, 70].iter().map(|at| delays.arrival(ms(*at), Span::from_millis(2))).collect();
        let half = Span::from_micros(500);
        // The packet at 20 ms would arrive at 25.5 ms, before the one in front of it.
        assert_eq!(arrivals, [ms(2), ms(60), ms(69), ms(69), ms(69), ms(75) + half]);
    }

    #[test]
    fn jitter_is_uniform_and_keeps_order() {
        let model = DelayModel { trace: None, jitter: Span::from_millis(4) };
        let mut delays = Delays::new(model, Rng::stream(1, "delay"));
        // 10 ms apart, so that no packet catches up with the one in front of it.
        let extra: Vec<f64> = (0..10_000u64)
            .map(|n| delays.arrival(ms(10 * n), Span::from_millis(1)).since(ms(10 * n + 1)).secs() * 1e3)
            .collect();
        assert!(extra.iter().all(|ms| (0.0..=4.0).contains(ms)));
        let mean = extra.iter().sum::<f64>() / 1e4;
        // The mean of 10,000 uniform numbers from 0 to 4 has a standard deviation of 0.0115.
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
        let arrivals: Vec<Instant> =
            (0..1000).map(|n| delays.arrival(ms(200_000) + Span::from_micros(n), Span::ZERO)).collect();
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn wrong_lines_of_a_trace_are_refused() {
        for (text, line) in [("", 1), ("1 2\n1 3", 2), ("1 -2", 1), ("0 1\n5", 2), ("0 1 2", 1), ("0 nan", 1)] {
            assert_eq!(DelayTrace::parse(text).map_err(|bad| bad.line), Err(line), "{text}");
        }
    }
}
