//! The few things about clocks, processes and mounts that std has not.

#![expect(unsafe_code, reason = "each is a system call")]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// `CLOCK_MONOTONIC` in nanoseconds: the clock that BPF programs read.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `now` is a place for its answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wakes this thread as exactly as the machine can; the usual slack is 50 microseconds.
pub fn wake_exactly() {
    // SAFETY: takes numbers only; where it fails the slack stays as it is.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Away from the terminal: a session of this process's own. It fails where the process leads one already.
pub fn new_session() {
    // SAFETY: takes nothing and gives a number.
    unsafe { libc::setsid() };
}

/// The user as whom this process acts.
pub fn user() -> u32 {
    // SAFETY: takes nothing and gives a number.
    unsafe { libc::geteuid() }
}

/// The cookie of this process's network namespace, which no other ever has; 0 where the kernel has none, before 5.14.
pub fn netns_cookie() -> io::Result<u64> {
    let socket = UnixDatagram::unbound()?;
    let (mut cookie, mut len) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes, which `cookie` has, and keeps neither pointer.
    let answer = unsafe {
        let (fd, level) = (socket.as_raw_fd(), libc::SOL_SOCKET);
        libc::getsockopt(fd, level, libc::SO_NETNS_COOKIE, (&raw mut cookie).cast(), &raw mut len)
    };
    match done(answer) {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(0),
        asked => asked.map(|()| cookie),
    }
}

/// Lets this process outlive its terminal, as under nohup(1).
pub fn ignore_hangup() {
    // SAFETY: no handler of ours is called by it.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

/// Asks a process to end, unless it has.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: takes numbers only.
    match done(unsafe { libc::kill(pid, libc::SIGTERM) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        asked => asked,
    }
}

/// Lets BPF maps lock memory: kernels before 5.11 count them against a limit that is often too small.
pub fn raise_memory_limit() {
    let most = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads `most` and keeps nothing of it.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const most) };
}

/// Mounts a file system for BPF objects, for this user alone: its own default lets everybody write.
pub fn mount_bpffs(at: &Path) -> io::Result<()> {
    let (kind, at, data) = (c"bpf", name(at)?, c"mode=0700");
    // SAFETY: the strings end with a zero, and the kernel keeps none of them.
    done(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, data.as_ptr().cast()) })
}

/// Unmounts what is mounted there.
pub fn unmount(at: &Path) -> io::Result<()> {
    let at = name(at)?;
    // SAFETY: the name ends with a zero.
    done(unsafe { libc::umount2(at.as_ptr(), 0) })
}

/// Is a file system for BPF objects mounted there?
pub fn is_bpffs(at: &Path) -> bool {
    /// `BPF_FS_MAGIC` of `linux/magic.h`.
    const MAGIC: u64 = 0xcafe_4a11;
    let Ok(at) = name(at) else { return false };
    // SAFETY: plain numbers, for which zeros are values.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends with a zero, and `found` is a place for the answer.
    let answer = unsafe { libc::statfs(at.as_ptr(), &raw mut found) };
    answer == 0 && found.f_type as u64 & 0xffff_ffff == MAGIC
}

fn name(path: &Path) -> io::Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn done(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs_forward_and_other_file_systems_are_none_for_bpf() {
        let before = monotonic();
        assert!(before > 0 && monotonic() >= before);
        assert!(!is_bpffs(Path::new("/proc")) && !is_bpffs(Path::new("/proc/no such folder")));
    }
}
