//! The record of a run: its results, made from what the simulator returns. The names of the fields are those in
//! `summary.json` and in the other files of results. A contender is a compared discipline; axes are the keys that vary
//! between runs, and a case is a combination of their values. A link under study is a link whose results are recorded.
//! A class of traffic is a group of flows, or a service class.

use forebay_aqm::Spec;
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::Instant;
use forebay_sim::network::{LinkId, Network};
use forebay_sim::outcome::{BundleEnds, ClassOutcome, Completion, FlowOutcome, LinkOutcome, Outcome};
use serde::{Deserialize, Serialize};

use crate::results::named::Axes;
use crate::results::over_time;
pub use crate::results::spread::Spread;
use crate::results::traffic::{TrafficSummary, jain, traffic};
use crate::scenario::{Case, Contender, Scenario};
use crate::{figures::settling, own};

/// Drops by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Dropped by decision of the discipline.
    pub early: u64,
    /// Dropped because the buffer was full.
    pub overflow: u64,
}

/// Results of the packets of a service class and colour (IN or OUT of profile).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Number of the service class.
    pub class: u8,
    /// `in` or `out` of profile.
    pub colour: String,
    /// Packets offered at the link, acknowledgements of reverse flows included.
    pub offered_pkts: u64,
    /// Dropped packets as a fraction of those offered.
    pub loss_ratio: f64,
    /// Waiting time at the link.
    pub sojourn_ms: Option<Spread>,
    /// One-way delay between hosts, in ms, of flows whose data crosses any link under study; the same value for all
    /// links.
    pub owd_ms: Option<Spread>,
    /// Mean absolute difference of consecutive one-way delays of a flow, in ms; the same value for all links.
    pub jitter_ms: Option<f64>,
    /// Flow completion time; `None` if no flow has a defined end.
    pub fct_s: Option<Spread>,
    /// Payload that reached the receivers for the first time, in bit/s.
    pub goodput_bps: f64,
    /// Goodput including headers, in bit/s.
    #[serde(default)]
    pub received_bps: f64,
}

/// One run at one link, as in `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Label of contender and case, such as `raqm q0=50 [n=40]`.
    pub label: String,
    /// Discipline of the link: the contender if `[compare]` applies to the link, else the discipline in the topology.
    pub aqm: String,
    /// Values of the axes of `[vary]`.
    pub axes: Axes,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// Name of the link under study.
    pub link: String,
    /// Waiting packets, time-weighted over the measurement window.
    pub queue_pkts: Spread,
    /// Waiting time in milliseconds.
    pub sojourn_ms: Option<Spread>,
    /// Bits sent as a fraction of the capacity.
    pub utilisation: f64,
    /// Dropped packets as a fraction of those offered, without losses on the wire.
    pub loss_ratio: f64,
    /// Marked packets as a fraction of those offered.
    pub mark_ratio: f64,
    /// Goodput (RFC 2647 section 3.17): payload that reached the receivers for the first time within the
    /// measurement window, of flows whose data crosses the link, in bit/s.
    pub goodput_bps: f64,
    /// Goodput as a fraction of the link's capacity.
    pub goodput_ratio: f64,
    /// Goodput including headers, in bit/s.
    #[serde(default)]
    pub received_bps: f64,
    /// Goodput including headers, as a fraction of the link's capacity.
    #[serde(default)]
    pub received_ratio: f64,
    /// Packets that arrived at the link within the measurement window.
    pub offered_pkts: u64,
    /// Packets whose transmission began within the measurement window.
    pub delivered_pkts: u64,
    /// Packets dropped within the measurement window, by reason.
    pub dropped: Dropped,
    /// Packets lost on the wire after transmission; `delivered_pkts` includes them.
    #[serde(default)]
    pub wire_lost_pkts: u64,
    /// Jain's fairness index of flows whose data crosses the link and that have started, and not stopped, during at
    /// least nine tenths of the measurement window; `None` without such flows.
    pub jain: Option<f64>,
    /// Events simulated in the complete network; equal at all links.
    pub events: u64,
    /// Packets served at the link in the complete run.
    pub packets: u64,
    /// CPU seconds of the run; equal at all links.
    pub cpu_seconds: f64,
    /// Hash of all packet events of the run; equal at all links.
    pub fingerprint: String,
    /// Results by service class and colour (IN or OUT of profile).
    pub classes: Vec<ClassSummary>,
    /// Results of each class of traffic whose data crosses the link, then of all; empty in old directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficSummary>,
    /// Seconds until the queue stays near its [`Reference`]; `None` if it never does.
    pub settling_s: Option<f64>,
    /// Largest excess of the queue over its [`Reference`], in 1 s means.
    pub overshoot_pkts: f64,
}

