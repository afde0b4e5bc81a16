//! Settling time, overshoot and oscillation of a queue, relative to a reference in packets. The band is the range
//! around the reference in which the queue counts as settled.
//!
//! All use time-weighted means over one second, so that neither the sampling interval nor the sawtooth of
//! single flows matters.

/// The queue counts as settled within this fraction of the reference, and at least within two packets.
const BAND: f64 = 0.2;
const MIN_BAND_PKTS: f64 = 2.0;
/// Settling uses a moving mean over this many seconds.
const SMOOTHING_S: usize = 5;

/// Mean queue in each second of [from, to).
pub fn seconds(time_s: &[f64], queue_mean_pkts: &[f64], from: f64, to: f64) -> Vec<f64> {
    let count = (to - from).max(0.0).round() as usize;
    let mut sums = vec![(0.0, 0u32); count];
    for (t, q) in time_s.iter().zip(queue_mean_pkts) {
        // A row covers the interval that ends at its time.
        let at = ((t - from - 1e-9).floor()) as i64;
        if let Some(sum) = usize::try_from(at).ok().and_then(|at| sums.get_mut(at)) {
            *sum = (sum.0 + q, sum.1 + 1);
        }
    }
    sums.into_iter().map(|(sum, n)| if n > 0 { sum / f64::from(n) } else { f64::NAN }).collect()
}

