//! Curves over time for the report of a scenario: those that the scenario requests of service classes and flows, and
//! those of every class of traffic (a group of flows).

use super::each_run::Runs;
use super::figures::short;
use super::shapes::{Axis, Figure, Layout, Points, Series};
use crate::figures::class_column::{ClassColumn, growth_per_s};
use crate::figures::flow_column::FlowColumn;
use crate::results::record::SeriesRecord;

/// Curves of counters show the growth per second in intervals of this many seconds; curves of rates show averages over
/// such intervals.
const RATE_OVER_S: f64 = 1.0;
/// Number of bit/s in 1 Mb/s.
const MEGA: f64 = 1e6;

/// A curve over time: which recorded column it shows, how, and the texts of the figure.
struct Curve {
    /// Name of the recorded column.
    name: String,
    title: String,
    what: &'static str,
    unit: &'static str,
    caption: String,
    shown: Shown,
}

/// How a curve shows the values of its recorded column.
#[derive(Clone, Copy)]
enum Shown {
    /// As recorded.
    Plain,
    /// A counter, as its growth per second.
    Growth,
    /// A rate in bit/s, as averages in Mb/s.
    Rate,
}

impl Shown {
    fn rows(self, rows: Vec<(f64, Option<f64>)>) -> Vec<(f64, Option<f64>)> {
        match self {
            Self::Plain => rows,
            Self::Growth => growth_per_s(&rows, RATE_OVER_S),
            Self::Rate => {
                let (mut bits, mut before) = (0.0, 0.0);
                let sum = |&(at, rate): &(f64, Option<f64>)| {
                    bits += rate.unwrap_or(0.0) * (at - before);
                    before = at;
                    (at, Some(bits / MEGA))
                };
                growth_per_s(&rows.iter().map(sum).collect::<Vec<_>>(), RATE_OVER_S)
            }
        }
    }
}

impl Runs {
    /// Curves that the scenario requests of service classes and flows.
    pub(super) fn class_curves(&self, prefix: &str) -> Vec<Figure> {
        let groups = self.groups();
        let asked = self.series.iter().filter_map(|name| of_class(name).or_else(|| of_flows(name, &groups)));
        let cases =
            |curve: Curve| self.over_time.iter().map(|&case| self.curve(prefix, &curve, case)).collect::<Vec<_>>();
        asked.flat_map(cases).collect()
    }

    /// Queueing delay and throughput of a class of traffic against time.
    pub(super) fn traffic_curves(&self, prefix: &str, class: &str, place: &str, case: usize) -> Vec<Figure> {
        let seed = self.of_case(case).next().map_or(0, |e| e.runs[0].summary.seed);
        let which = format!("seed {seed}, the warm-up is included");
        let averaged = format!("Averaged over {RATE_OVER_S} s, headers included; {which}.");
        let wait = format!(
            "Mean of the packets sent in each sampling interval; {which}. A single dot: no packets were sent in the intervals before and after."
        );
        let curves = [
            ("wait_ms", "Queueing delay", "queueing delay", "ms", wait, Shown::Plain),
            ("throughput_bps", "Throughput at the link", "throughput", "Mb/s", averaged, Shown::Rate),
        ];
        let curve = |(field, title, what, unit, caption, shown)| Curve {
            name: format!("{class}.{field}"),
            title: format!("{title}{place}"),
            what,
            unit,
            caption,
            shown,
        };
        let figures = curves.map(curve).map(|curve| self.curve(prefix, &curve, case));
        figures.into_iter().filter(|figure| figure.series.iter().any(|line| line.points.len() > 0)).collect()
    }

    /// Names of the groups of flows, in the order of the scenario.
    pub(super) fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        let runs = self.entries.iter().filter_map(|entry| entry.runs.first());
        for flow in runs.flat_map(|run| &run.flows) {
            // Flows of a group are next to each other in the list.
            if groups.last() != Some(&flow.group.as_str()) && !groups.contains(&flow.group.as_str()) {
                groups.push(&flow.group);
            }
        }
        groups
    }

    fn curve(&self, prefix: &str, curve: &Curve, case: usize) -> Figure {
        let series = self.of_case(case).map(|e| {
            let shown = curve.shown.rows(rows(&e.runs[0].series, &curve.name));
            let points = Points::Places(shown.iter().map(|(t, y)| (short(*t), y.map(short))).collect());
            Series { name: Some(e.runs[0].summary.contender_here()), points, ..Series::default() }
        });
        Figure {
            id: format!("{prefix}-{}-{case}", curve.name.replace('.', "-")),
            title: format!("{} against time{}", curve.title, self.suffix(case)),
            caption: Some(curve.caption.clone()),
            kind: "line",
            layout: Some(Some(Layout::SmallMultiples)),
            x: Axis::new("time", "s"),
            y: Axis::from_zero(curve.what, curve.unit),
            series: series.collect(),
            ..Figure::default()
        }
    }
}

/// Times and values of the recorded column `name`; empty if it was not recorded.
fn rows(series: &SeriesRecord, name: &str) -> Vec<(f64, Option<f64>)> {
    let column = series.probes.iter().find(|(known, _)| known == name);
    column.into_iter().flat_map(|(_, column)| series.time_s.iter().copied().zip(column.iter().copied())).collect()
}

fn of_class(name: &str) -> Option<Curve> {
    let of = ClassColumn::parse(name)?;
    let (what, unit) = of.counts().unwrap_or(("wait", "ms"));
    let (caption, shown) = match unit {
        "ms" => ("Mean delay of the packets that left since the previous sample.".to_string(), Shown::Plain),
        _ => (format!("Averaged over {RATE_OVER_S} s."), Shown::Growth),
    };
    Some(Curve { name: name.to_string(), title: format!("Class {}: {what}", of.class), what, unit, caption, shown })
}

fn of_flows(name: &str, groups: &[&str]) -> Option<Curve> {
    let of = FlowColumn::parse(name, groups)?;
    let (what, unit, how) = of.about();
    let flow = of.flow.map_or(String::new(), |flow| format!(", flow {flow}"));
    let title = format!("{}{flow}: {what}", of.group);
    let (unit, shown, caption) = match unit {
        "bit/s" => ("Mb/s", Shown::Rate, format!("Averaged over {RATE_OVER_S} s, headers included.")),
        _ => (unit, Shown::Plain, how.to_string()),
    };
    Some(Curve { name: name.to_string(), title, what, unit, caption, shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_of_rates_show_averages_over_a_second() {
        let rows = [(0.5, Some(2e6)), (1.0, Some(4e6)), (1.5, None), (2.0, Some(1e6))];
        assert_eq!(Shown::Rate.rows(rows.to_vec()), [(1.0, Some(3.0)), (2.0, Some(0.5))]);
    }
}
