//! System calls for namespaces, child processes and signals, and for waiting on descriptors (polling).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
#[cfg(feature = "attach")]
use std::time::Duration;

use super::{check, owned};

/// The namespaces to unshare.
#[derive(Clone, Copy, Debug)]
pub struct Namespaces {
    /// User namespace: the process is root inside.
    pub user: bool,
    /// Network namespace.
    pub net: bool,
    /// Mount namespace.
    pub mount: bool,
    /// PID namespace, for the children. When its first process ends, all others are killed.
    pub pid: bool,
}

/// Moves this process into new namespaces. A user namespace requires a single thread.
pub fn unshare(new: Namespaces) -> io::Result<()> {
    let flags = [
        (new.user, libc::CLONE_NEWUSER),
        (new.net, libc::CLONE_NEWNET),
        (new.mount, libc::CLONE_NEWNS),
        (new.pid, libc::CLONE_NEWPID),
    ];
    let flags = flags.iter().filter(|(wanted, _)| *wanted).fold(0, |all, (_, flag)| all | flag);
    // SAFETY: integer arguments only; memory sharing is unchanged.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// The network namespace of this thread.
pub fn own_net() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Moves this thread into a network namespace.
pub fn enter_net(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integer arguments only; the descriptor outlives the call.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Makes mounts private: later mounts are not visible outside this mount namespace.
pub fn private_mounts() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: static NUL-terminated strings; the other pointers are unused with these flags.
    check(unsafe { libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null()) }).map(drop)
}

/// Mounts procfs of the current PID namespace over `/proc`.
pub fn mount_proc() -> io::Result<()> {
    let (from, to, flags) = (c"proc".as_ptr(), c"/proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
    // SAFETY: static NUL-terminated strings; no options.
    check(unsafe { libc::mount(from, to, from, flags, std::ptr::null()) }).map(drop)
}

/// Mounts the file `from` over the file `to`, in this mount namespace.
pub fn mount_over(from: &Path, to: &Path) -> io::Result<()> {
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (from, to, none) = (path(from)?, path(to)?, std::ptr::null::<libc::c_void>());
    // SAFETY: NUL-terminated strings; the other pointers are unused with this flag.
    check(unsafe { libc::mount(from.as_ptr(), to.as_ptr(), none.cast(), libc::MS_BIND, none) }).map(drop)
}

/// Keeps a descriptor open over exec(2).
pub fn keep_over_exec(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integer arguments only; the descriptor is open.
    check(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) }).map(drop)
}

/// Makes `command` run in a network namespace, with default signal handling.
pub fn in_net(command: &mut Command, namespace: Arc<File>) -> &mut Command {
    let ready = move || {
        let set = signals_of_the_end();
        // SAFETY: the call reads `set`, which outlives it. A blocked signal stays blocked across exec.
        check(unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) })?;
        // SAFETY: installs no handler. An ignored signal stays ignored across exec.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        enter_net(namespace.as_fd())
    };
    // SAFETY: between fork and exec only system calls on an open descriptor; no allocation.
    unsafe { command.pre_exec(ready) }
}

/// Ignores SIGXFSZ, so that a write beyond the file size limit is an error instead of killing the process.
pub fn ignore_file_size_signal() {
    // SAFETY: installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// A child process of [`fork`].
pub struct Child {
    number: libc::pid_t,
    descriptor: OwnedFd,
}

/// Exit status of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Exit code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl Ended {
    /// The exit code a shell would report: 128 + signal if killed.
    pub const fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    const fn of(status: libc::c_int) -> Self {
        if libc::WIFEXITED(status) {
            Self::Code(libc::WEXITSTATUS(status))
        } else {
            Self::Signal(libc::WTERMSIG(status))
        }
    }
}

