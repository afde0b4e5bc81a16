//! Parameters of the Markov chain of queue lengths (`forebay theory markov`), in the syntax of the command line. Every
//! S seconds each TCP flow changes its rate, with a random deviation.

use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::text::{self, BadValue};

/// Parameters of the Markov chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Signal probability; `None`: that at the equilibrium of the discipline and the flows.
    pub p: Option<f64>,
    /// Random deviation of a flow's rate.
    pub sigma: Sigma,
    /// S, the time between changes of the rates.
    pub step: Step,
    /// Discretisation: the queue lengths that stand for the chain's states.
    pub cells: Cells,
}

impl Default for Ask {
    fn default() -> Self {
        Self { p: None, sigma: Sigma::Part(PAPER_SIGMA), step: Step::RoundTrips(1.0), cells: Cells::Middle }
    }
}

/// Standard deviation of a flow's rate relative to its mean rate, in the RED+Tail paper's example: 20 flows on a link
/// of 6 Mbit/s, 77021 bit/s of the 300 kbit/s that each sends.
pub const PAPER_SIGMA: f64 = 77021.0 / 300e3;

/// Standard deviation of one flow's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigma {
    /// In bit/s.
    Rate(f64),
    /// As a fraction of a flow's mean rate, which is capacity / number of flows.
    Part(f64),
}

impl Sigma {
    /// Reads `77kbit`, `26%` or 0.
    pub fn parse(text: &str) -> Result<Self, BadValue> {
        const ACCEPTS: &str = "a rate of at least 0 such as 77kbit, or a part of a flow's mean rate such as 26%";
        match text::split(text) {
            Some((n, "%")) => Ok(Self::Part(0.01 * n)),
            Some((0.0, "")) => Ok(Self::Rate(0.0)),
            _ => {
                let rate = text::rate(text).map_err(|bad| BadValue { accepts: ACCEPTS.into(), hint: bad.hint })?;
                Ok(Self::Rate(rate.0 as f64))
            }
        }
    }
}

/// S, the time between changes of the rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// In round-trip times at equilibrium, queueing included.
    RoundTrips(f64),
    /// In seconds.
    Time(f64),
}

/// Largest allowed S, in round-trip times.
const LONGEST: f64 = 1000.0;

impl Step {
    /// Reads `0.5rtt` or `50ms`.
    pub fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = |hint| BadValue { accepts: "a time above 0, such as 50ms or 0.5rtt".into(), hint };
        let (n, unit) = text::split(text).ok_or_else(|| bad(None))?;
        if unit == "rtt" {
            let hint = (n > LONGEST).then(|| format!("at most {LONGEST}rtt"));
            return if n > 0.0 && hint.is_none() { Ok(Self::RoundTrips(n)) } else { Err(bad(hint)) };
        }
        let near = nearest(unit, ["rtt", "ms", "us", "ns"]).map(|near| format!("did you mean {n}{near}?"));
        let span = text::span(text).map_err(|wrong| bad(near.or(wrong.hint)))?;
        if span.secs() > 0.0 { Ok(Self::Time(span.secs())) } else { Err(bad(None)) }
    }
}

/// Which queue length represents a cell of the chain, which is an interval of queue lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The middle of the cell.
    Middle,
    /// The lower end of the cell, as in the paper's eq. (19). A cell is one packet. The mean queue is lower than with
    /// `Middle`.
    Lower,
}

/// Reads a signal probability: above 0, at most 1.
pub fn probability(text: &str) -> Result<f64, BadValue> {
    let bad = || BadValue::new("a probability above 0 and at most 1, such as 0.014");
    text::number(text).ok().filter(|p| *p > 0.0 && *p <= 1.0).ok_or_else(bad)
}