impl RunSummary {
    /// Name of the contender (compared discipline). The link has another discipline if `[compare]` does not apply to
    /// it.
    pub fn contender(&self) -> &str {
        contender_of(&self.label, &self.axes)
    }

    /// Name of the contender (compared discipline), followed by the link's discipline if this is another one.
    pub fn contender_here(&self) -> String {
        let contender = self.contender();
        if self.aqm == contender { contender.to_string() } else { format!("{contender} ({} here)", self.aqm) }
    }
}

/// Reference of the queue, in packets, to which settling time and overshoot refer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reference {
    /// The target queue length in the scenario.
    Given(f64),
    /// The mean over the second half of the run, if the scenario has no target.
    SteadyMean(f64),
}

/// Recorded series, one row per sampling interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Times of the rows, in seconds.
    pub time_s: Vec<f64>,
    /// Queue at the sampling time.
    pub queue_pkts: Vec<f64>,
    /// Mean queue since the previous row.
    pub queue_mean_pkts: Vec<f64>,
    /// Other columns by name; NaN is written as `null`:
    /// - internal variables of the discipline (probes), such as `raqm.p`;
    /// - queueing delay and throughput of each class of traffic, such as `web.wait_ms` and `web.throughput_bps`;
    /// - if the scenario requests them, counters of service classes and the state of flows.
    pub probes: Vec<(String, Vec<Option<f64>>)>,
}

/// Results of one flow in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Name of its group.
    pub group: String,
    /// Number of the service class.
    pub class: u8,
    /// Payload that reached the receiver for the first time within the measurement window.
    pub goodput_bytes: u64,
    /// Payload as in `goodput_bytes`, headers included.
    #[serde(default)]
    pub received_bytes: u64,
    /// Seconds of the measurement window between the flow's start and stop, pauses in its traffic included.
    pub active_s: f64,
    /// Packets sent in the complete run.
    pub sent_pkts: u64,
    /// Packets among `sent_pkts` that were retransmissions.
    pub retransmitted_pkts: u64,
    /// Timeouts in the complete run.
    pub timeouts: u64,
}

/// The results of one run that are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The summary at the first link under study.
    pub summary: RunSummary,
    /// Simulated seconds, warm-up included.
    pub duration_s: f64,
    /// Reference of the queue for settling time and overshoot.
    pub reference: Reference,
    /// Fraction of time at each queue length, from 0 packets.
    pub queue_shares: Vec<f64>,
    /// The queueing delay of each class of traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitRecord>,
    /// The time series at the first link under study.
    pub series: SeriesRecord,
    /// The flows, in the order of the network.
    pub flows: Vec<FlowRecord>,
    /// The files that arrived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<CompletionRecord>,
    /// The other links under study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<LinkRecord>,
}

