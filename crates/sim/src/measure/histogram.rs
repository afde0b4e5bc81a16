//! A log-linear histogram of durations: fixed memory, 1/64 relative resolution, exact mean and sd.

use forebay_aqm::base::time::Span;

/// Bits of the number of buckets per power of two.
const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;

/// Largest error of a quantile, relative to it: half of the widest bucket.
pub const RESOLUTION: f64 = 0.5 / SUB as f64;

/// Probabilities of the quantiles that outcomes store. Distribution curves are drawn from these quantiles.
pub const SHARES: [f64; 27] = [
    0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.98, 0.99, 0.995, 0.999, 1.0,
];

/// A histogram of durations.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    n: u64,
    /// Sum in ns, and sum of squares in ns^2. Integers, so that the result does not depend on the order of durations.
    sum: u128,
    sum_sq: u128,
    max: Span,
}

/// Statistics of a histogram, in the unit of its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// All values multiplied by `factor`, to change the unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            std: self.std * factor,
            p50: self.p50 * factor,
            p95: self.p95 * factor,
            p99: self.p99 * factor,
            max: self.max * factor,
        }
    }
}

impl Histogram {
    /// An empty histogram.
    pub const fn new() -> Self {
        Self { counts: Vec::new(), n: 0, sum: 0, sum_sq: 0, max: Span::ZERO }
    }

    /// Adds one duration.
    #[inline]
    pub fn add(&mut self, time: Span) {
        let at = bucket(time);
        if at >= self.counts.len() {
            self.counts.resize(at + SUB, 0);
        }
        self.counts[at] += 1;
        self.n += 1;
        let x = u128::from(time.nanos());
        self.sum += x;
        self.sum_sq += x * x;
        self.max = self.max.max(time);
    }

    /// Adds the durations of `other`.
    pub fn absorb(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.n += other.n;
        self.sum += other.sum;
        self.sum_sq += other.sum_sq;
        self.max = self.max.max(other.max);
    }

    /// Number of durations.
    pub const fn count(&self) -> u64 {
        self.n
    }

    /// Mean, standard deviation and percentiles in nanoseconds; `None` if the histogram is empty.
    pub fn summary(&self) -> Option<Summary> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let mean = self.sum as f64 / n;
        Some(Summary {
            mean,
            std: libm::sqrt((self.sum_sq as f64 / n - mean * mean).max(0.0)),
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max.nanos() as f64,
        })
    }

    /// Mean in ns of the shortest durations, a fraction `share` of all, rounded up to whole durations. The duration of a bucket
    /// is its middle. `None` if the histogram is empty.
    pub fn mean_of_shortest(&self, share: f64) -> Option<f64> {
        let kept = libm::ceil(share * self.n as f64) as u64;
        let (mut left, mut sum) = (kept, 0.0);
        for (at, count) in self.counts.iter().enumerate() {
            let taken = left.min(*count);
            sum += middle(at).nanos() as f64 * taken as f64;
            left -= taken;
        }
        (kept > 0).then(|| sum / kept as f64)
    }

    /// The quantiles at the probabilities [`SHARES`], in seconds; empty if the histogram is.
    pub fn quantiles(&self) -> Vec<f64> {
        if self.n == 0 { Vec::new() } else { SHARES.iter().map(|share| self.quantile(*share) * 1e-9).collect() }
    }

    /// The quantile of `share`, 0 to 1, in ns: middle of the first bucket with at least this fraction at or below it.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = libm::ceil(share * self.n as f64).max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return (middle(at).nanos() as f64).min(self.max.nanos() as f64);
            }
        }
        self.max.nanos() as f64
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Bucket of a duration: one per ns below 2^6 ns, above that 64 buckets per power of two.
#[inline]
fn bucket(time: Span) -> usize {
    let nanos = time.nanos();
    let shift = (63 - (nanos | (SUB as u64)).leading_zeros()) - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (nanos >> shift) as usize
}

fn middle(at: usize) -> Span {
    if at < 2 * SUB {
        return Span::from_nanos(at as u64);
    }
    let shift = (at >> SUB_BITS) - 1;
    let low = ((at & (SUB - 1)) + SUB) as u64;
    Span::from_nanos((low << shift) + (1 << shift) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_middle_is_within_64th_of_duration() {
        let mut last = 0;
        for nanos in (0..100_000u64).chain((1..1000).map(|i| i * 7_777_777)) {
            let at = bucket(Span::from_nanos(nanos));
            assert!(at >= last, "{nanos}");
            last = at;
            let error = (middle(at).nanos() as f64 - nanos as f64).abs();
            assert!(error <= nanos as f64 / 64.0, "{nanos} read as {:?}", middle(at));
        }
    }

    #[test]
    fn uniform_durations_have_exact_mean_and_close_quantiles() {
        let mut h = Histogram::new();
        (1..=10_000u64).for_each(|i| h.add(Span::from_micros(i)));
        let s = h.summary().unwrap();
        assert!((s.mean - 5_000_500.0).abs() < 1e-3);
        assert!((s.p50 / 5e6 - 1.0).abs() < 0.02 && (s.p99 / 9.9e6 - 1.0).abs() < 0.02);
        assert_eq!(s.max, 1e7);
        // The mean of 1 to 9500 us is 4750.5 us.
        let shortest = h.mean_of_shortest(0.95).unwrap();
        assert!((shortest / 4_750_500.0 - 1.0).abs() < 0.01, "{shortest}");
        assert_eq!(Histogram::new().mean_of_shortest(0.95), None);
        assert_eq!(Histogram::new().summary(), None);
    }
}
