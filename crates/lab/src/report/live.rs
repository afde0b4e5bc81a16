//! The figures and the table that the page of `forebay studio` shows of one run of each contender (compared discipline).

use serde::Serialize;

use super::compact;
use super::each_run::Runs;
use super::shapes::{Figure, Table};
use super::traffic;
use crate::render::answer;
use crate::results::record::RunRecord;
use crate::results::summary::Summary;
use crate::run::compare;
use crate::run::plan::Plan;

/// What the page shows of the runs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Live {
    /// Sentences that say which discipline is best.
    answer: Vec<String>,
    figures: Vec<Figure>,
    tables: Vec<Table>,
}

/// The results of the only case of `plan`, from one run of each contender, in their order.
pub(crate) fn live(plan: &Plan, records: Vec<RunRecord>) -> Live {
    let Some(case) = plan.cases.first() else { return Live::default() };
    let runs = records.iter().flat_map(RunRecord::summaries).cloned().collect();
    let summary = Summary::new(plan.title(), runs, compare::compare(plan, &records), plan.shown());
    let links = Runs::of_case_in_memory(case, records.into_iter().enumerate().collect());
    let mut figures = Vec::new();
    for (n, link) in links.iter().enumerate() {
        let prefix = format!("live{n}");
        figures.push(link.queue_over_time(&prefix, 0));
        if n == 0 {
            figures.extend(traffic::curves(link, &prefix, 0));
        }
        figures.extend(link.probe_curves(&prefix));
        figures.extend(link.class_curves(&prefix));
    }
    figures.iter_mut().for_each(|figure| figure.layout = None);
    compact::compact(&mut figures);
    let mut tables = traffic::tables(&summary, "live", false);
    tables.truncate(1);
    Live { answer: answer::answer(&summary), figures, tables }
}
