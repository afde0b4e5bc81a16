//! System calls that `forebay attach` needs and std lacks: clocks, processes and mounts.

#![expect(unsafe_code, reason = "each is a system call")]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// `CLOCK_MONOTONIC` in nanoseconds, the clock that BPF programs read.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `now` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sets the timer slack of this thread to 1 ns; the default is 50 us.
pub fn wake_exactly() {
    // SAFETY: integer arguments only; on failure the slack is unchanged.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Starts a new session without a terminal. Fails if the process is a group leader.
pub fn new_session() {
    // SAFETY: no arguments, returns an integer.
    unsafe { libc::setsid() };
}

/// Effective user id.
pub fn user() -> u32 {
    // SAFETY: no arguments, returns an integer.
    unsafe { libc::geteuid() }
}

/// Cookie of this process's network namespace: a number that the kernel never reuses. Returns 0 before Linux 5.14.
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

/// Ignores SIGHUP, as nohup(1) does.
pub fn ignore_hangup() {
    // SAFETY: installs no handler.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

/// Sends SIGTERM to a process, unless it has ended.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: integer arguments only.
    match done(unsafe { libc::kill(pid, libc::SIGTERM) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        asked => asked,
    }
}

/// Removes the limit on locked memory. Kernels before 5.11 count BPF maps against it.
pub fn raise_memory_limit() {
    let most = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads `most`, keeps no pointer.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const most) };
}

/// Mounts bpffs with mode 0700; its default allows writes by everyone.
pub fn mount_bpffs(at: &Path) -> io::Result<()> {
    let (kind, at, data) = (c"bpf", name(at)?, c"mode=0700");
    // SAFETY: the strings are NUL-terminated; the kernel keeps no pointer.
    done(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, data.as_ptr().cast()) })
}

/// Unmounts a file system.
pub fn unmount(at: &Path) -> io::Result<()> {
    let at = name(at)?;
    // SAFETY: the name is NUL-terminated.
    done(unsafe { libc::umount2(at.as_ptr(), 0) })
}

/// Is bpffs mounted at this path?
pub fn is_bpffs(at: &Path) -> bool {
    /// `BPF_FS_MAGIC` of `linux/magic.h`.
    const MAGIC: u64 = 0xcafe_4a11;
    let Ok(at) = name(at) else { return false };
    // SAFETY: a struct of integers; all zeros are valid.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name is NUL-terminated and `found` is valid for writes.
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
    fn clock_is_monotonic_and_proc_is_not_bpffs() {
        let before = monotonic();
        assert!(before > 0 && monotonic() >= before);
        assert!(!is_bpffs(Path::new("/proc")) && !is_bpffs(Path::new("/proc/no such folder")));
    }
}
