//! Where frames come from and go to: an end of the emulated network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::offload::{self, Unfit};
use crate::sys::interfaces::Drops;
use crate::sys::netlink::Netlink;
use crate::sys::ring::{Frame, RingSocket};
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

/// How frames come and go.
pub enum Way {
    /// See [`Kind::Ring`].
    Ring(RingSocket),
    /// See [`Kind::Tun`].
    Tun(Tunnel),
}

/// Frames that came to a port, but not as the packets that are on a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Odd {
    /// Those whose checksum or segmentation was left to hardware and done here.
    pub completed: u64,
    /// Those that were longer than a place in the ring, and for which the socket's queue had no room: lost.
    pub cut: u64,
    /// Those of which something was left to hardware that is not known here: lost.
    pub unknown: u64,
}

/// A port.
pub struct Port {
    way: Way,
    odd: Odd,
    /// Tells what the interface beside it has dropped, of this number.
    counters: (Netlink, u32),
    /// What it had dropped before.
    before: Drops,
    /// Frames with a tag of a VLAN that came.
    tagged: u64,
}

impl Port {
    /// A port beside an interface of this number, about which `netlink` is asked. The interface of a ring is that at which it
    /// listens, that of a tunnel the other end.
    pub fn new(way: Way, netlink: Netlink, number: u32) -> io::Result<Self> {
        let before = netlink.drops(number)?;
        Ok(Self { way, odd: Odd::default(), counters: (netlink, number), before, tagged: 0 })
    }

    /// When the next frame that waits came, in nanoseconds since 1970; none if none waits.
    pub fn head(&mut self) -> Option<u64> {
        match &mut self.way {
            Way::Ring(ring) => ring.head(),
            Way::Tun(tunnel) => tunnel.head(),
        }
    }

    /// Hands the next frame to `take`, if one waits: as the packets that it is on a wire, which may be several, or none if it
    /// cannot be completed.
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
            // The kernel completes what goes into a tunnel.
            Way::Tun(tunnel) => tunnel.receive(|bytes| complete(Frame::complete(bytes))),
        }
    }

    /// Sends these frames; how many the interface took.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        match &self.way {
            Way::Ring(ring) => ring.send(frames),
            Way::Tun(tunnel) => tunnel.send(frames),
        }
    }

    /// Frames that did not come as packets of a wire, so far.
    pub const fn odd(&self) -> Odd {
        self.odd
    }

    /// Frames on their way here that were lost before they could be received, so far: by the ring or the tunnel for want of
    /// room, and by the interface. An interface that has gone tells nothing.
    pub fn missed(&mut self) -> u64 {
        let (netlink, number) = &self.counters;
        let now = netlink.drops(*number).unwrap_or(self.before);
        match &mut self.way {
            Way::Ring(ring) => ring.dropped() + now.received.saturating_sub(self.before.received + self.tagged),
            Way::Tun(_) => now.sent.saturating_sub(self.before.sent),
        }
    }
}

/// Does the kernel count this frame as dropped by the interface, although the ring has it? It does where a VLAN tag that is
/// no priority tag hides a protocol that nobody but the ring takes.
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

    #[test]
    fn a_tag_hides_what_no_handler_takes() {
        let dropped = |vid: u8, kind: [u8; 2]| {
            let bytes = [&[0; 12][..], &kind, &[0; 46]].concat();
            is_dropped_behind_a_tag(&Frame { tag: Some([0x81, 0, 0, vid]), ..Frame::complete(&bytes) })
        };
        assert!(dropped(5, [0x88, 0xb5]), "a protocol of nobody");
        for (vid, kind) in [(5, [0x08, 0x00]), (5, [0x08, 0x06]), (5, [0x86, 0xdd]), (0, [0x88, 0xb5])] {
            assert!(!dropped(vid, kind), "{vid} {kind:?}");
        }
        assert!(!is_dropped_behind_a_tag(&Frame::complete(&[0; 60])), "no tag");
    }
}
