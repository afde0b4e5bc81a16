//! Flows of kind `voip`: packets of a speech codec while somebody talks.

use forebay_aqm::base::time::Span;

use super::ecn::ECN;
use super::error::InputError;
use super::flow_keys::{COMMON, START};
use super::shape::{Kind, Shape, may};
use super::table::Table;
use super::values::state_time;

/// A codec, and how its speech is packetised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// 64 kb/s.
    G711,
    /// 8 kb/s.
    G729,
}

/// IP, UDP and RTP: 20 + 8 + 12 bytes.
const HEADERS: u32 = 40;
/// Means of ITU-T P.59 (1993), table 1: a talkspurt and a pause of artificial conversational speech.
const TALK: Span = Span::from_millis(1004);
const PAUSE: Span = Span::from_millis(1587);

impl Codec {
    const WORDS: [(&str, Self); 2] = [("g711", Self::G711), ("g729", Self::G729)];

    /// Its word in a scenario.
    pub const fn word(self) -> &'static str {
        match self {
            Self::G711 => Self::WORDS[0].0,
            Self::G729 => Self::WORDS[1].0,
        }
    }

    /// Time between packets: 20 ms of speech in each.
    pub const fn every(self) -> Span {
        Span::from_millis(20)
    }

    /// A packet in bytes on the wire.
    pub const fn packet(self) -> u32 {
        let speech = match self {
            Self::G711 => 160,
            Self::G729 => 20,
        };
        speech + HEADERS
    }
}

pub(crate) static VOIP: Shape = Shape {
    doc: "Telephony over UDP: packets of a codec in talkspurts, nothing in pauses, both exponential (ITU-T P.59).",
    tag: Some("voip"),
    groups: &[
        COMMON,
        ECN,
        &[
            START,
            may(
                "codec",
                Kind::Word(&["g711", "g729"]),
                "g711: 160 bytes each 20 ms; g729: 20 bytes. Both with 40 of IP, UDP and RTP. Default g711.",
            ),
            may("talk", Kind::Quantity, "Mean length of a talkspurt; default 1.004s."),
            may("pause", Kind::Quantity, "Mean length of a pause; default 1.587s."),
        ],
    ],
    later: &[],
};

/// Reads their codec, and the mean lengths of a talkspurt and of a pause.
pub(crate) fn voip(table: &Table<'_>) -> Result<(Codec, Span, Span), InputError> {
    let codec = table.word("codec", Some(Codec::G711), &Codec::WORDS, &[])?;
    Ok((codec, table.or("talk", TALK, state_time)?, table.or("pause", PAUSE, state_time)?))
}
