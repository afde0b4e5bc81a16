//! A token bucket that colours packets at the edge: IN within the profile, OUT beyond it.
//!
//! Tokens are bytes. They accumulate at the committed information rate up to the committed burst size. If there are
//! enough tokens for a packet, it is IN and consumes them; otherwise it is OUT and consumes none (ns-2.35's
//! token-bucket policer with one rate). The arithmetic uses integers, so that a source at exactly the rate is always
//! IN.

use crate::base::packet::Colour;
use crate::base::time::Instant;
use crate::base::units::{Bytes, Rate};

/// Token units per byte: 8 bits times 1e9 ns. Tokens are counted in bit/s times ns.
const TOKENS_OF_BYTE: u64 = 8 * 1_000_000_000;
/// The largest burst in bytes that the counter can hold.
const MAX_BURST: u64 = u64::MAX / TOKENS_OF_BYTE;

/// A token bucket with a rate and a burst.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: Rate,
    size: u64,
    tokens: u64,
    at: Instant,
}

impl TokenBucket {
    /// A full bucket at time 0; the burst is limited to about 2.3 GB.
    pub const fn new(rate: Rate, burst: Bytes) -> Self {
        let burst = if burst.0 < MAX_BURST { burst.0 } else { MAX_BURST };
        let size = burst * TOKENS_OF_BYTE;
        Self { rate, size, tokens: size, at: Instant::ZERO }
    }

    /// The colour of a packet of `len` bytes at `now`; times must not decrease.
    #[inline]
    pub fn colour(&mut self, len: u32, now: Instant) -> Colour {
        let earned = u128::from(now.since(self.at).nanos()) * u128::from(self.rate.0);
        self.at = now;
        self.tokens =
            u64::try_from(earned).map_or(self.size, |earned| self.tokens.saturating_add(earned).min(self.size));
        match self.tokens.checked_sub(u64::from(len) * TOKENS_OF_BYTE) {
            Some(left) => {
                self.tokens = left;
                Colour::In
            }
            None => Colour::Out,
        }
    }

    /// The tokens in bytes after the latest packet.
    pub const fn level(&self) -> f64 {
        self.tokens as f64 / TOKENS_OF_BYTE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::base::time::Span;
    use crate::testing::by_hand::us as at;

    /// A rate of 1 Mb/s and a burst of eight packets of 1000 bytes; the tokens of one packet accumulate in 8 ms.
    fn bucket() -> TokenBucket {
        TokenBucket::new(Rate(1_000_000), Bytes(8000))
    }

    #[test]
    fn full_bucket_accepts_burst_then_rate() {
        let mut bucket = bucket();
        let colours: [Colour; 9] = core::array::from_fn(|_| bucket.colour(1000, at(0)));
        assert_eq!(colours[..8], [Colour::In; 8]);
        assert_eq!((colours[8], bucket.level()), (Colour::Out, 0.0));
        assert_eq!((bucket.colour(1000, at(7999)), bucket.level()), (Colour::Out, 999.875), "OUT takes nothing");
        assert_eq!((bucket.colour(1000, at(8000)), bucket.level()), (Colour::In, 0.0));
    }

    #[test]
    fn bucket_is_limited_to_its_burst() {
        let mut bucket = bucket();
        assert_eq!((bucket.colour(1000, at(1)), bucket.level()), (Colour::In, 7000.0));
        // 10 s would add 1.25 MB.
        assert_eq!((bucket.colour(8001, at(10_000_000)), bucket.level()), (Colour::Out, 8000.0));
        assert_eq!((bucket.colour(8000, at(10_000_000)), bucket.level()), (Colour::In, 0.0));
        // Longest time, highest rate.
        let mut fast = TokenBucket::new(Rate(1_000_000_000_000_000), Bytes(u64::MAX));
        assert_eq!(fast.colour(u32::MAX / 2, Instant::NEVER), Colour::In);
        let mut drained = TokenBucket::new(Rate(1_000_000_000_000_000), Bytes(8000));
        assert_eq!([drained.colour(8000, at(0)), drained.colour(8000, Instant::NEVER)], [Colour::In; 2]);
    }

    #[test]
    fn source_at_exactly_the_rate_is_always_in() {
        let mut bucket = TokenBucket::new(Rate(1_000_000), Bytes(1000));
        assert!((0..100_000).all(|n| bucket.colour(1000, at(8000 * n)) == Colour::In));
        // One nanosecond early each time: every second packet lacks some bits and is OUT.
        let mut early = TokenBucket::new(Rate(1_000_000), Bytes(1000));
        let colours = (0..1000).map(|n| early.colour(1000, Instant::from_nanos(7_999_999 * n)));
        assert_eq!(colours.filter(|colour| *colour == Colour::In).count(), 500);
    }

    #[test]
    fn green_bytes_are_bounded_by_burst_plus_rate() {
        let mut rng = Rng::stream(1, "bucket");
        let mut bucket = bucket();
        let (mut now, mut passed) = (0.0, alloc::vec::Vec::new());
        while now < 20.0 {
            now += rng.exponential(0.002);
            let len = 40 + rng.below(1461) as u32;
            if bucket.colour(len, Instant::ZERO + Span::from_secs(now)) == Colour::In {
                passed.push((now, f64::from(len)));
            }
        }
        let bytes: f64 = passed.iter().map(|(_, len)| len).sum();
        assert!((bytes / (8000.0 + 125_000.0 * 20.0) - 1.0).abs() < 0.01, "{bytes}");
        for from in (0..passed.len()).step_by(37) {
            let mut sum = 0.0;
            for (at, len) in &passed[from..] {
                sum += len;
                assert!(sum <= 8000.0 + 125_000.0 * (at - passed[from].0) + 1.0);
            }
        }
    }
}
