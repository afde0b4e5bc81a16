//! Tables of a paper in its report: the numbers that the paper prints next to our results.

use serde::Serialize;

use super::finds::{Finds, Want};
use super::shapes;
use crate::claims::exhibits::{Column, Table};
use crate::claims::{Outcome, Point};
use crate::figures::stats::Interval;

/// `tables.json`: the tables of a paper, with its numbers and our results.
#[derive(Serialize)]
pub(super) struct Document {
    pub(super) version: u32,
    pub(super) paper: String,
    pub(super) level: String,
    pub(super) tables: Vec<Kept>,
}

/// One table of `tables.json`.
#[derive(Serialize)]
pub(super) struct Kept {
    id: String,
    title: String,
    section: String,
    claims: Vec<String>,
    rows: Vec<Row>,
}

/// A row of a table.
#[derive(Serialize)]
struct Row {
    label: String,
    of: String,
    #[serde(rename = "where")]
    at_points: Point,
    cells: Vec<Cell>,
}

/// A cell of `tables.json`: the number that the paper prints, and our result.
#[derive(Serialize)]
struct Cell {
    column: String,
    unit: String,
    quantity: String,
    printed: Option<f64>,
    mean: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
    /// Our mean minus the printed number, in the column's unit.
    difference: Option<f64>,
    difference_percent: Option<f64>,
    /// Holds if the confidence interval of our mean is within the tolerance around the printed number, fails if it is
    /// outside, straddles otherwise. `None` without a tolerance.
    outcome: Option<Outcome>,
    /// Why there is no result of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The table for `report.html`, and the same table for `tables.json`.
pub(super) fn tables(table: &Table, finds: &Finds) -> (shapes::Table, Kept) {
    let cells: Vec<Vec<Cell>> = (0..table.rows.len())
        .map(|row| (0..table.columns.len()).map(|column| cell(table, row, column, finds)).collect())
        .collect();
    let name = |row: usize| table.rows[row].label.as_ref().unwrap_or(&table.rows[row].of).clone();
    let mut columns = vec![shapes::Column::words("")];
    columns.extend(table.columns.iter().map(|c| shapes::Column::numbers(&c.label, &c.unit)));
    let row = |(i, row): (usize, &Vec<Cell>)| {
        let shown = row.iter().zip(&table.columns).map(|(cell, column)| shown(cell, column));
        std::iter::once(shapes::Cell::from(name(i))).chain(shown).collect()
    };
    let page = shapes::Table {
        folded: false,
        id: table.id.clone(),
        title: format!("{}: {}", table.id, table.title),
        caption: Some(caption(table)),
        claims: Some(table.claims.clone()),
        columns,
        rows: cells.iter().enumerate().map(row).collect(),
    };
    let rows = cells.into_iter().zip(&table.rows).enumerate().map(|(i, (cells, row))| Row {
        label: name(i),
        of: row.of.clone(),
        at_points: row.at_points.clone(),
        cells,
    });
    let kept = Kept {
        id: table.id.clone(),
        title: table.title.clone(),
        section: table.section.clone(),
        claims: table.claims.clone(),
        rows: rows.collect(),
    };
    (page, kept)
}

fn caption(table: &Table) -> String {
    let measured =
        "Our value with its 95 % confidence interval; below it the paper's value and our difference from it.";
    let given = "Inputs of the scenarios, not measurements; below them the paper's values.";
    let alone = "Our value with its 95 % confidence interval.";
    let is_given = table.rows.iter().all(|row| !row.given.is_empty());
    let has_printed = table.rows.iter().flat_map(|row| &row.printed).any(|number| number.is_finite());
    let mut parts = vec![match (is_given, has_printed) {
        (true, _) => given,
        (false, true) => measured,
        (false, false) => alone,
    }];
    if table.columns.iter().any(|c| c.tolerance.is_some() || c.tolerance_percent.is_some()) {
        parts.push("Marked where the interval is outside the tolerance or crosses its limit.");
    }
    parts.extend((!table.text.is_empty()).then_some(&*table.text));
    parts.join(" ")
}

fn cell(table: &Table, row: usize, column: usize, finds: &Finds) -> Cell {
    let want = Want::of_cell(table, row, column);
    let found = finds.found(&want);
    let printed = table.rows[row].printed.get(column).copied().filter(|x| x.is_finite());
    let given = table.rows[row].given.get(column);
    let column = &table.columns[column];
    let ours = match (given, found.as_slice()) {
        (Some(given), _) => Interval { mean: *given, half: f64::INFINITY, n: 0 },
        (None, [case]) => case.interval(column.scale.unwrap_or(1.0)),
        _ => Interval::of(&[]),
    };
    let known = |x: f64| x.is_finite().then_some(x);
    let difference = printed.and_then(|printed| known(ours.mean - printed));
    Cell {
        column: column.label.clone(),
        unit: column.unit.clone(),
        quantity: column.quantity.clone(),
        printed,
        mean: known(ours.mean),
        low: known(ours.lo()),
        high: known(ours.hi()),
        n: ours.n,
        difference,
        difference_percent: difference.zip(printed.filter(|x| *x != 0.0)).map(|(d, printed)| 100.0 * d / printed.abs()),
        outcome: printed.and_then(|printed| outcome(&ours, printed, column)),
        note: match found.len() {
            _ if given.is_some() => None,
            0 | 1 => finds.lack(&want),
            n => Some(format!("{n} combinations of the axes match")),
        },
    }
}

/// Whether our result is within the column's tolerance around the printed number; `None` without a tolerance, a printed
/// number or a result.
fn outcome(ours: &Interval, printed: f64, column: &Column) -> Option<Outcome> {
    let percent = column.tolerance_percent.map(|percent| printed.abs() * percent / 100.0);
    let tolerance = column.tolerance.or(percent).filter(|_| ours.mean.is_finite())?;
    let (lo, hi) = (printed - tolerance, printed + tolerance);
    Some(match () {
        () if ours.lo() >= lo && ours.hi() <= hi => Outcome::Holds,
        () if ours.hi() < lo || ours.lo() > hi => Outcome::Fails,
        () => Outcome::Straddles,
    })
}

/// The cell for `report.html`, with its numbers as text.
fn shown(cell: &Cell, column: &Column) -> shapes::Cell {
    let digits = usize::from(column.digits);
    let ours = match (cell.mean, cell.low) {
        (None, _) => cell.note.clone().unwrap_or_else(|| "–".to_string()),
        (Some(mean), Some(low)) => format!("{mean:.digits$} ± {:.digits$}", mean - low),
        (Some(mean), None) => format!("{mean:.digits$}"),
    };
    let Some(printed) = cell.printed else { return shapes::Cell::Ours { text: ours } };
    let difference = match (column.tolerance_percent, cell.difference_percent, cell.difference) {
        (Some(_), Some(percent), _) => format!(", {percent:+.1} %"),
        (_, _, Some(difference)) => format!(", {difference:+.digits$}"),
        _ => String::new(),
    };
    shapes::Cell::Beside {
        text: ours,
        printed: format!("{printed:.digits$}{difference}"),
        outcome: cell.outcome.filter(|outcome| *outcome != Outcome::Holds),
    }
}
