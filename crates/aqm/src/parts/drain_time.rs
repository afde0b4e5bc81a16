//! Estimates the time that a queue needs to send its backlog (RFC 8033 section 5.2).
//!
//! It measures the time in which `threshold` bytes depart. A departure starts a measurement only if it leaves at least
//! `threshold` bytes of backlog: a queue that becomes empty during the measurement would seem slow.

use crate::base::time::{Instant, Span};

/// The weight of a new sample in the average is `threshold` / `FULL_WEIGHT`. If both are equal, the average is the
/// latest sample.
pub const FULL_WEIGHT: f64 = 65_536.0;

/// The measured time for `threshold` bytes, and from it the delay of a backlog.
#[derive(Clone, Debug)]
pub struct DrainTime {
    threshold: u64,
    /// Bytes sent since `start`, while measuring.
    counted: Option<u64>,
    start: Instant,
    /// Average time for `threshold` bytes in seconds; 0 before the first sample.
    average: f64,
}

impl DrainTime {
    /// An estimator over `threshold` bytes, from 1 to 65,536, without a sample.
    pub const fn new(threshold: u64) -> Self {
        Self { threshold, counted: None, start: Instant::ZERO, average: 0.0 }
    }

    /// Resets the estimate and starts a measurement at `now`.
    pub fn restart(&mut self, now: Instant) {
        *self = Self { counted: Some(0), start: now, ..Self::new(self.threshold) };
    }

    /// Resets the estimate and aborts the measurement.
    pub fn forget(&mut self) {
        *self = Self::new(self.threshold);
    }

    /// Aborts the measurement and keeps the estimate.
    pub fn stop(&mut self) {
        self.counted = None;
    }

    /// Counts a departure of `len` bytes at `now` that leaves `backlog` bytes. Returns the duration of a measurement
    /// that it completes.
    pub fn departure(&mut self, len: u32, backlog: u64, now: Instant) -> Option<Span> {
        let mut took = None;
        if let Some(counted) = &mut self.counted {
            *counted += u64::from(len);
            if *counted >= self.threshold {
                took = Some(now.since(self.start));
                let sample = now.since(self.start).secs();
                let weight = self.threshold as f64 / FULL_WEIGHT;
                let first = self.average == 0.0;
                self.average = if first { sample } else { sample * weight + self.average * (1.0 - weight) };
                self.counted = None;
            }
        }
        if backlog >= self.threshold && self.counted.is_none() {
            (self.counted, self.start) = (Some(0), now);
        }
        took
    }

    /// Time to send `backlog` bytes, in seconds; 0 before the first sample.
    pub fn delay(&self, backlog: u64) -> f64 {
        backlog as f64 * self.average / self.threshold as f64
    }

    /// Whether there is a sample.
    pub fn is_known(&self) -> bool {
        self.average > 0.0
    }

    /// The departure rate in bit/s; 0 before the first sample.
    pub fn rate(&self) -> f64 {
        if self.is_known() { self.threshold as f64 * 8.0 / self.average } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_hand::ms as at;

    #[test]
    fn measures_time_for_threshold_bytes() {
        let mut drain = DrainTime::new(16_384);
        // 1000 bytes every 2 ms: 4 Mb/s. The departure at 0 starts the measurement and does not count in it.
        assert!((0..17).all(|n| drain.departure(1000, 50_000, at(2 * n)).is_none()));
        assert_eq!(drain.departure(1000, 50_000, at(34)), Some(Span::from_millis(34)));
        assert!((drain.delay(16_384) - 0.034).abs() < 1e-15, "17 packets are the first to exceed 16,384 bytes");
        assert!((drain.delay(8_192) - 0.017).abs() < 1e-15);
        assert!((drain.rate() - 16_384.0 * 8.0 / 0.034).abs() < 1e-6);
        drain.forget();
        assert!(!drain.is_known() && drain.counted.is_none());
    }

    #[test]
    fn sample_over_16384_bytes_has_weight_one_quarter() {
        let mut drain = DrainTime::new(16_384);
        drain.departure(1000, 50_000, at(0));
        drain.departure(20_000, 50_000, at(40));
        drain.departure(20_000, 50_000, at(120)); // weight 2^14/2^16: 40 + (80 - 40)/4
        assert!((drain.delay(16_384) - 0.050).abs() < 1e-15);
    }

    #[test]
    fn measurement_needs_threshold_bytes_of_backlog() {
        let mut drain = DrainTime::new(16_384);
        assert!((0..100).all(|n| drain.departure(1000, 16_383, at(n)).is_none()));
        assert!(!drain.is_known() && drain.delay(50_000) == 0.0 && drain.rate() == 0.0);
        drain.departure(1000, 16_384, at(100));
        drain.departure(16_384, 0, at(101));
        assert!(drain.is_known() && drain.counted.is_none());
    }
}
