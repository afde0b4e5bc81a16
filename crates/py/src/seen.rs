//! What a discipline written in Python sees: a packet, the queue it meets, a period, and chance.

use forebay_aqm::base::ladder;
use forebay_aqm::base::packet::{self, Colour, Ecn, Proto};
use forebay_aqm::base::port;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;

/// What pickle makes one of again: the class and what it is called with.
type Again<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

/// The attributes that make it, in the order in which its class takes them.
fn again<'py, T>(one: &Bound<'py, T>, attributes: &[&str]) -> Again<'py> {
    let values = attributes.iter().map(|name| one.as_any().getattr(*name)).collect::<PyResult<Vec<_>>>()?;
    Ok((one.as_any().get_type().into_any(), PyTuple::new(one.py(), values)?))
}

/// The one of these words that was said.
fn one_of(name: &str, said: &str, words: &[&'static str]) -> PyResult<&'static str> {
    let known = words.iter().copied().find(|word| *word == said);
    known.ok_or_else(|| errors::argument(name, said, &words.join(" or ")))
}

/// A packet, as a discipline sees it.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Packet {
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
    /// `not-ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    /// `in` or `out` of its profile.
    colour: &'static str,
    /// `tcp` or `udp`.
    protocol: &'static str,
}

#[pymethods]
impl Packet {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn new(
        length: u32,
        arrived_s: f64,
        flow: u32,
        pair: u32,
        service_class: u8,
        ecn: &str,
        colour: &str,
        protocol: &str,
    ) -> PyResult<Self> {
        let ecn = one_of("ecn", ecn, &["not-ect", "ect0", "ect1", "ce"])?;
        let colour = one_of("colour", colour, &["in", "out"])?;
        let protocol = one_of("protocol", protocol, &["tcp", "udp"])?;
        let (ecn_capable, ce) = (ecn != "not-ect", ecn == "ce");
        Ok(Self { length, arrived_s, flow, pair, service_class, ecn_capable, ce, ecn, colour, protocol })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Again<'py> {
        const ALL: [&str; 8] = ["length", "arrived_s", "flow", "pair", "service_class", "ecn", "colour", "protocol"];
        again(slf, &ALL)
    }
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
            ecn: word(packet.ecn),
            colour: if packet.colour == Colour::In { "in" } else { "out" },
            protocol: if packet.proto == Proto::Tcp { "tcp" } else { "udp" },
        }
    }
}

/// The word of a codepoint.
const fn word(ecn: Ecn) -> &'static str {
    match ecn.bits() {
        0 => "not-ect",
        1 => "ect1",
        2 => "ect0",
        _ => "ce",
    }
}

/// The queue that a packet meets, itself and the packet in transmission not counted.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Level {
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
    /// The buffer, in packets of mean size where it is in bytes.
    limit_packets: f64,
    /// The link's rate in bits per second.
    rate_bps: f64,
}

#[pymethods]
impl Level {
    #[new]
    const fn new(packets: u32, bytes: u64, limit_packets: f64, rate_bps: f64) -> Self {
        Self { packets, bytes, limit_packets, rate_bps }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Again<'py> {
        again(slf, &["packets", "bytes", "limit_packets", "rate_bps"])
    }
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
pub struct Sample {
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

#[pymethods]
impl Sample {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    const fn new(
        now_s: f64,
        dt_s: f64,
        backlog_packets: f64,
        backlog_bytes: f64,
        rate_bps: f64,
        offered_packets: u64,
        offered_bytes: u64,
        accepted_packets: u64,
        accepted_bytes: u64,
        departed_packets: u64,
        departed_bytes: u64,
        dropped_early_packets: u64,
        dropped_overflow_packets: u64,
        marked_packets: u64,
    ) -> Self {
        Self {
            now_s,
            dt_s,
            backlog_packets,
            backlog_bytes,
            rate_bps,
            offered_packets,
            offered_bytes,
            accepted_packets,
            accepted_bytes,
            departed_packets,
            departed_bytes,
            dropped_early_packets,
            dropped_overflow_packets,
            marked_packets,
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Again<'py> {
        const ALL: [&str; 14] = [
            "now_s",
            "dt_s",
            "backlog_packets",
            "backlog_bytes",
            "rate_bps",
            "offered_packets",
            "offered_bytes",
            "accepted_packets",
            "accepted_bytes",
            "departed_packets",
            "departed_bytes",
            "dropped_early_packets",
            "dropped_overflow_packets",
            "marked_packets",
        ];
        again(slf, &ALL)
    }
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
pub struct Context {
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
