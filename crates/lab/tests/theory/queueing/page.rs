//! The rows of the comparison of simulated links with queueing theory, and the page `docs/queues.md`.

use forebay_lab::stats::Interval;
use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::system::{Figures, Kind, System};

/// Seeds of each system.
const SEEDS: u64 = 40;
/// Probability that some interval of the page misses.
const ERROR: f64 = 0.05;
/// Columns in addition to the distribution.
pub(crate) const COLUMNS: [&str; 4] = ["waiting", "wait", "loss", "busy"];

/// A figure by theory and by simulation.
pub(crate) struct Cell {
    pub(crate) exact: f64,
    pub(crate) measured: Interval,
}

impl Cell {
    fn of(exact: f64, runs: &[Figures], figure: impl Fn(&Figures) -> f64) -> Self {
        Self { exact, measured: Interval::of(&runs.iter().map(figure).collect::<Vec<_>>()) }
    }

    /// Distance of theory from the mean, in half-widths of an interval with this `error` instead of 5 %.
    pub(crate) fn miss(&self, error: f64) -> f64 {
        let wider = t(error, self.measured.n) / t(0.05, self.measured.n);
        (self.measured.mean - self.exact).abs() / (self.measured.half * wider)
    }

    /// Its text on the page.
    fn text(&self, kind: Kind) -> String {
        let Self { exact, measured: Interval { mean, half, .. } } = self;
        let star = if self.random() && self.miss(0.05) > 1.0 { "*" } else { "" };
        match kind {
            Kind::Dd => format!("{exact:.4} / {mean:.4}"),
            _ if !self.random() => format!("{exact} / {mean}"),
            _ => format!("{exact:.4} / {mean:.4} ± {half:.4}{star}"),
        }
    }

    /// Whether it has a distribution; a value that must be zero has none.
    pub(crate) fn random(&self) -> bool {
        self.measured.half > 0.0
    }
}

/// One system: four quantities, and its distribution function at each state that is not rare.
pub(crate) struct Row {
    pub(crate) system: System,
    pub(crate) cells: [Cell; 4],
    pub(crate) states: Vec<Cell>,
}

impl Row {
    pub(crate) fn new(system: System) -> Self {
        let exact = system.exact();
        // A deterministic system differs between seeds only by its phase.
        let runs = system.measured(if system.kind == Kind::Dd { 2 } else { SEEDS });
        let cells = [
            Cell::of(exact.queue, &runs, |f| f.queue),
            Cell::of(exact.wait, &runs, |f| f.wait),
            Cell::of(exact.loss, &runs, |f| f.loss),
            Cell::of(exact.busy, &runs, |f| f.busy),
        ];
        let up_to = |shares: &[f64], n: usize| shares.iter().take(n + 1).sum::<f64>();
        let state = |n| Cell::of(up_to(&exact.shares, n), &runs, |f| up_to(&f.shares, n));
        Self { system, cells, states: (0..System::states(&exact)).map(state).collect() }
    }

    /// Its values in the template of the page.
    fn values(&self) -> Value {
        let distribution = self.worst(0.05).map(|(n, miss)| {
            let off = self.states[n].measured.mean - self.states[n].exact;
            format!("{off:+.4} ± {:.4} at {n} of {}", off.abs() / miss, self.states.len())
        });
        json!({
            "name": self.system.name(),
            "load": self.system.rho.to_string(),
            "cells": self.cells.iter().map(|cell| cell.text(self.system.kind)).collect::<Vec<_>>(),
            "distribution": distribution.unwrap_or_else(|| "-".to_string()),
        })
    }

    /// The state with the largest difference between theory and simulation, in half-widths of a band that contains the
    /// complete distribution function except with probability `error`.
    pub(crate) fn worst(&self, error: f64) -> Option<(usize, f64)> {
        let each = error / self.states.len() as f64;
        let misses = self.states.iter().map(|cell| cell.miss(each)).enumerate();
        misses.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Two-sided quantile of Student's t for `n` samples, exceeded with probability `error`.
fn t(error: f64, n: usize) -> f64 {
    StudentsT::new(0.0, 1.0, (n - 1) as f64).unwrap().inverse_cdf(1.0 - error / 2.0)
}

/// Error probability of one quantity or distribution, so that all together have [`ERROR`] (Bonferroni).
pub(crate) fn error_each(rows: &[Row]) -> f64 {
    ERROR / (figures(rows).count() + rows.iter().filter(|row| !row.states.is_empty()).count()) as f64
}

/// Every quantity of the random systems.
pub(crate) fn figures(rows: &[Row]) -> impl Iterator<Item = (&Row, &'static str, &Cell)> {
    let systems = rows.iter().filter(|row| row.system.kind != Kind::Dd);
    let all = systems.flat_map(|row| COLUMNS.iter().zip(&row.cells).map(move |(name, cell)| (row, *name, cell)));
    all.filter(|(.., cell)| cell.random())
}

/// The page.
pub(crate) fn page(rows: &[Row]) -> String {
    let figures: Vec<&Cell> = figures(rows).map(|(.., cell)| cell).collect();
    let values = json!({
        "rows": rows.iter().map(Row::values).collect::<Vec<_>>(),
        "outside": figures.iter().filter(|cell| cell.miss(0.05) > 1.0).count(),
        "figures": figures.len(),
        "expected": 0.05 * figures.len() as f64,
    });
    pages::page!("queues.md.jinja", values).unwrap()
}
