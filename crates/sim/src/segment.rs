//! What travels: one record of 40 bytes, carried by value from pipe to pipe.

use forebay_aqm::base::packet::Ecn;

/// What a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// TCP data, `seq` its packet number.
    #[default]
    Data,
    /// TCP acknowledgement, `seq` the next packet number expected.
    Ack,
    /// A datagram nobody acknowledges.
    Datagram,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// When it reaches the next element, in nanoseconds.
    pub at: u64,
    /// When its host sent it, in nanoseconds.
    pub sent: u64,
    /// Flow.
    pub flow: u32,
    /// Packet number; see [`Kind`].
    pub seq: u32,
    /// Its route.
    pub route: u32,
    /// Length on the wire in bytes.
    pub len: u16,
    /// How many links of the route lie behind it.
    pub hop: u8,
    /// What it is.
    pub kind: Kind,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// ECN-Echo flag of an acknowledgement (RFC 3168).
    pub ece: bool,
    /// Congestion Window Reduced flag of data (RFC 3168).
    pub cwr: bool,
    /// Service class.
    pub class: u8,
}
