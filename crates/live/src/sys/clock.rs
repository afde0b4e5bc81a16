//! Clocks, in nanoseconds.

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns. Both clocks always exist: it cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Since the machine started; nobody sets it.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Since 1970, as the stamps of packets.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time that this thread has used.
pub fn cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}
