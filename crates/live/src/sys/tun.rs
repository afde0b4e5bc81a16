//! Tun devices: one IP packet per read and write (tun(4)).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::{check, clock};

/// `TUNSETIFF` in linux/if_tun.h.
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
/// Length of a placeholder for the Ethernet header, bytes. Packets of a tun device lack this header; with the
/// placeholder their lengths match those of Ethernet frames.
const HEADER: usize = 14;
/// The longest packet with the placeholder, bytes.
const MAX_FRAME: usize = 65_535 + HEADER;

/// Our end of a tun device; the other end is an interface.
pub struct Tunnel {
    file: File,
    /// The waiting packet; empty if `len` is 0.
    buffer: Vec<u8>,
    len: usize,
    came: u64,
}

impl Tunnel {
    /// Creates the interface in the current network namespace. Needs CAP_NET_ADMIN there and access to
    /// `/dev/net/tun`.
    pub fn open(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // SAFETY: a struct of integers; all zeros are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: for this request the kernel reads and writes `request`, which outlives the call.
        check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        Ok(Self { file, buffer: vec![0; MAX_FRAME], len: 0, came: 0 })
    }

    /// Time at which the waiting packet was read, ns since 1970 (tun has no timestamps); `None` if none waits.
    pub fn head(&mut self) -> Option<u64> {
        if self.len == 0
            && let Ok(len) = self.file.read(&mut self.buffer[HEADER..])
        {
            self.len = len;
            self.came = clock::realtime();
            // EtherType from the IP version.
            let kind = if self.buffer[HEADER] >> 4 == 6 { [0x86, 0xdd] } else { [0x08, 0x00] };
            self.buffer[HEADER - 2..HEADER].copy_from_slice(&kind);
        }
        (self.len > 0).then_some(self.came)
    }

    /// Passes the next waiting packet to `take`, with a placeholder Ethernet header.
    pub fn receive(&mut self, take: impl FnOnce(&[u8])) {
        if self.head().is_some() {
            take(&self.buffer[..HEADER + self.len]);
            self.len = 0;
        }
    }

    /// Sends frames without their Ethernet headers. Returns how many the interface accepted.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut sent = 0;
        for frame in frames {
            match (&self.file).write(frame.get(HEADER..).unwrap_or_default()) {
                Ok(_) => sent += 1,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(sent)
    }
}

impl AsFd for Tunnel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
