//! What the model of a loop answers, and why it may not.

use forebay_aqm::base::units::Link;
use forebay_aqm::{ENTRIES, Spec};
use serde::Serialize;

/// What the model says of one discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Packets waiting at rest.
    pub q_rest_pkts: f64,
    /// Load at rest over the link's rate.
    pub load_rest: f64,
    /// Signal probability at rest.
    pub p_rest: f64,
    /// Window of a flow at rest in packets.
    pub window_pkts: f64,
    /// Mean round trip at rest, queueing included.
    pub rtt_ms: f64,
    /// Does every mode die out?
    pub stable: bool,
    /// Where the gain of the loop falls through 1 for the last time.
    pub crossover_rad_per_s: Option<f64>,
    /// Phase that may be lost, in degrees; negative if too much is lost already.
    pub phase_margin_deg: Option<f64>,
    /// Factor by which the gain may grow; none: any.
    pub gain_margin: Option<f64>,
    /// Delay that may be added; none: any.
    pub delay_margin_ms: Option<f64>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The model does not know the discipline.
    NoModel,
    /// At rest the queue would have to be outside the buffer, or p above 1.
    NoRest,
    /// No rest was found: there may be none.
    NotFound,
    /// The discipline holds classes to shares, and those of the classes that send do not add up to the link.
    Shares,
    /// A threshold of a class does not move, or would have to be below its smallest.
    Threshold,
    /// The discipline holds what is offered to shares, and signals are drops: the queue is not its own.
    Offered,
}

impl NoAnswer {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoModel => "no model of this discipline",
            Self::NoRest => "no rest: the queue would have to be outside the buffer, or p above 1",
            Self::NotFound => "no rest found",
            Self::Shares => "no rest: the shares (phi) of the classes that send do not add up to 1",
            Self::Threshold => "no rest known where a threshold does not move or is at its smallest (alpha, b_floor)",
            Self::Offered => "no model of rate_basis=offered with drops: a drop empties the queue, not the virtual one",
        }
    }
}

/// Which disciplines the models of a loop know on `link`, in words; with `shares` also those that hold classes to shares, of
/// which the linear loop alone is known.
pub fn with_a_model(link: &Link, shares: bool) -> String {
    let knows = |spec: Spec| spec.fluid(link).is_some() || shares && spec.shares(link).is_some();
    let known = ENTRIES.iter().map(|entry| entry.name).filter(|name| Spec::parse(name).is_ok_and(knows));
    format!("a discipline with a model: {}", known.collect::<Vec<_>>().join(", "))
}