impl RunRecord {
    /// Reads a record from JSON, and checks that tables can be made from it.
    ///
    /// # Errors
    /// The bytes are not the JSON of a record, or the queue and time columns of a series have different lengths.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if let Some((link, _)) = record.all_series().find(|(_, series)| !series.is_even()) {
            return Err(format!("the columns of the series of {link} have different lengths"));
        }
        Ok(record)
    }

    /// Name of the class of traffic of the flow with this index; see [`TrafficSummary::name`].
    pub fn flow_class(&self, flow: u32) -> Option<&str> {
        let flow = self.flows.get(flow as usize)?;
        let names = || self.summary.traffic.iter().map(|traffic| traffic.name.as_str());
        let number = flow.class.to_string();
        names().find(|name| *name == flow.group).or_else(|| names().find(|name| *name == number))
    }

    /// Summaries of the run at all links under study.
    pub fn summaries(&self) -> impl Iterator<Item = &RunSummary> {
        std::iter::once(&self.summary).chain(self.others.iter().map(|link| &link.summary))
    }

    /// Time series of the run at all links under study, with the name of the link.
    pub fn all_series(&self) -> impl Iterator<Item = (&str, &SeriesRecord)> {
        let first = (self.summary.link.as_str(), &self.series);
        std::iter::once(first).chain(self.others.iter().map(|link| (link.summary.link.as_str(), &link.series)))
    }

    /// The record without the parts that grow with the length of the run and the number of flows: enough for
    /// all means, and small enough to keep thousands. The names of the columns of time series stay.
    pub fn slim(self) -> Self {
        let others = self.others.into_iter().map(|link| {
            let (series, queue_shares, waits) = (link.series.slim(), Vec::new(), Vec::new());
            LinkRecord { series, queue_shares, waits, ..link }
        });
        let (series, others) = (self.series.slim(), others.collect());
        let waits = Vec::new();
        Self { series, others, waits, flows: Vec::new(), completions: Vec::new(), queue_shares: Vec::new(), ..self }
    }
}

/// A file or page that arrived within the measurement window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletionRecord {
    /// Index of its flow.
    pub flow: u32,
    /// Time of arrival in seconds.
    pub at_s: f64,
    /// Completion time in seconds, from the request or first packet on.
    pub fct_s: f64,
}

impl SeriesRecord {
    /// Whether the queue columns have a value in each row. Other columns may be shorter.
    fn is_even(&self) -> bool {
        let rows = self.time_s.len();
        self.queue_pkts.len() == rows && self.queue_mean_pkts.len() == rows
    }

    fn slim(self) -> Self {
        let probes = self.probes.into_iter().map(|(name, _)| (name, Vec::new())).collect();
        Self { probes, ..Self::default() }
    }
}

/// Results of a run at a link under study other than the first. Those of the first are in the fields of [`RunRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The summary of the run at this link.
    pub summary: RunSummary,
    /// Reference of the queue for settling time and overshoot.
    pub reference: Reference,
    /// Fraction of time at each queue length, from 0 packets.
    pub queue_shares: Vec<f64>,
    /// The queueing delay of each class of traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitRecord>,
    /// The time series at this link.
    pub series: SeriesRecord,
}

/// The distribution of the queueing delay of a class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRecord {
    /// Name of the class, as in [`TrafficSummary`].
    pub traffic: String,
    /// Quantiles of the delay in ms, at 27 probabilities from 0 to 1 ([`SHARES`](forebay_sim::histogram::SHARES)).
    /// Empty without packets.
    pub ms: Vec<f64>,
}

/// The label of a contender (compared discipline) in a case, with the values of the axes: `raqm q0=50 [n=40]`.
pub fn label(contender: &Contender, case: &Case) -> String {
    let axes = case.axes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    contender.label.clone() + &label_end(axes)
}

/// The end of a label with the values of the axes: ` [n=40]`; empty without axes.
pub(crate) fn label_end<'a>(axes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let axes: Vec<String> = axes.map(|(name, value)| format!("{name}={value}")).collect();
    if axes.is_empty() { String::new() } else { format!(" [{}]", axes.join(" ")) }
}

/// The part of a label that names the contender (compared discipline), without the values of the axes.
pub fn contender_of<'a>(label: &'a str, axes: &Axes) -> &'a str {
    let end = label_end(axes.words());
    label.strip_suffix(end.as_str()).unwrap_or(label)
}

/// The discipline at a link: the contender if `[compare]` applies to the link, else the discipline that the link has in
/// the scenario.
fn aqm(scenario: &Scenario, contender: &Contender, link: &str) -> String {
    let links = scenario.topology.links();
    let own = links.iter().find(|own| own.name == link && !scenario.compared.contains(&own.name));
    own.map_or_else(|| contender.label.clone(), |own| short_words(&own.link.discipline))
}

/// A discipline with its parameters that differ from the defaults.
fn short_words(spec: &Spec) -> String {
    let plain = own::parse(spec.name()).map_or_else(|_| String::new(), |plain| plain.canonical());
    let usual: Vec<&str> = plain.split(' ').skip(1).collect();
    let words = spec.canonical();
    words.split(' ').filter(|word| !usual.contains(word)).collect::<Vec<_>>().join(" ")
}