/// Runs `work` in a forked child process, which exits with the code that `work` returns, or 101 if it panics. The
/// child is killed when this process ends.
///
/// # Errors
///
/// Fails if this process has more than one thread: the child has only the caller's thread, and a lock held by
/// another thread would never be released there. With one thread nothing can start another between this check and
/// the fork. Also fails if `/proc` does not show the threads.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Child> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("fork needs a single-threaded process; this one has {threads} threads")));
    }
    let (ours, theirs) = UnixStream::pair()?;
    // SAFETY: this process has one thread, so no lock is held by another thread in the child.
    let number = check(unsafe { libc::fork() })?;
    if number == 0 {
        drop(ours);
        // SAFETY: integer arguments only; cannot fail.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let code = if is_expected(theirs) { code_of(work) } else { libc::EXIT_FAILURE };
        // SAFETY: exits the child without running the parent's destructors.
        unsafe { libc::_exit(code) };
    }
    drop(theirs);
    // SAFETY: integer arguments only; the child has not been reaped, so its pid is valid.
    let descriptor = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) } as libc::c_int);
    // Without this reply the child exits; its status shows when it is waited for.
    let answer = || (&ours).read_exact(&mut [0]).and_then(|()| (&ours).write_all(&[0]));
    match descriptor {
        Ok(descriptor) => {
            let _ = answer();
            Ok(Child { number, descriptor })
        }
        Err(error) => {
            drop(ours);
            wait_for(number)?;
            Err(error)
        }
    }
}

/// Returns whether the parent is still alive. The child calls it after PR_SET_PDEATHSIG, because a parent that died
/// before sends no signal. Child and parent exchange a byte, because a pid has no meaning in another PID namespace.
fn is_expected(original: UnixStream) -> bool {
    (&original).write_all(&[0]).and_then(|()| (&original).read_exact(&mut [0])).is_ok()
}

/// The exit code of `work`. A panic must not unwind into the parent's code.
fn code_of(work: impl FnOnce() -> i32) -> i32 {
    const PANICKED: i32 = 101;
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(PANICKED)
}

/// Waits for the child with this pid to end. Returns its exit status.
fn wait_for(number: libc::pid_t) -> io::Result<Ended> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes to `status`, which outlives the call.
        match check(unsafe { libc::waitpid(number, &raw mut status, 0) }) {
            Ok(_) => return Ok(Ended::of(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Child {
    /// A pidfd: readable when the child has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Kills the child, and its PID namespace if it is the first process there.
    pub fn kill(&self) {
        // SAFETY: integer arguments only; the child has not been reaped. No effect if it has ended.
        unsafe { libc::kill(self.number, libc::SIGKILL) };
    }

    /// Waits for the child to end. Returns its exit status.
    pub fn wait(self) -> io::Result<Ended> {
        wait_for(self.number)
    }
}

/// Waits for the child with this pid and reaps all others that end meanwhile. For the first process of a PID
/// namespace, which inherits orphans.
pub fn reap_until(number: u32) -> io::Result<Ended> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes to `status`, which outlives the call.
        match check(unsafe { libc::wait(&raw mut status) }) {
            Ok(ended) if ended as u32 == number => return Ok(Ended::of(status)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sets the timer slack to 1 ns; the default is 50 us.
pub fn exact_timers() {
    // SAFETY: integer arguments only; cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

fn signals_of_the_end() -> libc::sigset_t {
    // SAFETY: a bit set; all zeros are valid; the calls write only to it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Signals received through a descriptor instead of handlers.
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks SIGINT, SIGQUIT, SIGTERM and SIGHUP and receives them through this descriptor. Child processes inherit
    /// the signal mask; [`in_net`] unblocks the signals.
    pub fn of_the_end() -> io::Result<Self> {
        let set = signals_of_the_end();
        // SAFETY: the calls read `set`, which outlives them.
        unsafe {
            check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            owned(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)).map(Self)
        }
    }

    /// The next pending signal.
    pub fn take(&self) -> Option<Signal> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let len = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `len` bytes to `info`, which has that size.
        let read = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), len) };
        if read != len as isize {
            return None;
        }
        // SAFETY: the kernel has filled it completely.
        let number = unsafe { info.assume_init() }.ssi_signo as i32;
        Some(if [libc::SIGINT, libc::SIGQUIT].contains(&number) { Signal::Keyboard } else { Signal::End })
    }
}

/// A signal that asks this process to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// From the keyboard (SIGINT, SIGQUIT); the entire foreground process group receives it.
    Keyboard,
    /// A request to exit (SIGTERM, SIGHUP).
    End,
}

