//! `summary.json` at the links beyond the first one under study: a table of means for each.

use forebay_lab::record;
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

/// A line with the first link's name; empty if it is the only one under study and has what is compared.
pub(crate) fn first(ui: &Ui, summary: &Value) -> String {
    let runs = runs(summary);
    let links = each(&runs, "link");
    let Some(&first) = links.first() else { return String::new() };
    let here = Here::new(&runs, first);
    if links.len() > 1 || matches!(here.own, Own::Always(_)) { heading(ui, &here) } else { String::new() }
}

/// The tables of the others, each under its link's name.
pub(crate) fn tables(ui: &Ui, summary: &Value) -> String {
    let runs = runs(summary);
    let further = each(&runs, "link").into_iter().skip(1).map(|link| Here::new(&runs, link));
    further.map(|here| heading(ui, &here) + &table(ui, &here) + "\n").collect()
}

/// Where there are several links, which one the differences are of.
pub(crate) fn legend(summary: &Value) -> Option<String> {
    match each(&runs(summary), "link").as_slice() {
        [] | [_] => None,
        [first, ..] => {
            Some(format!("differences and settling are those at link {first}; the report has them for every link"))
        }
    }
}

fn heading(ui: &Ui, here: &Here) -> String {
    let own = match &here.own {
        Own::Always(aqm) => format!(" ({aqm})"),
        _ => String::new(),
    };
    ui.tone(Tone::Strong, &format!("link {}{own}", here.link)) + "\n"
}

/// The discipline of a link where it is not the contender that a row names.
enum Own {
    Never,
    /// Always this one.
    Always(String),
    /// In some cases, or one by the case: rows say it.
    ByRow,
}

/// The runs at one link.
pub(crate) struct Here<'a> {
    link: &'a str,
    pub(crate) runs: Vec<&'a Value>,
    own: Own,
}

impl<'a> Here<'a> {
    pub(crate) fn new(runs: &[&'a Value], link: &'a str) -> Self {
        let here: Vec<&Value> = runs.iter().copied().filter(|run| word(run, "link") == link).collect();
        let own = match each(&here, "aqm").as_slice() {
            _ if here.iter().all(|run| word(run, "aqm") == contender(run)) => Own::Never,
            [only] if here.iter().all(|run| contender(run) == contender(here[0])) => Own::Always((*only).to_string()),
            [only] => Own::Always(format!("{only} whatever is compared")),
            _ => Own::ByRow,
        };
        Self { link, runs: here, own }
    }

    /// `name`, and what this run has instead unless the heading says it.
    pub(crate) fn row(&self, name: &str, run: &Value) -> String {
        match self.own {
            Own::ByRow if word(run, "aqm") != contender(run) => format!("{name} ({} here)", word(run, "aqm")),
            _ => name.to_string(),
        }
    }
}

/// The contender of a run under the name that the scenario gives it, without the axes.
pub(crate) fn contender(run: &Value) -> &str {
    match run.get("axes").and_then(Value::as_object) {
        Some(axes) => record::contender_of(word(run, "label"), axes),
        None => word(run, "label"),
    }
}

pub(crate) fn runs(summary: &Value) -> Vec<&Value> {
    summary.get("runs").and_then(Value::as_array).into_iter().flatten().collect()
}

fn table(ui: &Ui, here: &Here) -> String {
    let heads: Vec<&str> = [""].into_iter().chain(COLUMNS.map(|c| c.1)).collect();
    let units: Vec<&str> = [""].into_iter().chain(COLUMNS.map(|c| c.2)).collect();
    let mut table = Table::new(&heads).units(&units).words(&[0]);
    for label in each(&here.runs, "label") {
        let of_label: Vec<&Value> = here.runs.iter().copied().filter(|run| word(run, "label") == label).collect();
        let figures = COLUMNS.map(|(at, _, _, factor)| {
            let values: Vec<f64> =
                of_label.iter().filter_map(|run| Some(run.pointer(at)?.as_f64()? * factor)).collect();
            let Interval { mean, half, .. } = Interval::of(&values);
            interval(Some(mean), Some(half))
        });
        table.row([here.row(label, of_label[0])].into_iter().chain(figures).collect());
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