/// Readable name of a key that varies: `ftp count` for the path `flows.ftp.count`, `count of each group` for
/// `flows.*.count`.
pub fn axis_name(axis: &str) -> String {
    match axis.split('.').collect::<Vec<_>>().as_slice() {
        ["flows", "*", key] => format!("{key} of each group"),
        ["flows" | "topology", thing, key] => format!("{thing} {key}"),
        _ => axis.to_string(),
    }
}

/// Readable names and values of keys that vary: `ftp count = 40`.
pub fn point_name<'a>(axes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    axes.map(|(axis, value)| format!("{} = {value}", axis_name(axis))).collect::<Vec<_>>().join(", ")
}

/// A finished run with its scenario, contender (compared discipline) and seed. The records of its links are made from
/// it.
struct Run<'a> {
    case: &'a Case,
    contender: &'a Contender,
    seed: u64,
    net: &'a Network,
    outcome: &'a Outcome,
    cpu_seconds: f64,
}

/// The record of a finished run of `net`.
pub fn record(
    case: &Case,
    contender: &Contender,
    seed: u64,
    net: &Network,
    outcome: &Outcome,
    cpu_seconds: f64,
) -> RunRecord {
    let run = Run { case, contender, seed, net, outcome, cpu_seconds };
    let studied = net.links.iter().enumerate().filter(|(_, link)| link.lane.study).map(|(id, _)| id);
    let mut links: Vec<LinkRecord> =
        studied.zip(&outcome.links).enumerate().map(|(n, (id, link))| run.at(id, link, outcome.all.get(n))).collect();
    let LinkRecord { summary, reference, queue_shares, waits, series } = links.remove(0);
    let flows = outcome.flows.iter().map(|f| FlowRecord {
        group: case.scenario.flows[f.group as usize].name.clone(),
        class: f.class,
        goodput_bytes: f.goodput_bytes,
        received_bytes: f.received_bytes,
        active_s: f.active_s,
        sent_pkts: f.sender.sent,
        retransmitted_pkts: f.sender.retransmitted,
        timeouts: f.sender.timeouts,
    });
    let completion =
        |file: &Completion| CompletionRecord { flow: file.flow, at_s: file.at.secs(), fct_s: file.took.secs() };
    RunRecord {
        summary,
        duration_s: case.scenario.duration.secs(),
        reference,
        queue_shares,
        waits,
        flows: flows.collect(),
        completions: outcome.completions.iter().map(completion).collect(),
        series,
        others: links,
    }
}

impl Run<'_> {
    /// The results at one link. `all`: the end-to-end results of the flows across it.
    fn at(&self, id: LinkId, link: &LinkOutcome, all: Option<&BundleEnds>) -> LinkRecord {
        let Run { case, contender, seed, net, outcome, cpu_seconds } = *self;
        let scenario = &case.scenario;
        let duration_s = scenario.duration.secs();
        let window_s = duration_s - scenario.warmup.secs();
        // Flows whose data crosses the link.
        let crosses = net.flows.iter().map(|flow| net.routes[flow.forward].contains(&id));
        let flows: Vec<&FlowOutcome> = outcome.flows.iter().zip(crosses).filter(|(_, c)| *c).map(|(f, _)| f).collect();
        let (traffic, waits): (Vec<_>, Vec<_>) =
            traffic(scenario, net, outcome, (link, all), &flows, window_s).into_iter().unzip();
        let discipline = net.links[id].lane.discipline.name();
        let series = over_time::series(scenario, net, (discipline, link), &traffic, &outcome.tracks);
        let reference = reference(scenario, &series, duration_s);
        let (Reference::Given(aim) | Reference::SteadyMean(aim)) = reference;
        let seconds = settling::seconds(&series.time_s, &series.queue_mean_pkts, 0.0, duration_s);
        let rate =
            |bytes: fn(&FlowOutcome) -> u64| flows.iter().copied().map(bytes).sum::<u64>() as f64 * 8.0 / window_s;
        let (goodput_bps, received_bps) = (rate(|f| f.goodput_bytes), rate(|f| f.received_bytes));
        let ratio = |n: u64| n as f64 / link.offered_pkts.max(1) as f64;
        let waits = traffic.iter().zip(waits).map(|(of, ms)| WaitRecord { traffic: of.name.clone(), ms }).collect();
        let summary = RunSummary {
            label: label(contender, case),
            aqm: aqm(scenario, contender, &link.name),
            axes: case.axes.iter().cloned().collect(),
            seed,
            link: link.name.clone(),
            queue_pkts: Spread::new(link.queue_pkts, 1.0),
            sojourn_ms: link.sojourn_s.map(|s| Spread::new(s, 1e3)),
            utilisation: link.utilisation,
            loss_ratio: ratio(link.dropped_early + link.dropped_overflow),
            mark_ratio: ratio(link.marked),
            goodput_bps,
            goodput_ratio: goodput_bps / capacity(net, id),
            received_bps,
            received_ratio: received_bps / capacity(net, id),
            offered_pkts: link.offered_pkts,
            delivered_pkts: link.delivered_pkts,
            dropped: Dropped { early: link.dropped_early, overflow: link.dropped_overflow },
            wire_lost_pkts: link.lost_pkts,
            jain: jain(&flows, window_s),
            events: outcome.events,
            packets: link.served_pkts,
            cpu_seconds,
            fingerprint: format!("{:016x}", outcome.fingerprint),
            classes: link.classes.iter().map(|c| class_summary(c, outcome, &flows, window_s)).collect(),
            traffic,
            settling_s: settling::settling(&seconds, aim),
            overshoot_pkts: settling::overshoot(&seconds, aim),
        };
        LinkRecord { summary, reference, queue_shares: link.queue_shares.clone(), waits, series }
    }
}

