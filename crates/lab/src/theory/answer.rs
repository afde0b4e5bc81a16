//! Results of the linear loop model, and why there may be none. The loop is the control loop of TCP flows and a
//! discipline at one link: the discipline computes a signal probability p, at which it marks or drops packets, and the
//! flows adapt their windows.

use forebay_aqm::base::units::Link;
use forebay_aqm::{ENTRIES, Spec};
use forebay_theory::nyquist::Margins;
use serde::Serialize;

/// Equilibrium and stability of the loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Number of packets that wait at equilibrium.
    pub q_rest_pkts: f64,
    /// Load at equilibrium, relative to the link's rate.
    pub load_rest: f64,
    /// Signal probability at equilibrium.
    pub p_rest: f64,
    /// Window of a flow at equilibrium, in packets.
    pub window_pkts: f64,
    /// Mean round-trip time at equilibrium, queueing included.
    pub rtt_ms: f64,
    /// Whether the loop is stable.
    pub stable: bool,
    /// Highest frequency at which the gain of the loop, with rising frequency, falls below 1; `None` if there is none.
    pub crossover_rad_per_s: Option<f64>,
    /// Phase margin in degrees; negative if the loop is unstable.
    pub phase_margin_deg: Option<f64>,
    /// Factor by which the gain of the loop may grow before the loop becomes unstable; `None` if unlimited.
    pub gain_margin: Option<f64>,
    /// Delay that may be added to the loop before it becomes unstable; `None` if unlimited.
    pub delay_margin_ms: Option<f64>,
}

/// Equilibrium of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rest {
    /// Number of packets that wait.
    pub(crate) q: f64,
    /// Signal probability.
    pub(crate) p: f64,
    /// Packets per second that enter the queue: the link's rate, or less if no packets are waiting.
    pub(crate) rate: f64,
}

impl Stability {
    /// The result for the equilibrium `rest` with these stability margins. `capacity` is in packets per second.
    pub(super) fn at(rest: Rest, capacity: f64, window_pkts: f64, rtt_s: f64, margins: &Margins) -> Self {
        Self {
            q_rest_pkts: rest.q,
            load_rest: rest.rate / capacity,
            p_rest: rest.p,
            window_pkts,
            rtt_ms: 1e3 * rtt_s,
            stable: margins.is_stable(),
            crossover_rad_per_s: margins.crossover,
            phase_margin_deg: margins.phase_deg,
            gain_margin: margins.gain,
            delay_margin_ms: margins.delay_s.map(|s| 1e3 * s),
        }
    }
}

/// Why the model has no result for a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The discipline has no model.
    NoModel,
    /// There is no equilibrium: the queue would be outside the buffer, or the signal probability p above 1.
    NoRest,
    /// The search found no equilibrium; there may be none.
    NotFound,
    /// The discipline gives each service class its share of the link, and the shares of the classes that send do not
    /// sum to 1.
    Shares,
    /// The discipline adapts for each service class a threshold of the virtual queue, above which it signals packets of
    /// the class. A threshold is constant (its gain alpha or the share phi is 0, or its minimum equals its maximum), or
    /// at equilibrium it would be below its minimum.
    Threshold,
    /// Signals are drops, and the discipline enforces the classes' shares of the offered load, dropped packets
    /// included. In this case it does not control the real queue.
    Offered,
}

impl NoAnswer {
    /// The reason as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoModel => "no model of this discipline",
            Self::NoRest => "no equilibrium: the queue would be outside the buffer, or p above 1",
            Self::NotFound => "no equilibrium found",
            Self::Shares => "no equilibrium: the shares (phi) of the classes that send do not sum to 1",
            Self::Threshold => {
                "no known equilibrium where a threshold does not move or is at its minimum (alpha, b_floor)"
            }
            Self::Offered => {
                "no model of rate_basis=offered with drops: drops shorten the real queue, not the virtual one"
            }
        }
    }
}

/// Text that lists the disciplines that have a loop model on `link`. With `shares` it also lists the disciplines that
/// give each service class its share of the link; they have a linear model but no fluid model.
pub fn with_a_model(link: &Link, shares: bool) -> String {
    let knows = |spec: Spec| spec.fluid(link).is_some() || shares && spec.shares(link).is_some();
    let known = ENTRIES.iter().map(|entry| entry.name).filter(|name| Spec::parse(name).is_ok_and(knows));
    format!("a discipline with a model: {}", known.collect::<Vec<_>>().join(", "))
}
