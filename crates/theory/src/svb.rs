//! Stability of TCP with SVB and MSVB: Lemma 3.1 of the MSVB paper, and its fluid model.
//!
//! TCP after Kunniyur and Srikant: x' = 1/d^2 - beta x(t) x(t-d) p(t-d). MSVB: Q' = lambda - C,
//! B_i' = alpha (phi_i C - lambda_i), p_i = max(0, (Q - B_i)/Q). x: rate of a flow; d: round-trip time; Q: queue;
//! C: link rate; class i has signal probability p_i, threshold B_i, share phi_i and load lambda_i, and lambda is the
//! sum of the loads. Units: packets and seconds.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::dde::Past;

/// beta: TCP's decrease in the model.
pub const BETA: f64 = 2.0 / 3.0;

/// One class of identical flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// C: link rate in packets per second.
    pub capacity: f64,
    /// d: round-trip time in seconds.
    pub delay_s: f64,
    /// N: number of flows.
    pub flows: f64,
    /// phi: the class's share of the link, 0 to 1.
    pub phi: f64,
    /// alpha: adaptation gain of the threshold, in packets of threshold per packet of traffic.
    pub alpha: f64,
}

impl Class {
    /// Signal probability at equilibrium; above 1 there is no equilibrium.
    pub fn p(&self) -> f64 {
        let share = self.delay_s * self.phi * self.capacity;
        self.flows * self.flows / (BETA * share * share)
    }

    /// z = beta x p: decay rate of a flow's rate, per second.
    fn z(&self) -> f64 {
        self.flows / (self.delay_s * self.delay_s * self.phi * self.capacity)
    }

    /// Crossover frequency in rad/s for an equilibrium threshold of `b` packets. `own`: weight of the class's effect on
    /// the queue. It is 1 - p for one class, and (1 - p)/phi if 1/phi identical classes oscillate in phase.
    fn omega(&self, b: f64, own: f64) -> f64 {
        let share = self.phi * self.capacity;
        libm::sqrt(BETA * share * share / self.flows * (1.0 - self.p()) * (own + self.alpha) / b)
    }

