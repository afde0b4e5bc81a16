//! Single-server queues in the steady state: exact results that a simulator of one link must reproduce.
//!
//! Times are in units of the mean service time. `rho` is the offered load: the mean number of arrivals per service
//! time, above 0, and above 1 only with finite room. `room` is the K of Kendall's notation: the maximum number of
//! packets in the system, including the one in service; a link with a buffer of L packets has K = L + 1. Sources:
//! Kleinrock, *Queueing Systems* I (1975); Gross and Harris, *Fundamentals of Queueing Theory* (3rd ed. 1998).
//!
//! All sums have positive terms only, so that there is no cancellation, near `rho` = 1 or elsewhere.

pub mod dd1;
pub mod md1;
pub mod mg1;
pub mod mm1;

/// The steady state of a system with finite room and Poisson arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Offered load: arrivals per service time, lost ones included.
    pub rho: f64,
    /// Fraction of the time with n packets in the system, n from 0 to its room; the sum is 1.
    pub shares: Vec<f64>,
}

impl Steady {
    /// Normalises `weights` to a sum of 1.
    fn from_weights(rho: f64, mut weights: Vec<f64>) -> Self {
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        Self { rho, shares: weights }
    }

    /// Fraction of the arrivals that are lost: the fraction of time in which the system is full, because Poisson
    /// arrivals see time averages (Wolff 1982).
    pub fn loss(&self) -> f64 {
        self.shares[self.shares.len() - 1]
    }

    /// Fraction of the time in which the server is busy.
    pub fn busy(&self) -> f64 {
        self.shares[1..].iter().sum()
    }

    /// Mean number of packets in the system.
    pub fn mean_system(&self) -> f64 {
        self.shares.iter().enumerate().map(|(n, share)| n as f64 * share).sum()
    }

    /// Mean number of waiting packets, without the one in service.
    pub fn mean_waiting(&self) -> f64 {
        self.shares.iter().enumerate().skip(2).map(|(n, share)| (n - 1) as f64 * share).sum()
    }

    /// Fraction of the time with n waiting packets, from n = 0, without the one in service.
    pub fn waiting_shares(&self) -> Vec<f64> {
        let none: f64 = self.shares[..2.min(self.shares.len())].iter().sum();
        std::iter::once(none).chain(self.shares.iter().skip(2).copied()).collect()
    }

    /// Mean waiting time of the packets not lost, in service times, by Little's law.
    pub fn mean_wait(&self) -> f64 {
        self.mean_waiting() / (self.rho * (1.0 - self.loss()))
    }

    /// Mean time in the system of the packets not lost, in service times.
    pub fn mean_sojourn(&self) -> f64 {
        self.mean_wait() + 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1/K and M/D/1/K, for several loads and capacities K: the fractions of the time sum to 1, the fraction in
    /// which the server is busy equals the admitted load, and Little's law holds.
    #[test]
    fn finite_queues_obey_flow_balance_and_littles_law() {
        for rho in [0.01, 0.5, 0.95, 1.0 - 1e-12, 1.0, 1.0 + 1e-9, 1.2, 3.0, 20.0] {
            for room in [1, 2, 3, 20, 400] {
                for steady in [mm1::finite(rho, room), md1::finite(rho, room)] {
                    let at = format!("rho {rho}, room {room}");
                    assert_eq!(steady.shares.len(), room + 1, "{at}");
                    assert!(steady.shares.iter().all(|s| (0.0..=1.0).contains(s)), "{at}");
                    assert!((steady.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{at}");
                    let carried = rho * (1.0 - steady.loss());
                    assert!((carried / steady.busy() - 1.0).abs() < 1e-9, "{at}: {carried} and {}", steady.busy());
                    let little = steady.mean_sojourn() * carried;
                    assert!((little / steady.mean_system() - 1.0).abs() < 1e-9, "{at}");
                    let waiting: f64 = steady.waiting_shares().iter().enumerate().map(|(n, s)| n as f64 * s).sum();
                    assert!((waiting - steady.mean_waiting()).abs() < 1e-12 * room as f64, "{at}");
                }
            }
        }
    }

    /// With room for one packet none waits, and the loss is Erlang's for any service times: rho / (1 + rho).
    #[test]
    fn room_for_one_gives_erlang_loss() {
        for rho in [0.5, 1.0, 2.0] {
            for steady in [mm1::finite(rho, 1), md1::finite(rho, 1)] {
                assert!((steady.loss() - rho / (1.0 + rho)).abs() < 1e-15);
                assert_eq!((steady.mean_waiting(), steady.waiting_shares()), (0.0, vec![1.0]));
            }
        }
    }
}
