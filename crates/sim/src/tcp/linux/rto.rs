//! Linux's retransmission timeout (`tcp_rtt_estimator`, `__tcp_set_rto`): the smallest timeout is a bound on the term of
//! the variation, not on the sum.

use forebay_aqm::base::time::{Instant, Span};

/// Length of the filter of the minimum round trip (`tcp_min_rtt_wlen`).
const MIN_RTT_LASTS: Span = Span::from_millis(300_000);

/// Smoothed round trip and its variation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    /// 8 x smoothed round trip in ns; 0: none.
    srtt8: i64,
    /// 4 x smoothed mean deviation in ns.
    deviation4: i64,
    /// Largest `deviation4` of this round, at least the smallest timeout.
    most4: i64,
    /// The term of the variation in the timeout.
    variation4: i64,
    /// The round ends when a packet above this number is acknowledged.
    round_end: u32,
}

impl Estimator {
    /// A round trip is measured; `min_rto`: smallest timeout. Returns the timeout.
    pub(super) fn measure(&mut self, rtt: Span, min_rto: Span, (una, high): (u32, u32)) -> Span {
        let (m, least) = (rtt.nanos() as i64, min_rto.nanos() as i64);
        if self.srtt8 == 0 {
            self.srtt8 = (m * 8).max(1);
            self.deviation4 = m * 2;
            self.variation4 = self.deviation4.max(least);
            (self.most4, self.round_end) = (self.variation4, high);
        } else {
            let error = m - self.srtt8 / 8;
            self.srtt8 = (self.srtt8 + error).max(1);
            let more = error.abs() - self.deviation4 / 4;
            // An increase of the deviation while round trips fall counts little.
            self.deviation4 += if error < 0 && more > 0 { more / 8 } else { more };
            self.most4 = self.most4.max(self.deviation4);
            self.variation4 = self.variation4.max(self.most4);
            if una > self.round_end {
                self.variation4 -= (self.variation4 - self.most4).max(0) / 4;
                (self.most4, self.round_end) = (least, high);
            }
        }
        Span::from_nanos((self.srtt8 / 8 + self.variation4) as u64)
    }

    /// 8 x smoothed round trip in ns.
    pub(super) const fn srtt8(&self) -> u64 {
        self.srtt8 as u64
    }
}

/// Minimum round trip of the last 300 s, from the three best samples of parts of this time (Linux: `minmax`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt([(Instant, Span); 3]);

impl MinRtt {
    /// The minimum; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Span> {
        (self.0[0].1 != Span::ZERO).then_some(self.0[0].1)
    }

    pub(super) fn measure(&mut self, now: Instant, rtt: Span) {
        let sample = (now, rtt.max(Span::from_nanos(1)));
        let best = &mut self.0;
        if best[0].1 == Span::ZERO || sample.1 <= best[0].1 || now.since(best[2].0) > MIN_RTT_LASTS {
            *best = [sample; 3];
            return;
        }
        if sample.1 <= best[1].1 {
            (best[1], best[2]) = (sample, sample);
        } else if sample.1 <= best[2].1 {
            best[2] = sample;
        }
        let age = now.since(best[0].0);
        if age > MIN_RTT_LASTS {
            *best = [best[1], best[2], sample];
            if now.since(best[0].0) > MIN_RTT_LASTS {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age > Span::from_nanos(MIN_RTT_LASTS.nanos() / 4) {
            (best[1], best[2]) = (sample, sample);
        } else if best[2].0 == best[1].0 && age > Span::from_nanos(MIN_RTT_LASTS.nanos() / 2) {
            best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTO: Span = Span::from_millis(200);

    /// The timeouts in ms after equal round trips, one a round.
    fn timeouts(rtt: u64, count: u32) -> Vec<u64> {
        let mut estimator = Estimator::default();
        let measure = |round| estimator.measure(Span::from_millis(rtt), MIN_RTO, (round, round)).nanos() / 1_000_000;
        (0..count).map(measure).collect()
    }

    #[test]
    fn smallest_timeout_bounds_the_variation_only() {
        assert_eq!(timeouts(10, 50), [210; 50]);
        let slow = timeouts(200, 100);
        assert_eq!((slow[0], slow[99]), (600, 400));
    }

    #[test]
    fn minimum_of_300_s_expires() {
        let (mut min, at) = (MinRtt::default(), |s: u64| Instant::ZERO + Span::from_millis(1000 * s));
        min.measure(at(0), Span::from_millis(40));
        (1..300).for_each(|s| min.measure(at(s), Span::from_millis(50)));
        assert_eq!(min.get(), Some(Span::from_millis(40)));
        (300..400).for_each(|s| min.measure(at(s), Span::from_millis(50)));
        assert_eq!(min.get(), Some(Span::from_millis(50)));
    }
}
