//! The results of a run. A bundle is a group of flows that are measured together; a link under study is one that is
//! measured.

use std::collections::BTreeMap;

use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};

use crate::measure::bundles::Bundles;
use crate::measure::histogram::Summary;
use crate::measure::meter::{BundleMeter, Meter};
use crate::measure::over_time::{Service, Tally};
pub use crate::measure::video::VideoOutcome;
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
    /// Internal variables of the discipline (probes), by name.
    pub probes: Vec<(&'static str, Vec<f64>)>,
    /// Packets served by bundle since the previous row. They also count before the measurement window.
    pub served: Vec<(u8, Vec<Service>)>,
    /// Packet counters of each requested service class since the previous row. They also count before the measurement
    /// window.
    pub classes: Vec<(u8, Vec<Tally>)>,
}

impl Series {
    /// A time series without rows, with one column for each internal variable of the discipline (probe).
    pub(crate) fn new(probes: &[ProbeSpec]) -> Self {
        Self { probes: probes.iter().map(|p| (p.name, Vec::new())).collect(), ..Self::default() }
    }
}

/// Results of one service class and colour (IN or OUT of a traffic profile) at a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassOutcome {
    /// Number of the service class.
    pub class: u8,
    /// IN or OUT of the traffic profile.
    pub colour: Colour,
    /// Packets that arrived at the link.
    pub offered_pkts: u64,
    /// Packets dropped early or at a full buffer.
    pub dropped_pkts: u64,
    /// Sojourn time in seconds.
    pub sojourn_s: Option<Summary>,
}

/// Results of one bundle at a link, of packets IN and OUT of a traffic profile together.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleOutcome {
    /// Number of the bundle.
    pub bundle: u8,
    /// Packets that arrived at the link.
    pub offered_pkts: u64,
    /// Packets dropped early or at a full buffer.
    pub dropped_pkts: u64,
    /// Packets marked here.
    pub marked_pkts: u64,
    /// Sojourn time in seconds.
    pub sojourn_s: Option<Summary>,
    /// Quantiles of the sojourn time in seconds, at the probabilities [`SHARES`](crate::histogram::SHARES). Empty if
    /// there are no packets.
    pub sojourn_quantiles_s: Vec<f64>,
}

/// Results of one link under study, within the measurement window unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Name of the link.
    pub name: String,
    /// Waiting packets, time-weighted.
    pub queue_pkts: Summary,
    /// Fraction of the time at each queue length, from 0.
    pub queue_shares: Vec<f64>,
    /// Sojourn time in seconds.
    pub sojourn_s: Option<Summary>,
    /// Fraction of the time in which it was sending; with a variable rate, bits sent divided by capacity in bits.
    pub utilisation: f64,
    /// Packets that arrived at the link.
    pub offered_pkts: u64,
    /// Packets whose transmission began.
    pub delivered_pkts: u64,
    /// Packets dropped by decision of the discipline.
    pub dropped_early: u64,
    /// Packets dropped because the buffer was full.
    pub dropped_overflow: u64,
    /// Packets that the link marked with CE.
    pub marked: u64,
    /// Packets sent and lost on the wire.
    pub lost_pkts: u64,
    /// Packets served in the complete run.
    pub served_pkts: u64,
    /// Results by service class and colour (IN or OUT of a traffic profile).
    pub classes: Vec<ClassOutcome>,
    /// Results by bundle.
    pub bundles: Vec<BundleOutcome>,
    /// Quantiles of the sojourn time in seconds, at the probabilities [`SHARES`](crate::histogram::SHARES).
    pub sojourn_quantiles_s: Vec<f64>,
    /// Sampled state of the link over the complete run.
    pub series: Series,
}

impl LinkOutcome {
    /// Results of a link from its meter and time series. `utilisation` replaces the meter's value on a link with a
    /// variable rate.
    pub(crate) fn of(
        meter: &Meter,
        bundles: &Bundles,
        utilisation: Option<f64>,
        name: String,
        mut series: Series,
    ) -> Self {
        series.served = meter.served_over_time(series.time_s.len());
        series.classes = meter.over_time(&series.served);
        let sojourn = meter.sojourn();
        let seconds = |of: &BundleMeter| of.sojourn.summary().map(|s| s.scaled(1e-9));
        let class = |((class, colour), c): ((u8, u8), BundleMeter)| ClassOutcome {
            class,
            colour: if colour == Colour::In.bits() { Colour::In } else { Colour::Out },
            offered_pkts: c.offered,
            dropped_pkts: c.dropped,
            sojourn_s: seconds(&c),
        };
        let bundle = |(bundle, b): (u8, BundleMeter)| BundleOutcome {
            bundle,
            offered_pkts: b.offered,
            dropped_pkts: b.dropped,
            marked_pkts: b.marked,
            sojourn_s: seconds(&b),
            sojourn_quantiles_s: b.sojourn.quantiles(),
        };
        let classes = together(meter, |bundle, colour| (bundles.class(bundle), colour.bits()));
        let each = together(meter, |bundle, _| bundle);
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
            marked: meter.marked(),
            lost_pkts: meter.lost,
            served_pkts: meter.served,
            classes: classes.into_iter().map(class).collect(),
            bundles: each.into_iter().map(bundle).collect(),
            sojourn_quantiles_s: sojourn.quantiles(),
            series,
        }
    }
}