    /// The smallest threshold in packets for which the class is stable. There omega d + 2 arctan(omega/z) = pi.
    fn smallest(&self, own: f64) -> Option<f64> {
        // This also excludes NaN.
        if !(0.0..1.0).contains(&self.p()) || !own.is_finite() || self.flows <= 0.0 {
            return None;
        }
        let stable = |b: f64| {
            let omega = self.omega(b, own);
            omega * self.delay_s + 2.0 * libm::atan(omega / self.z()) < PI
        };
        let (mut low, mut high) = (0.0, 1.0);
        while !stable(high) {
            if !high.is_finite() {
                return None;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if stable(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// Lemma 3.1: the threshold in packets above which the class is stable, if no other traffic moves the queue.
    /// `None`: there is no equilibrium with this many flows.
    pub fn lemma(&self) -> Option<f64> {
        self.smallest(1.0 - self.p())
    }

    /// The threshold of Lemma 3.1 for 1/phi identical classes that share the queue and oscillate in phase.
    pub fn common(&self) -> Option<f64> {
        self.smallest((1.0 - self.p()) / self.phi)
    }

    /// Response of the class's load to its signals at `w` rad/s: decrease in packets per second per unit of
    /// probability.
    pub fn answer(&self, w: f64) -> Complex64 {
        let Self { capacity, delay_s, flows, phi, .. } = *self;
        let (x, z) = (phi * capacity / flows, self.z());
        let late = Complex64::from_polar(1.0, -w * delay_s);
        flows * BETA * x * x * late / (Complex64::new(0.0, w) + z * (1.0 + late))
    }

    /// Largest relative deviation of the queue, see [`deviation`], with `classes` classes like this one, whose
    /// thresholds are `b` at equilibrium.
    pub fn deviation(&self, classes: usize, b: f64, seconds: f64) -> f64 {
        deviation(&vec![*self; classes], b / (1.0 - self.p()), seconds)
    }
}

/// Largest relative deviation of the queue from its equilibrium `q` in the last tenth of `seconds`, after a start
/// with all rates 1 % too high. All `classes` share one link and round trip; their thresholds are (1 - p) q at
/// equilibrium. Uses the nonlinear model.
pub fn deviation(classes: &[Class], q: f64, seconds: f64) -> f64 {
    let n = classes.len();
    let Some(Class { capacity, delay_s, .. }) = classes.first().copied() else { return 0.0 };
    // State: rates, thresholds, queue.
    let mut rest: Vec<f64> = classes.iter().map(|class| class.phi * capacity / class.flows).collect();
    rest.extend(classes.iter().map(|class| (1.0 - class.p()) * q));
    rest.push(q);
    let p = move |state: &[f64], i: usize| {
        let q = state[2 * n];
        if q > 0.0 { ((q - state[n + i]) / q).clamp(0.0, 1.0) } else { 0.0 }
    };
    let slope = |now: &[f64], then: &[f64], out: &mut [f64]| {
        let mut load = 0.0;
        for (i, class) in classes.iter().enumerate() {
            let rate = now[i].max(0.0);
            load += class.flows * rate;
            out[i] = 1.0 / (delay_s * delay_s) - BETA * rate * then[i].max(0.0) * p(then, i);
            out[n + i] = class.alpha * (class.phi * capacity - class.flows * rate);
        }
        out[2 * n] = if now[2 * n] > 0.0 { load - capacity } else { (load - capacity).max(0.0) };
    };
    let mut past = Past::resting(&rest, delay_s, 40);
    let mut kicked = rest.clone();
    kicked[..n].iter_mut().for_each(|x| *x *= 1.01);
    past.kick(&kicked);
    let steps = (seconds / past.step_length()) as usize;
    let mut far = 0.0_f64;
    for step in 0..steps {
        past.step(&slope);
        if !past.now()[2 * n].is_finite() {
            return f64::INFINITY;
        }
        if step >= steps - steps / 10 {
            far = far.max((past.now()[2 * n] / q - 1.0).abs());
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(flows: f64, phi: f64, alpha: f64) -> Class {
        Class { capacity: 1250.0, delay_s: 0.12, flows, phi, alpha }
    }

    /// The specification of this project (section D.5; it is not in this repository) has these values, computed before
    /// this code was written.
    #[test]
    fn lemma_3_1_matches_values_of_the_specification() {
        for (flows, p, omega, [low, middle, high]) in [
            (30.0, 0.060, 5.184, [1263.0, 1748.8, 2356.0]),
            (50.0, 0.1667, 6.621, [369.7, 528.1, 726.1]),
            (80.0, 0.4267, 8.242, [74.0, 118.0, 172.9]),
            (100.0, 0.6667, 9.119, [18.1, 34.8, 55.7]),
        ] {
            for (alpha, want) in [(0.1, low), (0.5, middle), (1.0, high)] {
                let one = class(flows, 1.0, alpha);
                let b = one.lemma().unwrap();
                assert!((b - want).abs() < 0.06, "{flows}, {alpha}: {b}");
                assert!((one.p() - p).abs() < 6e-5 && (one.omega(b, 1.0 - one.p()) - omega).abs() < 6e-4);
            }
        }
        assert_eq!([130.0, 0.0, f64::NAN].map(|flows| class(flows, 1.0, 0.5).lemma()), [None; 3]);
        assert_eq!(class(30.0, 1.0, 0.5).deviation(1, f64::NAN, 1.0), f64::INFINITY);
    }

    #[test]
    fn equal_classes_in_phase_need_larger_thresholds() {
        for (flows, alone, common) in [(5.0, 52.8, 349.8), (8.0, 11.8, 68.5)] {
            let one = class(flows, 0.1, 0.5);
            let [a, b] = [one.lemma(), one.common()].map(Option::unwrap);
            assert!((a - alone).abs() < 0.06 && (b - common).abs() < 0.06, "{a} {b}");
        }
    }

    #[test]
    fn nonlinear_model_confirms_the_lemma() {
        let one = class(50.0, 1.0, 0.5);
        let b = one.lemma().unwrap();
        let [below, above] = [0.9, 1.1].map(|times| one.deviation(1, times * b, 100.0));
        assert!(below > 0.1 && above < 1e-4, "{below} {above}");
    }
}
