//! Distribution of the queue of TCP flows at a link, from a Markov chain of queue lengths (RED+Tail paper, section VI).
//! Every S seconds each of N flows sets its rate to its window W divided by the round-trip time, plus a random
//! deviation (noise). All windows follow from one signal probability p. C is the link's rate. The map f gives the queue
//! S seconds after a queue, without noise; q_e is the equilibrium queue, at which the rates fill the link. The chain
//! has a state for each cell, an interval of queue lengths.

mod ask;

use forebay_aqm::Spec;
use forebay_theory::lindley::Loop;
use serde::Serialize;

use super::controller::WITHIN;
use super::drive;
use super::setting::{Scaled, Setting};

pub use ask::{Ask, Cells, PAPER_SIGMA, Sigma, Step, probability};

/// Result of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Markov {
    /// Signal probability p.
    pub p: f64,
    /// W, the window of a flow in packets.
    pub window_pkts: f64,
    /// q_e, the queue at which the rates fill the link, in packets.
    pub q_rest_pkts: f64,
    /// Round-trip time at q_e, which is N W/C: the harmonic mean over the flows.
    pub rtt_ms: f64,
    /// S, the time between changes of the rates.
    pub step_ms: f64,
    /// f'(q_e), the derivative of the map f at the equilibrium queue.
    pub slope: f64,
    /// Whether a small deviation of the queue from q_e decays: |f'(q_e)| < 1.
    pub stable: bool,
    /// The S at which f'(q_e) is -1; with a longer S the equilibrium is unstable.
    pub edge_ms: f64,
    /// The S below which every step, from any queue, moves the queue closer to q_e (the paper's Proposition 6.1).
    pub contraction_bound_ms: f64,
    /// The S up to which the queue converges to q_e from any start (the paper's Proposition 6.2), by a corrected
    /// version of the paper's bound for flows with unequal round-trip times.
    pub mixed_bound_ms: f64,
    /// Standard deviation of a flow's rate, bit/s.
    pub sigma_bits_per_s: f64,
    /// Standard deviation of the queue in the model with f linearised at q_e; `None` if q_e is unstable.
    pub linear_std_pkts: Option<f64>,
    /// Mean queue by the chain. This and the following fields are `None` if there is no chain, because the noise is too
    /// small for the cells or the buffer would have too many cells.
    pub q_mean_pkts: Option<f64>,
    /// Standard deviation of the queue by the chain.
    pub q_std_pkts: Option<f64>,
    /// Median of the queue by the chain.
    pub q_p50_pkts: Option<f64>,
    /// 99th percentile of the queue by the chain.
    pub q_p99_pkts: Option<f64>,
    /// Fraction of the sent data that finds the buffer full.
    pub overflow: Option<f64>,
    /// Fraction of the capacity that is unused because the queue is empty.
    pub idle: Option<f64>,
    /// Distribution of the queue by the chain.
    pub distribution: Option<Shares>,
}

/// Queue lengths and the fraction of time at each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Queue lengths in packets.
    pub q_pkts: Vec<f64>,
    /// Fractions of time; sum 1.
    pub share: Vec<f64>,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoAnswer {
    /// The user gives no p, and the discipline has no model that would give one.
    NoModel,
    /// The discipline has no equilibrium within the buffer.
    NoRest,
    /// At the given p the flows have no equilibrium within the buffer.
    Outside {
        /// The signal probability that the user gave.
        p: f64,
        /// The p at which the equilibrium queue just fills the buffer.
        from: f64,
        /// The p at which the flows just fill the link with an empty queue.
        to: f64,
    },
}

impl NoAnswer {
    /// Text that says which values of p would give a result.
    pub fn accepts(&self) -> String {
        match self {
            Self::NoModel => "a signal probability such as 0.014: no model of this discipline gives one".to_string(),
            Self::NoRest => {
                "a signal probability such as 0.014: no equilibrium within the buffer gives one".to_string()
            }
            Self::Outside { from, to, .. } => {
                format!("one between {from:.3e} and {to:.3e}: others have no equilibrium within the buffer")
            }
        }
    }
}

/// Result of the model for the discipline `spec` with the link and flows of `setting`.
pub fn of(spec: &Spec, setting: &Setting, ask: &Ask) -> Result<Markov, NoAnswer> {
    let p = match ask.p {
        Some(p) => p,
        None => p_at_rest(spec, setting)?,
    };
    let mut one = network(setting, p);
    let rest = one.equilibrium();
    if rest <= 0.0 || rest >= one.buffer {
        let (from, to) = within(setting);
        return Err(NoAnswer::Outside { p, from, to });
    }
    let rtt_s = one.delays_s.len() as f64 * one.window / one.capacity;
    one.interval_s = match ask.step {
        Step::RoundTrips(n) => n * rtt_s,
        Step::Time(s) => s,
    };
    let sigma = match ask.sigma {
        Sigma::Rate(sigma) => sigma,
        Sigma::Part(part) => part * one.capacity / one.delays_s.len() as f64,
    };
    Ok(answer(&one, p, sigma, ask.cells, bits(setting)))
}

