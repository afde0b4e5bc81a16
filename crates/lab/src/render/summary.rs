//! Tables of `summary.json`: means of each contender (compared discipline), and differences from the first one. A case
//! is a combination of the values of the axes, which are the keys that vary. A link under study is one whose results
//! are recorded.

use std::collections::BTreeMap;

use forebay_sim::histogram::RESOLUTION;

use crate::figures::stats::Interval;
use crate::results::comparison::ContenderComparison;
use crate::results::record::{self, RunSummary};
use crate::results::summary::Summary;

use super::answer;
use super::beyond::{self, Here};
use super::digits::{interval, signed, significant};
use super::look::{Look, Tone};
use super::text_table::Table;
use super::verdict::{self, Verdict};

/// A column of a table: name of a quantity in `compare` of `summary.json`, heading, unit, and factor on the value.
type Column = (&'static str, &'static str, &'static str, f64);

const QUEUE: [Column; 3] = [
    ("queue_pkts.mean", "queue", "packets", 1.0),
    ("queue_pkts.std", "sd", "packets", 1.0),
    ("utilisation", "utilisation", "%", 100.0),
];
/// Title of the table of the queue.
pub(super) const QUEUE_TITLE: &str = "the queue at the link";
const SETTLING: Column = ("settling_s", "settling", "s", 1.0);

/// A row of a table: the cells before the contender's name, and the contender with its results.
struct Row<'a> {
    lead: Vec<String>,
    contender: &'a ContenderComparison,
}

impl<'a> Row<'a> {
    /// Name and results of the contender.
    fn named(&self) -> (String, &'a ContenderComparison) {
        (self.lead.last().cloned().unwrap_or_default(), self.contender)
    }
}

/// Sentences and tables of a summary as text: with a row per case and contender if there are several cases
/// ([`by_point`]), else with a row per contender ([`by_case`]).
pub fn tables(look: Look, summary: &Summary) -> String {
    if summary.compare.cases.len() > 1 { by_point(look, summary) } else { by_case(look, summary) }
}

/// The sentences that say which discipline is best; empty if there is only one.
fn answer(look: Look, summary: &Summary) -> String {
    let said = answer::answer(summary);
    if said.is_empty() { String::new() } else { look.wrap("", &said.join(" ")) + "\n" }
}

/// The sentences about the best discipline, then for each case a table of means, and one of differences if there are
/// several contenders.
pub fn by_case(look: Look, summary: &Summary) -> String {
    let runs = Runs::new(summary);
    let mut out = answer(look, summary) + &beyond::first(look, summary);
    let mut definitions = Vec::new();
    for case in &summary.compare.cases {
        let rows: Vec<Row> = case.contenders.iter().map(|it| row(&[], &runs, it)).collect();
        let Some(first) = rows.first() else { continue };
        if !case.axes.is_empty() {
            let title: Vec<String> = case.axes.words().map(|(axis, value)| format!("{axis} = {value}")).collect();
            out += &format!("{}\n", look.tone(Tone::Strong, &title.join(", ")));
        }
        let named = verdict::Case { axes: Vec::new(), rows: rows.iter().map(Row::named).collect() };
        let verdict = verdict::verdict(look, &summary.shown, &[], &[named]);
        out += &format!("{}\n{}\n", verdict.text, look.tone(Tone::Strong, QUEUE_TITLE));
        out += &means(look, &runs, &[""], &rows);
        out.push('\n');
        if rows.len() > 1 {
            out += &differences(look, &runs, &[&format!("minus {}", name(&runs, first.contender))], &rows[1..]);
            out.push('\n');
        }
        for line in verdict.legend {
            if !definitions.contains(&line) {
                definitions.push(line);
            }
        }
    }
    out + &beyond::tables(look, summary) + &legend(look, summary, &definitions)
}

/// The sentences about the best discipline, then one table of means and one of differences, with a row per case and
/// contender.
pub fn by_point(look: Look, summary: &Summary) -> String {
    points(look, summary, "discipline")
}

