//! The page `docs/validation-ns3.md`: our simulator compared with ns-3.

use serde_json::json;

use super::closed::Row;
use super::{Comparison, open, outside};
use crate::figures::{QUANTITIES, Runs, outside_words};
use pages::page;

pub(super) const FILE: &str = "docs/validation-ns3.md";

pub(super) fn page(closed: &[Comparison<Row>], open: &[open::Compared]) -> Result<String, String> {
    let cells = |row: &Comparison<Row>| {
        let mut cells = vec![row.row.cells()];
        for (quantity, about) in QUANTITIES.iter().enumerate() {
            let is_asked = about.column != "mark_ratio" || row.row.has_ecn();
            cells.push(if is_asked { pair(&row.ours, &row.ns3, quantity) } else { "-".to_string() });
        }
        cells.push(verdict(&row.row.to_string(), &row.ours, &row.ns3));
        cells
    };
    let closed: Vec<_> = closed.iter().map(cells).collect();
    page!("validation-ns3.md.jinja", json!({ "alone": open.iter().map(alone).collect::<Vec<_>>(), "closed": closed }))
}

/// The cells of a row in which the sources do not react to drops (open loop).
fn alone(row: &open::Compared) -> Vec<String> {
    let [ours, ns3] = [&row.ours, &row.ns3].map(|side| open::Compared::runs(side));
    let name = row.case.to_string();
    let counts = match (row.ours.as_slice(), row.ns3.as_slice()) {
        ([ours], [ns3]) => format!("{} / {}", ours.drops, ns3.drops),
        _ => "-".to_string(),
    };
    let apart = row.apart().map_or("-".to_string(), |apart| apart.to_string());
    let [queue, drops] = [0, 1].map(|quantity| pair(&ours, &ns3, quantity));
    vec![name.replace(' ', " | "), counts, queue, drops, apart, verdict(&name, &ours, &ns3)]
}

/// The means of a quantity: ours, ns-3's.
fn pair(ours: &Runs, ns3: &Runs, quantity: usize) -> String {
    let digits = QUANTITIES[quantity].digits;
    [ours, ns3].map(|runs| format!("{:.*}", digits, runs.mean(quantity))).join(" / ")
}

fn verdict(name: &str, ours: &Runs, ns3: &Runs) -> String {
    let word = |quantity| outside::reason(name, quantity).unwrap_or("not explained");
    outside_words(ns3.outside(ours).into_iter().map(|quantity| (quantity, word(quantity).to_string())))
}
