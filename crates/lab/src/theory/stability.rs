//! Stability and stability margins of the control loop of TCP flows and a discipline at one link, by the Nyquist
//! criterion with exact delays.
//!
//! A control law is linearised by running its own code with an oscillating queue ([`super::controller`]).

use forebay_aqm::Spec;
use forebay_theory::nyquist;

use super::answer::Rest;
pub use super::answer::{NoAnswer, Stability, with_a_model};
use super::classes;
use super::controller::{self, Controller, SLOW};
use super::setting::{Scaled, Setting};

/// Equilibrium and stability of the loop of the discipline `spec` with the link and the flows of `setting`.
pub fn of(spec: &Spec, setting: &Setting) -> Result<Stability, NoAnswer> {
    match classes::of(spec, setting) {
        Some(found) => found,
        None => Ok(closed(&controller::of(spec, setting)?, setting)),
    }
}

/// Stability of the loop of `controller`, a discipline linearised at its equilibrium, with the link and the flows of
/// `setting`.
pub(super) fn closed(controller: &Controller, setting: &Setting) -> Stability {
    let Rest { q, rate, .. } = controller.rest;
    let plant = setting.at_rest(q, rate);
    let (near, rtt_s) = (plant.near(), plant.mean_rtt_s());
    let gain = |w: f64| {
        let answer = near.answer(w);
        controller.at(w) * if q > 0.0 { answer.queue } else { answer.load_alone }
    };
    // The first frequency is so low that only an integrator matters, if there is one: far below that where the gain is
    // 1.
    let mut from = SLOW / rtt_s;
    while controller.integrators > 0 && gain(from).norm() < 100.0 && from > 1e-9 {
        from *= 0.5;
    }
    let margins = nyquist::margins(&gain, controller.integrators, from, controller::FAST / rtt_s);
    Stability::at(controller.rest, setting.capacity, plant.window(), rtt_s, &margins)
}

/// The factor on the quantity `what` of `setting` at which the loop changes from stable to unstable or from unstable to
/// stable. If there is such a factor above 1 and another below 1, the one closer to 1. `None` if none is found from
/// 1/16 to 16.
pub fn critical(spec: &Spec, setting: &Setting, what: Scaled) -> Option<f64> {
    /// Number of bisections that refine the factor after two factors with different stability were found.
    const HALVINGS: u32 = 6;
    let stable = |factor: f64| of(spec, &setting.scaled(what, factor)).ok().map(|s| s.stable);
    let here = stable(1.0)?;
    let edge = |towards: f64| {
        let mut near = 1.0;
        for _ in 0..4 {
            let mut far = near * towards;
            if stable(far)? == here {
                near = far;
                continue;
            }
            for _ in 0..HALVINGS {
                let middle = libm::sqrt(near * far);
                if stable(middle) == Some(here) { near = middle } else { far = middle }
            }
            return Some(libm::sqrt(near * far));
        }
        None
    };
    let far = |factor: &f64| libm::log(*factor).abs();
    [0.5, 2.0].into_iter().filter_map(edge).min_by(|a, b| far(a).total_cmp(&far(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::example;

    #[test]
    fn hollots_pi_loop_with_60_flows_is_stable() {
        let (spec, setting) = example(&[], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        let found = of(&spec, &setting).unwrap();
        assert!(found.stable && (found.rtt_ms - 246.0).abs() < 1.5, "{found:?}");
        assert!(
            (found.p_rest - 0.00846).abs() < 1e-4 && (found.crossover_rad_per_s.unwrap() - 0.5).abs() < 0.1,
            "{found:?}"
        );
        assert!((60.0..90.0).contains(&found.phase_margin_deg.unwrap()), "{found:?}");
        // Far fewer flows: the gain of the loop is proportional to 1/N^2.
        let (spec, few) = example(&["flows.ftp.count=4"], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        assert!(!of(&spec, &few).unwrap().stable);
        let edge = critical(&spec, &setting, Scaled::Flows).unwrap();
        assert!(edge < 1.0 && edge > 4.0 / 60.0, "{edge}");
    }

    #[test]
    fn discipline_without_model_or_equilibrium_has_no_stability() {
        let (spec, setting) = example(&[], "codel");
        assert_eq!(of(&spec, &setting), Err(NoAnswer::NoModel));
        // Marks alone cannot slow down 5000 flows; drops can, because dropped packets do not enter the queue.
        let (spec, crowd) = example(&["flows.ftp.count=5000"], "pi q_ref=200");
        assert_eq!(of(&spec, &crowd), Err(NoAnswer::NoRest));
        let (spec, crowd) = example(&["flows.ftp.count=5000"], "pi preset=ns2 q_ref=200");
        assert!(of(&spec, &crowd).unwrap().p_rest > 0.5);
    }
}
