//! What an interface leaves to hardware, switched off: only then are packets whole, one by one, with their checksums.

use std::io;
use std::os::fd::AsRawFd;

use super::{check, owned};

/// `ETHTOOL_STSO`, `SGSO`, `SGRO`, `SSG`, `SRXCSUM`, `STXCSUM` of linux/ethtool.h: segmentation goes before checksums.
const SWITCHES: [u32; 6] = [0x1f, 0x24, 0x2c, 0x19, 0x15, 0x17];

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches all of them off at the interface of this name in the present network namespace.
pub fn off(interface: &str) -> io::Result<()> {
    // SAFETY: plain numbers.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    for command in SWITCHES {
        let mut value = Value { command, data: 0 };
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
