//! A capture of the packets at a link, as tcpdump(8) on a router would make it.

use forebay_aqm::base::time::Instant;

use super::World;
use crate::link::Tag;
use crate::link::segment::Segment;
use crate::network::LinkId;

/// What happened to a captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// It arrived at the link. Only with [`World::capture_arrivals`].
    Arrived,
    /// It left the queue of the link.
    Sent,
    /// The discipline dropped it, or the buffer was full.
    Dropped,
    /// It left the queue and was lost on the wire.
    Lost,
    /// It passed the router in the opposite direction.
    Back,
}

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// When it happened.
    pub at: Instant,
    /// The packet; its ECN codepoint is CE if the discipline marked it.
    pub segment: Segment,
    /// Its hosts, DSCP and protocol.
    pub tag: Tag,
    /// What happened.
    pub what: Seen,
}

/// Bytes that a capture keeps of an [`IpPacket`], from the IP header on: enough for all headers.
pub const SNAP: usize = 96;

/// A captured packet as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IpPacket {
    /// When it happened.
    pub at: Instant,
    /// Length of the packet, bytes.
    pub length: u32,
    /// At most its first [`SNAP`] bytes.
    pub kept: Vec<u8>,
    /// What happened to it.
    pub what: Seen,
}

/// A capture in progress.
pub(super) struct Capture {
    link: LinkId,
    back: Option<LinkId>,
    most: usize,
    has_arrivals: bool,
    packets: Vec<Captured>,
}

impl World {
    /// Starts a capture of at most `most` packets: those of `link` and, if given, those of `back`, the link in the opposite
    /// direction. Call it before the run starts. Links on the fast path
    /// ([`LinkSpec::is_fast`](crate::network::LinkSpec::is_fast)) are not captured.
    pub fn capture(&mut self, link: LinkId, back: Option<LinkId>, most: usize) {
        self.capture = Some(Box::new(Capture { link, back, most, has_arrivals: false, packets: Vec::new() }));
    }

    /// Starts a capture of at most `most` events at `link`, arrivals included; otherwise as [`capture`](Self::capture).
    pub fn capture_arrivals(&mut self, link: LinkId, most: usize) {
        self.capture = Some(Box::new(Capture { link, back: None, most, has_arrivals: true, packets: Vec::new() }));
    }

    /// The captured packets, in the order of time.
    pub fn captured(&mut self) -> Vec<Captured> {
        self.capture.take().map_or_else(Vec::new, |capture| capture.packets)
    }
}

impl Capture {
    /// A packet has arrived at `link`, left it, was dropped there, or was lost behind it.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, link: LinkId, segment: &Segment, tag: Tag, at: Instant, what: Seen) {
        let what = match what {
            Seen::Arrived if !self.has_arrivals => return,
            what if link == self.link => what,
            Seen::Sent if Some(link) == self.back => Seen::Back,
            _ => return,
        };
        if self.packets.len() < self.most {
            self.packets.push(Captured { at, segment: *segment, tag, what });
        }
    }
}
