//! Stability of TCP with SVB and MSVB: Lemma 3.1 of the MSVB paper, and the fluid model behind it.
//!
//! TCP by Kunniyur and Srikant: x' = 1/d^2 - beta x(t) x(t-d) p(t-d). MSVB: Q' = lambda - C, B_i' = alpha (phi_i C -
//! lambda_i), p_i = max(0, (Q - B_i)/Q). Packets and seconds.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::dde::Past;

/// TCP's decrease in the model.
pub const BETA: f64 = 2.0 / 3.0;

/// One class of equal flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// C: the link, packets per second.
    pub capacity: f64,
    /// d: round trip in seconds.
    pub delay_s: f64,
    /// N: flows.
    pub flows: f64,
    /// phi: its share of the link.
    pub phi: f64,
    /// alpha: how fast the threshold follows.
    pub alpha: f64,
}

impl Class {
    /// Signal probability at rest; above 1 there is no rest.
    pub fn p(&self) -> f64 {
        let share = self.delay_s * self.phi * self.capacity;
        self.flows * self.flows / (BETA * share * share)
    }

    /// z = beta x p: how fast a rate forgets.
    fn z(&self) -> f64 {
        self.flows / (self.delay_s * self.delay_s * self.phi * self.capacity)
    }

    /// Crossover in radians a second with the threshold at rest `b`, `own` being what the class's own traffic moves of
    /// the queue: (1 - p) alone, or (1 - p)/phi with equal classes beside it that do the same.
    fn omega(&self, b: f64, own: f64) -> f64 {
        let share = self.phi * self.capacity;
        libm::sqrt(BETA * share * share / self.flows * (1.0 - self.p()) * (own + self.alpha) / b)
    }

    /// The smallest stable threshold: where omega d + 2 arctan(omega/z) is pi.
    fn smallest(&self, own: f64) -> Option<f64> {
        // Also what is no number has no rest.
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

    /// Lemma 3.1: the threshold above which the class is stable if its own traffic alone moved the queue. `None`: so
    /// many flows have no rest.
    pub fn lemma(&self) -> Option<f64> {
        self.smallest(1.0 - self.p())
    }

    /// The same where 1/phi equal classes share the queue and swing together.
    pub fn common(&self) -> Option<f64> {
        self.smallest((1.0 - self.p()) / self.phi)
    }

    /// How the class's load answers its signals at `w` radians a second: packets per second by which it falls for each
    /// unit of probability.
    pub fn answer(&self, w: f64) -> Complex64 {
        let Self { capacity, delay_s, flows, phi, .. } = *self;
        let (x, z) = (phi * capacity / flows, self.z());
        let late = Complex64::from_polar(1.0, -w * delay_s);
        flows * BETA * x * x * late / (Complex64::new(0.0, w) + z * (1.0 + late))
    }

    /// As [`deviation`], of `classes` such classes whose thresholds rest at `b`.
    pub fn deviation(&self, classes: usize, b: f64, seconds: f64) -> f64 {
        deviation(&vec![*self; classes], b / (1.0 - self.p()), seconds)
    }
}

/// How far the queue strays from its rest `q`, as a part of it, in the last tenth of `seconds` after all rates of
/// `classes`, of one link and round trip, were 1 % too high; thresholds rest at (1 - p) q. The nonlinear model, not its line.
pub fn deviation(classes: &[Class], q: f64, seconds: f64) -> f64 {
    let n = classes.len();
    let Some(Class { capacity, delay_s, .. }) = classes.first().copied() else { return 0.0 };
    // Rates, thresholds, the queue.
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

    #[test]
    fn the_lemma_by_the_worked_table() {
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
    fn equal_classes_swing_together() {
        for (flows, alone, common) in [(5.0, 52.8, 349.8), (8.0, 11.8, 68.5)] {
            let one = class(flows, 0.1, 0.5);
            let [a, b] = [one.lemma(), one.common()].map(Option::unwrap);
            assert!((a - alone).abs() < 0.06 && (b - common).abs() < 0.06, "{a} {b}");
        }
    }

    #[test]
    fn the_nonlinear_model_agrees() {
        let one = class(50.0, 1.0, 0.5);
        let b = one.lemma().unwrap();
        let [below, above] = [0.9, 1.1].map(|times| one.deviation(1, times * b, 100.0));
        assert!(below > 0.1 && above < 1e-4, "{below} {above}");
    }
}
