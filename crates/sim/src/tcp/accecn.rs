//! Accurate ECN feedback (RFC 9768), counted in packets.
//!
//! The receiver counts the data packets that arrive with CE. Each acknowledgement carries the count modulo 8 (the field
//! ACE) and, with the AccECN option, modulo 2^24. The sender decodes how many more packets were marked.
//!
//! Differences from the RFC:
//! - the option counts packets, not bytes, because the packets of a connection have one size; every acknowledgement has
//!   it;
//! - a connection uses AccECN by configuration, without negotiation in the handshake;
//! - marks on acknowledgements are not counted.

use core::num::NonZeroU32;

use forebay_aqm::base::time::Span;

/// Section 3.2.1: initial value of the counters `r.cep` and `s.cep`, so that a field of zeros is recognised as an error.
const START: u32 = 5;
/// The largest count in the option is one less.
const OPTION: u32 = 1 << 24;
/// Bit of [`Accurate`]: there is an option.
const HAS_OPTION: u32 = 1 << 24;
/// Bit of [`Accurate`] that every feedback has set, so that 0 means no feedback.
const PRESENT: NonZeroU32 = NonZeroU32::new(1 << 25).unwrap();
/// Position of the field ACE in [`Accurate`].
const ACE_AT: u32 = 26;

/// Accurate ECN feedback of an acknowledgement, packed into 29 bits, so that an acknowledgement fits into two registers.
/// From the lowest bit:
/// - 24 bits: the counter of the AccECN option;
/// - 1 bit: set if the acknowledgement has the AccECN option;
/// - 1 bit: always set;
/// - 3 bits: the field ACE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accurate(NonZeroU32);

impl Accurate {
    /// The feedback after `marked` packets have arrived with CE; `option`: with the AccECN option.
    #[inline]
    pub fn new(marked: u32, option: bool) -> Self {
        let field = Self::of_field(marked.wrapping_add(START) as u8);
        if option { Self(field.0 | (marked % OPTION) | HAS_OPTION) } else { field }
    }

    /// Feedback with this field ACE, three bits, and without the option.
    #[inline]
    pub fn of_field(ace: u8) -> Self {
        Self(PRESENT | (ace as u32 & 7) << ACE_AT)
    }

    /// The field ACE: 5 plus the number of packets that arrived with CE, modulo 8.
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0.get() >> ACE_AT) as u8
    }

    /// With the AccECN option: number of packets that arrived with CE, modulo 2^24.
    #[inline]
    pub fn total(self) -> Option<u32> {
        let bits = self.0.get();
        (bits & HAS_OPTION != 0).then_some(bits % OPTION)
    }

    /// The feedback as a number. Its layout is described at [`Accurate`].
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0.get()
    }

    /// Number of bits that [`bits`](Self::bits) uses.
    pub const BITS: u32 = ACE_AT + 3;

    /// The inverse of [`bits`](Self::bits). Bits above [`Self::BITS`] are ignored. `None`: there is no feedback.
    #[inline]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match NonZeroU32::new(bits & ((1 << Self::BITS) - 1)) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }
}

/// The sender's count of the packets that arrived with CE (`s.cep`, less its initial value).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks(u32);

impl Marks {
    /// Decodes the feedback of an acknowledgement that newly delivers `delivered` packets. Returns how many packets it is
    /// the first to report as marked, which can exceed `delivered` if acknowledgements were lost. The caller skips
    /// acknowledgements that deliver nothing: they may be older than the latest one.
    ///
    /// Section 3.2.2.5.2 and Appendix A.2: without the option, the count may have advanced by any number congruent to the
    /// difference of the fields. Up to 7 delivered packets, the smallest one is taken, else the largest one that does not
    /// exceed them ("safest likely case", as in Linux).
    pub(super) fn decode(&mut self, feedback: Accurate, delivered: u32) -> u32 {
        let more = match feedback.total() {
            Some(total) => match total.wrapping_sub(self.0) % OPTION {
                // An acknowledgement that was overtaken.
                more if more >= OPTION / 2 => 0,
                more => more,
            },
            None => {
                let least = u32::from(feedback.ace()).wrapping_sub(self.0.wrapping_add(START)) & 7;
                if delivered <= 7 { least } else { delivered - (delivered.wrapping_sub(least) & 7) }
            }
        };
        self.0 = self.0.wrapping_add(more);
        more
    }
}

