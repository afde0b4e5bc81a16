//! Reads the system's clocks. All times are in nanoseconds.

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes. These clocks always exist, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, ns.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Wall clock since 1970, the clock of packet timestamps.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of this thread.
pub fn cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}
