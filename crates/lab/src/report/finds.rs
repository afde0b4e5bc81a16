//! Collects, while the runs are read, what the figures and tables of a paper need. An item is a quantity, a time series
//! or a queue distribution of the runs of one contender (compared discipline).

use crate::claims::Point;
use crate::claims::exhibits::{Figure, Kind, Line, Table};
use crate::figures::stats::Interval;
use crate::results::quantity;
use crate::results::record::{RunRecord, RunSummary};

use super::each_run::at_link;

/// One item that a figure or table needs from every run of a contender.
#[derive(Clone, PartialEq)]
pub(super) struct Want {
    /// The contender as the scenario writes it.
    of: String,
    /// Values of the keys that the scenario varies: they select the runs.
    at_points: Point,
    link: Option<String>,
    what: What,
}

/// Kind of item.
#[derive(Clone, PartialEq)]
pub(super) enum What {
    /// A quantity, a number in the syntax of `docs/claims.md`, such as `queue_pkts.mean`.
    Quantity(String),
    /// A recorded series of one seed; `None`: of the first seed of each case.
    Column { name: String, seed: Option<u64> },
    /// Fraction of time at each queue length.
    Shares,
}

/// The value of an item in one run.
pub(super) enum Seen {
    Number(f64),
    Curve(Vec<(f64, Option<f64>)>),
    Shares(Vec<f64>),
    /// The run does not have the item, for this reason.
    Nothing(String),
}

/// The value of an item in one run, with the case (combination of values of the keys that vary) of the run.
pub(super) struct Find {
    case: usize,
    axes: Point,
    seen: Seen,
}

/// All items that figures and tables need, and what was found in the runs.
#[derive(Default)]
pub(super) struct Finds {
    asked: Vec<(Want, Vec<Find>)>,
}

/// What was found for an item in the runs of one case (combination of values of the keys that the scenario varies).
pub(super) struct AtCase<'a> {
    pub(super) axes: &'a Point,
    pub(super) seen: Vec<&'a Seen>,
}

impl AtCase<'_> {
    /// Mean and confidence interval of the numbers found, times `scale`; runs without a number are ignored.
    pub(super) fn interval(&self, scale: f64) -> Interval {
        let number = |seen: &&Seen| if let Seen::Number(x) = seen { Some(x * scale) } else { None };
        Interval::of(&self.seen.iter().filter_map(number).collect::<Vec<_>>())
    }
}

impl Want {
    /// The item `what` that a line of a figure needs from its runs.
    pub(super) fn of_line(figure: &Figure, line: &Line, what: What) -> Self {
        Self { of: line.of.clone(), at_points: figure.points_of(line), link: figure.link.clone(), what }
    }

    /// The quantity that a cell of a table needs from its runs.
    pub(super) fn of_cell(table: &Table, row: usize, column: usize) -> Self {
        let (row, column) = (&table.rows[row], &table.columns[column]);
        let what = What::Quantity(column.quantity.clone());
        Self { of: row.of.clone(), at_points: row.at_points.clone(), link: table.link.clone(), what }
    }

    fn is_of(&self, summary: &RunSummary) -> bool {
        let here = self.at_points.iter().all(|(axis, at)| summary.axes.get(axis) == Some(at));
        let axes = summary.axes.words();
        let name = axes.fold(self.of.clone(), |name, (axis, value)| name.replace(&format!("{{{axis}}}"), value));
        here && name == summary.contender()
    }

    fn look(&self, run: &RunRecord) -> Option<Seen> {
        let other;
        let run = match &self.link {
            Some(name) if *name != run.summary.link => {
                let Some(link) = run.others.iter().find(|link| link.summary.link == *name) else {
                    return Some(Seen::Nothing(format!("no link '{name}' under study")));
                };
                other = at_link(link.clone(), run.duration_s);
                &other
            }
            _ => run,
        };
        match &self.what {
            What::Quantity(name) => Some(match quantity::of(run, name) {
                Ok(x) if x.is_finite() => Seen::Number(x),
                Ok(_) => Seen::Nothing(format!("a run has no finite {name}")),
                Err(reason) => Seen::Nothing(reason),
            }),
            What::Column { seed: Some(seed), .. } if *seed != run.summary.seed => None,
            What::Column { name, .. } => Some(column(run, name)),
            What::Shares => Some(Seen::Shares(run.queue_shares.clone())),
        }
    }
}

