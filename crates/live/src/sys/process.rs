//! Namespaces, children, signals, and waiting for any of them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::{check, owned};

/// What a process can have of its own.
#[derive(Clone, Copy, Debug)]
pub struct Namespaces {
    /// Users: it is root in there, and in what it makes there.
    pub user: bool,
    /// Network.
    pub net: bool,
    /// Mounts.
    pub mount: bool,
    /// Processes: of the children, the first of which takes all the others with it when it ends.
    pub pid: bool,
}

/// Moves this process into new namespaces. It must have one thread only for new users.
pub fn unshare(new: Namespaces) -> io::Result<()> {
    let flags = [
        (new.user, libc::CLONE_NEWUSER),
        (new.net, libc::CLONE_NEWNET),
        (new.mount, libc::CLONE_NEWNS),
        (new.pid, libc::CLONE_NEWPID),
    ];
    let flags = flags.iter().filter(|(wanted, _)| *wanted).fold(0, |all, (_, flag)| all | flag);
    // SAFETY: plain numbers; no memory is shared differently afterwards.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// The network namespace of this thread.
pub fn own_net() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Moves this thread into that network namespace.
pub fn enter_net(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers; the descriptor lives until the call returns.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Mounts that are made from now on are not seen outside of this process's mount namespace.
pub fn private_mounts() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: strings that end with 0 and live for ever; no pointer else is read with these flags.
    check(unsafe { libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null()) }).map(drop)
}

/// Mounts what shows the processes of the present namespace over `/proc`.
pub fn mount_proc() -> io::Result<()> {
    let (from, to, flags) = (c"proc".as_ptr(), c"/proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
    // SAFETY: strings that end with 0 and live for ever; no options.
    check(unsafe { libc::mount(from, to, from, flags, std::ptr::null()) }).map(drop)
}

/// The command will run in that network namespace, with the signals that a program expects.
pub fn in_net(command: &mut Command, namespace: Arc<File>) -> &mut Command {
    let ready = move || {
        let set = signals_of_the_end();
        // SAFETY: the call reads `set`, which lives until it returns. A blocked signal stays so through exec.
        check(unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) })?;
        enter_net(namespace.as_fd())
    };
    // SAFETY: between fork and exec only system calls, with a descriptor that is still open; nothing is allocated.
    unsafe { command.pre_exec(ready) }
}

/// What a child of [`fork`] is to its parent.
pub struct Child {
    number: libc::pid_t,
    descriptor: OwnedFd,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// What a shell says of it.
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

/// Runs `work` in a copy of this process, which must have one thread only, and which ends with the code that it gives; the
/// copy is killed if this process ends before it.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Child> {
    // SAFETY: getpid cannot fail and touches no memory.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the caller has one thread, so that no lock is held by another one in the copy.
    let number = check(unsafe { libc::fork() })?;
    if number == 0 {
        // SAFETY: plain numbers.
        let orphan = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // In a namespace of processes of its own it cannot see its parent's number: then that is 0.
            ![0, parent].contains(&libc::getppid())
        };
        let code = if orphan { libc::EXIT_FAILURE } else { work() };
        // SAFETY: ends the copy without running what belongs to the original.
        unsafe { libc::_exit(code) };
    }
    // SAFETY: plain numbers; the child has not been waited for, so that its number is still its own.
    let descriptor = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) } as libc::c_int)?;
    Ok(Child { number, descriptor })
}

impl Child {
    /// Becomes readable when it has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Ends it at once, and with it all of its namespace if it was the first one there.
    pub fn kill(&self) {
        // SAFETY: plain numbers; it has not been waited for. If it has ended by itself, nothing happens.
        unsafe { libc::kill(self.number, libc::SIGKILL) };
    }

    /// Waits for its end.
    pub fn wait(self) -> io::Result<Ended> {
        let mut status = 0;
        loop {
            // SAFETY: the kernel writes to `status`, which lives until the call returns.
            match check(unsafe { libc::waitpid(self.number, &raw mut status, 0) }) {
                Ok(_) => return Ok(Ended::of(status)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits until the child of that number has ended, taking leave of every other one that ends meanwhile: for the first process
/// of a namespace, whose children are also those that lost their parents.
pub fn reap_until(number: u32) -> io::Result<Ended> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes to `status`, which lives until the call returns.
        match check(unsafe { libc::wait(&raw mut status) }) {
            Ok(ended) if ended as u32 == number => return Ok(Ended::of(status)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Timers of this process are as exact as can be; by default the kernel lets them be 50 us late.
pub fn exact_timers() {
    // SAFETY: plain numbers; it cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

fn signals_of_the_end() -> libc::sigset_t {
    // SAFETY: a set of bits, for which zeros are a value; the calls write to it and to nothing else.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Signals that are read instead of taking effect.
pub struct Signals(OwnedFd);

impl Signals {
    /// Those that ask a program to end. Children have them blocked too; [`in_net`] gives them their effect back.
    pub fn of_the_end() -> io::Result<Self> {
        let set = signals_of_the_end();
        // SAFETY: the calls read `set`, which lives until they return.
        unsafe {
            check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            owned(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)).map(Self)
        }
    }

    /// The next one that has come.
    pub fn take(&self) -> Option<Signal> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let len = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `len` bytes to `info`, which is that long.
        let read = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), len) };
        if read != len as isize {
            return None;
        }
        // SAFETY: the kernel has filled it as a whole.
        let number = unsafe { info.assume_init() }.ssi_signo as i32;
        Some(if [libc::SIGINT, libc::SIGQUIT].contains(&number) { Signal::Keyboard } else { Signal::End })
    }
}

/// What a signal asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// From the keyboard: everything that runs in front gets it.
    Keyboard,
    /// This process should end.
    End,
}

impl Drop for Signals {
    fn drop(&mut self) {
        let set = signals_of_the_end();
        // SAFETY: the call reads `set`, which lives until it returns.
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

/// What a descriptor is ready for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ready {
    /// Something can be read.
    pub read: bool,
    /// What is behind it has gone or failed.
    pub failed: bool,
}

/// Waits until one of these can be read or has failed, at most eight, or for so many nanoseconds; which ones.
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
    // SAFETY: an array of that many entries, of which those with -1 are passed over, and a time that lives until the call
    // returns or none.
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

/// The numbers of the user and the group for whom this process works.
pub fn ids() -> (u32, u32) {
    // SAFETY: they cannot fail and touch no memory.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
