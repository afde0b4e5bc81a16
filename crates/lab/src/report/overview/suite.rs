//! The report of a suite: a summary, and a page for each section.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::shapes::{Cell, Column, Table};
use super::super::{single, write};
use crate::claims::ClaimResult;
use crate::claims::calibration::Calibrated;
use crate::render::digits::short;
use crate::render::matrix;
use crate::results::meta::{Meta, PaperMeta};
use crate::run::store::StoreError;

/// Writes `report.html` of each section's scenario into its folder in `dir`.
pub(in super::super) fn write_pages(dir: &Path, meta: &PaperMeta) -> Result<(), StoreError> {
    let scenarios: BTreeSet<&String> = meta.sections.iter().filter_map(|section| section.scenario.as_ref()).collect();
    for name in scenarios {
        let folder = dir.join(name);
        if !folder.join("meta.json").exists() {
            continue;
        }
        if let Meta::Run(meta) = Meta::read(&folder)? {
            write(&folder, &single(&folder, &meta)?)?;
        }
    }
    Ok(())
}

/// The tables at the top of a suite's report: a row for each claim, with a column for each discipline that is tested; and
/// the values that were calibrated.
pub(in super::super) fn overview(meta: &PaperMeta, claims: &[ClaimResult]) -> Vec<Table> {
    let matrix = matrix::of(claims);
    // The claims have one verdict each, which the list of claims shows.
    if !matrix.is_for_several {
        return if meta.calibrated.is_empty() { Vec::new() } else { vec![calibrations(&meta.calibrated)] };
    }
    let mut columns = vec![Column::words("claim"), Column::words("statement")];
    columns.extend(matrix.contenders.iter().map(|name| Column::words(name)));
    let held = |column| {
        let counts = matrix.counts(column);
        Cell::Text(format!("{} of {}", counts[0], counts.iter().sum::<usize>()))
    };
    let totals = [Cell::Text("all".to_string()), Cell::Text("Claims that hold, of those tested.".to_string())];
    let totals = totals.into_iter().chain((0..matrix.contenders.len()).map(held)).collect();
    let rows = matrix.rows.iter().map(|row| {
        let cells = [row.id.clone(), row.claim.clone()].into_iter().chain(row.cells.iter().cloned());
        cells.map(Cell::Text).collect()
    });
    let summary = Table {
        id: "summary".to_string(),
        title: "Verdicts".to_string(),
        caption: Some(matrix::LEGEND.to_string()),
        columns,
        rows: std::iter::once(totals).chain(rows).collect(),
        ..Table::default()
    };
    let mut tables = vec![summary];
    if !meta.calibrated.is_empty() {
        tables.push(calibrations(&meta.calibrated));
    }
    tables
}

fn calibrations(all: &[Calibrated]) -> Table {
    let row = |it: &Calibrated| {
        let near = if it.is_near { "yes" } else { "no, the nearest value found" };
        let cells = [
            it.scenarios.join(", "),
            it.key.clone(),
            it.first.to_string(),
            it.value.to_string(),
            format!("{} of {}", it.quantity, it.of),
            short(it.target),
            it.measured.map_or_else(|| "-".to_string(), short),
            near.to_string(),
        ];
        cells.map(Cell::Text).to_vec()
    };
    let headings = ["scenario", "key", "first", "used", "measured", "wanted", "found", "near"];
    Table {
        id: "calibration".to_string(),
        title: "Calibration".to_string(),
        columns: headings.map(Column::words).to_vec(),
        rows: all.iter().map(row).collect(),
        ..Table::default()
    }
}
