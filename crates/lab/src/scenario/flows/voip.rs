//! Flows of kind `voip`: packets of a speech codec during talkspurts.

use forebay_aqm::base::time::Span;
use forebay_sim::source::Pattern;

use super::ecn::ECN;
use super::group::START;
use super::{Part, Source};
use crate::declare::{STATE_TIME, Words, table};

table! {
    /// Telephony over UDP: codec packets in talkspurts, nothing in pauses, both exponential (ITU-T P.59).
    pub struct Voip {
        + ECN;
        + START;
        /// Speech codec. g711: 160 bytes every 20 ms; g729: 20 bytes every 20 ms. Each packet has 40 more bytes of IP,
        /// UDP and RTP headers. Default g711.
        codec: Codec = Words(&[("g711", Codec::G711), ("g729", Codec::G729)]), or Codec::G711;
        /// Mean length of a talkspurt; default 1.004s.
        talk: Span = STATE_TIME, or TALK;
        /// Mean length of a pause; default 1.587s.
        pause: Span = STATE_TIME, or PAUSE;
    }
}

/// A speech codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// 64 kbit/s.
    G711,
    /// 8 kbit/s.
    G729,
}

/// IP, UDP and RTP: 20 + 8 + 12 bytes.
const HEADERS: u32 = 40;
/// Packetisation interval.
const EVERY: Span = Span::from_millis(20);
/// Means of ITU-T P.59 (1993), table 1: a talkspurt and a pause of artificial conversational speech.
const TALK: Span = Span::from_millis(1004);
const PAUSE: Span = Span::from_millis(1587);

impl Source for Voip {
    fn packet(&self, _: u32) -> u32 {
        let speech = match self.codec {
            Codec::G711 => 160,
            Codec::G729 => 20,
        };
        speech + HEADERS
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        Part::datagrams(Pattern::OnOff { every: EVERY, on: self.talk, off: self.pause })
    }
}
