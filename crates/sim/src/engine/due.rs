//! An optional time in eight bytes: the largest time means that there is none.

use forebay_aqm::base::time::Instant;

/// An optional due time: like `Option<Instant>`, but without a tag, and with `NEVER` ordered last.
///
/// [`Instant::NEVER`] represents "none". No run lasts that long, see [`MAX_NANOS`](super::agenda::MAX_NANOS).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Due(Instant);

impl Due {
    /// No due time.
    pub const NEVER: Self = Self(Instant::NEVER);

    /// Due at this time.
    #[inline]
    pub const fn at(at: Instant) -> Self {
        Self(at)
    }

    /// The time; `None` for [`NEVER`](Self::NEVER).
    #[inline]
    pub fn get(self) -> Option<Instant> {
        (self.0 != Instant::NEVER).then_some(self.0)
    }

    /// Is it [`NEVER`](Self::NEVER)?
    #[inline]
    pub fn is_never(self) -> bool {
        self.0 == Instant::NEVER
    }

    /// Is it due at `now`?
    #[inline]
    pub fn has_come(self, now: Instant) -> bool {
        self.0 <= now
    }
}

impl From<Option<Instant>> for Due {
    #[inline]
    fn from(at: Option<Instant>) -> Self {
        at.map_or(Self::NEVER, Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_time_behaves_like_option_with_none_last() {
        let at = |nanos| Due::at(Instant::from_nanos(nanos));
        assert_eq!((at(3).min(Due::NEVER), at(3).min(at(2))), (at(3), at(2)));
        for option in [None, Some(Instant::ZERO), Some(Instant::from_nanos(7))] {
            assert_eq!((Due::from(option).get(), Due::from(option).is_never()), (option, option.is_none()));
        }
        let now = Instant::from_nanos(5);
        assert_eq!([at(4), at(5), at(6), Due::NEVER].map(|due| due.has_come(now)), [true, true, false, false]);
        assert_eq!(size_of::<Due>(), 8);
    }
}