/// The sentences and tables of [`by_point`], with directories of results as contenders.
pub fn by_directory(look: Look, summary: &Summary) -> String {
    points(look, summary, "directory")
}

/// The sentences and tables of [`by_point`] and [`by_directory`]. `what` is the heading above the names of contenders:
/// `discipline` or `directory`.
fn points(look: Look, summary: &Summary, what: &str) -> String {
    let runs = &Runs::new(summary);
    let rows = |skip: usize| -> Vec<Row> {
        let mut rows = Vec::new();
        for case in &summary.compare.cases {
            let axes: Vec<String> = case.axes.words().map(|(_, value)| value.to_string()).collect();
            rows.extend(case.contenders.iter().skip(skip).map(|it| row(&axes, runs, it)));
        }
        rows
    };
    let axes = summary.compare.cases.first().map(|case| case.axes.words());
    let axis_names: Vec<String> = axes.into_iter().flatten().map(|(axis, _)| record::axis_name(axis)).collect();
    let heads = |last| axis_names.iter().map(String::as_str).chain([last]).collect::<Vec<_>>();
    let cases = summary.compare.cases.iter().map(|case| verdict::Case {
        axes: case.axes.words().map(|(_, value)| value.to_string()).collect(),
        rows: case.contenders.iter().map(|it| row(&[], runs, it).named()).collect(),
    });
    let Verdict { text, legend: definitions } =
        verdict::verdict(look, &summary.shown, &axis_names, &cases.collect::<Vec<_>>());
    let mut out = answer(look, summary) + &beyond::first(look, summary);
    out += &format!("{text}\n{}\n", look.tone(Tone::Strong, QUEUE_TITLE));
    out += &(means(look, runs, &heads(what), &rows(0)) + "\n");
    let compared = rows(1);
    if !compared.is_empty() {
        out += &format!("{}\n", look.tone(Tone::Strong, &format!("minus the first {what} of the same case")));
        out += &(differences(look, runs, &heads(what), &compared) + "\n");
    }
    out + &beyond::tables(look, summary) + &legend(look, summary, &definitions)
}

fn row<'a>(axes: &[String], runs: &Runs, contender: &'a ContenderComparison) -> Row<'a> {
    let name = name(runs, contender);
    let name = match (runs.of(contender).first(), &runs.here) {
        (Some(run), Some(here)) => here.row(name, run),
        _ => name.to_string(),
    };
    Row { lead: [axes, &[name]].concat(), contender }
}

/// A table whose first columns have the headings `leads`, and whose other columns have the headings `heads` with
/// `units`. The last of the first columns is text.
fn table(leads: &[&str], heads: &[&str], units: &[&str]) -> Table {
    let last = leads.len() - 1;
    let blank = vec![""; leads.len()];
    Table::new(&[leads, heads].concat()).units(&[&blank, units].concat()).numbers(0..last).words(&[last])
}

/// Name of a contender as the scenario writes it, without the values of axes.
fn name<'a>(runs: &Runs<'a>, contender: &'a ContenderComparison) -> &'a str {
    runs.of(contender).first().map_or(&contender.label, |run| run.contender())
}

/// Mean of a quantity and half-width of its confidence interval, both times `factor`.
fn estimate(found: Option<&Interval>, factor: f64) -> (Option<f64>, Option<f64>) {
    let number = |of: fn(&Interval) -> f64| found.map(of).filter(|x| x.is_finite()).map(|x| x * factor);
    (number(|found| found.mean), number(|found| found.half))
}

fn means(look: Look, runs: &Runs, leads: &[&str], rows: &[Row]) -> String {
    let columns = runs.columns();
    let heads: Vec<&str> = columns.iter().map(|c| c.1).collect();
    let units: Vec<&str> = columns.iter().map(|c| c.2).collect();
    let mut table = table(leads, &heads, &units);
    for Row { lead, contender } in rows {
        let mut row = lead.clone();
        for (quantity, _, _, factor) in QUEUE {
            let (mean, half) = estimate(contender.mean.get(quantity), factor);
            row.push(interval(mean, half));
        }
        if runs.has_reference {
            row.push(settling(runs.of(contender), contender));
        }
        table.row(row);
    }
    table.render(look, "")
}

