//! Where frames come from and go to: an end of the emulated network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys::ring::RingSocket;
use crate::sys::tun::Tunnel;

/// Which kind of port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Packet sockets with a ring: stamps of the kernel, many frames at once, no device node.
    #[default]
    Ring,
    /// Tunnels: two interfaces fewer, no addresses of hardware, where `/dev/net/tun` may be opened.
    Tun,
}

/// A port.
pub enum Port {
    /// See [`Kind::Ring`].
    Ring(RingSocket),
    /// See [`Kind::Tun`].
    Tun(Tunnel),
}

impl Port {
    /// When the next frame that waits came, in nanoseconds since 1970; none if none waits.
    pub fn head(&mut self) -> Option<u64> {
        match self {
            Self::Ring(ring) => ring.head(),
            Self::Tun(tunnel) => tunnel.head(),
        }
    }

    /// Hands the next frame to `take`, if one waits.
    pub fn receive(&mut self, take: impl FnOnce(&[u8])) {
        match self {
            Self::Ring(ring) => ring.receive(take),
            Self::Tun(tunnel) => tunnel.receive(take),
        }
    }

    /// Sends these frames; how many the interface took.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        match self {
            Self::Ring(ring) => ring.send(frames),
            Self::Tun(tunnel) => tunnel.send(frames),
        }
    }

    /// Frames for which there was no room, so far. Those that a tunnel had no room for are not known here.
    pub fn dropped(&mut self) -> u64 {
        match self {
            Self::Ring(ring) => ring.dropped(),
            Self::Tun(_) => 0,
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ring(ring) => ring.as_fd(),
            Self::Tun(tunnel) => tunnel.as_fd(),
        }
    }
}
