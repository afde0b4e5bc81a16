//! Is a loop of TCP and a discipline stable, and how far from the edge? Nyquist with exact delays.
//!
//! A law is linearised by driving its own code with a swinging queue.

use forebay_aqm::Spec;
use forebay_theory::nyquist::{self, Margins};
use num_complex::Complex64;
use serde::Serialize;

use super::drive::{self, Rest};
use super::setting::{Scaled, Setting};

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
}

impl NoAnswer {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoModel => "no model of this discipline: a law, RED, AVQ or SVB",
            Self::NoRest => "no rest: the queue would have to be outside the buffer, or p above 1",
            Self::NotFound => "no rest found",
        }
    }
}

/// A gain from the queue to p over frequency, looked up between the frequencies where it was taken.
struct Controller {
    rest: Rest,
    /// Logarithm of the frequency, of the absolute gain, and the phase, unwrapped.
    points: Vec<[f64; 3]>,
    integrators: u32,
    /// What follows the queue at once, whatever the clock.
    direct: f64,
}

/// Frequencies per decade at which a law is driven.
const PER_DECADE: f64 = 12.0;
/// Swings below this many radians a mean round trip are slow, above that many fast.
const SLOW: f64 = 0.02;
const FAST: f64 = 40.0;

/// A queue nearer than this part of the buffer to either end of it is at the end: nothing regulates it there.
pub(super) const WITHIN: f64 = 1e-3;

impl Controller {
    /// From gains at rising frequencies.
    fn new(rest: Rest, direct: f64, gains: &[(f64, Complex64)]) -> Option<Self> {
        let mut points: Vec<[f64; 3]> = Vec::new();
        for &(w, gain) in gains {
            let (size, mut phase) = (gain.norm(), gain.arg());
            if !(size.is_finite() && size > 0.0) {
                return None;
            }
            if let Some(before) = points.last() {
                phase += std::f64::consts::TAU * ((before[2] - phase) / std::f64::consts::TAU).round();
            }
            points.push([libm::log(w), libm::log(size), phase]);
        }
        let [first, second] = [points.first()?, points.get(1)?];
        let falls = (first[1] - second[1]) / (second[0] - first[0]);
        Some(Self { rest, points, integrators: u32::from(falls > 0.5), direct })
    }

    fn at(&self, w: f64) -> Complex64 {
        let x = libm::log(w);
        let last = self.points.len() - 1;
        let next = self.points.partition_point(|point| point[0] < x).clamp(1, last);
        let [a, b] = [self.points[next - 1], self.points[next]];
        let part = (x - a[0]) / (b[0] - a[0]);
        if part > 1.0 {
            // Faster than the clock sees: what follows at once, and of the rest what a held value lets through.
            let edge = Complex64::from_polar(libm::exp(b[1]), b[2]);
            return self.direct + (edge - self.direct) * libm::exp(b[0] - x);
        }
        // Slower than the slowest along the last line in size: an integrator goes on, all else stays.
        let size = a[1] + if part < 0.0 && self.integrators == 0 { 0.0 } else { part * (b[1] - a[1]) };
        let phase = a[2] + part.max(0.0) * (b[2] - a[2]);
        Complex64::from_polar(libm::exp(size), phase)
    }
}

/// The frequencies from slow to fast for a loop with this round trip, and not above what a clock of `tick_s` can see.
fn frequencies(rtt_s: f64, tick_s: f64) -> Vec<f64> {
    let from = SLOW / rtt_s;
    let to = (FAST / rtt_s).min(0.9 * std::f64::consts::PI / tick_s).max(4.0 * from);
    let steps = (libm::log10(to / from) * PER_DECADE).ceil();
    (0..=steps as u32).map(|i| from * libm::pow(to / from, f64::from(i) / steps)).collect()
}

fn law(spec: &Spec, setting: &Setting) -> Result<Controller, NoAnswer> {
    let make = || spec.fluid(&setting.link).ok_or(NoAnswer::NoModel);
    make()?;
    let fresh = || make().unwrap_or_else(|_| unreachable!("it was one a line ago"));
    let (mut driven, rest) = drive::rest(&fresh, setting).ok_or(NoAnswer::NotFound)?;
    let full = rest.rate > (1.0 - WITHIN) * setting.capacity;
    let pinned = full && rest.q < WITHIN * setting.limit || rest.q > (1.0 - WITHIN) * setting.limit;
    if pinned || rest.p >= 1.0 {
        return Err(NoAnswer::NoRest);
    }
    let rtt_s = setting.at_rest(rest.q, rest.rate).mean_rtt_s();
    let mut gains = Vec::new();
    for w in frequencies(rtt_s, driven.period_s()) {
        // Each from rest: what an integrator kept of the swing before is not its answer to this one.
        if (driven.p(rest.q) / rest.p - 1.0).abs() > 0.005 {
            driven = drive::rest(&fresh, setting).ok_or(NoAnswer::NotFound)?.0;
        }
        gains.push((w, drive::response(&mut driven, rest, w)));
    }
    let direct = if rest.q > 0.0 { driven.p(rest.q + 0.5) - driven.p(rest.q - 0.5) } else { 0.0 };
    Controller::new(rest, direct, &gains).ok_or(NoAnswer::NotFound)
}

