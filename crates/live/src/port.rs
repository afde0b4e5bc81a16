//! A port: the device through which the emulator receives and sends the frames of one end of the network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::offload::{self, Unfit};
use crate::sys::interfaces::Drops;
use crate::sys::netlink::Netlink;
use crate::sys::ring::{Frame, RingSocket};
use crate::sys::tun::Tunnel;

/// How a port exchanges frames with the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Packet sockets with a ring: kernel timestamps, batches, no device node.
    #[default]
    Ring,
    /// Tun devices: two interfaces fewer than with packet sockets, no hardware addresses; need access to
    /// `/dev/net/tun`.
    Tun,
}

/// The device of a port.
pub enum Way {
    /// A packet socket with a ring: [`Kind::Ring`].
    Ring(RingSocket),
    /// A tun device: [`Kind::Tun`].
    Tun(Tunnel),
}

/// Counts of received frames that were not single complete packets, because of offloads or truncation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Odd {
    /// Frames with checksum or segmentation left to hardware: completed here.
    pub completed: u64,
    /// Frames longer than a ring slot that came while the socket buffer was full: lost.
    pub cut: u64,
    /// Frames with an unsupported offload: lost.
    pub unknown: u64,
}

/// A port: the emulator's device at one end, and the counters of what it lost.
pub struct Port {
    way: Way,
    odd: Odd,
    /// Reads the drop counters of the interface with this index.
    counters: (Netlink, u32),
    /// The drop counters at the start.
    before: Drops,
    /// Received frames that the interface counts as dropped because of their VLAN tag.
    tagged: u64,
}

impl Port {
    /// Creates a port. `netlink` reads the drop counters of interface `number`: for a ring the interface to which the
    /// socket is bound, for a tun device its network interface.
    pub fn new(way: Way, netlink: Netlink, number: u32) -> io::Result<Self> {
        let before = netlink.drops(number)?;
        Ok(Self { way, odd: Odd::default(), counters: (netlink, number), before, tagged: 0 })
    }

    /// Arrival time of the first waiting frame, ns since 1970; `None` if none waits.
    pub fn head(&mut self) -> Option<u64> {
        match &mut self.way {
            Way::Ring(ring) => ring.head(),
            Way::Tun(tunnel) => tunnel.head(),
        }
    }

    /// Converts the next waiting frame into the packets that a wire would carry, and passes them to `take`: one packet,
    /// several, or none if the frame cannot be completed.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8])) {
        let (odd, tagged) = (&mut self.odd, &mut self.tagged);
        let mut complete = |frame: Frame<'_>| {
            *tagged += u64::from(is_dropped_behind_a_tag(&frame));
            match offload::complete(&frame, &mut take) {
                Ok(done) => odd.completed += u64::from(done),
                Err(Unfit::Cut) => odd.cut += 1,
                Err(Unfit::Unknown) => odd.unknown += 1,
            }
        };
        match &mut self.way {
            Way::Ring(ring) => ring.receive(complete),
            // The kernel completes frames for a tun device itself.
            Way::Tun(tunnel) => tunnel.receive(|bytes| complete(Frame::complete(bytes))),
        }
    }

    /// Sends these frames. Returns how many the interface accepted.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        match &self.way {
            Way::Ring(ring) => ring.send(frames),
            Way::Tun(tunnel) => tunnel.send(frames),
        }
    }

    /// Counts of received frames that were not single complete packets.
    pub const fn odd(&self) -> Odd {
        self.odd
    }

    /// Frames lost before reception: by the ring or tun queue for lack of space, or by the interface. An
    /// interface that no longer exists adds nothing.
    pub fn missed(&mut self) -> u64 {
        let (netlink, number) = &self.counters;
        let now = netlink.drops(*number).unwrap_or(self.before);
        match &mut self.way {
            Way::Ring(ring) => ring.dropped() + now.received.saturating_sub(self.before.received + self.tagged),
            Way::Tun(_) => now.sent.saturating_sub(self.before.sent),
        }
    }
}

/// Does the kernel count this frame as dropped by the interface, although the ring received it? It does if the frame
/// has a VLAN tag with an ID other than 0, and its protocol is neither IPv4, IPv6 nor ARP.
fn is_dropped_behind_a_tag(frame: &Frame<'_>) -> bool {
    let is_vlan = frame.tag.is_some_and(|[_, _, high, low]| (high & 0x0f, low) != (0, 0));
    let taken = [[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]];
    is_vlan && frame.bytes.get(12..14).is_some_and(|kind| !taken.iter().any(|taken| taken == kind))
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Ring(ring) => ring.as_fd(),
            Way::Tun(tunnel) => tunnel.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel counts such a frame in the interface's counter of dropped packets, although the ring received it.
    #[test]
    fn kernel_counts_vlan_frame_of_unknown_protocol_dropped() {
        let dropped = |vid: u8, kind: [u8; 2]| {
            let bytes = [&[0; 12][..], &kind, &[0; 46]].concat();
            is_dropped_behind_a_tag(&Frame { tag: Some([0x81, 0, 0, vid]), ..Frame::complete(&bytes) })
        };
        assert!(dropped(5, [0x88, 0xb5]), "a protocol without a handler");
        for (vid, kind) in [(5, [0x08, 0x00]), (5, [0x08, 0x06]), (5, [0x86, 0xdd]), (0, [0x88, 0xb5])] {
            assert!(!dropped(vid, kind), "{vid} {kind:?}");
        }
        assert!(!is_dropped_behind_a_tag(&Frame::complete(&[0; 60])), "no tag");
    }
}
