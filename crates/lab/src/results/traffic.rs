//! Results of each class of traffic of a run, and of all traffic. A class of traffic is a group of flows. It is a
//! service class instead if any flow has a service class other than 0, or if there are more than 256 groups.

use forebay_sim::network::Network;
use forebay_sim::outcome::{BundleEnds, BundleOutcome, FlowOutcome, LinkOutcome, Outcome, VideoOutcome};
use serde::{Deserialize, Serialize};

use super::spread::Spread;
use crate::figures::scores::responsiveness::Rpm;
use crate::figures::scores::voip::{Codec, Rating};
use crate::figures::stats;
use crate::scenario::{self as flows, Scenario};

/// Name of the results of all traffic.
pub const ALL: &str = "all";

/// Results of one class of traffic at one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficSummary {
    /// Name of the group of flows, or number of the service class. It is the number if several groups are in the class, or
    /// if the group's flows are in several classes. With more than 256 groups each class is one row. [`ALL`] for all traffic.
    pub name: String,
    /// Bits per second, headers included, that reached the receivers for the first time.
    pub throughput_bps: f64,
    /// Payload of the packets that `throughput_bps` counts, in bit/s (RFC 2647 section 3.17).
    pub goodput_bps: f64,
    /// Queueing delay at the link, in ms.
    pub wait_ms: Option<Spread>,
    /// Round-trip times that senders measured, in ms; `None` without TCP.
    pub rtt_ms: Option<Spread>,
    /// Completion times of files, in s.
    pub fct_s: Option<Spread>,
    /// Number of files that arrived.
    pub fct_n: u64,
    /// Dropped packets as a fraction of those offered.
    pub loss_ratio: f64,
    /// Marked packets as a fraction of those offered.
    pub mark_ratio: f64,
    /// Jain's index of flows that have started, and not stopped, during at least nine tenths of the measurement window;
    /// `None` without such flows, and if the class has a single flow.
    pub jain: Option<f64>,
    /// Mean opinion score of calls; `None` for other traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mos: Option<f64>,
    /// Round trips per minute: 60 s over the mean of the shortest 95 % of the round trips; `None` without TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpm: Option<f64>,
    /// Viewers of adaptive video: mean start-up delay in s, in the complete run; `None` for other traffic, as in the next
    /// fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    /// Mean time that a viewer spends in stalls, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_s: Option<f64>,
    /// Stalls in an hour of a viewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls_per_hour: Option<f64>,
    /// Mean bitrate of the segments that arrived, in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video_bps: Option<f64>,
    /// Quality of experience per segment, in Mbit/s ([`VideoOutcome::qoe`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qoe: Option<f64>,
}

/// Counters and distributions of one class of traffic, from the simulator.
struct Parts<'a> {
    name: String,
    link: BundleOutcome,
    ends: Option<&'a BundleEnds>,
    flows: Vec<&'a FlowOutcome>,
    /// The codec, if all flows are calls.
    codec: Option<Codec>,
}

/// Results of each class of traffic whose data crosses the link, then of all traffic. Each result has the quantiles of
/// the queueing delay in ms. `flows`: the flows whose data crosses the link.
pub(crate) fn traffic(
    scenario: &Scenario,
    net: &Network,
    outcome: &Outcome,
    (link, all): (&LinkOutcome, Option<&BundleEnds>),
    flows: &[&FlowOutcome],
    window_s: f64,
) -> Vec<(TrafficSummary, Vec<f64>)> {
    let of = |bundle: &BundleOutcome| Parts {
        name: name(scenario, net, bundle.bundle),
        link: bundle.clone(),
        ends: outcome.bundles.iter().find(|ends| ends.bundle == bundle.bundle),
        flows: flows.iter().copied().filter(|flow| flow.bundle == bundle.bundle).collect(),
        codec: codec(scenario, net, bundle.bundle),
    };
    // A class of traffic (bundle) of which only acknowledgements cross the link has no flows here.
    let bundles = link.bundles.iter().map(of).filter(|parts| !parts.flows.is_empty());
    let all = Parts {
        name: ALL.to_string(),
        link: BundleOutcome {
            bundle: 0,
            offered_pkts: link.offered_pkts,
            dropped_pkts: link.dropped_early + link.dropped_overflow,
            marked_pkts: link.marked,
            sojourn_s: link.sojourn_s,
            sojourn_quantiles_s: link.sojourn_quantiles_s.clone(),
        },
        ends: all,
        flows: flows.to_vec(),
        codec: None,
    };
    let quantiles = |parts: &Parts<'_>| parts.link.sojourn_quantiles_s.iter().map(|s| s * 1e3).collect();
    bundles
        .chain([all])
        .map(|parts| (quantiles(&parts), parts))
        .map(|(q, parts)| (parts.summary(window_s), q))
        .collect()
}

/// The codec of the calls with the number `bundle`; `None` if other flows have it too.
fn codec(scenario: &Scenario, net: &Network, bundle: u8) -> Option<Codec> {
    let groups = net.flows.iter().filter(|flow| flow.bundle == bundle).map(|flow| flow.group as usize);
    let mut codecs = groups.map(|group| scenario.flows.get(group).and_then(|group| group.kind.codec()));
    let first = codecs.next()??;
    let is_same = codecs.all(|codec| codec == Some(first));
    is_same.then_some(match first {
        flows::Codec::G711 => Codec::G711,
        flows::Codec::G729 => Codec::G729A,
    })
}

