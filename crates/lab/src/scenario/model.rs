//! What a scenario says, typed: the result of reading, the source of the canonical text.

use std::sync::Arc;

pub(crate) use forebay_sim::app::Files;
use forebay_sim::tcp::congestion::EcnUse;
pub use forebay_sim::tcp::{TcpOptions, Variant as TcpVariant};

use forebay_aqm::Spec;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Rate};

use super::chain::Chain;
use super::ecn::Ect;
use super::marker::Marker;
use super::net::{Ends, Topology};
use super::values::Uniform;
use super::voip::Codec;
use crate::traces::Recorded;

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
    /// The disciplines compared, under the same seeds; at least one.
    pub compare: Vec<Contender>,
    /// The names of the links that have the discipline compared, in place of their own; at least one.
    pub compared: Vec<String>,
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
    /// Curves to record: `queue`, a probe such as `raqm.p`, or of a class `class.1.dropped_pkts`.
    pub series: Vec<String>,
    /// The queue that the experiment aims at: draws a rule, and settling is measured against it.
    pub reference: Option<Depth>,
    /// What models say, laid over the runs.
    pub theory: Vec<Overlay>,
}

/// A model whose answer is laid over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// TCP as a fluid, over the queue against time.
    Fluid,
    /// TCP's queue as a chain, over the distribution of the queue.
    Markov,
    /// Datagrams that Markov chains bring, over the distribution of the queue.
    Mmpp,
}

impl Overlay {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fluid, Self::Markov, Self::Mmpp];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fluid => "fluid",
            Self::Markov => "markov",
            Self::Mmpp => "mmpp",
        }
    }
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
    /// Between whom they go.
    pub ends: Ends,
    /// Which way the data goes.
    pub direction: Direction,
    /// Two-way propagation delay of each flow, which then has links of its own on the senders' side; `None` is that of
    /// its hosts.
    pub rtt: Option<Uniform>,
    /// Do their packets go over TCP connections?
    pub over_tcp: bool,
    /// What their data says of ECN, as they ask for it.
    pub ecn: Ect,
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
    /// What colours their packets; all are IN without.
    pub marker: Option<Marker>,
    /// What they play; `trace` and `rtp` only.
    pub recorded: Option<Arc<Recorded>>,
    /// What brings their packets; `mmpp` and `map` only.
    pub chain: Option<Arc<Chain>>,
    /// Their TCP or SCTP; the defaults, and of no effect, where there is none.
    pub transport: TcpOptions,
}

impl FlowGroup {
    /// The ECN codepoint of their data. That of a control that always uses ECN is ECN-capable whatever `ecn` says.
    pub fn codepoint(&self) -> Ecn {
        let is_always = self.transport.variant.profile().ecn == EcnUse::Always;
        match self.ecn {
            Ect::Ect0 => Ecn::Ect0,
            Ect::Ect1 => Ecn::Ect1,
            Ect::Off if !is_always => Ecn::NotEct,
            Ect::Off | Ect::Own if self.transport.l4s => Ecn::Ect1,
            Ect::Off | Ect::Own => Ecn::Ect0,
        }
    }

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
    /// SCTP with always more to send.
    Sctp,
    /// TCP flows that arrive, send greedily and leave.
    ShortTcp,
    /// TCP with files to send, one after the other: kind `file`, or with requests `web`.
    Files(Files),
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
    /// The same with both times Pareto.
    Pareto {
        /// Rate of each flow while it is on.
        rate: Rate,
        /// Mean on time.
        on: Span,
        /// Mean off time.
        off: Span,
        /// Packet in bytes on the wire.
        packet: u32,
        /// Tail index of both times.
        shape: f64,
    },
    /// Telephony: packets of a codec in talkspurts, nothing in pauses, both exponential.
    Voip {
        /// The codec.
        codec: Codec,
        /// Mean length of a talkspurt.
        talk: Span,
        /// Mean length of a pause.
        pause: Span,
    },
    /// Poisson packets whose rate follows a Markov chain.
    Mmpp {
        /// Packet in bytes on the wire, or the mean.
        packet: u32,
        /// Of how many exponential parts lengths are; `None`: all are the same.
        phases: Option<u8>,
    },
    /// Packets that a Markov chain brings with its moves.
    Map {
        /// Packet in bytes on the wire, or the mean.
        packet: u32,
        /// Of how many exponential parts lengths are; `None`: all are the same.
        phases: Option<u8>,
    },
    /// Packets that were recorded.
    Trace {
        /// The longest of them in bytes.
        packet: u32,
        /// Is the recording repeated?
        repeat: bool,
        /// Where in it each flow begins.
        begin: Begin,
    },
    /// Video over RTP.
    Rtp {
        /// The longest packet in bytes on the wire.
        packet: u32,
        /// Time between two reports of the receiver.
        report: Span,
        /// A report in bytes on the wire.
        report_size: u32,
        /// The smallest share of its full rate that the sender goes down to.
        floor: f64,
        /// What it shows.
        frames: Frames,
    },
}

impl FlowKind {
    /// A packet of data of this kind in bytes, where the scenario's has `default`.
    pub(crate) const fn packet(self, default: u32) -> u32 {
        match self {
            Self::Ftp | Self::Sctp | Self::ShortTcp | Self::Files(_) => default,
            Self::Cbr { packet, .. }
            | Self::Poisson { packet, .. }
            | Self::OnOff { packet, .. }
            | Self::Pareto { packet, .. }
            | Self::Mmpp { packet, .. }
            | Self::Map { packet, .. }
            | Self::Trace { packet, .. }
            | Self::Rtp { packet, .. } => packet,
            Self::Voip { codec, .. } => codec.packet(),
        }
    }
}

/// Where the frames of a video come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frames {
    /// They were recorded.
    Recorded {
        /// Is the recording repeated?
        repeat: bool,
        /// Where in it each flow begins.
        begin: Begin,
    },
    /// They are made up.
    Synthetic {
        /// Mean rate.
        rate: Rate,
        /// Frames per second.
        fps: f64,
        /// Frames from one I to the next.
        gop: u32,
        /// Standard deviation of the logarithm of a length, given the type.
        sigma: f64,
    },
}

/// Where in a recording the flows of a group begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// All at its start.
    Together,
    /// Each at a place of its own.
    Random,
}

impl Begin {
    /// Its word in a scenario.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::Random => "random",
        }
    }
}

/// Which way the data of a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From senders to receivers, through the bottlenecks in their order; in a graph along `from` and `to`.
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
