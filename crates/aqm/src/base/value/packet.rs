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

/// The hosts that a packet comes from and goes to, for disciplines that share a link among hosts. Both are 0 if the
/// program that owns the queue does not know them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hosts {
    /// Id of the host that sends the packet.
    pub source: u16,
    /// Id of the host that receives the packet.
    pub destination: u16,
}

/// What an ACK filter reads in a TCP header, in four bytes. The default is a packet without an acknowledgement.
///
/// The acknowledgement number has 28 bits, in the unit of the program that owns the queue, such as packets. It wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack(u32);

impl Ack {
    /// Bits of the acknowledgement number.
    const NUMBER: u32 = (1 << 28) - 1;
    const ECE: u32 = 1 << 28;
    const CWR: u32 = 1 << 29;
    const SACK: u32 = 1 << 30;
    const PURE: u32 = 1 << 31;

    /// A pure acknowledgement: no data, and no flags except ACK, ECE and CWR. `number` is the next number that the
    /// receiver expects; its lowest 28 bits are kept.
    pub const fn pure(number: u32) -> Self {
        Self(Self::PURE | number & Self::NUMBER)
    }

    /// This acknowledgement with the flags ECE (congestion echo) and CWR (window reduced).
    #[must_use]
    pub const fn with_flags(self, ece: bool, cwr: bool) -> Self {
        let kept = self.0 & !(Self::ECE | Self::CWR);
        Self(kept | if ece { Self::ECE } else { 0 } | if cwr { Self::CWR } else { 0 })
    }

    /// This acknowledgement with the information whether it has SACK blocks (RFC 2018).
    #[must_use]
    pub const fn with_blocks(self, blocks: bool) -> Self {
        Self(self.0 & !Self::SACK | if blocks { Self::SACK } else { 0 })
    }

    /// The four bytes, for recordings of packets.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The acknowledgement with these four bytes, which [`bits`](Self::bits) has returned.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether the packet is a pure acknowledgement.
    #[inline]
    pub const fn is_pure(self) -> bool {
        self.0 & Self::PURE != 0
    }

    /// Whether it has SACK blocks.
    #[inline]
    pub const fn has_blocks(self) -> bool {
        self.0 & Self::SACK != 0
    }

    /// Whether the flags ECE and CWR are those of `other`.
    #[inline]
    pub const fn has_flags_of(self, other: Self) -> bool {
        (self.0 ^ other.0) & (Self::ECE | Self::CWR) == 0
    }

    /// Whether its acknowledgement number is that of `other`.
    #[inline]
    pub const fn equals(self, other: Self) -> bool {
        (self.0 ^ other.0) & Self::NUMBER == 0
    }

    /// Whether its acknowledgement number is above that of `other`. Numbers wrap: at most half of them are above.
    #[inline]
    pub const fn is_after(self, other: Self) -> bool {
        // Shifted to the top, the difference of the 28 bits wraps as a signed number.
        (((other.0 & Self::NUMBER).wrapping_sub(self.0 & Self::NUMBER)) << 4) as i32 <= -1
    }
}

/// A packet descriptor: 40 bytes, `Copy`.
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
    /// The hosts that it comes from and goes to.
    pub hosts: Hosts,
    /// The acknowledgement that it has, if it is TCP.
    pub ack: Ack,
    /// Number of the service class.
    pub class: u8,
    /// Conformance colour: IN or OUT of its traffic profile.
    pub colour: Colour,
    /// Transport protocol.
    pub proto: Proto,
    /// Differentiated services codepoint of the IP header (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_descriptor_takes_40_bytes_of_memory() {
        assert_eq!((size_of::<Packet>(), size_of::<Ecn>()), (40, 4));
    }

    #[test]
    fn acknowledgement_numbers_wrap_at_28_bits() {
        let after = |a, b| Ack::pure(a).is_after(Ack::pure(b));
        assert!(after(8, 7) && !after(7, 8) && !after(7, 7));
        assert!(after(0, (1 << 28) - 1) && !after((1 << 28) - 1, 0));
        assert!(after((1 << 27) - 1, 0) && !after(0, (1 << 27) - 1));
        assert!(Ack::pure(5).equals(Ack::pure(5 + (1 << 28))));
    }

    #[test]
    fn acknowledgement_keeps_number_and_flags_apart() {
        for (ece, cwr, blocks) in [(false, false, false), (true, false, true), (false, true, false), (true, true, true)]
        {
            let ack = Ack::pure(u32::MAX).with_flags(ece, cwr).with_blocks(blocks);
            assert!(ack.is_pure() && ack.equals(Ack::pure(u32::MAX)));
            assert_eq!(ack.has_blocks(), blocks);
            assert_eq!(ack.has_flags_of(Ack::pure(1)), !ece && !cwr);
            assert_eq!(ack.has_flags_of(Ack::default().with_flags(true, false)), ece && !cwr);
        }
        assert!(!Ack::default().is_pure() && !Ack::default().has_blocks());
    }
}
