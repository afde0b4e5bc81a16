//! What a run leaves behind.

use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Colour;

use crate::measure::histogram::Summary;
use crate::measure::meter::{ClassMeter, Meter};
use crate::measure::over_time::Tally;
use crate::tcp::sender::SenderCounts;

/// Sampled state of a link, one row per sampling interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Seconds.
    pub time_s: Vec<f64>,
    /// Packets waiting at that moment.
    pub queue_pkts: Vec<f64>,
    /// Time-weighted mean of the queue since the row before.
    pub queue_mean_pkts: Vec<f64>,
    /// The discipline's probes, by name.
    pub probes: Vec<(&'static str, Vec<f64>)>,
    /// What happened to the packets of classes since the row before, also before the window begins.
    pub classes: Vec<(u8, Vec<Tally>)>,
}

impl Series {
    /// No rows yet, a column for each of these probes.
    pub(crate) fn new(probes: &[ProbeSpec]) -> Self {
        Self { probes: probes.iter().map(|p| (p.name, Vec::new())).collect(), ..Self::default() }
    }
}

/// Figures of one class and colour at a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassOutcome {
    /// Service class.
    pub class: u8,
    /// Colour.
    pub colour: Colour,
    /// Packets offered.
    pub offered_pkts: u64,
    /// Packets dropped.
    pub dropped_pkts: u64,
    /// Waiting time in seconds.
    pub sojourn_s: Option<Summary>,
}

/// Figures of one link under study, within the measurement window unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Its name.
    pub name: String,
    /// Waiting packets, time-weighted.
    pub queue_pkts: Summary,
    /// Share of the time at each queue length, from 0.
    pub queue_shares: Vec<f64>,
    /// Waiting time in seconds.
    pub sojourn_s: Option<Summary>,
    /// Share of the time it sent; with a schedule, bits sent / bits it could have sent.
    pub utilisation: f64,
    /// Packets offered.
    pub offered_pkts: u64,
    /// Packets whose transmission began.
    pub delivered_pkts: u64,
    /// Drops by choice.
    pub dropped_early: u64,
    /// Drops for want of room.
    pub dropped_overflow: u64,
    /// CE marks.
    pub marked: u64,
    /// Packets delivered to the wire and lost there.
    pub lost_pkts: u64,
    /// Packets served in the whole run.
    pub served_pkts: u64,
    /// By class.
    pub classes: Vec<ClassOutcome>,
    /// Over time.
    pub series: Series,
}

impl LinkOutcome {
    /// What the meter of the link of this name says, and its series. A schedule knows the `utilisation` better.
    pub(crate) fn of(meter: &Meter, utilisation: Option<f64>, name: String, mut series: Series) -> Self {
        series.classes = meter.over_time();
        let sojourn = meter.sojourn();
        let class = |(class, colour, c): (u8, _, &ClassMeter)| ClassOutcome {
            class,
            colour,
            offered_pkts: c.offered,
            dropped_pkts: c.dropped,
            sojourn_s: c.sojourn.summary().map(|s| s.scaled(1e-9)),
        };
        Self {
            name,
            queue_pkts: meter.queue().summary(),
            queue_shares: meter.queue().shares(),
            sojourn_s: sojourn.summary().map(|s| s.scaled(1e-9)),
            utilisation: utilisation.unwrap_or_else(|| meter.utilisation()),
            offered_pkts: meter.offered(),
            delivered_pkts: sojourn.count(),
            dropped_early: meter.early,
            dropped_overflow: meter.overflow,
            marked: meter.marked,
            lost_pkts: meter.lost,
            served_pkts: meter.served,
            classes: meter.classes().map(class).collect(),
            series,
        }
    }
}

/// Figures of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Its group.
    pub group: u32,
    /// Service class.
    pub class: u8,
    /// Payload that reached the receiver for the first time within the window, in bytes.
    pub goodput_bytes: u64,
    /// The same with headers: length on the wire of the packets that carried it.
    pub received_bytes: u64,
    /// Packets delivered in the whole run.
    pub delivered_pkts: u64,
    /// Seconds during which it was active within the window.
    pub active_s: f64,
    /// What its sender did in the whole run; zero for datagrams but `sent`.
    pub sender: SenderCounts,
}

/// End-to-end figures of one class within the window: flows whose data passes a link under study.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    /// Service class.
    pub class: u8,
    /// One-way delay in seconds.
    pub owd_s: Option<Summary>,
    /// Mean difference between consecutive one-way delays of a flow, in seconds.
    pub jitter_s: Option<f64>,
    /// How many files have arrived, and how long they took in seconds, from the request or the first packet on.
    pub files: u64,
    /// See `files`.
    pub completion_s: Option<Summary>,
}

/// Everything a run leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Links under study.
    pub links: Vec<LinkOutcome>,
    /// Flows, in the network's order.
    pub flows: Vec<FlowOutcome>,
    /// Classes that carried data.
    pub classes: Vec<EndToEnd>,
    /// Events processed.
    pub events: u64,
    /// Hash of every packet event: the run's identity.
    pub fingerprint: u64,
}
