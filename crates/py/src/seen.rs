//! What a discipline written in Python sees: a packet, the queue it meets, a period, and chance.

use forebay_aqm::base::ladder;
use forebay_aqm::base::packet::{self, Colour, Ecn, Proto};
use forebay_aqm::base::port;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use pyo3::prelude::*;

/// A packet, as a discipline sees it.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub(crate) struct Packet {
    /// Length on the wire in bytes.
    length: u32,
    /// When it was offered, in seconds.
    arrived_s: f64,
    /// Its connection.
    flow: u32,
    /// Its source and destination.
    pair: u32,
    /// Its service class.
    service_class: u8,
    /// May it be marked instead of dropped?
    ecn_capable: bool,
    /// Was it marked before?
    ce: bool,
    /// `in` or `out` of its profile.
    colour: &'static str,
    /// `tcp` or `udp`.
    protocol: &'static str,
}

impl From<&packet::Packet> for Packet {
    fn from(packet: &packet::Packet) -> Self {
        Self {
            length: packet.len,
            arrived_s: packet.arrived.secs(),
            flow: packet.flow,
            pair: packet.pair,
            service_class: packet.class,
            ecn_capable: packet.ecn.is_capable(),
            ce: packet.ecn == Ecn::Ce,
            colour: if packet.colour == Colour::In { "in" } else { "out" },
            protocol: if packet.proto == Proto::Tcp { "tcp" } else { "udp" },
        }
    }
}

/// The queue that a packet meets, itself and the packet in transmission not counted.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub(crate) struct Level {
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
    /// The buffer, in packets of mean size where it is in bytes.
    limit_packets: f64,
    /// The link's rate in bits per second.
    rate_bps: f64,
}

impl From<&port::Level<'_>> for Level {
    fn from(level: &port::Level<'_>) -> Self {
        Self {
            packets: level.pkts(),
            bytes: level.bytes(),
            limit_packets: level.link().limit_pkts(),
            rate_bps: level.rate().0 as f64,
        }
    }
}

/// What happened in a period of a law.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub(crate) struct Sample {
    /// Its end, in seconds.
    now_s: f64,
    /// Its length, in seconds.
    dt_s: f64,
    /// Packets waiting now.
    backlog_packets: f64,
    /// Bytes waiting now.
    backlog_bytes: f64,
    /// The link's rate in bits per second.
    rate_bps: f64,
    /// Packets and bytes offered in the period.
    offered_packets: u64,
    #[allow(missing_docs)]
    offered_bytes: u64,
    /// Packets and bytes that entered the queue.
    accepted_packets: u64,
    #[allow(missing_docs)]
    accepted_bytes: u64,
    /// Packets and bytes sent.
    departed_packets: u64,
    #[allow(missing_docs)]
    departed_bytes: u64,
    /// Packets dropped by the rule.
    dropped_early_packets: u64,
    /// Packets dropped for want of room.
    dropped_overflow_packets: u64,
    /// Packets marked.
    marked_packets: u64,
}

impl From<&ladder::Sample> for Sample {
    fn from(sample: &ladder::Sample) -> Self {
        let period = &sample.period;
        Self {
            now_s: sample.now.secs(),
            dt_s: sample.dt.secs(),
            backlog_packets: sample.backlog_pkts,
            backlog_bytes: sample.backlog_bytes,
            rate_bps: sample.link.rate.0 as f64,
            offered_packets: period.offered.pkts,
            offered_bytes: period.offered.bytes,
            accepted_packets: period.accepted.pkts,
            accepted_bytes: period.accepted.bytes,
            departed_packets: period.departed.pkts,
            departed_bytes: period.departed.bytes,
            dropped_early_packets: period.dropped_early.pkts,
            dropped_overflow_packets: period.dropped_overflow.pkts,
            marked_packets: period.marked.pkts,
        }
    }
}

/// Time and chance, for the length of a call.
#[pyclass(module = "forebay._native")]
pub(crate) struct Context {
    now: Instant,
    pub(crate) rng: Rng,
}

impl Context {
    pub(crate) const fn new(now: Instant, rng: Rng) -> Self {
        Self { now, rng }
    }
}

#[pymethods]
impl Context {
    /// The present, in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.secs()
    }

    /// The next number of the discipline's own random stream, from 0 up to and without 1.
    fn uniform(&mut self) -> f64 {
        self.rng.uniform()
    }
}
