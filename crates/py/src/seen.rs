//! What a discipline written in Python sees: packets, the queue state, counters per period, time and random numbers.

use forebay_aqm::base::discipline;
use forebay_aqm::base::packet::{self, Colour, Ecn, Proto};
use forebay_aqm::base::port;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::congestion::controller::Report;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;

/// A class and the arguments of its constructor, for pickling.
type Again<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

/// The class of `one` and the values of these attributes, in the order of its constructor.
fn again<'py, T>(one: &Bound<'py, T>, attributes: &[&str]) -> Again<'py> {
    let values = attributes.iter().map(|name| one.as_any().getattr(*name)).collect::<PyResult<Vec<_>>>()?;
    Ok((one.as_any().get_type().into_any(), PyTuple::new(one.py(), values)?))
}

/// Checks that the argument `name` with the value `said` is one of `words`.
fn one_of(name: &str, said: &str, words: &[&'static str]) -> PyResult<&'static str> {
    let known = words.iter().copied().find(|word| *word == said);
    known.ok_or_else(|| errors::argument(name, said, &words.join(" or ")))
}

/// A packet as seen by a discipline.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Packet {
    /// Length on the wire, bytes.
    length: u32,
    /// Arrival time, s.
    arrived_s: f64,
    /// Flow id (connection).
    flow: u32,
    /// Id of the pair of source and destination.
    pair: u32,
    /// Service class, a number.
    service_class: u8,
    /// Can it be marked instead of dropped?
    ecn_capable: bool,
    /// Is it already CE-marked?
    ce: bool,
    /// ECN codepoint: `not-ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    /// `in` or `out` of the flow's traffic profile.
    colour: &'static str,
    /// Transport protocol: `tcp` or `udp`.
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

/// The name of an ECN codepoint.
const fn word(ecn: Ecn) -> &'static str {
    match ecn.bits() {
        0 => "not-ect",
        1 => "ect1",
        2 => "ect0",
        _ => "ce",
    }
}

/// The queue state when a discipline is called for a packet or a tick (timer event). It counts neither this packet nor
/// the packet in transmission.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Level {
    /// Backlog, packets.
    packets: u32,
    /// Backlog, bytes.
    bytes: u64,
    /// Buffer, packets; a buffer in bytes is divided by the mean packet size.
    limit_packets: f64,
    /// Link rate, bit/s.
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

/// What a control law observes of the period between two of its updates.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Sample {
    /// End of the period, s.
    now_s: f64,
    /// Length of the period, s.
    dt_s: f64,
    /// Backlog at the end of the period, packets.
    backlog_packets: f64,
    /// Backlog at the end of the period, bytes.
    backlog_bytes: f64,
    /// Link rate, bit/s.
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
    /// Packets dropped early, by the discipline.
    dropped_early_packets: u64,
    /// Packets dropped because the buffer was full.
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

impl From<&discipline::Sample> for Sample {
    fn from(sample: &discipline::Sample) -> Self {
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

/// Time and random numbers for a method of a discipline; valid during one call of the method.
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
    /// Current time, s.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.secs()
    }

    /// The next number of the discipline's random stream, uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.rng.uniform()
    }
}

/// What a congestion control learns when an acknowledgement has been processed.
#[pyclass(frozen, get_all, module = "forebay._native")]
pub struct Ack {
    /// When the acknowledgement arrived, s.
    now_s: f64,
    /// Smallest round trip of the packets that this acknowledgement is the first to report, s; None: all were
    /// retransmitted, or there are none.
    rtt_s: Option<f64>,
    /// Smallest round trip of the connection, s; None before the first one.
    min_rtt_s: Option<f64>,
    /// Smoothed round-trip time, s; 0 before the first measurement.
    srtt_s: f64,
    /// Packets that this acknowledgement is the first to report as delivered.
    delivered: u32,
    /// Packets that this acknowledgement is the first to report as marked.
    marked: u32,
    /// Packets considered lost because of this acknowledgement.
    lost: u32,
    /// Packets in flight.
    in_flight: u32,
    /// Delivery rate, packets/s; None: no sample.
    rate: Option<f64>,
    /// Does the application, not the window, limit sending?
    application_limited: bool,
    /// Is the sender repairing losses?
    in_recovery: bool,
}

impl From<&Report> for Ack {
    fn from(report: &Report) -> Self {
        Self {
            now_s: report.now.secs(),
            rtt_s: report.rtt.map(Span::secs),
            min_rtt_s: report.min_rtt.map(Span::secs),
            srtt_s: report.srtt.secs(),
            delivered: report.delivered,
            marked: report.marked,
            lost: report.lost,
            in_flight: report.in_flight,
            rate: report.rate,
            application_limited: report.is_application_limited,
            in_recovery: report.in_recovery,
        }
    }
}
