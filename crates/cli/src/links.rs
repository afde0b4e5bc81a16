//! `summary.json` at the links beyond the first one under study: a table of means for each.

use forebay_lab::stats::Interval;
use serde_json::Value;

use crate::digits::interval;
use crate::output::{Tone, Ui};
use crate::table::Table;

/// A column: where a run has the figure, heading, unit, factor.
const COLUMNS: [(&str, &str, &str, f64); 5] = [
    ("/queue_pkts/mean", "queue", "packets", 1.0),
    ("/queue_pkts/std", "sd", "packets", 1.0),
    ("/utilisation", "utilisation", "%", 100.0),
    ("/loss_ratio", "loss", "%", 100.0),
    ("/goodput_bps", "goodput", "Mb/s", 1e-6),
];

/// A line with the first link's name; empty if it is the only one under study.
pub(crate) fn first(ui: &Ui, summary: &Value) -> String {
    match each(&runs(summary), "link").as_slice() {
        [first, _, ..] => heading(ui, first),
        _ => String::new(),
    }
}

/// The tables of the others, each under its link's name.
pub(crate) fn tables(ui: &Ui, summary: &Value) -> String {
    let runs = runs(summary);
    let further = each(&runs, "link").into_iter().skip(1);
    further.map(|link| heading(ui, link) + &table(ui, &runs, link) + "\n").collect()
}

fn heading(ui: &Ui, link: &str) -> String {
    ui.tone(Tone::Strong, &format!("link {link}")) + "\n"
}

fn runs(summary: &Value) -> Vec<&Value> {
    summary.get("runs").and_then(Value::as_array).into_iter().flatten().collect()
}

fn table(ui: &Ui, runs: &[&Value], link: &str) -> String {
    let here: Vec<&Value> = runs.iter().copied().filter(|run| word(run, "link") == link).collect();
    let heads: Vec<&str> = [""].into_iter().chain(COLUMNS.map(|c| c.1)).collect();
    let units: Vec<&str> = [""].into_iter().chain(COLUMNS.map(|c| c.2)).collect();
    let mut table = Table::new(&heads).units(&units).words(&[0]);
    for label in each(&here, "label") {
        let figures = COLUMNS.map(|(at, _, _, factor)| {
            let of_label = here.iter().filter(|run| word(run, "label") == label);
            let values: Vec<f64> = of_label.filter_map(|run| Some(run.pointer(at)?.as_f64()? * factor)).collect();
            let Interval { mean, half, .. } = Interval::of(&values);
            interval(Some(mean), Some(half))
        });
        table.row([label.to_string()].into_iter().chain(figures).collect());
    }
    table.render(ui, "")
}

/// The words of all runs under `key`, each once, in the order they first come.
fn each<'a>(runs: &[&'a Value], key: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for run in runs {
        let word = word(run, key);
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

fn word<'a>(run: &'a Value, key: &str) -> &'a str {
    run.get(key).and_then(Value::as_str).unwrap_or_default()
}
