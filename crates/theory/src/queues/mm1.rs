//! M/M/1: Poisson arrivals, exponential service times.

use super::Steady;

/// M/M/1/K (Kleinrock section 3.6, Gross and Harris section 2.4): probabilities proportional to rho^n.
///
/// `rho` > 0, `room` = K >= 1. The closed form has the quotient (1 - rho)/(1 - rho^(K+1)), which is 0/0 at `rho` = 1.
/// Powers of `rho` divided by their sum are accurate everywhere. For `rho` > 1 powers of 1/`rho` are used, from the
/// full system down, so that none overflows.
pub fn finite(rho: f64, room: usize) -> Steady {
    let ratio = rho.min(1.0 / rho);
    let mut weights: Vec<f64> = std::iter::successors(Some(1.0), |w| Some(w * ratio)).take(room + 1).collect();
    if rho > 1.0 {
        weights.reverse();
    }
    Steady::from_weights(rho, weights)
}

/// Mean number of packets in an M/M/1 with unlimited room (Kleinrock section 3.2), 0 < `rho` < 1.
pub fn mean_system(rho: f64) -> f64 {
    rho / (1.0 - rho)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12 * want.abs().max(1.0), "{got} against {want}");
    }

    #[test]
    fn mm1k_matches_values_by_hand() {
        // rho = 1/2, K = 3: weights 8 4 2 1 of 15.
        let half = finite(0.5, 3);
        [8.0, 4.0, 2.0, 1.0].iter().zip(&half.shares).for_each(|(w, s)| close(*s, w / 15.0));
        close(half.mean_system(), 11.0 / 15.0);
        close(half.mean_waiting(), 4.0 / 15.0);
        // Mean wait: 4/15 over the accepted 1/2 x 14/15.
        close(half.mean_wait(), 4.0 / 7.0);
        // rho = 2, K = 2: weights 1 2 4 of 7.
        let two = finite(2.0, 2);
        close(two.loss(), 4.0 / 7.0);
        close(two.mean_system(), 10.0 / 7.0);
    }

    #[test]
    fn distribution_is_uniform_and_continuous_at_load_one() {
        let one = finite(1.0, 9);
        one.shares.iter().for_each(|s| close(*s, 0.1));
        close(one.mean_system(), 4.5);
        // d(mean)/d(rho) at 1 is the variance of the uniform distribution on 0..=9, 99/12.
        for step in [1e-6, -1e-6, 1e-12] {
            let slope = (finite(1.0 + step, 9).mean_system() - 4.5) / step;
            assert!((slope - 8.25).abs() < 0.01, "{step}: {slope}");
        }
    }

    #[test]
    fn mm1k_with_large_k_is_mm1() {
        close(finite(0.8, 400).mean_system(), mean_system(0.8));
        close(finite(0.8, 400).mean_sojourn(), 5.0);
        assert!(finite(0.8, 400).loss() < 1e-38);
        // Overload: the server is always busy, the loss is 1 - 1/rho.
        close(finite(1.25, 400).loss(), 0.2);
        close(finite(30.0, 4000).busy(), 1.0);
    }
}
