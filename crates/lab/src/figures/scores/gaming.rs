//! Cloud gaming: the share of frames that arrive late.
//!
//! A rule of ours, in place of the model of ITU-T G.1072: a frame is in time if its delay is at most the round-trip
//! time of the idle line plus one frame interval.

/// Interval of frames at 60 frames per second, in ms.
pub const FRAME_MS: f64 = 1000.0 / 60.0;
/// Share of late frames above which players notice them (ours).
pub const NOTICEABLE: f64 = 0.01;

/// The share of late frames, 0 to 1.
///
/// - `delays_ms`: for each frame the time in ms from the input that it answers to the arrival of its last packet;
///   `None` if the frame is lost, which counts as late.
/// - `idle_ms`: the round-trip time of the idle line in ms.
/// - `interval_ms`: the interval between frames in ms, such as [`FRAME_MS`].
///
/// The delay includes the time that the line needs to transmit the frame. At 60 frames per second and a video rate of
/// half the rate of the line, this is half an interval. `None` without frames, if a delay is NaN, or if the bound is
/// not finite.
pub fn late_share(delays_ms: &[Option<f64>], idle_ms: f64, interval_ms: f64) -> Option<f64> {
    let bound = idle_ms + interval_ms;
    let is_valid =
        !delays_ms.is_empty() && bound.is_finite() && !delays_ms.iter().flatten().any(|delay| delay.is_nan());
    let late = delays_ms.iter().filter(|delay| delay.is_none_or(|delay| delay > bound)).count();
    is_valid.then(|| late as f64 / delays_ms.len() as f64)
}

/// Do players notice this share of late frames? False for NaN.
pub fn is_noticeable(share: f64) -> bool {
    share > NOTICEABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_late_after_one_interval() {
        // The bound is 20 + 16.67 ms.
        let delays = [20.0, 36.6, 36.7, 100.0].map(Some);
        assert_eq!(late_share(&delays, 20.0, FRAME_MS), Some(0.5));
        assert_eq!(late_share(&[Some(30.0)], 20.0, 10.0), Some(0.0));
    }

    #[test]
    fn lost_frames_count_as_late() {
        assert_eq!(late_share(&[None, Some(1.0), Some(1.0), Some(f64::INFINITY)], 20.0, FRAME_MS), Some(0.5));
    }

    #[test]
    fn share_without_frames_is_none() {
        assert_eq!(late_share(&[], 20.0, FRAME_MS), None);
        assert_eq!(late_share(&[Some(f64::NAN)], 20.0, FRAME_MS), None);
        assert_eq!(late_share(&[Some(1.0)], f64::NAN, FRAME_MS), None);
        assert_eq!(late_share(&[Some(1.0)], f64::MAX, f64::MAX), None);
    }

    #[test]
    fn more_than_one_percent_is_noticeable() {
        assert!(is_noticeable(0.0101) && !is_noticeable(0.01) && !is_noticeable(f64::NAN));
    }
}