fn smoothed(seconds: &[f64]) -> Vec<f64> {
    let half = SMOOTHING_S / 2;
    (0..seconds.len())
        .map(|i| {
            let part = &seconds[i.saturating_sub(half)..(i + half + 1).min(seconds.len())];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect()
}

/// Whether a queue in packets is within the band around `reference`.
fn is_within(reference: f64) -> impl Fn(f64) -> bool {
    let band = (BAND * reference).max(MIN_BAND_PKTS);
    move |q| (q - reference).abs() <= band
}

/// Seconds until the smoothed queue first enters the band around `reference`; `None` if it never does. A second without
/// a value is outside the band.
pub fn entry(seconds: &[f64], reference: f64) -> Option<f64> {
    let within = is_within(reference);
    smoothed(seconds).iter().position(|q| within(*q)).map(|at| at as f64)
}

/// Share of the time in which the smoothed queue is within the band around `reference`; 0 without data.
pub fn in_band(seconds: &[f64], reference: f64) -> f64 {
    let within = is_within(reference);
    let inside = smoothed(seconds).iter().filter(|q| within(**q)).count();
    inside as f64 / seconds.len().max(1) as f64
}

/// Seconds until the smoothed queue stays within the band around `reference`; `None` if it never does or there
/// is no data. A second without a value is outside the band.
pub fn settling(seconds: &[f64], reference: f64) -> Option<f64> {
    if seconds.iter().all(|q| q.is_nan()) {
        return None;
    }
    let within = is_within(reference);
    let outside = smoothed(seconds).iter().rposition(|q| !within(*q));
    match outside {
        None => Some(0.0),
        Some(last) if last + SMOOTHING_S >= seconds.len() => None,
        Some(last) => Some((last + 1) as f64),
    }
}

/// Settling time around the mean of the second half of the run, in place of a given reference. A queue with another
/// equilibrium than the reference therefore settles too.
pub(crate) fn resettling(seconds: &[f64]) -> Option<f64> {
    let second_half = &seconds[seconds.len() / 2..];
    settling(seconds, second_half.iter().sum::<f64>() / second_half.len() as f64)
}

/// Oscillation: the largest minus the smallest of the means of one second, in packets; NaN if a second has no value.
pub(crate) fn amplitude(seconds: &[f64]) -> f64 {
    let extreme = |pick: fn(f64, f64) -> f64| seconds.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let known = seconds.iter().all(|q| !q.is_nan());
    if known { extreme(f64::max) - extreme(f64::min) } else { f64::NAN }
}

/// Excess of the largest mean of one second over `reference`, in packets; 0 if none exceeds it.
pub fn overshoot(seconds: &[f64], reference: f64) -> f64 {
    seconds.iter().fold(0.0, |most: f64, q| most.max(q - reference))
}

/// Root mean square distance of the means of one second from `reference`, in packets.
pub fn rms_error(seconds: &[f64], reference: f64) -> f64 {
    let sum: f64 = seconds.iter().map(|q| (q - reference) * (q - reference)).sum();
    (sum / seconds.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of the time series has the mean queue of a sampling interval. A mean over one second averages the rows
    /// whose interval ends in this second.
    #[test]
    fn one_second_mean_averages_rows_ending_within_it() {
        let time: Vec<f64> = (1..=10).map(|i| f64::from(i) * 0.5).collect();
        let queue: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(seconds(&time, &queue, 0.0, 5.0), [1.5, 3.5, 5.5, 7.5, 9.5]);
        assert_eq!(seconds(&time, &queue, 2.0, 4.0), [5.5, 7.5]);
    }

    #[test]
    fn settling_time_is_last_entry_into_band() {
        let mut queue = vec![100.0; 10];
        queue.extend(vec![50.0; 90]);
        // The 5 s mean at second 11 is (100 + 4 x 50)/5 = 60: within 50 +- 10; at 10 it is 70.
        assert_eq!(settling(&queue, 50.0), Some(11.0));
        assert_eq!(settling(&[50.0; 20], 50.0), Some(0.0));
        queue.extend([100.0; 4]);
        assert_eq!(settling(&queue, 50.0), None, "it ends outside");
    }

    /// The entry time is that at which the queue first enters the band. It remains if the queue leaves the band later
    /// (an excursion).
    #[test]
    fn later_excursion_prevents_settling_but_keeps_entry_time() {
        let mut queue = vec![100.0; 10];
        queue.extend(vec![50.0; 85]);
        queue.extend([100.0; 5]);
        // The 5 s mean is within 50 +- 10 from second 11 to second 93: (4 x 50 + 100)/5 = 60.
        assert_eq!(entry(&queue, 50.0), Some(11.0));
        assert_eq!(in_band(&queue, 50.0), 0.83);
        assert_eq!(settling(&queue, 50.0), None);
        assert_eq!((entry(&[90.0; 9], 50.0), in_band(&[], 50.0)), (None, 0.0));
    }

    #[test]
    fn queue_with_missing_data_counts_as_unsettled() {
        assert_eq!(settling(&[], 50.0), None);
        assert_eq!(settling(&[f64::NAN; 30], 50.0), None);
        assert_eq!(settling(&[50.0; 30], f64::NAN), None);
        let mut gap = [50.0; 30];
        gap[10] = f64::NAN;
        assert_eq!(settling(&gap, 50.0), Some(13.0), "the last 5 s mean without a value is at second 12");
        gap[29] = f64::NAN;
        assert_eq!(settling(&gap, 50.0), None, "nobody knows where it ends");
    }

    /// The resettling time is the settling time around the mean queue of the second half of the run, in place of a
    /// given reference.
    #[test]
    fn resettling_time_refers_to_mean_of_second_half() {
        let mut queue = vec![100.0; 10];
        queue.extend(vec![30.0; 90]);
        // The 5 s mean at second 11 is (100 + 4 x 30)/5 = 44, at 12 it is 30: within 30 +- 6.
        assert_eq!(resettling(&queue), Some(12.0));
        assert_eq!(settling(&queue, 50.0), None, "never near the reference");
        let drifting: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(resettling(&drifting), None, "the second half ends far from its mean");
        assert_eq!(resettling(&[]), None);
    }

    #[test]
    fn oscillation_is_largest_minus_smallest_second_mean() {
        assert_eq!(amplitude(&[40.0, 80.0, 50.0]), 40.0);
        assert_eq!(amplitude(&[40.0]), 0.0);
        assert!(amplitude(&[40.0, f64::NAN]).is_nan() && amplitude(&[]).is_nan());
    }

    #[test]
    fn overshoot_and_rms_error_match_hand_calculation() {
        assert_eq!(overshoot(&[40.0, 80.0, 50.0], 50.0), 30.0);
        assert_eq!(overshoot(&[40.0], 50.0), 0.0);
        assert!((rms_error(&[47.0, 54.0], 50.0) - (12.5f64).sqrt()).abs() < 1e-12);
    }
}
