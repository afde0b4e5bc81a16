//! What the chain is asked, as the command line writes it.

use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::text::{self, BadValue};

/// What the model is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// The signal probability; none: that at which the discipline rests.
    pub p: Option<f64>,
    /// How far a flow's rate is off.
    pub sigma: Sigma,
    /// S.
    pub step: Step,
    /// How the chain is cut.
    pub cells: Cells,
}

impl Default for Ask {
    fn default() -> Self {
        Self { p: None, sigma: Sigma::Part(PAPER_SIGMA), step: Step::RoundTrips(1.0), cells: Cells::Middle }
    }
}

/// The paper's noise with 20 flows on 6 Mb/s: 77021 bit/s of the 300 kb/s that each sends.
pub const PAPER_SIGMA: f64 = 77021.0 / 300e3;

/// Standard deviation of one flow's rate over a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigma {
    /// Bits per second.
    Rate(f64),
    /// A part of what a flow sends in the mean, the capacity over the flows.
    Part(f64),
}

impl Sigma {
    /// `77kbit`, `26%` or 0.
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

/// S, the time from one setting of the rates to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// In round trips at the rest, queueing included.
    RoundTrips(f64),
    /// In seconds.
    Time(f64),
}

/// The longest S in round trips.
const LONGEST: f64 = 1000.0;

impl Step {
    /// `0.5rtt` or `50ms`.
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

/// What queue a cell of the chain is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Its middle.
    Middle,
    /// Its lower end, cells being packets, as in the paper's eq. (19): the mean comes out lower.
    Lower,
}

/// A signal probability: above 0, at most 1.
pub fn probability(text: &str) -> Result<f64, BadValue> {
    let bad = || BadValue::new("a probability above 0 and at most 1, such as 0.014");
    text::number(text).ok().filter(|p| *p > 0.0 && *p <= 1.0).ok_or_else(bad)
}
