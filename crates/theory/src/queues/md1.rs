//! M/D/1: Poisson arrivals, constant service times.
//!
//! The embedded chain (Kleinrock sections 5.3 to 5.6, Gross and Harris section 5.1) samples the system at the end of
//! each service. Let `a_k` be the probability of k arrivals in a service. If a service leaves i > 0 packets, the next
//! one leaves i - 1 + k; if it leaves none, the next one leaves k. Solving the equations of this chain one after the
//! other subtracts nearly equal numbers, and so do the closed forms with alternating signs. Instead this module equates
//! the flows in both directions between the states {0..j} and {j+1..}, which needs no subtraction:
//!
//! ```text
//! pi_{j+1} a_0 = pi_0 P(A > j) + sum_{i=1..j} pi_i P(A > j + 1 - i)
//! ```
//!
//! The distribution that departures leave is the one that arrivals find. With Poisson arrivals it is the time average.

use super::{Steady, mg1};

/// If an unnormalised probability exceeds this, all are scaled down, long before one overflows.
const MAX_WEIGHT: f64 = 1e200;
/// Poisson terms are computed up to the mean plus `SPREAD` standard deviations plus `EXTRA`. The rest is negligible.
const SPREAD: f64 = 12.0;
const EXTRA: f64 = 40.0;

/// P(A > k) for k = 0, 1, ... and P(A = 0); A, the arrivals in one service, is Poisson with mean `rho`.
struct Arrivals {
    none: f64,
    beyond: Vec<f64>,
}

impl Arrivals {
    fn new(rho: f64) -> Self {
        let last = (rho + SPREAD * libm::sqrt(rho) + EXTRA) as usize;
        let none = libm::exp(-rho);
        let terms: Vec<f64> = (1..=last)
            .scan(none, |term, k| {
                *term *= rho / k as f64;
                Some(*term)
            })
            .collect();
        Self { none, beyond: tails(&terms) }
    }

    /// P(A > k).
    fn beyond(&self, k: usize) -> f64 {
        self.beyond.get(k).copied().unwrap_or(0.0)
    }
}

/// The sum from each term to the end, smallest terms first.
fn tails(terms: &[f64]) -> Vec<f64> {
    let mut sums = terms.to_vec();
    (0..sums.len().saturating_sub(1)).rev().for_each(|k| sums[k] += sums[k + 1]);
    sums
}

/// Unnormalised probabilities that a departure leaves 0 to `count` - 1 packets. They hold for any room of at least
/// `count` packets, because a limit on the room does not change the proportions of the states below it.
fn left_behind(arrivals: &Arrivals, count: usize) -> Vec<f64> {
    let mut pi = vec![1.0];
    while pi.len() < count {
        let j = pi.len() - 1;
        let idle = pi[0] * arrivals.beyond(j);
        // No flow crosses the cut from states further back than the arrivals of one service reach.
        let from = (j + 2).saturating_sub(arrivals.beyond.len()).max(1);
        let crossing: f64 = (from..=j).map(|i| pi[i] * arrivals.beyond(j + 1 - i)).sum();
        let next = (idle + crossing) / arrivals.none;
        pi.push(next);
        if next > MAX_WEIGHT {
            pi.iter_mut().for_each(|p| *p /= MAX_WEIGHT);
        }
    }
    pi
}

/// M/D/1/K by the embedded chain, 0 < `rho` <= 100, `room` = K >= 1.
///
/// The states below K have the proportions that departures leave. The usual formula for the full state,
/// 1 - 1/(pi_0 + rho), subtracts nearly equal numbers if losses are rare. Instead its weight is the mean time per
/// service in which the system is full. For a service that starts with i packets this time is
/// sum_{m >= K-i} P(A > m) / `rho` service times.
pub fn finite(rho: f64, room: usize) -> Steady {
    let arrivals = Arrivals::new(rho);
    let pi = left_behind(&arrivals, room);
    let full = tails(&arrivals.beyond);
    let full_from = |i: usize| full.get(room - i).copied().unwrap_or(0.0);
    let at_start = |i: usize| if i == 1 { pi[0] + pi.get(1).unwrap_or(&0.0) } else { pi[i] };
    let most = room.saturating_sub(1).max(1);
    let last = (1..=most).map(|i| at_start(i) * full_from(i)).sum();
    let mut weights = pi.clone();
    weights.push(last);
    Steady::from_weights(rho, weights)
}

