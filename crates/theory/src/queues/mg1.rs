//! M/G/1: Poisson arrivals, any service times, unlimited room.

/// Mean number of waiting packets: rho^2 (1 + c^2) / (2 (1 - rho)), Pollaczek and Khinchine (Kleinrock eq. 5.63
/// without the packet in service, Gross and Harris section 5.1).
///
/// `scv`: squared coefficient of variation of the service times, 0 if constant, 1 if exponential. 0 < `rho` < 1. At
/// or above 1 there is no steady state, and the result is infinite or negative.
pub fn mean_waiting(rho: f64, scv: f64) -> f64 {
    rho * rho * (1.0 + scv) / (2.0 * (1.0 - rho))
}

/// Mean waiting time in service times, by Little's law.
pub fn mean_wait(rho: f64, scv: f64) -> f64 {
    mean_waiting(rho, scv) / rho
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::mm1;

    #[test]
    fn mean_queue_matches_mm1_and_md1() {
        for rho in [0.1, 0.5, 0.99] {
            let system = mean_waiting(rho, 1.0) + rho;
            assert!((system / mm1::mean_system(rho) - 1.0).abs() < 1e-12);
            assert_eq!(mean_waiting(rho, 0.0), mean_waiting(rho, 1.0) / 2.0);
        }
        // rho = 0.8, services of 1 or 3 with equal probability: mean 2, variance 1, c^2 = 1/4.
        assert!((mean_waiting(0.8, 0.25) - 2.0).abs() < 1e-12);
        assert!((mean_wait(0.8, 0.25) - 2.5).abs() < 1e-12);
    }
}