/// Adds the counters of a link that have equal keys. The result is sorted by key.
fn together<K: Ord>(meter: &Meter, key: impl Fn(u8, Colour) -> K) -> BTreeMap<K, BundleMeter> {
    let mut all = BTreeMap::new();
    for (bundle, colour, counters) in meter.bundles() {
        let entry: &mut BundleMeter = all.entry(key(bundle, colour)).or_default();
        entry.absorb(counters);
    }
    all
}

/// Results of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Index of the `[[flows]]` table of the scenario that describes the flow.
    pub group: u32,
    /// Number of the service class.
    pub class: u8,
    /// Number of its bundle.
    pub bundle: u8,
    /// Payload that reached the receiver for the first time within the measurement window, in bytes.
    pub goodput_bytes: u64,
    /// Wire bytes, headers included, of the packets that carried this payload.
    pub received_bytes: u64,
    /// Packets delivered in the complete run.
    pub delivered_pkts: u64,
    /// Seconds of the measurement window between the flow's start and stop, pauses in its traffic included.
    pub active_s: f64,
    /// Counters of its sender in the complete run; for datagrams and video over RTP only `sent`.
    pub sender: SenderCounts,
    /// What its client played, if it is adaptive video and active in the measurement window.
    pub video: Option<VideoOutcome>,
}

/// End-to-end results of one service class within the measurement window, of flows whose data passes a link under
/// study.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    /// Number of the service class.
    pub class: u8,
    /// One-way delay in seconds.
    pub owd_s: Option<Summary>,
    /// Mean difference between consecutive one-way delays of a flow, in seconds.
    pub jitter_s: Option<f64>,
    /// Number of files that arrived.
    pub files: u64,
    /// Completion times of these files in seconds: from the request, or without requests from the first packet.
    pub completion_s: Option<Summary>,
}

/// End-to-end results of one bundle within the measurement window, of flows whose data passes a link under study.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleEnds {
    /// Number of the bundle.
    pub bundle: u8,
    /// Round-trip times that senders measured, in seconds.
    pub rtt_s: Option<Summary>,
    /// Mean of the shortest 95 % of these round-trip times, in seconds.
    pub trimmed_rtt_s: Option<f64>,
    /// Mean one-way delay of data, in seconds.
    pub owd_s: Option<f64>,
    /// Mean difference between the delays of consecutive packets of a flow, in seconds.
    pub jitter_s: Option<f64>,
    /// Number of files that arrived.
    pub files: u64,
    /// Completion times of these files in seconds: from the request, or without requests from the first packet.
    pub completion_s: Option<Summary>,
}

/// A row of the time series of a set of flows; sums over the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrackRow {
    /// TCP senders that have started and not stopped.
    pub senders: u32,
    /// Sum of the congestion windows of these senders, in packets.
    pub cwnd_pkts: f64,
    /// Sum of the packets in flight of these senders.
    pub inflight_pkts: u64,
    /// Number of round-trip times measured since the previous row.
    pub rtts: u32,
    /// Sum of the round-trip times measured since the previous row.
    pub rtt: Span,
    /// Data packets that reached their receivers since the previous row.
    pub pkts: u32,
    /// Bytes of the data packets that reached their receivers since the previous row.
    pub bytes: u64,
    /// Sum of the one-way delays of the data packets that reached their receivers since the previous row.
    pub delay: Span,
}

/// A file or page that arrived completely at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number of the flow that carried it.
    pub flow: u32,
    /// Time at which its last packet arrived.
    pub at: Instant,
    /// Time since the request or the first packet.
    pub took: Span,
}

/// All results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Results of the links under study.
    pub links: Vec<LinkOutcome>,
    /// Results of the flows, in the order of the network's flows.
    pub flows: Vec<FlowOutcome>,
    /// End-to-end results of the service classes that carried data.
    pub classes: Vec<EndToEnd>,
    /// End-to-end results of the bundles that carried data.
    pub bundles: Vec<BundleEnds>,
    /// For each of `links`: results of all bundles together whose data crosses it. Their field `bundle` is 0.
    pub all: Vec<BundleEnds>,
    /// Files and pages that were completely received within the measurement window, of flows whose data passes a link
    /// under study. In order of the time of completion.
    pub completions: Vec<Completion>,
    /// The time series of each set of flows that the network samples.
    pub tracks: Vec<Vec<TrackRow>>,
    /// Events that the simulator processed, warm-up included.
    pub events: u64,
    /// Hash of all packet events; identifies the run.
    pub fingerprint: u64,
}