/// Fraction of the time with n packets in an M/D/1 with unlimited room, n from 0 to `count` - 1; 0 < `rho` < 1.
pub fn unlimited(rho: f64, count: usize) -> Vec<f64> {
    let pi = left_behind(&Arrivals::new(rho), count);
    // P(empty) is 1 - rho. Weights are not scaled for `rho` < 1.
    pi.iter().map(|p| p * (1.0 - rho)).collect()
}

/// Mean number of waiting packets in an M/D/1 with unlimited room, by Pollaczek and Khinchine; 0 < `rho` < 1.
pub fn mean_waiting(rho: f64) -> f64 {
    mg1::mean_waiting(rho, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-11 * want.abs().max(1e-3), "{got} against {want}");
    }

    #[test]
    fn probabilities_of_first_states_match_values_by_hand() {
        // The first coefficients of Pollaczek and Khinchine's transform:
        // p0 = 1 - r, p1 = (1 - r)(e^r - 1), p2 = (1 - r)(e^2r - e^r (1 + r)).
        for rho in [0.1, 0.5, 0.95] {
            let (got, e) = (unlimited(rho, 3), libm::exp(rho));
            close(got[0], 1.0 - rho);
            close(got[1], (1.0 - rho) * (e - 1.0));
            close(got[2], (1.0 - rho) * (e * e - e * (1.0 + rho)));
        }
    }

    #[test]
    fn room_for_two_packets_matches_values_by_hand() {
        // pi_0 = e^-r, pi_1 = 1 - e^-r: the fractions are these over e^-r + r, and the remainder.
        let one = finite(1.0, 2);
        let sum = libm::exp(-1.0) + 1.0;
        close(one.shares[0], libm::exp(-1.0) / sum);
        close(one.shares[1], (1.0 - libm::exp(-1.0)) / sum);
        close(one.loss(), 1.0 - 1.0 / sum);
    }

    /// Compares with the usual formula, at points where it does not subtract nearly equal numbers.
    #[test]
    fn md1k_loss_matches_the_usual_formula() {
        for (rho, room) in [(0.8, 5), (1.0, 20), (1.2, 20), (5.0, 3), (0.5, 4)] {
            let steady = finite(rho, room);
            // P_0 = pi_0 / (pi_0 + rho) and P_K = 1 - 1 / (pi_0 + rho).
            let pi_0 = steady.shares[0] / (1.0 - steady.loss());
            close(steady.loss(), 1.0 - 1.0 / (pi_0 + rho));
        }
    }

    /// Keilson's relation to the unlimited system, which is accurate for rare losses: with t = P(N >= K),
    /// loss = (1 - rho) t / (1 - rho t).
    #[test]
    fn rare_losses_match_keilsons_relation() {
        for (rho, room) in [(0.5, 20), (0.8, 40), (0.95, 30)] {
            let tail: f64 = unlimited(rho, room + 2000)[room..].iter().rev().sum();
            let want = (1.0 - rho) * tail / (1.0 - rho * tail);
            let got = finite(rho, room).loss();
            assert!((got / want - 1.0).abs() < 1e-9, "rho {rho}: {got:e} against {want:e}");
        }
    }

    #[test]
    fn unlimited_room_has_pollaczek_khinchine_mean() {
        for rho in [0.2, 0.8, 0.95, 0.99] {
            let shares = unlimited(rho, 3000);
            close(shares.iter().sum(), 1.0);
            let waiting: f64 = shares.iter().enumerate().skip(2).map(|(n, s)| (n - 1) as f64 * s).sum();
            close(waiting, mean_waiting(rho));
            let much = finite(rho, 3000);
            close(much.mean_waiting(), mean_waiting(rho));
        }
        close(mean_waiting(0.8), 1.6);
    }

    /// At load 1 and for large K the number of packets in M/D/1/K is nearly uniform, with mean K/2. The loss is 1/(2K),
    /// as for a reflected random walk with variance 1 per service.
    #[test]
    fn load_one_matches_a_reflected_random_walk() {
        let one = finite(1.0, 2000);
        assert!((one.mean_system() / 1000.0 - 1.0).abs() < 1e-3, "{}", one.mean_system());
        assert!((one.loss() * 4000.0 - 1.0).abs() < 1e-3, "{}", one.loss());
        for step in [1e-9, -1e-9] {
            assert!((finite(1.0 + step, 2000).loss() / one.loss() - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn large_load_and_room_cause_no_numeric_overflow() {
        let steady = finite(2.0, 2000);
        close(steady.loss(), 0.5);
        assert!(steady.shares.iter().all(|s| s.is_finite()));
        assert!((finite(100.0, 5).loss() - 0.99).abs() < 1e-12);
    }
}
