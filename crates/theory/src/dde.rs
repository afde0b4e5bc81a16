//! Delay differential equations, y'(t) = f(y(t), y(t - d)), by fixed steps of the fourth-order Runge-Kutta method.
//!
//! Delayed states between two steps are interpolated by the cubic through both end points and their slopes.

/// `slope(now, then, out)` writes y' to `out`. `now` is the current state, `then` the state one delay ago.
pub type Slope<'a> = dyn Fn(&[f64], &[f64], &mut [f64]) + 'a;

/// One past step: both end points and the slopes there.
#[derive(Clone)]
struct Piece {
    from: Vec<f64>,
    from_slope: Vec<f64>,
    to: Vec<f64>,
    to_slope: Vec<f64>,
}

/// The state of a system and its history over one delay.
pub struct Past {
    step: f64,
    now: Vec<f64>,
    /// Ring buffer of the steps of the last delay; `oldest` is the index of the first of them.
    pieces: Vec<Piece>,
    oldest: usize,
}

impl Past {
    /// A system that was constant at `state` until now. The delay is `lag` steps, at least 1.
    pub fn resting(state: &[f64], delay: f64, lag: usize) -> Self {
        let (lag, state, flat) = (lag.max(1), state.to_vec(), vec![0.0; state.len()]);
        let rest = Piece { from: state.clone(), from_slope: flat.clone(), to: state.clone(), to_slope: flat };
        Self { step: delay / lag as f64, now: state, pieces: vec![rest; lag], oldest: 0 }
    }

    /// The state now.
    pub fn now(&self) -> &[f64] {
        &self.now
    }

    /// Changes the current state without changing the history.
    pub fn kick(&mut self, state: &[f64]) {
        self.now.copy_from_slice(state);
    }

    /// Length of a step, in the unit of the delay.
    pub const fn step_length(&self) -> f64 {
        self.step
    }

    /// Advances by one step.
    pub fn step(&mut self, slope: &Slope<'_>) {
        let h = self.step;
        let past = &self.pieces[self.oldest];
        let middle: Vec<f64> = (0..self.now.len())
            .map(|i| 0.5 * (past.from[i] + past.to[i]) + h / 8.0 * (past.from_slope[i] - past.to_slope[i]))
            .collect();
        let at = |state: &[f64], then: &[f64]| {
            let mut out = vec![0.0; state.len()];
            slope(state, then, &mut out);
            out
        };
        let moved = |by: f64, k: &[f64]| -> Vec<f64> { self.now.iter().zip(k).map(|(y, k)| y + by * k).collect() };
        let k1 = at(&self.now, &past.from);
        let k2 = at(&moved(0.5 * h, &k1), &middle);
        let k3 = at(&moved(0.5 * h, &k2), &middle);
        let k4 = at(&moved(h, &k3), &past.to);
        let to: Vec<f64> =
            (0..k1.len()).map(|i| self.now[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])).collect();
        let to_slope = at(&to, &past.to);
        let from = std::mem::replace(&mut self.now, to.clone());
        self.pieces[self.oldest] = Piece { from, from_slope: k1, to, to_slope };
        self.oldest = (self.oldest + 1) % self.pieces.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomial_solutions_are_exact() {
        // y' = -y(t - 1) from y = 1: 1 - t, then + (t - 1)^2/2, then - (t - 2)^3/6.
        let mut past = Past::resting(&[1.0], 1.0, 10);
        let mut ends = Vec::new();
        for _ in 0..3 {
            (0..10).for_each(|_| past.step(&|_, then, out| out[0] = -then[0]));
            ends.push(past.now()[0]);
        }
        for (end, want) in ends.iter().zip([0.0, -0.5, -1.0 / 6.0]) {
            assert!((end - want).abs() < 1e-12, "{ends:?}");
        }
    }

    #[test]
    fn gain_times_delay_below_half_pi_is_stable() {
        let grows = |gain: f64| {
            let mut past = Past::resting(&[0.0], 1.0, 50);
            past.kick(&[1.0]);
            let mut last = 0.0_f64;
            for n in 0..10_000 {
                past.step(&|_, then, out| out[0] = -gain * then[0]);
                if n > 9000 {
                    last = last.max(past.now()[0].abs());
                }
            }
            last > 1.0
        };
        assert!(!grows(1.55) && grows(1.59), "pi/2 = 1.5708");
    }

    #[test]
    fn undelayed_oscillator_matches_sine_and_cosine() {
        let mut past = Past::resting(&[1.0, 0.0], 0.1, 10);
        (0..100).for_each(|_| past.step(&|now, _, out| (out[0], out[1]) = (-now[1], now[0])));
        let [cos, sin] = [past.now()[0], past.now()[1]];
        assert!((cos - libm::cos(1.0)).abs() < 1e-9 && (sin - libm::sin(1.0)).abs() < 1e-9);
    }
}