fn column(run: &RunRecord, name: &str) -> Seen {
    let series = &run.series;
    let with_time = |column: &[Option<f64>]| series.time_s.iter().copied().zip(column.iter().copied()).collect();
    let known = |column: &[f64]| with_time(&column.iter().map(|y| y.is_finite().then_some(*y)).collect::<Vec<_>>());
    match name {
        "queue_pkts" => Seen::Curve(known(&series.queue_pkts)),
        "queue_mean_pkts" => Seen::Curve(known(&series.queue_mean_pkts)),
        _ => match series.probes.iter().find(|(probe, _)| probe == name) {
            Some((_, column)) => Seen::Curve(with_time(column)),
            None => Seen::Nothing(format!("a run has no series called '{name}'")),
        },
    }
}

impl Finds {
    /// Adds the items that `figure` needs.
    pub(super) fn ask_figure(&mut self, figure: &Figure) {
        for line in &figure.lines {
            for what in whats(figure, line) {
                self.ask(Want::of_line(figure, line, what));
            }
        }
    }

    /// Adds the items that `table` needs.
    pub(super) fn ask_table(&mut self, table: &Table) {
        for row in (0..table.rows.len()).filter(|row| table.rows[*row].given.is_empty()) {
            for column in 0..table.columns.len() {
                self.ask(Want::of_cell(table, row, column));
            }
        }
    }

    fn ask(&mut self, want: Want) {
        if !self.asked.iter().any(|(known, _)| *known == want) {
            self.asked.push((want, Vec::new()));
        }
    }

    /// Collects the needed items from a run of this case.
    pub(super) fn look(&mut self, case: usize, run: &RunRecord) {
        for (want, found) in &mut self.asked {
            let is_first = matches!(want.what, What::Column { seed: None, .. });
            if !want.is_of(&run.summary) || is_first && found.iter().any(|find| find.case == case) {
                continue;
            }
            let axes = run.summary.axes.words().map(|(axis, value)| (axis.to_string(), value.to_string())).collect();
            found.extend(want.look(run).map(|seen| Find { case, axes, seen }));
        }
    }

    /// What was found for an item, for each case.
    pub(super) fn found(&self, want: &Want) -> Vec<AtCase<'_>> {
        let found = self.asked.iter().find(|(known, _)| known == want).map_or(&[][..], |(_, found)| found);
        let cases = found.chunk_by(|a, b| a.case == b.case);
        cases.map(|of| AtCase { axes: &of[0].axes, seen: of.iter().map(|find| &find.seen).collect() }).collect()
    }

    /// The first reason why a run does not have an item; `None` if all runs have it.
    pub(super) fn lack(&self, want: &Want) -> Option<String> {
        let cases = self.found(want);
        if cases.is_empty() {
            return Some(format!("no run of '{}' at this point", want.of));
        }
        let reason = |seen: &&Seen| if let Seen::Nothing(why) = seen { Some(why.clone()) } else { None };
        cases.iter().flat_map(|case| &case.seen).find_map(reason)
    }
}

/// The items that a line of a figure needs. A curve needs that of y, and that of x if x is a quantity. Bars need a
/// quantity for each group. A line that shows a model needs none.
pub(super) fn whats(figure: &Figure, line: &Line) -> Vec<What> {
    if line.model.is_some() {
        return Vec::new();
    }
    let quantity = line.quantity.as_ref().or(figure.y.quantity.as_ref()).cloned().unwrap_or_default();
    match figure.kind {
        Kind::Series => {
            let name = line.series.as_ref().or(figure.y.series.as_ref()).cloned().unwrap_or_default();
            vec![What::Column { name, seed: figure.seed }]
        }
        Kind::Curve => [Some(&quantity), figure.x.quantity.as_ref()]
            .into_iter()
            .flatten()
            .map(|name| What::Quantity(name.clone()))
            .collect(),
        Kind::Bars if figure.groups.is_empty() => vec![What::Quantity(quantity)],
        Kind::Bars => figure.groups.iter().map(|group| What::Quantity(quantity.replace("{group}", group))).collect(),
        Kind::Cdf | Kind::Density => vec![What::Shares],
    }
}
