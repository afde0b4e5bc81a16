//! System calls around the kernel's process.

#![expect(unsafe_code, reason = "system calls; each block states why it is sound")]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Error, PipeReader, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) mod memory;
pub(crate) mod socket;

/// The descriptor to which the guest writes its records.
const OUT: i32 = 100;
/// The descriptor from which the kernel reads its initial file system, and the kernel's argument for it.
const ARCHIVE: i32 = 101;
pub(crate) const ARCHIVE_PATH: &str = "initrd=/proc/self/fd/101";
/// The first descriptor of the sockets to which the kernel connects.
const DOORS: i32 = 102;

/// The path of a socket in the kernel's process.
pub(crate) fn door_path(number: usize) -> String {
    format!("/proc/self/fd/{}", DOORS + number as i32)
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

/// An empty file in memory.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a zero; the descriptor is new and has no other owner.
    unsafe { check(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC)).map(|new| File::from_raw_fd(new)) }
}

/// Lets the process of `command` begin without address-space randomisation, on one core, in its own process group, with
/// `out` as the descriptor for records, `archive` as that of its file system, and `doors` as those of [`door_path`]. It
/// is killed when the thread that starts it ends.
pub(crate) fn prepare(command: &mut Command, (out, archive): (&OwnedFd, &File), doors: &[File], core: Option<usize>) {
    let (out, archive) = (out.as_raw_fd(), archive.as_raw_fd());
    let doors: Vec<i32> = doors.iter().map(AsRawFd::as_raw_fd).collect();
    let parent = std::process::id() as i32;
    command.process_group(0);
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            check(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong))?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() != parent {
                // The parent ended before the call.
                return Err(Error::from_raw_os_error(libc::ESRCH));
            }
            if let Some(core) = core {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(core, &mut set);
                // A hint: without it a run is only slower.
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
            }
            for (door, number) in doors.iter().zip(DOORS..) {
                check(libc::dup2(*door, number))?;
            }
            check(libc::dup2(archive, ARCHIVE))?;
            check(libc::dup2(out, OUT)).map(drop)
        });
    }
}

/// Kills a process group.
pub(crate) fn kill_group(leader: u32) {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

/// The cores on which this process may run.
pub(crate) fn cores() -> Vec<usize> {
    // SAFETY: zero is a valid value of the set, which the call fills.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// Reads what a pipe has, after waiting at most `milliseconds`. `None`: nothing came. An empty part: its end.
pub(crate) fn read_within(pipe: &mut PipeReader, to: &mut [u8], milliseconds: i32) -> io::Result<Option<usize>> {
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure is passed, with its number.
    match check(unsafe { libc::poll(&raw mut poll, 1, milliseconds) }) {
        Ok(0) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
        Ok(_) => pipe.read(to).map(Some),
    }
}

/// CPU time in seconds of the children that have ended and were waited for, in this thread's process.
pub(crate) fn child_seconds(id: u32) -> f64 {
    // Fields 14 to 17 of proc(5)'s stat, after the name in parentheses: user and system time, then those of children.
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = rest.split_whitespace().skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum();
    // SAFETY: no memory is passed.
    ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64
}
