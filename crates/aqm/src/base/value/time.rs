//! Time in integer nanoseconds, exact and identical on every machine.

use core::ops::{Add, AddAssign, Mul, Sub};

/// A point in time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Instant(u64);

/// A duration in nanoseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Span(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This time plus `span`, without the saturation of `+`. Only for times within a run. Debug builds panic on
    /// overflow.
    #[inline]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }

    /// Time elapsed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// `s` seconds, rounded to the nearest nanosecond; negative and NaN become zero.
    pub fn from_secs(s: f64) -> Self {
        Self(libm::round(s * 1e9) as u64)
    }

    /// The duration in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The duration in seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The absolute difference of two durations.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The duration in milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_and_milliseconds_are_exact() {
        // 1e-9 and 1e-6 have no exact floating-point form: a product with them could be wrong in the last bit.
        for s in [1, 3, 1_000, 1_000_000] {
            assert_eq!(Span::from_millis(s * 1000).secs(), s as f64);
            assert_eq!(Instant::from_nanos(s * 1_000_000_000).secs(), s as f64);
            assert_eq!(Span::from_millis(s).millis(), s as f64);
        }
    }
}
