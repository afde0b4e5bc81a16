//! System calls. The only directory with unsafe code.
//!
//! Each module offers safe functions with `std::io` errors: [`clock`], [`ring`] (packet sockets), [`tun`] (tun
//! devices), [`netlink`] (rtnetlink socket), [`interfaces`] and `qdisc_list` (requests over netlink), [`ethtool`]
//! (offloads), [`process`] (namespaces, signals, waiting), [`socket`] (TCP with options), [`allocator`] (memory).

#![expect(unsafe_code, reason = "system calls; each block states why it is sound")]

pub mod allocator;
#[cfg(feature = "attach")]
pub mod attach_process;
pub mod clock;
pub mod ethtool;
pub mod interfaces;
pub mod netlink;
pub mod process;
#[cfg(feature = "attach")]
pub mod qdisc_list;
pub mod ring;
pub mod socket;
pub mod tun;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The result of a call that returns -1 on error.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that a call has just created.
fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the descriptor was just created and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets a socket option to `value`, an integer or a C structure without pointers.
fn set_option<T>(socket: &impl AsRawFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes from `value`, which has that size, and keeps no pointer.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) })?;
    Ok(())
}
