//! Time series of a run at a link: the queue, the discipline's internal variables (probes), and per class of traffic
//! queueing delay and throughput. Series of service classes and flows are added if the scenario requests them.

use forebay_sim::network::Network;
use forebay_sim::outcome::{LinkOutcome, Series, TrackRow};
use forebay_sim::over_time::Service;

use crate::figures::class_column::{self, ClassColumn};
use crate::results::record::SeriesRecord;
use crate::results::traffic::{self, ALL, TrafficSummary};
use crate::scenario::Scenario;

/// With more classes of traffic than this, only the series of all traffic are recorded.
const MAX_CLASSES: usize = 16;

/// Values of a column; `None` where there is nothing to average.
type Values = Vec<Option<f64>>;

/// The series of a link with this discipline. `found`: the classes of traffic at the link; `tracks`: the rows of each
/// series of flows that the scenario requests.
pub(super) fn series(
    scenario: &Scenario,
    net: &Network,
    (discipline, link): (&str, &LinkOutcome),
    found: &[TrafficSummary],
    tracks: &[Vec<TrackRow>],
) -> SeriesRecord {
    let of = &link.series;
    let probe = |(probe, column): &(&str, Vec<f64>)| {
        (format!("{discipline}.{probe}"), column.iter().map(|x| Some(*x).filter(|x| x.is_finite())).collect())
    };
    let mut probes: Vec<(String, Values)> = of.probes.iter().map(probe).collect();
    probes.extend(class_columns(scenario, of));
    probes.extend(traffic_columns(scenario, net, of, found));
    let columns = scenario.flow_columns().into_iter().zip(tracks);
    probes.extend(columns.map(|((name, column), rows)| (name.to_string(), column.values(rows, &of.time_s))));
    SeriesRecord {
        time_s: of.time_s.iter().map(|t| (t * 1e6).round() * 1e-6).collect(),
        queue_pkts: of.queue_pkts.clone(),
        queue_mean_pkts: of.queue_mean_pkts.iter().map(|q| (q * 1e3).round() * 1e-3).collect(),
        probes,
    }
}

/// The series of service classes that the scenario requests, in the order of the request.
fn class_columns(scenario: &Scenario, of: &Series) -> Vec<(String, Values)> {
    let column = |name: &String| {
        let asked = ClassColumn::parse(name)?;
        let (_, rows) = of.classes.iter().find(|(class, _)| *class == asked.class)?;
        Some((name.clone(), asked.values(rows)))
    };
    scenario.report.series.iter().filter_map(column).collect()
}

/// Names of the series of each class of traffic.
pub(crate) const OF_TRAFFIC: [&str; 2] = ["wait_ms", "throughput_bps"];

/// `NAME.wait_ms` and `NAME.throughput_bps` of each class of traffic and of all: mean queueing delay of the packets
/// whose transmission began since the previous row, and their bits per second.
fn traffic_columns(scenario: &Scenario, net: &Network, of: &Series, found: &[TrafficSummary]) -> Vec<(String, Values)> {
    let mut all = vec![Service::default(); of.time_s.len()];
    for (_, rows) in &of.served {
        all.iter_mut().zip(rows).for_each(|(sum, row)| sum.absorb(row));
    }
    let named = |(bundle, rows): &(u8, Vec<Service>)| {
        let name = traffic::name(scenario, net, *bundle);
        found.iter().any(|class| class.name == name).then(|| (name, rows.clone()))
    };
    let mut classes: Vec<(String, Vec<Service>)> = of.served.iter().filter_map(named).collect();
    if classes.len() > MAX_CLASSES {
        classes.clear();
    }
    classes.push((ALL.to_string(), all));
    let columns = |(name, rows): (String, Vec<Service>)| {
        let spans = of.time_s.iter().scan(0.0, |before, at| Some(at - core::mem::replace(before, *at)));
        let rate = |(row, span): (&Service, f64)| Some((row.bytes as f64 * 8.0 / span).round());
        let waits = rows.iter().map(class_column::wait_ms).collect();
        let rates = rows.iter().zip(spans).map(rate).collect();
        let [wait, throughput] = OF_TRAFFIC.map(|field| format!("{name}.{field}"));
        [(wait, waits), (throughput, rates)]
    };
    classes.into_iter().flat_map(columns).collect()
}
