//! D/D/1 and D/D/1/K: one packet every 1/rho service times, constant service times, an empty system at the start.
//!
//! The only random quantity is the phase between arrivals and services. The formulas are derived from the definition
//! (Kleinrock, *Queueing Systems* II, section 2.7, has the fluid approximation).

/// Long-run mean number of waiting packets, with `room` = K >= 1 in the system.
///
/// Up to `rho` = 1 no packet waits, because each finds the server idle. If `rho` is above 1, the system fills up. Then
/// each end of service frees one of the K - 1 waiting places, and the next arrival takes it. If the ratio of the
/// periods is irrational, the time until that arrival is uniform within one interval between arrivals. Therefore one
/// place is empty for half an interval per service on average.
pub fn mean_waiting(rho: f64, room: usize) -> f64 {
    if rho <= 1.0 || room == 1 { 0.0 } else { (room - 1) as f64 - 0.5 / rho }
}

/// Long-run fraction of the arrivals lost; 0 up to `rho` = 1. With `room` above 1 all arrivals in excess of the
/// server's rate are lost. With `room` = 1 an arrival is served only if the server is idle: one of every ceil(`rho`).
pub fn loss(rho: f64, room: usize) -> f64 {
    match room {
        _ if rho <= 1.0 => 0.0,
        1 => 1.0 - 1.0 / libm::ceil(rho),
        _ => 1.0 - 1.0 / rho,
    }
}

/// Mean number of waiting packets during the first `time` service times of a system with unlimited room that starts
/// empty. Fluid approximation: the queue grows by `rho` - 1 packets per service time. The error is below one packet.
pub fn mean_growth(rho: f64, time: f64) -> f64 {
    (rho - 1.0).max(0.0) * time / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean number of waiting packets and loss for an integer interval and service time. Simulates each packet until
    /// the pattern repeats.
    fn by_hand(interval: u64, service: u64, room: usize) -> (f64, f64) {
        let (mut departures, mut lost, mut area, mut last): (Vec<u64>, u64, u64, u64) = (Vec::new(), 0, 0, 0);
        let (fill, end) = (interval * service, 2 * interval * service);
        for at in (0..=end).step_by(interval as usize) {
            // Departures up to `at`, each after a period of constant queue.
            while departures.first().is_some_and(|d| *d <= at) {
                let next = departures.remove(0);
                area += (departures.len() as u64) * (next.max(fill) - last.max(fill));
                last = next;
            }
            area += (departures.len() as u64).saturating_sub(1) * (at.max(fill) - last.max(fill));
            last = at;
            if departures.len() < room {
                departures.push(departures.last().unwrap_or(&at) + service);
            } else {
                lost += u64::from((fill..end).contains(&at));
            }
        }
        (area as f64 / (interval * service) as f64, lost as f64 / service as f64)
    }

    #[test]
    fn formulas_match_packet_by_packet_simulation() {
        // Coprime periods repeat after interval x service. The phases are then 0, 1, .. interval - 1, with a mean
        // half a unit below that of the uniform distribution.
        for (interval, service, room) in [(997, 1200, 5), (701, 1000, 2), (1000, 999, 4), (1000, 601, 3)] {
            let rho = service as f64 / interval as f64;
            let (waiting, lost) = by_hand(interval, service, room);
            assert!((waiting - mean_waiting(rho, room)).abs() < 1e-3, "{interval}/{service}: {waiting}");
            assert!((lost - loss(rho, room)).abs() < 1e-3, "{interval}/{service}: {lost}");
        }
        let (waiting, lost) = by_hand(400, 1001, 1);
        assert!(waiting == 0.0 && (lost - loss(2.5025, 1)).abs() < 2e-3, "{lost}");
    }

    #[test]
    fn overloaded_unlimited_queue_grows_like_a_fluid() {
        // rho = 2: arrivals at 0, 1/2, 1, ..; after n services 2n + 1 packets have arrived, n have left, n wait. The
        // queue just before the end of service n is n, its mean over the first 10 services about 5.
        assert_eq!(mean_growth(2.0, 10.0), 5.0);
        assert_eq!(mean_growth(0.9, 10.0), 0.0);
    }
}