/// Results of all runs at the first link under study: in the order of the runs, and by the label of contender and case.
struct Runs<'a> {
    here: Option<Here<'a>>,
    by_label: BTreeMap<&'a str, Vec<&'a RunSummary>>,
    has_reference: bool,
}

impl<'a> Runs<'a> {
    fn new(summary: &'a Summary) -> Self {
        let all: Vec<&RunSummary> = summary.runs.iter().collect();
        let here = all.first().map(|run| Here::new(&all, &run.link));
        let mut by_label: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for run in here.iter().flat_map(|here| here.runs.iter().copied()) {
            by_label.entry(&*run.label).or_default().push(run);
        }
        Self { here, by_label, has_reference: summary.shown.reference }
    }

    /// The columns of the table about the queue. It has settling times only if the scenario has a reference, the queue
    /// length that the queue should settle at.
    fn columns(&self) -> Vec<Column> {
        QUEUE.into_iter().chain(self.has_reference.then_some(SETTLING)).collect()
    }

    /// The runs of a contender.
    fn of(&self, contender: &ContenderComparison) -> &[&'a RunSummary] {
        self.by_label.get(&*contender.label).map_or(&[], Vec::as_slice)
    }
}

/// Mean settling time of the queue in seconds, as text. Runs whose queue never settles count with their full duration.
/// If it settles in some runs only, their number is added, as in `60.0 (1 of 2)`. If it settles in none, the text is
/// `never`.
fn settling(runs: &[&RunSummary], contender: &ContenderComparison) -> String {
    let all = runs.len();
    let settled = runs.iter().filter(|run| run.settling_s.is_some()).count();
    let (mean, half) = estimate(contender.mean.get("settling_s"), 1.0);
    match settled {
        0 => "never".to_string(),
        n if n == all => interval(mean, half),
        n => format!("{} ({n} of {all})", mean.map_or_else(String::new, |mean| significant(mean, 3))),
    }
}

fn differences(look: Look, runs: &Runs, leads: &[&str], rows: &[Row]) -> String {
    let columns = runs.columns();
    let heads: Vec<&str> = columns.iter().map(|c| c.1).collect();
    let units: Vec<&str> = columns.iter().map(|c| if c.2 == "%" { "points" } else { c.2 }).collect();
    let mut table = table(leads, &heads, &units);
    for Row { lead, contender } in rows {
        let mut row = lead.clone();
        for (quantity, _, _, factor) in columns.iter().copied() {
            let (mean, half) = estimate(contender.difference.get(quantity).and_then(Option::as_ref), factor);
            let clear = mean.zip(half).is_some_and(|(mean, half)| mean.abs() > half);
            row.push(signed(interval(mean, half)) + if clear { " *" } else { "" });
        }
        table.row(row);
    }
    table.render(look, "")
}

