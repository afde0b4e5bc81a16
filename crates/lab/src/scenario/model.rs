//! What a scenario says, typed: the result of reading, the source of the canonical text.

pub use forebay_sim::tcp::Variant as TcpVariant;

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Limit, Rate};

/// One experiment, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is called in reports.
    pub title: String,
    /// Simulated time.
    pub duration: Span,
    /// Statistics begin here.
    pub warmup: Span,
    /// Data packets in bytes on the wire.
    pub packet: u32,
    /// The network.
    pub topology: Topology,
    /// The traffic.
    pub flows: Vec<FlowGroup>,
    /// The disciplines compared at the bottleneck, under the same seeds; at least one.
    pub compare: Vec<Contender>,
    /// What to show.
    pub report: Report,
}

/// A discipline under its name in the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Unique in its scenario: by default the discipline as it was written.
    pub label: String,
    /// The discipline.
    pub spec: Spec,
}

/// What to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Curves to record: `queue`, or a probe such as `raqm.p`.
    pub series: Vec<String>,
    /// The queue that the experiment aims at: draws a rule, and settling is measured against it.
    pub reference: Option<Depth>,
}

/// The network.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Hosts on either side of one bottleneck.
    Dumbbell(Dumbbell),
}

/// Access links, one bottleneck, egress links.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// The link under study, towards the receivers.
    pub bottleneck: Bottleneck,
    /// The same link in the other direction (`bottleneck.reverse` in the file): same rate and delay.
    pub reverse: Reverse,
    /// The senders' side.
    pub access: Access,
    /// The receivers' side: one link per host.
    pub egress: Egress,
}

/// The link under study.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// Capacity.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// Buffer.
    pub queue: Limit,
    /// The discipline, where `compare` does not name others.
    pub aqm: Spec,
}

/// The bottleneck's other direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reverse {
    /// Buffer.
    pub queue: Limit,
    /// The discipline.
    pub aqm: Spec,
}

/// The senders' links.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// How many hosts there are on either side; flow i uses host i mod hosts.
    pub hosts: u32,
    /// Capacity of each link.
    pub rate: Rate,
    /// One-way delays: host h has `delays[h mod n]`. Never empty.
    pub delays: Vec<Span>,
    /// Buffer of each link.
    pub queue: Limit,
    /// Each packet sent takes a random processing time from 0 to this.
    pub jitter: Span,
}

/// The receivers' links.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    /// Capacity of each link.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Span,
}

/// Flows that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Unique in its scenario; by default the kind.
    pub name: String,
    /// What they send.
    pub kind: FlowKind,
    /// How many: of `short-tcp`, independent streams of arrivals.
    pub count: u32,
    /// Which way the data goes.
    pub direction: Direction,
    /// Are packets ECN-capable? Never those of `cbr` and `onoff`.
    pub ecn: bool,
    /// The class their packets carry.
    pub class: Class,
    /// How long after the start of an active window a flow begins; of no effect for `short-tcp`.
    pub start: Uniform,
    /// When they may send, in order and apart; an end of `None` is the end of the run.
    pub active: Vec<(Span, Option<Span>)>,
    /// New flows per second (Poisson); `short-tcp` only.
    pub arrivals: Option<f64>,
    /// How long a flow lives; `short-tcp` only.
    pub lifetime: Option<Uniform>,
    /// Their TCP; the defaults, and of no effect, for `cbr` and `onoff`.
    pub transport: TcpOptions,
}

impl FlowGroup {
    /// The active windows, each ended by the end of a run of `duration`.
    pub fn active_within(&self, duration: Span) -> impl Iterator<Item = (Span, Span)> {
        self.active.iter().map(move |&(from, to)| (from, to.unwrap_or(duration).min(duration)))
    }
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowKind {
    /// TCP with always more to send.
    Ftp,
    /// TCP flows that arrive, send greedily and leave.
    ShortTcp,
    /// Packets at a constant rate.
    Cbr {
        /// Rate of each flow.
        rate: Rate,
        /// Packet in bytes on the wire.
        packet: u32,
    },
    /// Packets at random times, a Poisson process: kind `cbr` with `spacing = "poisson"`.
    Poisson {
        /// Mean rate of each flow.
        rate: Rate,
        /// Packet in bytes on the wire, or the mean.
        packet: u32,
        /// Are the lengths of the packets exponential rather than constant?
        exponential: bool,
    },
    /// A constant rate while on, nothing while off; both times exponential.
    OnOff {
        /// Rate of each flow while it is on.
        rate: Rate,
        /// Mean on time.
        on: Span,
        /// Mean off time.
        off: Span,
        /// Packet in bytes on the wire.
        packet: u32,
    },
}

/// Which way the data of a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Through the bottleneck under study.
    Forward,
    /// Against it.
    Reverse,
}

/// The class that packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// This one.
    Fixed(u8),
    /// The number of the flow's host.
    Host,
}

/// A time drawn uniformly from `lo` to `hi`; the same twice is a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// Earliest or shortest.
    pub lo: Span,
    /// Latest or longest.
    pub hi: Span,
}

/// How a TCP behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Congestion control.
    pub variant: TcpVariant,
    /// First window in packets.
    pub initial_window: u32,
    /// Does the receiver acknowledge every second packet only?
    pub delayed_ack: bool,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout, backoff included.
    pub max_rto: Span,
    /// Granularity of the retransmission clock.
    pub tick: Span,
    /// An acknowledgement in bytes on the wire.
    pub ack: u32,
    /// Receiver's window in packets; `None` is unlimited.
    pub window: Option<u32>,
    /// RFC 3042: a new packet for each of the first two duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Are packets spread over the round trip?
    pub pacing: bool,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            variant: TcpVariant::NewReno,
            initial_window: 2,
            delayed_ack: false,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(60_000),
            tick: Span::from_millis(10),
            ack: 40,
            window: None,
            limited_transmit: true,
            pacing: false,
        }
    }
}
