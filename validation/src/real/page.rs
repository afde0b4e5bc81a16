//! The page `docs/sim-to-real.md`.

use forebay_lab::stats::{Interval, mean, quantiles};
use pages::page;
use serde_json::{Value, json};

use super::cells::{Cell, FILES, LONG, Quantity, SENDERS, Verdict};

pub(super) const FILE: &str = "docs/sim-to-real.md";

/// What the page compares.
pub(super) struct Compared {
    /// Long connections: Linux, and the simulator's Linux stack.
    pub(super) long: Vec<Cell>,
    /// Long connections: Linux, and the senders of the RFCs.
    pub(super) rfc: Vec<Cell>,
    /// Connections with one file each: Linux, and the simulator's Linux stack.
    pub(super) files: Vec<Cell>,
}

/// Number of quantities in the tables of all cells, the first ones of [`LONG`].
pub(super) const IN_TABLES: usize = 4;

/// The text of the page. `version`: that of Linux.
pub(super) fn text(compared: &Compared, version: &str) -> Result<String, String> {
    let Compared { long, rfc, files } = compared;
    let disciplines = distinct(long, |cell| cell.place.discipline.clone());
    let of_control = |control: &str| {
        let of = |cells: &'_ [Cell]| -> Vec<Cell> {
            cells.iter().filter(|cell| cell.place.control == control).cloned().collect()
        };
        let (own, own_files, own_rfc) = (of(long), of(files), of(rfc));
        let of_discipline = |discipline: &String| {
            let own: Vec<Cell> = own.iter().filter(|cell| cell.place.discipline == *discipline).cloned().collect();
            let ratios = [0, 1, 2].map(|quantity| ratio(&own, quantity));
            json!({ "name": name(discipline), "apart": counts(&own, &LONG, Verdict::Apart), "ratios": ratios })
        };
        let tables = distinct(&own, |cell| cell.place.round_trip).into_iter().map(|round_trip| {
            let rows = own.iter().filter(|cell| cell.place.round_trip == round_trip).map(row);
            json!({ "round_trip": round_trip, "rows": rows.collect::<Vec<_>>() })
        });
        json!({
            "name": control,
            "verdicts": verdicts(&own, &LONG),
            "spread": spread(&own),
            "rfc": verdicts(&own_rfc, &LONG),
            "rfc_spread": spread(&own_rfc),
            "files": verdicts(&own_files, &FILES),
            "disciplines": disciplines.iter().map(of_discipline).collect::<Vec<_>>(),
            "tables": tables.collect::<Vec<_>>(),
            "file_rows": own_files.iter().map(file_row).collect::<Vec<_>>(),
            "others": others(&own),
        })
    };
    let values = json!({
        "names": LONG.iter().map(|quantity| quantity.name).collect::<Vec<_>>(),
        "version": version,
        "cells": long.len(),
        "file_cells": files.len(),
        "verdicts": verdicts(long, &LONG),
        "rfc": verdicts(rfc, &LONG),
        "files": verdicts(files, &FILES),
        "disciplines": disciplines,
        "controls": SENDERS.map(|[control, ..]| of_control(control)),
    });
    page!("sim-to-real.md.jinja", values)
}