fn answer(one: &Loop, p: f64, sigma: f64, cells: Cells, packet: f64) -> Markov {
    let (rest, pkts) = (one.equilibrium(), |bits: f64| bits / packet);
    let (slope, linear) = (rounded(one.slope(rest)), one.linear_std(sigma));
    let stable = slope.abs() < 1.0;
    let chain = cut(one, sigma, cells, packet).and_then(|(cell, place)| one.chain(sigma, cell, place));
    let ends = chain.as_ref().map(|chain| one.ends(sigma, chain));
    Markov {
        p,
        window_pkts: pkts(one.window),
        q_rest_pkts: pkts(rest),
        rtt_ms: 1e3 * one.delays_s.len() as f64 * one.window / one.capacity,
        step_ms: 1e3 * one.interval_s,
        slope,
        stable,
        edge_ms: 1e3 * one.edge_s(),
        contraction_bound_ms: 1e3 * one.contraction_bound_s(),
        mixed_bound_ms: 1e3 * one.mixed_bound_s(),
        sigma_bits_per_s: sigma,
        linear_std_pkts: (stable && linear.is_finite()).then_some(pkts(linear)),
        q_mean_pkts: chain.as_ref().map(|chain| pkts(chain.mean())),
        q_std_pkts: chain.as_ref().map(|chain| pkts(chain.std())),
        q_p50_pkts: chain.as_ref().map(|chain| pkts(chain.quantile(0.5))),
        q_p99_pkts: chain.as_ref().map(|chain| pkts(chain.quantile(0.99))),
        overflow: ends.map(|ends| rounded(ends.lost)),
        idle: ends.map(|ends| rounded(ends.idle)),
        distribution: chain
            .map(|chain| Shares { q_pkts: chain.queue.iter().map(|q| pkts(*q)).collect(), share: chain.chance }),
    }
}

/// `x` rounded to 12 decimals, so that a rounding error in place of 0 becomes 0.
fn rounded(x: f64) -> f64 {
    libm::round(x * 1e12) / 1e12 + 0.0
}

/// Largest number of cells of a chain, because the elimination that solves it takes cubic time.
const MAX_CELLS: f64 = 1200.0;

/// Width of a cell in bits, and the point in the cell that represents it (0: lower end, 0.5: middle). `None` if the
/// noise is too small for the cells or would need more than [`MAX_CELLS`] of them.
fn cut(one: &Loop, sigma: f64, cells: Cells, packet: f64) -> Option<(f64, f64)> {
    let noise = one.noise(sigma);
    match cells {
        Cells::Lower => (one.buffer <= MAX_CELLS * packet && noise > 0.0).then_some((packet, 0.0)),
        Cells::Middle => {
            // A cell adds the square of its width over 12 to the variance of a step: 2 % if the width is half the
            // standard deviation of the noise.
            let cells = (one.buffer / packet.min(0.5 * noise)).ceil().min(MAX_CELLS);
            let cell = one.buffer / cells;
            (cell <= noise).then_some((cell, 0.5))
        }
    }
}

/// Size of a packet in bits.
fn bits(setting: &Setting) -> f64 {
    8.0 * f64::from(setting.packet)
}

/// The network of `setting` in terms of the model, with the windows that follow from the signal probability `p`.
fn network(setting: &Setting, p: f64) -> Loop {
    let packet = bits(setting);
    Loop {
        capacity: setting.capacity * packet,
        window: Loop::tcp_window(packet, p),
        delays_s: delays_s(setting),
        interval_s: 0.0,
        buffer: setting.limit * packet,
    }
}

/// Round-trip time of each flow without queueing, in seconds. If the scenario has a range of round-trip times, the
/// setting has fractional numbers of flows with each. They are rounded so that their sum is kept.
fn delays_s(setting: &Setting) -> Vec<f64> {
    let (mut delays, mut sum) = (Vec::new(), 0.0);
    for kind in &setting.flows {
        sum += kind.count;
        delays.resize(libm::round(sum) as usize, kind.base_s);
    }
    delays
}

/// Signal probabilities at which the equilibrium queue of the flows just fills the buffer, and is just empty.
fn within(setting: &Setting) -> (f64, f64) {
    let one = network(setting, 1.0);
    let p_at = |q: f64| {
        let window = 1.0 / one.delays_s.iter().map(|d| 1.0 / (q + d * one.capacity)).sum::<f64>();
        1.5 * (bits(setting) / window) * (bits(setting) / window)
    };
    (p_at(one.buffer).min(1.0), p_at(0.0).min(1.0))
}

/// Signal probability at the equilibrium of the discipline and the flows, with the windows of this model.
fn p_at_rest(spec: &Spec, setting: &Setting) -> Result<f64, NoAnswer> {
    spec.fluid(&setting.link).ok_or(NoAnswer::NoModel)?;
    let fresh = || spec.fluid(&setting.link).unwrap_or_else(|| unreachable!("it was one a line ago"));
    // The loop model (`drive`) has windows of sqrt(2/p), this model of sqrt(1.5/p), so in the loop model fewer flows
    // give the same load. In this model every packet that is sent enters the queue.
    let ours = Setting { drops: false, ..setting.scaled(Scaled::Flows, libm::sqrt(1.5 / 2.0)) };
    let (_, rest, _) = drive::rest(&fresh, &ours, drive::PACES).ok_or(NoAnswer::NoRest)?;
    let inside = rest.q >= WITHIN * setting.limit && rest.q <= (1.0 - WITHIN) * setting.limit;
    if inside && rest.p < 1.0 { Ok(rest.p) } else { Err(NoAnswer::NoRest) }
}

#[cfg(test)]
mod tests;