impl Drop for Signals {
    fn drop(&mut self) {
        let set = signals_of_the_end();
        // SAFETY: the call reads `set`, which outlives it.
        unsafe {
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// State of a polled descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready {
    /// Readable, or hung up.
    pub read: bool,
    /// Failed, or its device has disappeared.
    pub failed: bool,
}

/// Polls at most eight descriptors for input or failure, with an optional timeout in ns. Returns their states.
pub fn wait(descriptors: &[BorrowedFd<'_>], nanos: Option<u64>) -> io::Result<[Ready; 8]> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 8];
    for (one, descriptor) in polled.iter_mut().zip(descriptors) {
        one.fd = descriptor.as_raw_fd();
    }
    let time = nanos.map(|nanos| libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = polled.len() as libc::nfds_t;
    // SAFETY: an array with this many entries, where fd -1 is skipped; the time outlives the call or is null.
    let waited = check(unsafe { libc::ppoll(polled.as_mut_ptr(), count, time, std::ptr::null()) });
    match waited {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Err(_) => Ok([Ready::default(); 8]),
        Ok(_) => Ok(polled.map(|one| Ready {
            read: one.revents & (libc::POLLIN | libc::POLLHUP) != 0,
            failed: one.revents & (libc::POLLERR | libc::POLLNVAL) != 0,
        })),
    }
}

/// Polls any number of descriptors for input, or for output where the flag is set, with a timeout.
#[cfg(feature = "attach")]
pub fn wait_for_any<'a>(all: impl Iterator<Item = (BorrowedFd<'a>, bool)>, timeout: Duration) -> io::Result<()> {
    let polled = |(descriptor, writes): (BorrowedFd<'_>, bool)| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: if writes { libc::POLLOUT } else { libc::POLLIN },
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = all.map(polled).collect();
    let millis = timeout.as_millis().min(i32::MAX as u128) as i32;
    // SAFETY: the array has that many entries and outlives the call, like its descriptors.
    match check(unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Effective user and group id.
pub fn ids() -> (u32, u32) {
    // SAFETY: no arguments; cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Runs `work` in a single-threaded process and returns its exit code.
    fn alone(work: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child has only the calling thread. libc handles its own locks at fork; `work` takes no lock
        // that another test's thread may hold.
        let number = check(unsafe { libc::fork() }).unwrap();
        if number == 0 {
            let code = code_of(work);
            // SAFETY: exits the child without running the parent's destructors.
            unsafe { libc::_exit(code) };
        }
        wait_for(number).unwrap().code()
    }

    /// Pins this process to one CPU.
    fn pin() {
        // SAFETY: a bit set; all zeros are valid; the kernel only reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(0, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }

    #[test]
    fn fork_is_refused_with_other_threads() {
        // The test harness has other threads.
        let refusal = fork(|| 0).map(Child::wait).map(drop).unwrap_err();
        assert!(refusal.to_string().contains("threads"), "{refusal}");
        assert_eq!(alone(|| fork(|| 7).and_then(Child::wait).map_or(98, Ended::code)), 7);
    }

    #[test]
    fn child_that_panics_exits_with_101() {
        let within = || fork(|| panic!("on purpose")).and_then(Child::wait).map_or(98, Ended::code);
        // Inside another child: an unwinding inner child would show in the outer exit code.
        assert_eq!(alone(|| within() + 1), 102);
    }

    /// In a new PID namespace a child cannot see its parent's pid.
    #[test]
    fn child_never_outlives_its_parent() {
        let new = |user| Namespaces { user, net: false, mount: false, pid: true };
        for round in 0..40 {
            let (mut open, theirs) = UnixStream::pair().unwrap();
            let code = alone(|| {
                pin();
                if unshare(new(false)).or_else(|_| unshare(new(true))).is_err() {
                    return 97;
                }
                // This process exits at once, often before the child has run.
                fork(|| {
                    std::thread::sleep(Duration::from_secs(20));
                    drop(theirs);
                    0
                })
                .map_or(98, |_| 0)
            });
            if code == 97 {
                eprintln!("skipped: child_never_outlives_its_parent: no PID namespaces");
                return;
            }
            assert_eq!(code, 0);
            open.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            // End of stream: every process that could write has ended.
            assert_eq!(open.read(&mut [0]).ok(), Some(0), "round {round}");
        }
    }
}
