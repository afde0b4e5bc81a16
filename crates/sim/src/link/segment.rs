//! Segments: the simulator's packets, records of 32 bytes that the wires of links (pipes) carry by value. A bundle is a
//! group of flows that are measured together.

use forebay_aqm::base::packet::{Colour, Ecn};
use forebay_aqm::base::time::Instant;

use crate::tcp::accecn::Echoes;

/// Kind of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// TCP data, `seq` its packet number.
    #[default]
    Data,
    /// TCP acknowledgement, `seq` the next packet number expected.
    Ack,
    /// A datagram without acknowledgement.
    Datagram,
    /// A request, a handshake packet or an RTP report. `seq` of a request or handshake packet: its number, with
    /// flags that identify handshake packets. `seq` of a report: its number and content.
    Control,
}

/// A packet in transit. It has 32 bytes (half a cache line) without padding, because pipes copy it at every hop. Pass
/// it by value. If its address is taken, the compiler stores each field separately, and a later copy that loads several
/// fields at once must wait for these stores.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Segment {
    /// When it reaches the next link or host of its route.
    pub at: Instant,
    /// Of an acknowledgement: the index of its SACK blocks in a table with the blocks of all acknowledgements in transit, and
    /// its AccECN option. Of other segments: when the host sent it, and the flag PSH.
    pub load: Load,
    /// Index of its flow.
    pub flow: u32,
    /// Packet number; see [`Kind`].
    pub seq: u32,
    /// Index into the table of all routes' hops.
    pub hop: u32,
    /// Length on the wire in bytes.
    pub len: u16,
    /// Bundle of its flow: [`FlowSpec::bundle`](crate::network::FlowSpec::bundle).
    pub bundle: u8,
    /// Kind, ECN codepoint, TCP flags and colour (IN or OUT of a traffic profile).
    pub mark: Mark,
}

impl Segment {
    /// When its host sent it; not for acknowledgements.
    #[inline]
    pub fn sent(&self) -> Instant {
        debug_assert!(self.mark.kind() != Kind::Ack, "an acknowledgement carries blocks in place of a time");
        Instant::from_nanos(self.load.0 & !(1 << Load::PUSH_AT))
    }

    /// The flag PSH of data; false for other kinds. Not for acknowledgements.
    #[inline]
    pub fn push(&self) -> bool {
        debug_assert!(self.mark.kind() != Kind::Ack, "an acknowledgement has its stamp there");
        self.load.0 >> Load::PUSH_AT != 0
    }

    /// The index of its SACK blocks, if it is an acknowledgement with blocks.
    #[inline]
    pub fn blocks(&self) -> Option<u32> {
        match self.mark.kind() {
            Kind::Ack => (self.load.0 as u32).checked_sub(1),
            Kind::Data | Kind::Datagram | Kind::Control => None,
        }
    }

    /// AccECN feedback and stamp. Only for acknowledgements.
    #[inline]
    pub const fn echoes(&self) -> Echoes {
        Echoes::from_bits((self.load.0 >> 32) as u32)
    }

    /// The bundle and the colour (IN or OUT of a traffic profile) whose counters count it.
    #[inline]
    pub const fn counted_as(&self) -> (u8, Colour) {
        (self.bundle, self.mark.colour())
    }
}

/// Eight bytes whose meaning depends on the segment's kind. An acknowledgement: the index of its SACK blocks in the low half,
/// its accurate feedback of marks and its stamp in the high half. Other kinds: the sending time, and in the highest bit the
/// flag PSH of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load(u64);

impl Load {
    /// Bit of the flag PSH. Times in ns need it only after 292 years.
    const PUSH_AT: u32 = 63;

    /// The time at which the host sent the segment.
    #[inline]
    pub const fn sent(at: Instant) -> Self {
        Self(at.nanos())
    }

    /// Adds the flag PSH of data.
    #[inline]
    #[must_use]
    pub const fn with_push(self, push: bool) -> Self {
        Self(self.0 | (push as u64) << Self::PUSH_AT)
    }

    /// The index of an acknowledgement's SACK blocks, if it has any.
    #[inline]
    pub fn blocks(place: Option<u32>) -> Self {
        Self(place.map_or(0, |place| u64::from(place) + 1))
    }

    /// Adds the accurate feedback and the stamp of an acknowledgement.
    #[inline]
    #[must_use]
    pub const fn with_echoes(self, echoes: Echoes) -> Self {
        Self(self.0 | (echoes.bits() as u64) << 32)
    }
}

/// Kind, ECN codepoint, the TCP flags ECE and CWR (RFC 3168), and the colour (IN or OUT of a traffic profile) in one byte.
/// Data has no ECE; its bit and the next one are the stamp of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark(u8);

impl Mark {
    const ECE: u8 = 1 << 4;
    const CWR: u8 = 1 << 6;
    const OUT: u8 = 1 << 7;
    /// Position of a stamp.
    const STAMP_AT: u32 = 4;

    /// Data or a datagram; `cwr`: its sender has reduced its window.
    #[inline]
    pub const fn data(kind: Kind, ecn: Ecn, cwr: bool) -> Self {
        Self(kind as u8 | ecn.bits() << 2 | if cwr { Self::CWR } else { 0 })
    }

