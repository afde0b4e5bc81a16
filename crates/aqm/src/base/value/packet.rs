//! The descriptor that disciplines see: never the bytes, never a header.

use crate::base::time::Instant;

/// ECN codepoint of the IP header (RFC 3168 section 5). Four bytes wide: see [`Packet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable, L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Its two bits in the header.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// May a router mark this packet instead of dropping it?
    #[inline]
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
    In = 0,
    /// Beyond its profile.
    Out = 1,
}

impl Colour {
    /// Its number.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// Transport protocol, as far as a classifier may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Proto {
    /// Reacts to drops and marks.
    #[default]
    Tcp = 0,
    /// Does not.
    Udp = 1,
}

impl Proto {
    /// Its number.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// One packet as a discipline sees it: 32 bytes, `Copy`.
///
/// Its ECN field is judged and changed on the way, so a copy is made around it. It takes the last four of the bytes:
/// what lies before it is then copied in words, where odd bytes would be copied in pieces that overlap, which stalls.
#[repr(C)]
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
    /// Service class.
    pub class: u8,
    /// Conformance colour.
    pub colour: Colour,
    /// Transport protocol.
    pub proto: Proto,
    /// ECN codepoint.
    pub ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_32_bytes() {
        assert_eq!((size_of::<Packet>(), size_of::<Ecn>()), (32, 4));
    }
}
