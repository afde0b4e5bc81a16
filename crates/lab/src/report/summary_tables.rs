//! Tables of the runs of one scenario: means with confidence intervals of each contender (compared discipline), and
//! differences from the first contender, paired by seed. A case is a combination of the values of the axes, which are
//! the keys that vary.

use super::each_run::{CASES_OVER_TIME, Entry, Runs};
use super::shapes::{self, Cell, Table};
use crate::figures::stats::Interval;
use crate::results::comparison::paired_by_seed;
use crate::results::quantity;
use crate::results::record::{self, Reference, RunRecord};

/// A column of a table: heading, unit, and name of the quantity (a number computed from the results of a run).
type Column = (&'static str, &'static str, &'static str);

const COLUMNS: [Column; 5] = [
    ("mean queue", "packets", "queue_pkts.mean"),
    ("sd", "packets", "queue_pkts.std"),
    ("utilisation", "", "utilisation"),
    ("dropped", "", "loss_ratio"),
    ("goodput", "of capacity", "goodput_ratio"),
];

/// Columns that are shown if the scenario has a reference, the queue length that the queue should settle at.
const AROUND_REFERENCE: [Column; 2] = [("settling", "s", "settling_s"), ("overshoot", "packets", "overshoot_pkts")];

/// Caption of a table with settling times.
const SETTLING: &str = "Settling: until the queue stays within 20 % of the reference. Runs that never settle count with \
                        their full duration.";

/// Column that is shown if there are losses on the wire (transmission losses, not drops).
const WIRE: Column = ("lost on the wire", "of packets sent", "wire_loss_ratio");

/// The columns of a table about `runs`.
fn columns(runs: &Runs) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if runs.entries.iter().flat_map(|e| &e.runs).any(|run| run.summary.wire_lost_pkts > 0) {
        columns.insert(4, WIRE);
    }
    if has_reference(runs) {
        columns.extend(AROUND_REFERENCE);
    }
    columns
}

fn has_reference(runs: &Runs) -> bool {
    runs.entries.iter().flat_map(|e| &e.runs).any(|run| matches!(run.reference, Reference::Given(_)))
}

fn samples(entry: &Entry, quantity: &str) -> Vec<(u64, f64)> {
    let value = |run: &RunRecord| match &run.summary {
        s if quantity == WIRE.2 => Some(s.wire_lost_pkts as f64 / s.delivered_pkts.max(1) as f64),
        _ => quantity::of(run, quantity).ok(),
    };
    entry.runs.iter().filter_map(|run| Some((run.summary.seed, value(run)?))).collect()
}

fn headings(columns: &[Column]) -> Vec<shapes::Column> {
    let mut all = vec![shapes::Column::words("discipline")];
    all.extend(columns.iter().map(|(name, unit, _)| shapes::Column::numbers(name, unit)));
    all
}

const MEANS: &str = "Means with 95 % confidence intervals";

/// A table of means and a table of differences. There are two such tables for each case, or two for all cases together
/// if there are more than [`CASES_OVER_TIME`].
pub(super) fn tables(runs: &Runs, prefix: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let (columns, several) = (&columns(runs), runs.are_several());
    let paired = if several { ", paired by seed" } else { "" };
    if runs.cases().len() > CASES_OVER_TIME {
        return of_all_cases(runs, prefix, columns);
    }
    for case in runs.cases() {
        let entries: Vec<&Entry> = runs.of_case(case).collect();
        let suffix = runs.suffix(case);
        tables.push(Table {
            id: format!("{prefix}-means-{case}"),
            title: format!("{}{suffix}", if several { MEANS } else { "Figures" }),
            columns: headings(columns),
            rows: entries.iter().map(|e| means(e, columns)).collect(),
            caption: has_reference(runs).then(|| SETTLING.to_string()),
            ..Table::default()
        });
        if let [first, others @ ..] = entries.as_slice()
            && !others.is_empty()
        {
            tables.push(Table {
                id: format!("{prefix}-differences-{case}"),
                title: format!("Differences from {}{paired}{suffix}", first.runs[0].summary.contender()),
                columns: headings(columns),
                rows: others.iter().map(|e| differences(e, first, columns)).collect(),
                folded: true,
                ..Table::default()
            });
        }
    }
    tables
}

