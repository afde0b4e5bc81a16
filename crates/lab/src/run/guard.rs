//! Stops runs that take more memory than they may. The [estimate](crate::estimate) refuses runs that are far too large
//! before they start; this limit is for those that it underestimates.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::estimate::Budget;

/// Milliseconds between two measurements.
const EVERY_MS: u64 = 20;

/// A limit on the growth of this process's memory since the guard was made.
pub struct Guard(Option<Limit>);

struct Limit {
    /// Largest growth, in bytes.
    most: f64,
    /// Memory at the start, in bytes.
    first: f64,
    begun: Instant,
    /// Time of the next measurement, in milliseconds after `begun`.
    next_ms: AtomicU64,
    /// The first growth above `most` that was measured, in bytes; 0: none.
    excess: AtomicU64,
}

impl Guard {
    /// No limit.
    pub const NONE: Self = Self(None);

    /// At most `bytes` more than now. No limit if the system does not report the memory of a process.
    pub fn new(bytes: f64) -> Self {
        let limit = |first| Limit {
            most: bytes,
            first,
            begun: Instant::now(),
            next_ms: AtomicU64::new(0),
            excess: AtomicU64::new(0),
        };
        Self(memory().map(limit))
    }

    /// The limit of runs without `--force`.
    pub fn of_this_machine() -> Self {
        Self::new(Budget::of_this_machine().bytes)
    }

    /// Whether the limit was exceeded at any measurement.
    pub fn is_exceeded(&self) -> bool {
        let Some(limit) = &self.0 else { return false };
        let now = limit.begun.elapsed().as_millis() as u64;
        let next = limit.next_ms.load(Ordering::Relaxed);
        let is_due = now >= next
            && limit.next_ms.compare_exchange(next, now + EVERY_MS, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_due && let Some(growth) = memory().map(|bytes| bytes - limit.first).filter(|bytes| *bytes > limit.most) {
            let _ = limit.excess.compare_exchange(0, growth as u64, Ordering::Relaxed, Ordering::Relaxed);
        }
        limit.excess.load(Ordering::Relaxed) > 0
    }

    /// The memory that the runs took, and the limit, both in bytes; `None` if it was not exceeded.
    pub fn excess(&self) -> Option<(f64, f64)> {
        let limit = self.0.as_ref()?;
        let excess = limit.excess.load(Ordering::Relaxed);
        (excess > 0).then_some((excess as f64, limit.most))
    }
}

/// Resident and swapped memory of this process in bytes; `None`: the system does not report it.
pub fn memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()
    };
    Some(1024.0 * (kib("VmRSS:")? + kib("VmSwap:").unwrap_or(0.0)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_limit_is_kept() {
        let (small, large) = (Guard::new(1e6), Guard::new(1e12));
        let filled = vec![1u8; 64 << 20];
        std::thread::sleep(std::time::Duration::from_millis(2 * EVERY_MS));
        assert!(small.is_exceeded() && !large.is_exceeded() && !Guard::NONE.is_exceeded());
        drop(filled);
        let (took, most) = small.excess().unwrap();
        assert!(small.is_exceeded() && took > 3e7 && most == 1e6, "{took:e}");
    }
}
