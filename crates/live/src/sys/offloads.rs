//! What an interface leaves to hardware, switched off: only then are packets whole, one by one, with their checksums.

use std::io;
use std::os::fd::AsRawFd;

use super::{check, owned};

/// A request of linux/ethtool.h that switches something on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Switch {
    /// Segments of TCP (`ETHTOOL_STSO`).
    TcpSegments = 0x1f,
    /// Segments, as late as can be (`ETHTOOL_SGSO`).
    Segments = 0x24,
    /// Segments put together (`ETHTOOL_SGRO`).
    Together = 0x2c,
    /// Frames in pieces, without which there are no segments (`ETHTOOL_SSG`).
    Pieces = 0x19,
    /// Checksums of what comes (`ETHTOOL_SRXCSUM`).
    ChecksumsIn = 0x15,
    /// Checksums of what goes (`ETHTOOL_STXCSUM`).
    ChecksumsOut = 0x17,
}

impl Switch {
    /// All of them, segmentation before what it needs.
    pub const ALL: [Self; 6] =
        [Self::TcpSegments, Self::Segments, Self::Together, Self::Pieces, Self::ChecksumsIn, Self::ChecksumsOut];
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches all of them off at the interface of this name in the present network namespace.
pub fn off(interface: &str) -> io::Result<()> {
    turn(interface, &Switch::ALL, false)
}

/// Switches these on or off, in this order, as ethtool(8) does.
pub fn turn(interface: &str, switches: &[Switch], on: bool) -> io::Result<()> {
    // SAFETY: plain numbers.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    for switch in switches {
        let mut value = Value { command: *switch as u32, data: u32::from(on) };
        // SAFETY: a structure of numbers and a union of them, for which zeros are values.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: for this request the kernel reads and writes one `Value` where the pointer says, which lives until the
        // call returns.
        let done = check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) });
        // What cannot be switched is not there.
        if let Err(error) = done
            && error.raw_os_error() != Some(libc::EOPNOTSUPP)
        {
            return Err(error);
        }
    }
    Ok(())
}