/// Name of the class of traffic with the number `bundle`; see [`TrafficSummary::name`].
pub(crate) fn name(scenario: &Scenario, net: &Network, bundle: u8) -> String {
    let mut its = net.flows.iter().filter(|flow| flow.bundle == bundle).map(|flow| flow.group);
    let first = its.next();
    let is_one = its.all(|group| Some(group) == first);
    let is_whole = net.flows.iter().all(|flow| flow.bundle == bundle || Some(flow.group) != first);
    let group = first.filter(|_| is_one && is_whole).and_then(|group| scenario.flows.get(group as usize));
    // A group with a number as its name would look like a class.
    let has_classes = net.flows.iter().any(|flow| flow.class != 0);
    let group = group.filter(|group| !has_classes || group.name.parse::<u8>().is_err());
    group.map_or_else(|| net.bundles().class(bundle).to_string(), |group| group.name.clone())
}

impl TrafficSummary {
    /// The value of a metric, by its [name](crate::figures::metric::Metric::name).
    pub fn metric(&self, name: &str) -> Option<f64> {
        match name.split_once('.') {
            Some(("wait_ms", of)) => self.wait_ms?.named(of),
            Some(("rtt_ms", of)) => self.rtt_ms?.named(of),
            Some(("fct_s", "n")) => self.fct_s.map(|_| self.fct_n as f64),
            Some(("fct_s", of)) => self.fct_s?.named(of),
            Some(_) => None,
            None => match name {
                "throughput_bps" => Some(self.throughput_bps),
                "goodput_bps" => Some(self.goodput_bps),
                "loss_ratio" => Some(self.loss_ratio),
                "mark_ratio" => Some(self.mark_ratio),
                "jain" => self.jain,
                "mos" => self.mos,
                "rpm" => self.rpm,
                "startup_s" => self.startup_s,
                "stall_s" => self.stall_s,
                "stalls_per_hour" => self.stalls_per_hour,
                "video_bps" => self.video_bps,
                "qoe" => self.qoe,
                _ => None,
            },
        }
    }
}

impl Parts<'_> {
    /// The score of calls. As in flent, the delay is the mean plus twice the mean jitter.
    fn mos(&self) -> Option<f64> {
        let ends = self.ends?;
        let delay_s = ends.owd_s? + 2.0 * ends.jitter_s.unwrap_or(0.0);
        let loss = self.link.dropped_pkts as f64 / self.link.offered_pkts.max(1) as f64;
        Some(Rating::of(self.codec?, delay_s * 1e3, loss * 100.0)?.mos())
    }

    /// The sums over viewers of adaptive video; no clients for other traffic.
    fn video(&self) -> VideoOutcome {
        let mut all = VideoOutcome::default();
        self.flows.iter().filter_map(|flow| flow.video).for_each(|video| all.absorb(&video));
        all
    }

    fn summary(self, window_s: f64) -> TrafficSummary {
        let video = self.video();
        let rate = |bytes: fn(&FlowOutcome) -> u64| {
            self.flows.iter().map(|flow| bytes(flow)).sum::<u64>() as f64 * 8.0 / window_s
        };
        let ratio = |count: u64| count as f64 / self.link.offered_pkts.max(1) as f64;
        TrafficSummary {
            throughput_bps: rate(|flow| flow.received_bytes),
            goodput_bps: rate(|flow| flow.goodput_bytes),
            wait_ms: self.link.sojourn_s.map(|s| Spread::new(s, 1e3)),
            rtt_ms: self.ends.and_then(|ends| ends.rtt_s).map(|s| Spread::new(s, 1e3)),
            fct_s: self.ends.and_then(|ends| ends.completion_s).map(|s| Spread::new(s, 1.0)),
            fct_n: self.ends.map_or(0, |ends| ends.files),
            loss_ratio: ratio(self.link.dropped_pkts),
            mark_ratio: ratio(self.link.marked_pkts),
            // The index of a single flow is always 1.
            jain: jain(&self.flows, window_s).filter(|_| self.flows.len() > 1),
            mos: self.mos(),
            rpm: self.ends.and_then(|ends| ends.trimmed_rtt_s).and_then(|mean| Rpm::of(mean * 1e3)).map(|rpm| rpm.0),
            startup_s: video.startup_s(),
            stall_s: video.stall_s(),
            stalls_per_hour: video.stalls_per_hour(),
            video_bps: video.bitrate_bps(),
            qoe: video.qoe(),
            name: self.name,
        }
    }
}

/// Jain's index of the mean goodput of flows between their start and stop, of flows for which this time is at least
/// nine tenths of the measurement window. Pauses in a flow's traffic are part of this time.
pub(crate) fn jain(flows: &[&FlowOutcome], window_s: f64) -> Option<f64> {
    let long = flows.iter().filter(|f| f.active_s >= window_s * 0.9);
    stats::jain(long.map(|f| f.goodput_bytes as f64 / f.active_s))
}