/// What a link can send within the measurement window, in bit/s.
fn capacity(net: &Network, id: LinkId) -> f64 {
    let link = &net.links[id].lane;
    link.conditions.schedule.as_ref().map_or(link.rate.0 as f64, |schedule| {
        let (from, to) = (Instant::ZERO + net.warmup, Instant::ZERO + net.duration);
        // A link that is down all the time has no capacity: avoids dividing by 0.
        (schedule.bits(from, to) / (net.duration - net.warmup).secs()).max(1.0)
    })
}

fn reference(scenario: &Scenario, series: &SeriesRecord, duration_s: f64) -> Reference {
    use forebay_aqm::base::units::Depth;
    match scenario.report.reference {
        Some(Depth::Packets(n)) => Reference::Given(n),
        Some(Depth::Bytes(n)) => Reference::Given(n / f64::from(scenario.packet)),
        None => {
            // Runs shorter than about two seconds may have no row in their second half.
            let mean = |from| {
                let seconds = settling::seconds(&series.time_s, &series.queue_mean_pkts, from, duration_s);
                let known: Vec<f64> = seconds.into_iter().filter(|q| q.is_finite()).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
            };
            Reference::SteadyMean(mean(duration_s / 2.0).or_else(|| mean(0.0)).unwrap_or(0.0))
        }
    }
}

fn class_summary(link: &ClassOutcome, outcome: &Outcome, flows: &[&FlowOutcome], window_s: f64) -> ClassSummary {
    let end = outcome.classes.iter().find(|c| c.class == link.class && link.colour == Colour::In);
    let rate = |bytes: fn(&FlowOutcome) -> u64| {
        let of_class = flows.iter().copied().filter(|f| f.class == link.class);
        of_class.map(bytes).sum::<u64>() as f64 * 8.0 / window_s
    };
    ClassSummary {
        class: link.class,
        colour: if link.colour == Colour::In { "in" } else { "out" }.to_string(),
        offered_pkts: link.offered_pkts,
        loss_ratio: link.dropped_pkts as f64 / link.offered_pkts.max(1) as f64,
        sojourn_ms: link.sojourn_s.map(|s| Spread::new(s, 1e3)),
        owd_ms: end.and_then(|c| c.owd_s).map(|s| Spread::new(s, 1e3)),
        jitter_ms: end.and_then(|c| c.jitter_s).map(|s| s * 1e3),
        fct_s: end.and_then(|c| c.completion_s).map(|s| Spread::new(s, 1.0)),
        goodput_bps: rate(|f| f.goodput_bytes),
        received_bps: rate(|f| f.received_bytes),
    }
}
