//! Namespaces, children, signals, and waiting for any of them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
#[cfg(feature = "attach")]
use std::time::Duration;

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
        // SAFETY: no handler of ours is called by it. An ignored signal stays so through exec.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        enter_net(namespace.as_fd())
    };
    // SAFETY: between fork and exec only system calls, with a descriptor that is still open; nothing is allocated.
    unsafe { command.pre_exec(ready) }
}

/// Makes a write beyond the limit of file sizes an error; without this call it ends the process by SIGXFSZ.
pub fn ignore_file_size_signal() {
    // SAFETY: no handler of ours is called by it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
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

/// Runs `work` in a copy of this process, which ends with the exit code that `work` returns, or 101 if it panics. The copy
/// is killed when this process ends first.
///
/// # Errors
///
/// Fails if this process has more than one thread: in a copy only the caller's thread exists, and a lock that another one
/// holds is never released there. With one thread nothing can start another between this check and the copy. Fails too if
/// `/proc` does not say how many threads there are.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Child> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "a process that copies itself must have one thread; this one has {threads} threads"
        )));
    }
    let (ours, theirs) = UnixStream::pair()?;
    // SAFETY: this process has one thread, so that no other one holds a lock in the copy.
    let number = check(unsafe { libc::fork() })?;
    if number == 0 {
        drop(ours);
        // SAFETY: plain numbers; it cannot fail.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let code = if is_expected(theirs) { code_of(work) } else { libc::EXIT_FAILURE };
        // SAFETY: ends the copy without running what belongs to the original.
        unsafe { libc::_exit(code) };
    }
    drop(theirs);
    // SAFETY: plain numbers; the child has not been waited for, so that its number is still its own.
    let descriptor = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) } as libc::c_int);
    // Without the answer the copy ends; what became of it is found when it is waited for.
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

/// Asks the original whether it is still there, after the copy has arranged to die with it: an original that ended before
/// that sends no signal, and its number says nothing in another namespace of processes.
fn is_expected(original: UnixStream) -> bool {
    (&original).write_all(&[0]).and_then(|()| (&original).read_exact(&mut [0])).is_ok()
}

/// The exit code of the work of a copy. A panic must not unwind into what the original was doing.
fn code_of(work: impl FnOnce() -> i32) -> i32 {
    const PANICKED: i32 = 101;
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(PANICKED)
}

/// Waits for the end of the child of that number.
fn wait_for(number: libc::pid_t) -> io::Result<Ended> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes to `status`, which lives until the call returns.
        match check(unsafe { libc::waitpid(number, &raw mut status, 0) }) {
            Ok(_) => return Ok(Ended::of(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
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
        wait_for(self.number)
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

/// Waits until one of these can be read, or written where it says so, or has failed; at most for so long.
#[cfg(feature = "attach")]
pub fn wait_for_any<'a>(all: impl Iterator<Item = (BorrowedFd<'a>, bool)>, patience: Duration) -> io::Result<()> {
    let polled = |(descriptor, writes): (BorrowedFd<'_>, bool)| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: if writes { libc::POLLOUT } else { libc::POLLIN },
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = all.map(polled).collect();
    let millis = patience.as_millis().min(i32::MAX as u128) as i32;
    // SAFETY: the array has that many entries and lives until the call returns, as their descriptors do.
    match check(unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// The numbers of the user and the group for whom this process works.
pub fn ids() -> (u32, u32) {
    // SAFETY: they cannot fail and touch no memory.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Runs `work` in a process with one thread, and gives its exit code.
    fn alone(work: impl FnOnce() -> i32) -> i32 {
        // SAFETY: a copy of this process has only the thread that made it. The C library sees to its own locks; the work
        // takes none that another test's thread may hold.
        let number = check(unsafe { libc::fork() }).unwrap();
        if number == 0 {
            let code = code_of(work);
            // SAFETY: ends the copy without running what belongs to the original.
            unsafe { libc::_exit(code) };
        }
        wait_for(number).unwrap().code()
    }

    /// Lets this process run on one processor only.
    fn pin() {
        // SAFETY: a set of bits, for which zeros are a value; the kernel reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(0, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }

    #[test]
    fn copies_are_refused_beside_other_threads() {
        // The harness has threads of its own.
        let refusal = fork(|| 0).map(Child::wait).map(drop).unwrap_err();
        assert!(refusal.to_string().contains("threads"), "{refusal}");
        assert_eq!(alone(|| fork(|| 7).and_then(Child::wait).map_or(98, Ended::code)), 7);
    }

    #[test]
    fn a_copy_that_panics_ends() {
        let within = || fork(|| panic!("on purpose")).and_then(Child::wait).map_or(98, Ended::code);
        // In the work of another copy: what unwinds out of the inner one would end in its code.
        assert_eq!(alone(|| within() + 1), 102);
    }

    /// In a new namespace of processes a copy cannot see its parent's number.
    #[test]
    fn a_copy_never_outlives_its_parent() {
        let new = |user| Namespaces { user, net: false, mount: false, pid: true };
        for round in 0..40 {
            let (mut open, theirs) = UnixStream::pair().unwrap();
            let code = alone(|| {
                pin();
                if unshare(new(false)).or_else(|_| unshare(new(true))).is_err() {
                    return 97;
                }
                // This process ends at once, often before the copy has run at all.
                fork(|| {
                    std::thread::sleep(Duration::from_secs(20));
                    drop(theirs);
                    0
                })
                .map_or(98, |_| 0)
            });
            if code == 97 {
                eprintln!("skipped: a_copy_never_outlives_its_parent: no namespaces of processes");
                return;
            }
            assert_eq!(code, 0);
            open.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            // It is at its end once every process that could write has gone.
            assert_eq!(open.read(&mut [0]).ok(), Some(0), "round {round}");
        }
    }
}
