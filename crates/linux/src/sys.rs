//! System calls around the kernel's process.

#![expect(unsafe_code, reason = "system calls; each block states why it is sound")]

use std::io::{self, Error, PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) mod memory;
pub(crate) mod socket;

/// The descriptor to which the guest writes its records.
const OUT: i32 = 100;

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

/// Lets the process of `command` begin without address-space randomisation, on one core, in its own process group, with
/// `out` as the descriptor for records. It is killed when the thread that starts it ends.
pub(crate) fn prepare(command: &mut Command, out: &OwnedFd, core: Option<usize>) {
    let out = out.as_raw_fd();
    command.process_group(0);
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            check(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong))?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if let Some(core) = core {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(core, &mut set);
                // A hint: without it a run is only slower.
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
            }
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