    /// Data with this stamp, two bits ([`Send::stamp`](crate::tcp::sender::Send::stamp)).
    #[inline]
    #[must_use]
    pub const fn with_stamp(self, stamp: u8) -> Self {
        Self(self.0 | (stamp & 3) << Self::STAMP_AT)
    }

    /// The stamp of data.
    #[inline]
    pub const fn stamp(self) -> u8 {
        self.0 >> Self::STAMP_AT & 3
    }

    /// An acknowledgement; `ece`: it echoes congestion.
    #[inline]
    pub const fn ack(ece: bool) -> Self {
        Self(Kind::Ack as u8 | Ecn::NotEct.bits() << 2 | if ece { Self::ECE } else { 0 })
    }

    /// A control segment: a request, a handshake packet or an RTP report.
    #[inline]
    pub const fn control() -> Self {
        Self(Kind::Control as u8 | Ecn::NotEct.bits() << 2)
    }

    /// Kind of the segment.
    #[inline]
    pub const fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Datagram,
            _ => Kind::Control,
        }
    }

    /// ECN codepoint.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        match (self.0 >> 2) & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// A copy with another ECN codepoint.
    #[inline]
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self(self.0 & !(3 << 2) | ecn.bits() << 2)
    }

    /// A copy with another colour.
    #[inline]
    #[must_use]
    pub const fn with_colour(self, colour: Colour) -> Self {
        Self(self.0 & !Self::OUT | if colour.bits() == Colour::Out.bits() { Self::OUT } else { 0 })
    }

    /// The colour that a token bucket at the edge of the network wrote; IN if there is none.
    #[inline]
    pub const fn colour(self) -> Colour {
        if self.0 & Self::OUT == 0 { Colour::In } else { Colour::Out }
    }

    /// Whether the acknowledgement echoes congestion (flag ECN-Echo).
    #[inline]
    pub const fn ece(self) -> bool {
        self.0 & Self::ECE != 0
    }

    /// Congestion Window Reduced.
    #[inline]
    pub const fn cwr(self) -> bool {
        self.0 & Self::CWR != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::accecn::Accurate;

    #[test]
    fn byte_stores_type_ecn_cwr_ece_and_colour() {
        for kind in [Kind::Data, Kind::Datagram] {
            for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                for cwr in [false, true] {
                    let mark = Mark::data(kind, Ecn::Ect0, cwr).with_ecn(ecn);
                    assert_eq!((mark.kind(), mark.ecn(), mark.cwr(), mark.ece()), (kind, ecn, cwr, false));
                    let out = mark.with_colour(Colour::Out);
                    assert_eq!(
                        (mark.colour(), out.colour(), out.with_colour(Colour::In)),
                        (Colour::In, Colour::Out, mark)
                    );
                    assert_eq!((out.kind(), out.with_ecn(ecn), out.cwr(), out.ece()), (kind, out, cwr, false));
                }
            }
        }
        for ece in [false, true] {
            let mark = Mark::ack(ece);
            assert_eq!((mark.kind(), mark.ecn(), mark.cwr(), mark.ece()), (Kind::Ack, Ecn::NotEct, false, ece));
        }
        assert_eq!((Mark::control().kind(), Mark::control().ecn()), (Kind::Control, Ecn::NotEct));
        assert_eq!(size_of::<Segment>(), 32);
    }

    #[test]
    fn push_leaves_the_sending_time_alone() {
        for nanos in [0, 1, 1 << 62, (1 << 63) - 1] {
            for push in [false, true] {
                let at = Instant::from_nanos(nanos);
                let segment = Segment { load: Load::sent(at).with_push(push), ..Segment::default() };
                assert_eq!((segment.sent(), segment.push()), (at, push));
            }
        }
    }

    #[test]
    fn stamps_leave_the_other_fields_alone() {
        for stamp in 0..4 {
            let mark = Mark::data(Kind::Data, Ecn::Ect1, true).with_stamp(stamp).with_ecn(Ecn::Ce);
            let data = Segment { mark: mark.with_colour(Colour::Out), ..Segment::default() };
            assert_eq!(
                (data.mark.stamp(), data.mark.kind(), data.mark.ecn(), data.mark.cwr()),
                (stamp, Kind::Data, Ecn::Ce, true)
            );
            assert_eq!(data.mark.colour(), Colour::Out);
            let feedback = Accurate::new(0xab_cdef, true);
            let load = Load::blocks(Some(7)).with_echoes(Echoes::new(Some(feedback), stamp));
            let ack = Segment { mark: Mark::ack(false), load, ..Segment::default() };
            let echoes = ack.echoes();
            assert_eq!((echoes.stamp(), ack.blocks(), echoes.accurate()), (stamp, Some(7), Some(feedback)));
        }
    }

    /// The table has the SACK blocks of all acknowledgements in transit.
    #[test]
    fn acknowledgement_has_sack_table_index_not_sending_time() {
        let of = |mark, load| Segment { mark, load, ..Segment::default() };
        let sent = of(Mark::data(Kind::Data, Ecn::NotEct, false), Load::sent(Instant::from_nanos(7)));
        assert_eq!((sent.sent(), sent.blocks()), (Instant::from_nanos(7), None));
        for place in [None, Some(0), Some(7)] {
            assert_eq!(of(Mark::ack(false), Load::blocks(place)).blocks(), place);
        }
    }
}