fn distinct<T: PartialEq>(cells: &[Cell], of: impl Fn(&Cell) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for value in cells.iter().map(of) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Without parameters.
fn name(discipline: &str) -> &str {
    discipline.split(' ').next().unwrap_or(discipline)
}

/// For each quantity, the number of cells with this verdict.
fn counts(cells: &[Cell], quantities: &[Quantity], verdict: Verdict) -> Vec<usize> {
    let mut counts = vec![0; quantities.len()];
    for cell in cells {
        for (count, found) in counts.iter_mut().zip(cell.verdicts(quantities)) {
            *count += usize::from(found == verdict);
        }
    }
    counts
}

/// The numbers of cells by verdict, and of cells that differ in no quantity: in none of the first, and in none of all.
fn verdicts(cells: &[Cell], quantities: &[Quantity]) -> Value {
    let [close, open, apart] =
        [Verdict::Close, Verdict::Open, Verdict::Apart].map(|verdict| counts(cells, quantities, verdict));
    let whole = |first: usize| {
        let is_whole = |cell: &&Cell| !cell.verdicts(&quantities[..first]).contains(&Verdict::Apart);
        cells.iter().filter(is_whole).count()
    };
    json!({
        "cells": cells.len(), "close": close, "open": open, "apart": apart,
        "whole": whole(IN_TABLES), "all_whole": whole(quantities.len()),
    })
}

/// The geometric mean of simulated over real; "-" if a mean is 0.
fn ratio(cells: &[Cell], quantity: usize) -> String {
    let logs: Vec<f64> = cells.iter().map(|cell| cell.ratio(quantity).ln()).collect();
    let ratio = mean(&logs).exp();
    if ratio.is_finite() && ratio > 0.0 { format!("{ratio:.2}") } else { "-".to_string() }
}

/// The simulator's signals divided by those of Linux: quantiles of the cells.
fn spread(cells: &[Cell]) -> Vec<String> {
    let ratios: Vec<f64> = cells.iter().map(|cell| cell.ratio(1)).filter(|ratio| ratio.is_finite()).collect();
    quantiles(&ratios, &[0.1, 0.5, 0.9]).into_iter().map(|ratio| format!("{ratio:.2}")).collect()
}

/// A row of a table of long connections.
pub(super) fn row(cell: &Cell) -> String {
    let place = [cell.place.flows.to_string(), name(&cell.place.discipline).to_string()];
    with_means(place, cell, &LONG[..IN_TABLES])
}

/// A row of the table of files.
fn file_row(cell: &Cell) -> String {
    let place = [format!("{} ms", cell.place.round_trip), name(&cell.place.discipline).to_string()];
    with_means(place, cell, &FILES)
}

/// The means of both sides with their intervals. A star marks quantities that differ.
fn with_means(place: [String; 2], cell: &Cell, quantities: &[Quantity]) -> String {
    let mut cells = place.to_vec();
    for ((at, quantity), verdict) in quantities.iter().enumerate().zip(cell.verdicts(quantities)) {
        let star = if verdict == Verdict::Apart { " *" } else { "" };
        let [linux, ours] = [&cell.linux, &cell.ours].map(|side| interval(&side[at], quantity.digits));
        cells.extend([linux, format!("{ours}{star}")]);
    }
    format!("| {} |", cells.join(" | "))
}

/// The cells of long connections that differ in a quantity that is not in the tables: a row for each quantity, round trip
/// and number of connections.
fn others(cells: &[Cell]) -> Vec<String> {
    let places = distinct(cells, |cell| (cell.place.round_trip, cell.place.flows));
    let row = |at: usize, (trip, flows): (u32, u32)| {
        let quantity = &LONG[at];
        let here = cells.iter().filter(|cell| (cell.place.round_trip, cell.place.flows) == (trip, flows));
        let apart = here.filter(|cell| cell.verdicts(&LONG)[at] == Verdict::Apart).map(|cell| {
            let [linux, ours] = [&cell.linux, &cell.ours].map(|side| interval(&side[at], quantity.digits));
            format!("{}: {linux}, {ours}", name(&cell.place.discipline))
        });
        let apart: Vec<String> = apart.collect();
        let control = &cells[0].place.control;
        let text = || format!("| {control} | {} | {trip} ms | {flows} | {} |", quantity.name, apart.join("; "));
        (!apart.is_empty()).then(text)
    };
    let quantities = IN_TABLES..LONG.len();
    quantities.flat_map(|at| places.iter().filter_map(move |place| row(at, *place)).collect::<Vec<_>>()).collect()
}

/// A mean and half of its interval, as text.
pub(super) fn interval(samples: &[f64], digits: usize) -> String {
    let Interval { mean, half, .. } = Interval::of(samples);
    format!("{mean:.digits$} ± {half:.digits$}")
}
