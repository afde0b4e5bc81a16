//! The keys that several kinds of `[[flows]]` have.

use forebay_sim::tcp::Variant;

use super::marker::MARKER;
use super::rtt::RTT;
use super::shape::{Key, Kind, may};

/// The most flows of a scenario, as expected from the rates of arrival. Each takes memory from the start.
pub(crate) const MOST_FLOWS: u32 = 1_000_000;

/// The widest window in packets.
pub(crate) const WIDEST: u32 = 1_000_000;

/// The largest mean of exponential packet lengths: a ten millionth of it lies beyond 65,535 bytes.
pub(crate) const LARGEST_MEAN: u32 = 4096;

/// Those of every kind.
pub(crate) const COMMON: &[Key] = &[
    may("name", Kind::Text, "What the group is called; default its kind."),
    may("count", Kind::Whole(0, MOST_FLOWS), "How many flows; default 1. A scenario has at most 1000000."),
    may("direction", Kind::Word(&["forward", "reverse"]), "Which way the data goes; default forward."),
    may("class", Kind::WholeOr(0, 255, "host"), "The class of the packets; default 0."),
    may("active", Kind::Windows, "When the flows may send; default the whole run."),
    may("hosts", Kind::Text, "The access group whose hosts send; default the first."),
    may("enter", Kind::Text, "The first bottleneck of a parking lot on the way; default the first of all."),
    may("leave", Kind::Text, "The last bottleneck of a parking lot on the way; default the last of all."),
    may("from", Kind::Text, "The node of a graph that sends, and needed there."),
    may("to", Kind::Text, "The node of a graph that receives, and needed there."),
    RTT,
    MARKER,
];

/// Of every kind but `short-tcp`, whose flows begin when they arrive.
pub(crate) const START: Key =
    may("start", Kind::Uniform, "When a flow begins, after the start of an active window; default uniform in 0s..1s.");

/// The words for `tcp`.
const TCPS: [&str; Variant::TCPS.len()] = {
    let mut words = [""; Variant::TCPS.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = Variant::TCPS[i].0;
        i += 1;
    }
    words
};

/// Of kinds over TCP.
pub(crate) const TCP: &[Key] = &[
    may("tcp", Kind::Word(&TCPS), "Congestion control; default newreno."),
    may(
        "l4s",
        Kind::Flag,
        "Of dctcp: is its own codepoint ECT(1), that of L4S (RFC 9331), and not ECT(0)? Default false.",
    ),
    may("initial_window", Kind::Whole(1, WIDEST), "First window in packets; default 2."),
    may("delayed_ack", Kind::Flag, "Acknowledge every second packet only? Default false."),
    may(
        "initial_rto",
        Kind::Quantity,
        "Retransmission timeout before the first measurement, at most max_rto; default 3s.",
    ),
    may("min_rto", Kind::Quantity, "Smallest retransmission timeout; default 200ms."),
    may("max_rto", Kind::Quantity, "Largest retransmission timeout, backoff included, at least min_rto; default 60s."),
    may("tick", Kind::Quantity, "Granularity of the retransmission clock; default 10ms."),
    may("ack", Kind::Whole(1, 65_535), "An acknowledgement in bytes on the wire; default 40."),
    may("window", Kind::WholeOr(1, WIDEST, "unlimited"), "Receiver's window in packets; default unlimited."),
    may("limited_transmit", Kind::Flag, "A new packet for each of the first two duplicate ACKs? Default true."),
    may("pacing", Kind::Flag, "Spread packets over the round trip, as Linux does? Default false; bbr always does."),
];

/// Of kinds over UDP.
pub(crate) const UDP_PACKET: Key =
    may("packet", Kind::Whole(41, 65_535), "Packet in bytes on the wire; default the scenario's.");