/// What the model says of `spec` in this setting.
pub fn of(spec: &Spec, setting: &Setting) -> Result<Stability, NoAnswer> {
    let controller = law(spec, setting)?;
    let Rest { q, p, rate } = controller.rest;
    let plant = setting.at_rest(q, rate);
    let rtt_s = plant.mean_rtt_s();
    let gain = |w: f64| {
        let answer = plant.answer(w);
        controller.at(w) * if q > 0.0 { answer.queue } else { answer.load_alone }
    };
    // So low that only an integrator matters, if there is one: far below where the gain is 1.
    let mut from = SLOW / rtt_s;
    while controller.integrators > 0 && gain(from).norm() < 100.0 && from > 1e-9 {
        from *= 0.5;
    }
    let margins: Margins = nyquist::margins(&gain, controller.integrators, from, FAST / rtt_s);
    Ok(Stability {
        q_rest_pkts: q,
        load_rest: rate / setting.capacity,
        p_rest: p,
        window_pkts: plant.window(),
        rtt_ms: 1e3 * rtt_s,
        stable: margins.is_stable(),
        crossover_rad_per_s: margins.crossover,
        phase_margin_deg: margins.phase_deg,
        gain_margin: margins.gain,
        delay_margin_ms: margins.delay_s.map(|s| 1e3 * s),
    })
}

/// Where a loop turns from stable to unstable, as a factor on what the setting has; `None`: none was found within a factor of 16.
pub fn critical(spec: &Spec, setting: &Setting, what: Scaled) -> Option<f64> {
    /// Halvings of the last step.
    const HALVINGS: u32 = 6;
    let stable = |factor: f64| of(spec, &setting.scaled(what, factor)).ok().map(|s| s.stable);
    let here = stable(1.0)?;
    for towards in [0.5, 2.0] {
        let (mut near, mut far) = (1.0, 1.0);
        for _ in 0..4 {
            far *= towards;
            match stable(far) {
                Some(there) if there == here => near = far,
                Some(_) => {
                    for _ in 0..HALVINGS {
                        let middle = libm::sqrt(near * far);
                        if stable(middle) == Some(here) { near = middle } else { far = middle }
                    }
                    return Some(libm::sqrt(near * far));
                }
                None => break,
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Overrides};
    use crate::theory::setting;

    const EXAMPLE: &str = include_str!("../../../../examples/pi-design.toml");

    fn example(sets: &[&str], aqm: &str) -> (Spec, Setting) {
        let sets = sets.iter().map(|set| (*set).to_string()).collect();
        let overrides = Overrides { sets, ..Overrides::default() };
        let case = scenario::parse("example.toml", EXAMPLE, &overrides).unwrap().remove(0);
        (Spec::parse(aqm).unwrap(), setting::of(&case, &Spec::parse(aqm).unwrap()).unwrap())
    }

    #[test]
    fn a_law_is_linearised_as_its_formula_says() {
        // p += a (q - ref) - b (before - ref) every 1/170 s, held in between.
        let (spec, setting) = example(&[], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        let controller = law(&spec, &setting).unwrap();
        assert!((controller.rest.q - 200.0).abs() < 1.0, "{:?}", controller.rest);
        assert_eq!(controller.integrators, 1);
        for point in &controller.points {
            let w = libm::exp(point[0]);
            let z = Complex64::from_polar(1.0, -w / 170.0);
            let want = (1.822e-5 - 1.816e-5 * z) / Complex64::new(0.0, w / 170.0);
            let ratio = controller.at(w) / want;
            assert!((ratio - 1.0).norm() < 0.03, "{w}: {ratio}");
        }
    }

    #[test]
    fn the_example_of_the_design_rule() {
        let (spec, setting) = example(&[], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        let found = of(&spec, &setting).unwrap();
        assert!(found.stable && (found.rtt_ms - 246.0).abs() < 1.5, "{found:?}");
        assert!(
            (found.p_rest - 0.00846).abs() < 1e-4 && (found.crossover_rad_per_s.unwrap() - 0.5).abs() < 0.1,
            "{found:?}"
        );
        assert!((60.0..90.0).contains(&found.phase_margin_deg.unwrap()), "{found:?}");
        // Far fewer flows: the gain grows with 1/N^2.
        let (spec, few) = example(&["flows.ftp.count=4"], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        assert!(!of(&spec, &few).unwrap().stable);
        let edge = critical(&spec, &setting, Scaled::Flows).unwrap();
        assert!(edge < 1.0 && edge > 4.0 / 60.0, "{edge}");
    }

    #[test]
    fn what_has_no_model_or_no_rest_says_so() {
        let (spec, setting) = example(&[], "codel");
        assert_eq!(of(&spec, &setting), Err(NoAnswer::NoModel));
        // Marks alone cannot hold so many back; drops can, for what is dropped does not enter.
        let (spec, crowd) = example(&["flows.ftp.count=5000"], "pi q_ref=200");
        assert_eq!(of(&spec, &crowd), Err(NoAnswer::NoRest));
        let (spec, crowd) = example(&["flows.ftp.count=5000"], "pi preset=ns2 q_ref=200");
        assert!(of(&spec, &crowd).unwrap().p_rest > 0.5);
    }
}