/// A table of means and a table of differences, each with a row per case and contender.
fn of_all_cases(runs: &Runs, prefix: &str, columns: &[Column]) -> Vec<Table> {
    let axes = |entry: &Entry| -> Vec<Cell> {
        entry.runs[0].summary.axes.words().map(|(_, value)| Cell::from(value.to_string())).collect()
    };
    let names = runs.entries.first().into_iter().flat_map(|entry| entry.runs[0].summary.axes.words());
    let names: Vec<shapes::Column> = names.map(|(axis, _)| shapes::Column::axis(&record::axis_name(axis))).collect();
    let (mut all, mut compared) = (Vec::new(), Vec::new());
    for case in runs.cases() {
        let mut entries = runs.of_case(case);
        let Some(first) = entries.next() else { continue };
        all.push([axes(first), means(first, columns)].concat());
        for entry in entries {
            all.push([axes(entry), means(entry, columns)].concat());
            compared.push([axes(entry), differences(entry, first, columns)].concat());
        }
    }
    let table = |id: &str, title: &str, rows: Vec<Vec<Cell>>| Table {
        id: format!("{prefix}-{id}"),
        title: format!("{title}{}", runs.place()),
        columns: [names.clone(), headings(columns)].concat(),
        rows,
        folded: true,
        caption: has_reference(runs).then(|| SETTLING.to_string()),
        ..Table::default()
    };
    let several = runs.are_several();
    let mut tables = vec![table("means", if several { MEANS } else { "Figures" }, all)];
    if !compared.is_empty() {
        let paired = if several { ", paired by seed" } else { "" };
        let title = format!("Differences from the first discipline of the same point{paired}");
        tables.push(table("differences", &title, compared));
    }
    tables
}

fn means(entry: &Entry, columns: &[Column]) -> Vec<Cell> {
    let mut row = vec![Cell::from(entry.runs[0].summary.contender_here())];
    row.extend(columns.iter().map(|(_, _, quantity)| {
        let values: Vec<f64> = samples(entry, quantity).into_iter().map(|(_, value)| value).collect();
        let mean = plus_minus(&Interval::of(&values));
        Cell::from(if *quantity == "settling_s" { settling(entry, mean) } else { mean })
    }));
    row
}

/// `mean`, the mean settling time of the queue. If the queue settles in some runs only, their number is added. If it
/// settles in none, the text is `never`.
fn settling(entry: &Entry, mean: String) -> String {
    let all = entry.runs.len();
    match entry.runs.iter().filter(|r| r.summary.settling_s.is_some()).count() {
        0 => "never".to_string(),
        n if n == all => mean,
        n => format!("{mean} ({n} of {all})"),
    }
}

fn differences(entry: &Entry, first: &Entry, columns: &[Column]) -> Vec<Cell> {
    let mut row = vec![Cell::from(entry.runs[0].summary.contender_here())];
    row.extend(columns.iter().map(|(_, _, quantity)| {
        let paired = paired_by_seed(&samples(entry, quantity), &samples(first, quantity));
        Cell::from(paired.map_or_else(String::new, |d| plus_minus(&d)))
    }));
    row
}

/// Mean and half-width of a confidence interval, such as `7.12 ± 0.23`. The half-width has two significant digits; the
/// mean has the same number of decimals.
pub(super) fn plus_minus(interval: &Interval) -> String {
    if !interval.mean.is_finite() {
        return "–".to_string();
    }
    if !interval.half.is_finite() {
        return significant(interval.mean);
    }
    let digits = if interval.half > 0.0 { (1.0 - interval.half.log10().floor()).clamp(0.0, 6.0) as usize } else { 3 };
    format!("{:.digits$} ± {:.digits$}", interval.mean, interval.half)
}

/// The number with four significant digits, without an exponent where possible.
pub(super) fn significant(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let digits = (3.0 - x.abs().log10().floor()).clamp(0.0, 8.0) as usize;
    format!("{x:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_report_follow_width_of_confidence_interval() {
        let of = |mean, half| plus_minus(&Interval { mean, half, n: 10 });
        assert_eq!(of(7.1234, 0.234), "7.12 ± 0.23");
        assert_eq!(of(82.28, 1.5), "82.3 ± 1.5");
        assert_eq!(of(0.035012, 0.00012), "0.03501 ± 0.00012");
        assert_eq!(of(5.0, 0.0), "5.000 ± 0.000");
        assert_eq!(of(5.0, f64::INFINITY), "5.000");
        assert_eq!(significant(0.000_123_46), "0.0001235");
    }
}
