//! One-dimensional maps x' = f(x): orbits, speed of convergence, multipliers, Lyapunov functions.

/// The first `steps` iterates of `start`, without `start` itself.
pub fn orbit(f: &dyn Fn(f64) -> f64, start: f64, steps: usize) -> Vec<f64> {
    std::iter::successors(Some(f(start)), |x| Some(f(*x))).take(steps).collect()
}

/// Number of steps after which an orbit stays within `tolerance` of `fixed` until step `steps`; `None` if it does not.
pub fn steps_to_settle(f: &dyn Fn(f64) -> f64, start: f64, fixed: f64, tolerance: f64, steps: usize) -> Option<usize> {
    let orbit = orbit(f, start, steps);
    match orbit.iter().rposition(|x| (x - fixed).abs() > tolerance) {
        None => Some(1),
        Some(last) if last + 1 == orbit.len() => None,
        Some(last) => Some(last + 2),
    }
}

/// Does V(x) = (x - fixed)^2 decrease in the step from `x`?
pub fn lyapunov_decreases(f: &dyn Fn(f64) -> f64, x: f64, fixed: f64) -> bool {
    (f(x) - fixed).abs() < (x - fixed).abs()
}

/// The multiplier f'(fixed), by central difference. The fixed point is stable if the multiplier's absolute value is
/// below 1. Convergence is fastest if it is 0.
pub fn multiplier(f: &dyn Fn(f64) -> f64, fixed: f64) -> f64 {
    let h = 1e-6 * fixed.abs().max(1e-3);
    (f(fixed + h) - f(fixed - h)) / (2.0 * h)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RAQM's map with static gain m: x exp(-m (x - 1)/2).
    fn ricker(m: f64) -> impl Fn(f64) -> f64 {
        move |x| x * libm::exp(-m * (x - 1.0) / 2.0)
    }

    fn close(got: &[f64], want: &[f64]) {
        got.iter().zip(want).for_each(|(g, w)| assert!((g - w).abs() < 1e-3, "{got:?} against {want:?}"));
    }

    #[test]
    fn orbits_match_values_by_hand() {
        close(&orbit(&ricker(2.0), 1.5, 3), &[0.9098, 0.99568, 0.99999]);
        close(&orbit(&ricker(1.0), 1.5, 4), &[1.168, 1.074, 1.035, 1.017]);
        close(&orbit(&ricker(3.0), 1.5, 3), &[0.709, 1.097, 0.948]);
        close(&orbit(&ricker(3.9), 1.5, 4), &[0.566, 1.319, 0.708, 1.251]);
        close(&orbit(&ricker(3.9), 1.5, 20)[19..], &[1.083]);
        close(&orbit(&ricker(4.2), 1.5, 2001)[1999..], &[1.371, 0.629]);
    }

    #[test]
    fn multiplier_of_ricker_map_is_linear_in_gain() {
        for m in [0.5, 2.0, 3.9] {
            assert!((multiplier(&ricker(m), 1.0) - (1.0 - m / 2.0)).abs() < 1e-6);
        }
    }

    #[test]
    fn settling_time_counts_the_last_excursion() {
        assert_eq!(steps_to_settle(&ricker(2.0), 1.5, 1.0, 0.01, 50), Some(2));
        assert_eq!(steps_to_settle(&ricker(4.2), 1.5, 1.0, 0.01, 50), None);
    }
}
