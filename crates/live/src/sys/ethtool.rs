//! Disables the offloads of an interface, so that each frame is one packet with a complete checksum.

use std::io;
use std::os::fd::AsRawFd;

use super::{check, owned};

/// An ethtool request of linux/ethtool.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Switch {
    /// TCP segmentation (`ETHTOOL_STSO`).
    TcpSegments = 0x1f,
    /// Generic segmentation (`ETHTOOL_SGSO`).
    Segments = 0x24,
    /// Generic receive offload (`ETHTOOL_SGRO`).
    Together = 0x2c,
    /// Scatter-gather, which segmentation needs (`ETHTOOL_SSG`).
    Pieces = 0x19,
    /// Receive checksums (`ETHTOOL_SRXCSUM`).
    ChecksumsIn = 0x15,
    /// Transmit checksums (`ETHTOOL_STXCSUM`).
    ChecksumsOut = 0x17,
}

impl Switch {
    /// All offloads. Segmentation precedes scatter-gather and checksums, on which it depends.
    pub const ALL: [Self; 6] =
        [Self::TcpSegments, Self::Segments, Self::Together, Self::Pieces, Self::ChecksumsIn, Self::ChecksumsOut];
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Disables all offloads of an interface in the current network namespace.
pub fn off(interface: &str) -> io::Result<()> {
    turn(interface, &Switch::ALL, false)
}

/// Enables or disables offloads, as ethtool(8) does, in the order of `switches`. Skips offloads that the interface
/// does not support.
pub fn turn(interface: &str, switches: &[Switch], on: bool) -> io::Result<()> {
    // SAFETY: integer arguments only.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    for switch in switches {
        let mut value = Value { command: *switch as u32, data: u32::from(on) };
        // SAFETY: a struct of integers; all zeros are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: for this request the kernel reads and writes one `Value` at the pointer, which outlives the
        // call.
        let done = check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) });
        // An unsupported offload is absent.
        if let Err(error) = done
            && error.raw_os_error() != Some(libc::EOPNOTSUPP)
        {
            return Err(error);
        }
    }
    Ok(())
}
