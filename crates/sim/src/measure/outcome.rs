//! The results of a run.

use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Colour;

use crate::measure::histogram::Summary;
use crate::measure::meter::{ClassMeter, Meter};
use crate::measure::over_time::Tally;
use crate::tcp::sender::SenderCounts;

/// Sampled state of a link, one row per sampling interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time in seconds.
    pub time_s: Vec<f64>,
    /// Packets waiting at that time.
    pub queue_pkts: Vec<f64>,
    /// Time-weighted mean queue since the previous row, in packets.
    pub queue_mean_pkts: Vec<f64>,
    /// The discipline's probes, by name.
    pub probes: Vec<(&'static str, Vec<f64>)>,
    /// Packet counters by class since the previous row, also before the window begins.
    pub classes: Vec<(u8, Vec<Tally>)>,
}

impl Series {
    /// A series without rows, with one column per probe.
    pub(crate) fn new(probes: &[ProbeSpec]) -> Self {
        Self { probes: probes.iter().map(|p| (p.name, Vec::new())).collect(), ..Self::default() }
    }
}

/// Results of one class and colour at a link.
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
    /// Sojourn time in seconds.
    pub sojourn_s: Option<Summary>,
}

/// Results of one link under study, within the measurement window unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Its name.
    pub name: String,
    /// Waiting packets, time-weighted.
    pub queue_pkts: Summary,
    /// Fraction of the time at each queue length, from 0.
    pub queue_shares: Vec<f64>,
    /// Sojourn time in seconds.
    pub sojourn_s: Option<Summary>,
    /// Fraction of the time in which it was sending; with a schedule, bits sent divided by capacity in bits.
    pub utilisation: f64,
    /// Packets offered.
    pub offered_pkts: u64,
    /// Packets whose transmission began.
    pub delivered_pkts: u64,
    /// Early drops.
    pub dropped_early: u64,
    /// Overflow drops.
    pub dropped_overflow: u64,
    /// CE marks.
    pub marked: u64,
    /// Packets sent and lost on the wire.
    pub lost_pkts: u64,
    /// Packets served in the complete run.
    pub served_pkts: u64,
    /// Results by class and colour.
    pub classes: Vec<ClassOutcome>,
    /// Sampled series.
    pub series: Series,
}

impl LinkOutcome {
    /// Results of a link from its meter and series. `utilisation` replaces the meter's, for links with a schedule.
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

/// Results of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Its group.
    pub group: u32,
    /// Service class.
    pub class: u8,
    /// Payload that reached the receiver for the first time within the window, in bytes.
    pub goodput_bytes: u64,
    /// Wire bytes, headers included, of the packets that carried this payload.
    pub received_bytes: u64,
    /// Packets delivered in the complete run.
    pub delivered_pkts: u64,
    /// Time in seconds in which the flow was active within the window.
    pub active_s: f64,
    /// Counters of its sender in the complete run; for datagrams and video only `sent`.
    pub sender: SenderCounts,
}

/// End-to-end results of one class within the window, of flows whose data passes a link under study.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    /// Service class.
    pub class: u8,
    /// One-way delay in seconds.
    pub owd_s: Option<Summary>,
    /// Mean difference between consecutive one-way delays of a flow, in seconds.
    pub jitter_s: Option<f64>,
    /// Number of files that arrived, and their completion times in seconds, from the request or first packet on.
    pub files: u64,
    /// See `files`.
    pub completion_s: Option<Summary>,
}

/// All results of a run.
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
    /// Hash of all packet events; identifies the run.
    pub fingerprint: u64,
}
