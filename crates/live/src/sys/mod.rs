//! What talks to the kernel, and the only folder with unsafe code.
//!
//! Each module wraps one thing as safe functions with `std::io` errors: [`clock`], [`ring`] (packet sockets), [`tun`] (tunnels),
//! [`netlink`] (a socket to the kernel's networking), [`interfaces`] and `qdiscs` (what it is asked), [`offloads`], [`process`] (namespaces, signals, waiting), [`socket`] (TCP with its options).

#![expect(unsafe_code, reason = "system calls; each block says why it is sound")]

#[cfg(feature = "attach")]
pub mod attach_process;
pub mod clock;
pub mod interfaces;
pub mod netlink;
pub mod offloads;
pub mod process;
#[cfg(feature = "attach")]
pub mod qdiscs;
pub mod ring;
pub mod socket;
pub mod tun;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The result of a call that says -1 for an error.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The descriptor that a call has just made for us.
fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just given this descriptor to the caller, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets a socket option that is a plain value.
fn set_option<T>(socket: &impl AsRawFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes from `value`, which is that long, and keeps no reference.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) })?;
    Ok(())
}