/// AccECN feedback and stamp ([`Send::stamp`](super::sender::Send::stamp)) of an acknowledgement, packed into 31 bits; or the
/// one-way delay of the latest data packet (RFC 6817). So an [`Ack`](super::receiver::Ack) fits into two registers. A
/// segment stores the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Echoes(u32);

impl Echoes {
    const STAMP: u32 = 3;
    /// Bit that is set if the other bits are a delay in microseconds.
    const DELAY: u32 = 1 << 31;

    /// The inverse of [`bits`](Self::bits). 0: no feedback, stamp 0.
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Combines feedback and a stamp of two bits.
    #[inline]
    pub const fn new(accurate: Option<Accurate>, stamp: u8) -> Self {
        let feedback = match accurate {
            Some(feedback) => feedback.bits(),
            None => 0,
        };
        Self(feedback | (stamp as u32 & Self::STAMP) << Accurate::BITS)
    }

    /// The one-way delay of a data packet, in whole microseconds, at most 35 minutes.
    #[inline]
    pub fn of_delay(delay: Span) -> Self {
        Self(
            u32::try_from(delay.nanos() / 1000).map_or(Self::DELAY - 1, |micros| micros.min(Self::DELAY - 1))
                | Self::DELAY,
        )
    }

    /// The one-way delay of a data packet. `None`: there are feedback and stamp instead.
    #[inline]
    pub fn delay(self) -> Option<Span> {
        (self.0 & Self::DELAY != 0).then(|| Span::from_micros(u64::from(self.0 & !Self::DELAY)))
    }

    /// The content as a number, for a segment.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The accurate feedback. `None`: the acknowledgement has ECN-Echo instead.
    #[inline]
    pub const fn accurate(self) -> Option<Accurate> {
        if self.0 & Self::DELAY == 0 { Accurate::from_bits(self.0) } else { None }
    }

    /// The stamp.
    #[inline]
    pub const fn stamp(self) -> u8 {
        (self.0 >> Accurate::BITS & Self::STAMP) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivered packets, ACE, marks known before, marks decoded.
    const FIELD: [(u32, u8, u32, u32); 10] = [
        (2, 5, 0, 0),
        (2, 7, 0, 2),
        // One report was lost before.
        (2, 0, 0, 3),
        (3, 0, 2, 1),
        (7, 4, 0, 7),
        // 1 or 9; 0, 8 or 16; 0 or 8.
        (9, 6, 0, 9),
        (16, 5, 0, 16),
        (12, 5, 8, 8),
        (8, 5, 0, 8),
        (8, 6, 0, 1),
    ];

    #[test]
    fn field_is_decoded_as_rfc9768_a_2() {
        for (delivered, ace, before, more) in FIELD {
            let mut marks = Marks(before);
            assert_eq!(marks.decode(Accurate::of_field(ace), delivered), more, "{delivered} {ace} {before}");
            assert_eq!(marks.0, before + more);
        }
    }

    #[test]
    fn option_is_exact_over_any_gap() {
        let mut marks = Marks::default();
        for total in [0, 3, 19, 1000, OPTION / 2, OPTION - 1, OPTION + 4, OPTION + 100_000] {
            let before = marks.0;
            assert_eq!(marks.decode(Accurate::new(total, true), 1), total - before);
        }
        assert_eq!(marks.decode(Accurate::new(OPTION + 5, true), 1), 0, "it was overtaken");
    }

    #[test]
    fn field_counts_from_five() {
        assert_eq!([0, 2, 3, 8].map(|marked| Accurate::new(marked, false).ace()), [5, 7, 0, 5]);
    }
}
