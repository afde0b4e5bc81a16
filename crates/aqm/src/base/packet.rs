//! The descriptor that disciplines see: never the bytes, never a header.

use super::time::Instant;

/// ECN codepoint of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, L4S (RFC 9331).
    Ect1,
    /// ECN-capable, classic.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// May a router mark this packet instead of dropping it?
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Conformance colour written by an edge marker (IN or OUT of profile).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Colour {
    /// Within its profile, or never marked.
    #[default]
    In,
    /// Beyond its profile.
    Out,
}

/// Transport protocol, as far as a classifier may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Proto {
    /// Reacts to drops and marks.
    #[default]
    Tcp,
    /// Does not.
    Udp,
}

/// One packet as a discipline sees it: 32 bytes, `Copy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    /// When it was offered to this queue.
    pub arrived: Instant,
    /// The host's handle to the packet itself.
    pub slot: u32,
    /// Length on the wire in bytes.
    pub len: u32,
    /// 5-tuple id.
    pub flow: u32,
    /// Source-destination pair id.
    pub pair: u32,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Service class.
    pub class: u8,
    /// Conformance colour.
    pub colour: Colour,
    /// Transport protocol.
    pub proto: Proto,
}
