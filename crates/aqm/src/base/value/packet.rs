//! The packet descriptor that disciplines use. It has no payload and no headers.

use crate::base::time::Instant;

/// ECN codepoint of the IP header (RFC 3168 section 5). Four bytes wide: see [`Packet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, Classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The two bits in the IP header.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a router may mark this packet instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Conformance colour written by an edge marker (IN or OUT of profile).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Colour {
    /// Within its profile, or not coloured.
    #[default]
    In = 0,
    /// Out of profile.
    Out = 1,
}

impl Colour {
    /// The numeric value: IN 0, OUT 1.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// Transport protocol, for classifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Proto {
    /// TCP: reacts to drops and marks.
    #[default]
    Tcp = 0,
    /// UDP: does not react.
    Udp = 1,
}

impl Proto {
    /// The numeric value: TCP 0, UDP 1.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// A packet descriptor: 32 bytes, `Copy`.
///
/// Marking changes the ECN field. It has the last four bytes, so that the bytes before it are copied as whole words.
/// Overlapping partial copies would stall the CPU.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    /// Arrival time at this queue.
    pub arrived: Instant,
    /// Identifies the packet in the program that owns the queue, such as the simulator.
    pub slot: u32,
    /// Length on the wire in bytes.
    pub len: u32,
    /// Id of the flow (5-tuple).
    pub flow: u32,
    /// Source-destination pair id.
    pub pair: u32,
    /// Number of the service class.
    pub class: u8,
    /// Conformance colour: IN or OUT of its traffic profile.
    pub colour: Colour,
    /// Transport protocol.
    pub proto: Proto,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_descriptor_takes_32_bytes_of_memory() {
        assert_eq!((size_of::<Packet>(), size_of::<Ecn>()), (32, 4));
    }
}
