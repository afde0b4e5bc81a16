//! The page `docs/sim-to-real.md`.

use forebay_lab::stats::{Interval, mean, quantiles};
use pages::page;
use serde_json::{Value, json};

use super::cells::{COUNT, Cell, QUANTITIES, Verdict};

pub(super) const FILE: &str = "docs/sim-to-real.md";

/// The text of the page. `version`: that of Linux.
pub(super) fn text(cells: &[Cell], version: &str) -> Result<String, String> {
    let controls = distinct(cells, |cell| cell.control.clone());
    let disciplines = distinct(cells, |cell| cell.discipline.clone());
    let of_control = |control: &String| {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.control == *control).collect();
        let of_discipline = |discipline: &String| {
            let own: Vec<&Cell> = own.iter().copied().filter(|cell| cell.discipline == *discipline).collect();
            let ratios = [0, 1, 2].map(|quantity| ratio(&own, quantity));
            json!({ "name": name(discipline), "apart": counts(&own, Verdict::Apart), "ratios": ratios })
        };
        let tables = distinct(cells, |cell| cell.round_trip).into_iter().map(|round_trip| {
            let rows = own.iter().filter(|cell| cell.round_trip == round_trip).map(|cell| row(cell));
            json!({ "round_trip": round_trip, "rows": rows.collect::<Vec<_>>() })
        });
        json!({
            "name": control,
            "verdicts": verdicts(&own),
            "spread": spread(&own),
            "disciplines": disciplines.iter().map(of_discipline).collect::<Vec<_>>(),
            "tables": tables.collect::<Vec<_>>(),
        })
    };
    let all: Vec<&Cell> = cells.iter().collect();
    let values = json!({
        "names": QUANTITIES.map(|quantity| quantity.name),
        "version": version,
        "cells": cells.len(),
        "verdicts": verdicts(&all),
        "disciplines": disciplines,
        "controls": controls.iter().map(of_control).collect::<Vec<_>>(),
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
fn counts(cells: &[&Cell], verdict: Verdict) -> [usize; COUNT] {
    let mut counts = [0; COUNT];
    for cell in cells {
        for (count, found) in counts.iter_mut().zip(cell.verdicts()) {
            *count += usize::from(found == verdict);
        }
    }
    counts
}

/// The numbers of cells by verdict, and of cells in which all quantities are close.
fn verdicts(cells: &[&Cell]) -> Value {
    let [close, open, apart] = [Verdict::Close, Verdict::Open, Verdict::Apart].map(|verdict| counts(cells, verdict));
    let whole = cells.iter().filter(|cell| cell.verdicts().iter().all(|verdict| *verdict != Verdict::Apart)).count();
    json!({ "cells": cells.len(), "close": close, "open": open, "apart": apart, "whole": whole })
}

/// The geometric mean of simulated over real; "-" if a mean is 0.
fn ratio(cells: &[&Cell], quantity: usize) -> String {
    let logs: Vec<f64> = cells.iter().map(|cell| cell.ratio(quantity).ln()).collect();
    let ratio = mean(&logs).exp();
    if ratio.is_finite() && ratio > 0.0 { format!("{ratio:.2}") } else { "-".to_string() }
}

/// The simulator's signals divided by those of Linux: quantiles of the cells.
fn spread(cells: &[&Cell]) -> Vec<String> {
    let ratios: Vec<f64> = cells.iter().map(|cell| cell.ratio(1)).filter(|ratio| ratio.is_finite()).collect();
    quantiles(&ratios, &[0.1, 0.5, 0.9]).into_iter().map(|ratio| format!("{ratio:.2}")).collect()
}

/// A row of a table: the means of both sides with their intervals. A star marks quantities that differ.
pub(super) fn row(cell: &Cell) -> String {
    let mut cells = vec![cell.flows.to_string(), name(&cell.discipline).to_string()];
    for ((at, quantity), verdict) in QUANTITIES.iter().enumerate().zip(cell.verdicts()) {
        let star = if verdict == Verdict::Apart { " *" } else { "" };
        let [linux, ours] = [&cell.linux, &cell.ours].map(|side| interval(&side[at], quantity.digits));
        cells.extend([linux, format!("{ours}{star}")]);
    }
    format!("| {} |", cells.join(" | "))
}

/// A mean and half of its interval, as text.
pub(super) fn interval(samples: &[f64], digits: usize) -> String {
    let Interval { mean, half, .. } = Interval::of(samples);
    format!("{mean:.digits$} ± {half:.digits$}")
}
