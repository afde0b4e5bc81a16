//! A script that has been read: events with their times.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;

/// A script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Options of packetdrill in the script: name, value, line.
    pub(crate) flags: Vec<(String, String, usize)>,
    pub(crate) events: Vec<Event>,
}

/// Something that happens, or is expected to happen.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) when: When,
    pub(crate) action: Action,
}

/// When an event happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Without a time: a shell command at the start or the end.
    Untimed,
    /// `*`: any time.
    Any,
    /// Between these times since the start of the script; equal if it is one time.
    At(Span, Span),
    /// Between these times after the event before.
    After(Span, Span),
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Packet(Packet),
    Call(Call),
    Shell(String),
    Code(String),
    /// A packet of a kind that is not TCP, or within another packet: what it is.
    Foreign(&'static str),
}

/// A TCP packet that the script sends (`<`) or expects (`>`). Sequence numbers are relative: 0 is the SYN, 1 the first
/// byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    pub(crate) is_expected: bool,
    pub(crate) ecn: Option<Codepoint>,
    pub(crate) flags: Flags,
    pub(crate) seq: u32,
    /// Bytes of payload.
    pub(crate) len: u32,
    pub(crate) ack: Option<u32>,
    /// Window as in the header, not scaled.
    pub(crate) win: Option<u32>,
    /// `None`: the options of an expected packet are not compared (`<...>`).
    pub(crate) options: Option<Options>,
}

/// ECN codepoint that a script gives to a packet or expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codepoint {
    One(Ecn),
    /// ECT(0) or ECT(1).
    Either,
}

/// Flags of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) fin: bool,
    pub(crate) syn: bool,
    pub(crate) rst: bool,
    pub(crate) ack: bool,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    /// Something that is never compared here: URG, or the flags of AccECN.
    pub(crate) beyond: Option<&'static str>,
}

/// Options of a packet that matter here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) mss: Option<u32>,
    pub(crate) wscale: Option<u32>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: bool,
    /// Bounds of selective blocks.
    pub(crate) sack: Vec<(u32, u32)>,
    /// An option that cannot be expressed.
    pub(crate) beyond: Option<&'static str>,
}

/// A system call with its result.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Value>,
    pub(crate) result: Value,
}

/// An argument or result of a system call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Int(i64),
    Word(String),
    Text(String),
    Dots,
    /// A list in brackets or braces, or the arguments of a name such as `htons(80)`.
    List(Vec<Value>),
}

impl Value {
    /// Does this word occur in it?
    pub(crate) fn names(&self, wanted: &str) -> bool {
        match self {
            Self::Word(word) => word == wanted,
            Self::List(values) => values.iter().any(|value| value.names(wanted)),
            Self::Int(_) | Self::Text(_) | Self::Dots => false,
        }
    }

    /// The first integer in it.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::List(values) => values.iter().find_map(Self::number),
            Self::Word(_) | Self::Text(_) | Self::Dots => None,
        }
    }

    /// The first text in it.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(values) => values.iter().find_map(Self::text),
            Self::Int(_) | Self::Word(_) | Self::Dots => None,
        }
    }
}
