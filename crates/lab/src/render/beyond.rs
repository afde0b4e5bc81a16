//! Tables of means for every link under study except the first. A link under study is one whose results are recorded. A
//! contender is a discipline that is compared. It runs on some or all of these links; the others have a discipline of
//! their own.

use crate::figures::stats::Interval;
use crate::results::comparison::{self, CaseComparison, ContenderComparison};
use crate::results::record::{self, RunSummary};
use crate::results::summary::Summary;

use super::digits::interval;
use super::look::{Look, Tone};
use super::summary::QUEUE_TITLE;
use super::text_table::Table;
use super::verdict::{self, Case};

/// A column of a table: a function that gives the value of a run, heading, unit, and factor on the value.
type Column = (fn(&RunSummary) -> f64, &'static str, &'static str, f64);

/// The columns. The last two are left out if there are classes of traffic (groups of flows), because the tables of the
/// classes have them.
const COLUMNS: [Column; 5] = [
    (|run| run.queue_pkts.mean, "queue", "packets", 1.0),
    (|run| run.queue_pkts.std, "sd", "packets", 1.0),
    (|run| run.utilisation, "utilisation", "%", 100.0),
    (|run| run.loss_ratio, "loss", "%", 100.0),
    (|run| run.goodput_bps, "goodput", "Mb/s", 1e-6),
];

fn link(run: &RunSummary) -> &str {
    &run.link
}

/// The heading for the tables of the first link. It is empty if only one link is under study, unless this link has the
/// same discipline in all rows and that is not the contender.
pub(super) fn first(look: Look, summary: &Summary) -> String {
    let runs = runs(summary);
    let links = each(&runs, link);
    let Some(&first) = links.first() else { return String::new() };
    let here = Here::new(&runs, first);
    if links.len() > 1 || matches!(here.own, Own::Always(_)) { heading(look, &here) } else { String::new() }
}

/// Tables of the links under study after the first, each with the link's name as heading.
pub(super) fn tables(look: Look, summary: &Summary) -> String {
    let runs = runs(summary);
    let further = each(&runs, link).into_iter().skip(1).map(|link| Here::new(&runs, link));
    let of_link = |here: Here| {
        let classes = classes(look, summary, &here);
        let (title, columns) = match classes.as_str() {
            "" => (String::new(), &COLUMNS[..]),
            _ => (format!("\n{}\n", look.tone(Tone::Strong, QUEUE_TITLE)), &COLUMNS[..3]),
        };
        heading(look, &here) + &classes + &title + &table(look, &here, columns) + "\n"
    };
    further.map(of_link).collect()
}

/// Table of the means of each class of traffic at a link; empty if the results have no classes of traffic.
fn classes(look: Look, summary: &Summary, here: &Here) -> String {
    let at_link = |case: &CaseComparison| -> Vec<ContenderComparison> {
        let of_link = |it: &ContenderComparison| {
            let runs: Vec<&RunSummary> = here.runs.iter().copied().filter(|run| run.label == it.label).collect();
            let classes = comparison::classes(&runs, None);
            ContenderComparison { label: it.label.clone(), runs: runs.len(), classes, ..ContenderComparison::default() }
        };
        case.contenders.iter().map(of_link).collect()
    };
    let found: Vec<(&CaseComparison, Vec<ContenderComparison>)> =
        summary.compare.cases.iter().map(|case| (case, at_link(case))).collect();
    let name = |it: &ContenderComparison| {
        let run = here.runs.iter().find(|run| run.label == it.label);
        run.map_or_else(|| it.label.clone(), |run| here.row(run.contender(), run))
    };
    let cases: Vec<Case<'_>> = (found.iter())
        .map(|(case, contenders)| Case {
            axes: case.axes.words().map(|(_, value)| value.to_string()).collect(),
            rows: contenders.iter().map(|it| (name(it), it)).collect(),
        })
        .collect();
    let axes = summary.compare.cases.first().into_iter().flat_map(|case| case.axes.words());
    let axes: Vec<String> = axes.map(|(axis, _)| record::axis_name(axis)).collect();
    verdict::fitting_means(look, &summary.shown, &axes, &cases).0
}

/// For several links under study, a line of the legend that names the link to which the differences refer; `None` for
/// one link.
pub(super) fn legend(summary: &Summary) -> Option<String> {
    match each(&runs(summary), link).as_slice() {
        [] | [_] => None,
        [first, ..] => Some(format!("differences are for link {first}; the report has those of all links")),
    }
}

fn heading(look: Look, here: &Here) -> String {
    let own = match &here.own {
        Own::Always(aqm) => format!(" ({aqm})"),
        _ => String::new(),
    };
    look.tone(Tone::Strong, &format!("link {}{own}", here.link)) + "\n"
}

/// Whether the discipline of a link differs from the contender of a row of the table.
enum Own {
    Never,
    /// The link's discipline differs from the contender, and is the same in all rows. The heading of the table names
    /// it.
    Always(String),
    /// The link's discipline depends on the row. Rows where it differs from the contender name it.
    ByRow,
}

/// The results of all runs at one link.
pub(super) struct Here<'a> {
    link: &'a str,
    pub(super) runs: Vec<&'a RunSummary>,
    own: Own,
}

impl<'a> Here<'a> {
    pub(super) fn new(runs: &[&'a RunSummary], link: &'a str) -> Self {
        let here: Vec<&RunSummary> = runs.iter().copied().filter(|run| run.link == link).collect();
        let own = match each(&here, |run| &run.aqm).as_slice() {
            _ if here.iter().all(|run| run.aqm == run.contender()) => Own::Never,
            [only] if here.iter().all(|run| run.contender() == here[0].contender()) => Own::Always((*only).to_string()),
            [only] => Own::Always(format!("always {only}")),
            _ => Own::ByRow,
        };
        Self { link, runs: here, own }
    }

    /// `name`, followed by the link's discipline in this run if it differs from the contender and is not in the
    /// heading.
    pub(super) fn row(&self, name: &str, run: &RunSummary) -> String {
        match self.own {
            Own::ByRow if run.aqm != run.contender() => format!("{name} ({} here)", run.aqm),
            _ => name.to_string(),
        }
    }
}

fn runs(summary: &Summary) -> Vec<&RunSummary> {
    summary.runs.iter().collect()
}

fn table(look: Look, here: &Here, columns: &[Column]) -> String {
    let heads: Vec<&str> = [""].into_iter().chain(columns.iter().map(|c| c.1)).collect();
    let units: Vec<&str> = [""].into_iter().chain(columns.iter().map(|c| c.2)).collect();
    let mut table = Table::new(&heads).units(&units).words(&[0]);
    for label in each(&here.runs, |run| &run.label) {
        let of_label: Vec<&RunSummary> = here.runs.iter().copied().filter(|run| run.label == label).collect();
        let figures = columns.iter().map(|(of, _, _, factor)| {
            let values: Vec<f64> = of_label.iter().map(|run| of(run) * factor).collect();
            let Interval { mean, half, .. } = Interval::of(&values);
            interval(Some(mean), Some(half))
        });
        table.row([here.row(label, of_label[0])].into_iter().chain(figures).collect());
    }
    table.render(look, "")
}

/// The distinct texts that `of` gives for the runs, in order of first occurrence.
fn each<'a>(runs: &[&'a RunSummary], of: fn(&'a RunSummary) -> &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for run in runs {
        let word = of(run);
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}
