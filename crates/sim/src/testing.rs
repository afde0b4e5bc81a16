//! Helpers for the simulator's unit tests: times, and whether code panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_aqm::base::time::Instant;

/// `nanos` nanoseconds after the start.
pub(crate) const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Does `fault` panic?
pub(crate) fn stops(fault: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(fault)).is_err()
}
