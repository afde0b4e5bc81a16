//! The rows of the comparison of simulated send rates of TCP with formulas, and the page `docs/throughput.md`.

use forebay_theory::tcp::timeouts;
use serde_json::{Value, json};

use super::connection::{Connection, Figures};
use super::formula::Formula;

/// Runs of each connection.
const SEEDS: u64 = 16;
/// Largest distance of a formula from the measured mean where its assumptions hold.
pub(crate) const TOLERANCE: f64 = 0.1;

/// A connection and its measurements.
pub(crate) struct Row {
    pub(crate) connection: Connection,
    pub(crate) measured: Figures,
}

impl Row {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, measured: connection.measured(SEEDS) }
    }

    /// Its values in the template of the page.
    fn values(&self) -> Value {
        let (connection, measured) = (&self.connection, &self.measured);
        let formulas = Formula::ALL.map(|formula| {
            json!({
                "rate": formula.rate(connection),
                "bold": if formula.holds(connection) { "**" } else { "" },
                "excess_percent": 100.0 * self.excess(formula),
            })
        });
        json!({
            "loss_percent": (100.0 * connection.loss).to_string(),
            "tcp": connection.variant.word(),
            "rate": measured.rate.mean,
            "half": measured.rate.half,
            "formulas": formulas,
            "pftk_timeouts": 1e3 * timeouts(&connection.path(), connection.loss),
            "timeouts": 1e3 * measured.timeouts.mean,
        })
    }

    /// Measured rate / formula - 1.
    pub(crate) fn excess(&self, formula: Formula) -> f64 {
        self.measured.rate.mean / formula.rate(&self.connection) - 1.0
    }
}

/// The page.
pub(crate) fn page(rows: &[Row]) -> String {
    let sections = [(false, "Every packet acknowledged, b = 1"), (true, "Every second packet, b = 2")];
    let sections = sections.map(|(delayed, title)| {
        let rows = rows.iter().filter(|row| row.connection.delayed == delayed);
        json!({ "title": title, "rows": rows.map(Row::values).collect::<Vec<_>>() })
    });
    pages::page!("throughput.md.jinja", json!({ "sections": sections })).unwrap()
}
