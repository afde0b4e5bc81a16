//! The comparison of a paper's experiments with ns-2, as aligned text and as JSON.

use serde_json::{Value, json};

use super::figures::{Compared, QUANTITIES};
use super::runs::{Experiment, Row};

/// The table of an experiment.
pub(super) fn text(experiment: &Experiment) -> String {
    let head = ["contender", "quantity", "ours", "ns-2", "difference", "allowed", "agrees"];
    let mut rows = vec![head.map(str::to_string)];
    for row in &experiment.rows {
        for (quantity, compared) in QUANTITIES.iter().zip(&row.compared) {
            let number = |x: f64| format!("{x:.*}", quantity.digits);
            let spread = |(mean, sd): (f64, f64)| {
                if sd.is_nan() { number(mean) } else { format!("{} ± {}", number(mean), number(sd)) }
            };
            rows.push([
                row.contender.clone(),
                quantity.name.to_string(),
                spread(compared.ours),
                spread(compared.ns2),
                format!("{:+.*}", quantity.digits, compared.difference()),
                number(compared.allowed),
                if compared.is_within() { "yes" } else { "NO" }.to_string(),
            ]);
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let line = |row: &[String; 7]| {
        let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}", width(at)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    let table: String = if experiment.rows.is_empty() { String::new() } else { rows.iter().map(line).collect() };
    let reasons: String = experiment.rows.iter().flat_map(changed).collect();
    let left: String = experiment.left_out.iter().map(|what| format!("not compared: {what}\n")).collect();
    format!("{}, {} seeds\n{table}{reasons}{left}\n", experiment.name, experiment.seeds)
}

/// A line for each change of our run towards ns-2.
fn changed(row: &Row) -> impl Iterator<Item = String> {
    row.changed.iter().map(|(change, compared)| {
        let values = compared.iter().zip(QUANTITIES);
        let values: Vec<String> = values.map(|(it, quantity)| format!("{:.*}", quantity.digits, it.ours.0)).collect();
        let outside = match Row::outside(compared).as_slice() {
            [] => "agrees".to_string(),
            outside => format!("outside in {}", outside.join(", ")),
        };
        format!("{}, ours with {change}: {}: {outside}\n", row.contender, values.join(" "))
    })
}

/// Counts the compared disciplines: all, those with a quantity outside its tolerance, and of these the ones that a rule
/// of ns-2 explains.
pub(super) fn count(all: &[Experiment]) -> [usize; 3] {
    let rows = || all.iter().flat_map(|experiment| &experiment.rows);
    let agrees = |compared: &[Compared]| Row::outside(compared).is_empty();
    let outside = || rows().filter(|row| !agrees(&row.compared));
    let explained = outside().filter(|row| row.changed.iter().any(|(_, compared)| agrees(compared)));
    [rows().count(), outside().count(), explained.count()]
}

/// Every experiment, for other programs.
pub(super) fn json(all: &[Experiment]) -> Value {
    let spread = |(mean, sd): (f64, f64)| json!({ "mean": mean, "sd": if sd.is_nan() { None } else { Some(sd) } });
    let quantity = |(at, compared): (usize, &Compared)| {
        json!({
            "quantity": QUANTITIES[at].name,
            "ours": spread(compared.ours),
            "ns2": spread(compared.ns2),
            "difference": compared.difference(),
            "allowed": compared.allowed,
            "within": compared.is_within(),
        })
    };
    let experiment = |it: &Experiment| {
        let row = |row: &Row| {
            let quantities: Vec<Value> = row.compared.iter().enumerate().map(quantity).collect();
            let changed = row.changed.iter().map(|(change, compared)| {
                let quantities: Vec<Value> = compared.iter().enumerate().map(quantity).collect();
                json!({ "change": change, "quantities": quantities })
            });
            let changed: Vec<Value> = changed.collect();
            json!({ "contender": row.contender, "quantities": quantities, "changed": changed })
        };
        let rows: Vec<Value> = it.rows.iter().map(row).collect();
        json!({ "experiment": it.name, "seeds": it.seeds, "rows": rows, "not_compared": it.left_out })
    };
    all.iter().map(experiment).collect()
}
