//! The estimate of the capacity in front of the queue, for `autorate`.
//!
//! Linux: `cake_enqueue`.

use crate::base::time::{Instant, Span};

/// Longest interval between packets that counts.
const LONGEST: Span = Span::from_millis(1000);
/// The rate does not change before this time: the kernel compares with a time that it never writes.
const FIRST: Instant = Instant::from_nanos(250_000_000);

/// The moving average of the kernel: `sample` has the weight 2^-shift.
#[inline]
pub(super) const fn average(mean: u64, sample: u64, shift: u32) -> u64 {
    mean - (mean >> shift) + (sample >> shift)
}

/// State of the estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    last: Instant,
    /// Mean interval between packets, ns.
    interval: u64,
    began: Instant,
    bytes: u64,
    /// Peak of the arrival rate, bytes per second.
    peak: u64,
}

impl Estimate {
    /// An estimate that begins with `rate` bytes per second.
    pub(super) const fn new(rate: u64) -> Self {
        Self { last: Instant::ZERO, interval: 0, began: Instant::ZERO, bytes: 0, peak: rate }
    }

    /// Peak of the arrival rate, bytes per second.
    pub(super) const fn peak(&self) -> u64 {
        self.peak
    }

    /// `bytes` arrive. Returns the new rate in bytes per second, if a window ends.
    pub(super) fn arrived(&mut self, bytes: u64, now: Instant) -> Option<u64> {
        self.bytes += bytes;
        let gap = now.since(self.last).min(LONGEST).nanos();
        // Short bursts, such as aggregates of Wi-Fi, are filtered out.
        self.interval = average(self.interval, gap, if gap > self.interval { 2 } else { 8 });
        self.last = now;
        if gap <= self.interval {
            return None;
        }
        let window = now.since(self.began).nanos().max(1);
        let rate = (u128::from(self.bytes) * 1_000_000_000 / u128::from(window)) as u64;
        self.peak = average(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.bytes, self.began) = (0, now);
        (now > FIRST).then_some((self.peak * 15) >> 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_hand::ms;

    #[test]
    fn steady_arrivals_give_15_16_of_their_rate() {
        // Pairs of 1250 bytes every 20 ms: 1 Mb/s.
        let mut estimate = Estimate::new(0);
        let mut rate = None;
        for pair in 1..2000 {
            estimate.arrived(1250, ms(20 * pair));
            rate = estimate.arrived(1250, ms(20 * pair + 1)).or(rate);
            rate = estimate.arrived(0, ms(20 * pair + 1)).or(rate);
        }
        assert!(rate.is_none() || rate.is_some_and(|rate| rate <= 150_000), "{rate:?}");
        assert!((100_000..=150_000).contains(&estimate.peak()), "{}", estimate.peak());
    }

    #[test]
    fn rate_stays_for_the_first_250_ms() {
        let mut estimate = Estimate::new(1000);
        assert_eq!(estimate.arrived(5000, ms(100)), None);
        assert!(estimate.arrived(5000, ms(300)).is_some());
    }
}
