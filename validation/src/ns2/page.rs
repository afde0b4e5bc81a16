//! The page `docs/validation.md`: our simulator compared with ns-2, in rows of one discipline, TCP and number of flows.

use serde_json::json;

use super::grid::CASES;
use super::reasons::{self, Reason, SIDES, Side, words};
use super::{Comparison, SEEDS};
use crate::figures::{QUANTITIES, Runs, outside_words};
use pages::page;

pub(super) const FILE: &str = "docs/validation.md";

/// Cells of tables, row by row.
type Table = Vec<Vec<String>>;

pub(super) fn page(rows: &[Comparison]) -> Result<String, String> {
    let cases = CASES.map(|case| {
        let of_it = rows.iter().filter(|row| row.row.case == case).map(cells);
        json!([case.number, case.round_trips, of_it.collect::<Table>()])
    });
    let values = json!({
        "reasons": Reason::ALL.map(Reason::word),
        "summary": summary(rows),
        "more": rows.iter().filter(|row| row.ours.0.len() == SEEDS[1]).count(),
        "seeds": SEEDS,
        "cases": cases,
        "evidence": evidence(rows),
        "lines": faster_lines(rows),
        "open": open(rows),
    });
    page!("validation.md.jinja", values)
}

/// The cells of a row: its quantities (ours, ns-2 with jitter, plain ns-2), and which are outside their tolerance.
fn cells(row: &Comparison) -> Vec<String> {
    let mut cells = vec![row.row.cells(), row.ours.0.len().to_string()];
    for (quantity, about) in QUANTITIES.iter().enumerate() {
        let is_asked = about.column != "mark_ratio" || row.row.ecn;
        let all = || [&row.ours, &row.jittered, &row.plain].map(|runs| figure(runs, quantity)).join(" / ");
        cells.push(if is_asked { all() } else { "-".to_string() });
    }
    cells.extend(SIDES.map(|side| outside_words(side.outside(row).into_iter().map(|(q, why)| (q, words(&why))))));
    cells
}

fn figure(runs: &Runs, quantity: usize) -> String {
    format!("{:.*}", QUANTITIES[quantity].digits, runs.mean(quantity))
}

/// The number of rows within the tolerances, and for each reason the number of rows outside.
fn summary(rows: &[Comparison]) -> Table {
    let of = |side: &Side| {
        let reasons = |row| side.outside(row).into_iter().flat_map(|(_, reasons)| reasons).collect();
        let why: Vec<Vec<Reason>> = rows.iter().map(reasons).collect();
        let within = why.iter().filter(|reasons| reasons.is_empty()).count();
        let outside = Reason::ALL.map(|reason| why.iter().filter(|all| all.contains(&reason)).count());
        let counts = [rows.len(), within].into_iter().chain(outside).map(|count| count.to_string());
        std::iter::once(side.name.to_string()).chain(counts).collect()
    };
    SIDES.iter().map(of).collect()
}

/// Quantities outside their tolerance because of rules of ns-2, with or without jitter, and our figures under these
/// rules.
fn evidence(rows: &[Comparison]) -> Table {
    let mut out = Table::new();
    for row in rows {
        let found = SIDES.map(|side| side.outside(row));
        for (quantity, named) in QUANTITIES.iter().enumerate() {
            let mut reasons = found.iter().flatten().filter(|(other, _)| *other == quantity).map(|(_, why)| why);
            let Some((why, runs)) = reasons.find_map(|why| Some((why, reasons::by_rules(row, why)?))) else { continue };
            let rules: Vec<Reason> = why.iter().copied().filter(|reason| *reason != Reason::Ties).collect();
            let figures = [&row.ours, runs, &row.jittered, &row.plain].map(|runs| figure(runs, quantity));
            let head = [row.row.to_string(), named.name.to_string(), words(&rules)];
            out.push([head.as_slice(), &figures].concat());
        }
    }
    out
}

/// The rows that also ran with faster links of the clients.
fn faster_lines(rows: &[Comparison]) -> Table {
    let mut out = Table::new();
    for (row, faster) in rows.iter().filter_map(|row| Some((row, row.faster.as_ref()?))) {
        for (quantity, _) in SIDES[0].outside(row) {
            let all = [&row.ours, &row.jittered, &faster.ours, &faster.by_rules, &faster.ns2];
            let figures = all.map(|runs| figure(runs, quantity));
            out.push([[row.row.to_string(), QUANTITIES[quantity].name.to_string()].as_slice(), &figures].concat());
        }
    }
    out
}

/// Quantities outside their tolerance without an explanation, with our figures under each rule of ns-2 that applies to
/// the row.
fn open(rows: &[Comparison]) -> Table {
    let mut out = Table::new();
    for (row, side) in rows.iter().flat_map(|row| SIDES.map(|side| (row, side))) {
        for (quantity, _) in side.outside(row).into_iter().filter(|(_, why)| why.contains(&Reason::Open)) {
            let by_rules = reasons::all_by_rules(row).map(|(why, runs)| format!("{why} {}", figure(runs, quantity)));
            let half = (side.ns2)(row).uncertainty(&row.ours, quantity);
            out.push(vec![
                row.row.to_string(),
                QUANTITIES[quantity].name.to_string(),
                side.name.to_string(),
                figure(&row.ours, quantity),
                by_rules.collect::<Vec<_>>().join("; "),
                figure(&row.jittered, quantity),
                figure(&row.plain, quantity),
                format!("{half:.*}", QUANTITIES[quantity].digits),
            ]);
        }
    }
    out
}