/// Legend of the tables: explanations of the numbers, and `definitions`, which define the columns.
fn legend(look: Look, summary: &Summary, definitions: &[&str]) -> String {
    let first = summary.compare.cases.iter().filter_map(|case| case.contenders.first());
    let most = first.map(|contender| contender.runs).max().unwrap_or(0);
    let spread = match most {
        0 | 1 => "one seed gives no confidence intervals; use several (--runs 5; in Python seeds=5)".to_string(),
        2 => "±: 95 % confidence over 2 seeds, which makes it wide; use more (--runs 5; in Python seeds=5)".to_string(),
        n => format!("±: 95 % confidence over {n} seeds; differences are paired by seed, * where 0 is outside"),
    };
    let resolution =
        format!("percentiles have a resolution of {} %, which ± includes", significant(100.0 * RESOLUTION, 2));
    let resolution = (most > 1 && !definitions.is_empty()).then_some(resolution);
    let queue = "queue: packets waiting, time-weighted; sd: its standard deviation over time".to_string();
    let settling = [
        "settling: until the queue stays within 20 % of report.reference",
        "          runs that never settle count with their full duration; (k of n): k of n runs settle",
    ];
    let settling = settling.into_iter().filter(|_| summary.shown.reference).map(str::to_string);
    let lines = definitions
        .iter()
        .map(|line| (*line).to_string())
        .chain([spread])
        .chain(resolution)
        .chain([queue])
        .chain(settling);
    let more = beyond::legend(summary).into_iter().chain(wire_losses(&summary.runs));
    lines.chain(more).map(|line| look.tone(Tone::Faint, &line) + "\n").collect()
}

/// Text with the loss ratio on the wire (transmission losses, not drops) of each link that has such losses, over all
/// runs; `None` if no link has any.
fn wire_losses(runs: &[RunSummary]) -> Option<String> {
    let mut links: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for run in runs {
        let [lost, sent] = links.entry(&run.link).or_default();
        *lost += run.wire_lost_pkts as f64;
        *sent += run.delivered_pkts as f64;
    }
    let lossy = links.iter().filter(|(_, [lost, _])| *lost > 0.0);
    let shares = lossy.map(|(link, [lost, sent])| format!("{link} {} %", significant(100.0 * lost / sent, 2)));
    let shares: Vec<String> = shares.collect();
    (!shares.is_empty()).then(|| format!("lost on the wire / sent, all runs: {}", shares.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::results::comparison::ContenderComparison;
    use crate::results::record::RunSummary;
    use serde_json::{Value, json};

    use super::{settling, wire_losses};

    /// A run with these results.
    fn run(figures: &Value) -> RunSummary {
        let mut run = json!({
            "label": "pi", "aqm": "pi", "axes": {}, "seed": 1, "link": "b", "utilisation": 0.5, "loss_ratio": 0,
            "queue_pkts": { "mean": 0, "std": 0, "p50": 0, "p99": 0, "max": 0 }, "sojourn_ms": null, "mark_ratio": 0,
            "goodput_bps": 0, "goodput_ratio": 0, "offered_pkts": 0, "delivered_pkts": 0, "jain": null, "events": 0,
            "dropped": { "early": 0, "overflow": 0 }, "packets": 0, "cpu_seconds": 0, "fingerprint": "",
            "classes": [], "settling_s": null, "overshoot_pkts": 0,
        });
        figures.as_object().unwrap().iter().for_each(|(name, figure)| run[name] = figure.clone());
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn wire_losses_are_shown_only_if_any() {
        let run = |link, lost| run(&json!({ "link": link, "wire_lost_pkts": lost, "delivered_pkts": 1000 }));
        assert_eq!(wire_losses(&[run("a", 0), run("b", 0)]), None);
        let said = wire_losses(&[run("a", 10), run("b", 0), run("a", 20)]).unwrap();
        assert!(said.ends_with(": a 1.5 %"), "{said}");
    }

    #[test]
    fn settling_time_says_how_many_runs_settled() {
        let mean = json!({ "settling_s": { "mean": 60.0, "half": 9.0, "n": 2 } });
        let contender: ContenderComparison =
            serde_json::from_value(json!({ "label": "pi", "runs": 2, "mean": mean })).unwrap();
        let of = |times: [Option<f64>; 2]| {
            let runs = times.map(|t| run(&json!({ "settling_s": t })));
            settling(&runs.each_ref(), &contender)
        };
        assert_eq!(of([Some(20.0), None]), "60.0 (1 of 2)", "100 s count for the other");
        assert_eq!(of([None, None]), "never");
        assert!(of([Some(50.0), Some(70.0)]).starts_with("60 "), "{}", of([Some(50.0), Some(70.0)]));
    }
}
