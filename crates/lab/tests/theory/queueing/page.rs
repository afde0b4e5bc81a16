//! The rows of the comparison of simulated links with queueing theory, and the page `docs/queues.md`.

use std::fmt::Write as _;

use forebay_lab::stats::Interval;
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
    let mut out = String::from(HEAD);
    for row in rows {
        let system = &row.system;
        let _ = write!(out, "| {} | {} |", system.name(), system.rho);
        for cell in &row.cells {
            let _ = match (system.kind, cell.random()) {
                (Kind::Dd, _) => write!(out, " {:.4} / {:.4} |", cell.exact, cell.measured.mean),
                (_, false) => write!(out, " {} / {} |", cell.exact, cell.measured.mean),
                _ => write!(
                    out,
                    " {:.4} / {:.4} ± {:.4}{} |",
                    cell.exact,
                    cell.measured.mean,
                    cell.measured.half,
                    if cell.miss(0.05) > 1.0 { "*" } else { "" }
                ),
            };
        }
        let _ = match row.worst(0.05) {
            Some((n, miss)) => {
                let off = row.states[n].measured.mean - row.states[n].exact;
                writeln!(out, " {off:+.4} ± {:.4} at {n} of {} |", off.abs() / miss, row.states.len())
            }
            None => writeln!(out, " |"),
        };
    }
    let outside = figures(rows).filter(|(.., cell)| cell.miss(0.05) > 1.0).count();
    let _ = writeln!(
        out,
        "\n{outside} of {} figures are outside their own 95 % interval (*); {:.0} are expected. None is outside its \
         joint interval.",
        figures(rows).count(),
        0.05 * figures(rows).count() as f64
    );
    out
}

const HEAD: &str = "# One link as a queueing system

Generated by `cargo xtask queues`; do not edit. The test `crates/lab/tests/theory/queues.rs` computes the same figures
and checks the rule below.

The network is one link that needs 1 ms on average to send a datagram. The datagrams have 4000 bytes, or an
exponentially distributed length (geometric in whole bytes) with this mean. They arrive at constant intervals or as a
Poisson process. M/M/1/K has K packets in the system, the one in transmission included: the link's buffer is K - 1.

- *Packets waiting*: mean number of packets in the queue, without the one in transmission.
- *Wait*: mean time in the queue, in service times, of packets that are not lost.
- *Loss*: share of arrivals that find the system full.
- *Busy*: 1 - P0, the share of time in which the link sends.
- *Distribution*: the measured distribution function of the queue minus the exact one, at the state where the
  difference is largest relative to the half-width of a simultaneous 95 % band; then this half-width, the state, and
  the number of states. States that are exceeded for less than a thousandth of the time are left out.

Each cell is **exact / measured ± half-width of the 95 % interval** over 40 seeds (D/D/1 is deterministic: two seeds,
which differ only in phase). Formulas: `crates/theory/src/queues.rs`.

The rule, fixed before the first comparison:

- Half-widths are at most 2 % of queue, wait and loss.
- Every exact figure and every exact distribution lies within the interval of the measured one. The intervals contain
  all figures of this page **jointly** with a probability of 95 % (Bonferroni).
- D/D/1 agrees to 0.01 %.

The simulator computes a plain drop-tail link without events. In each of these systems this link gives the same packets
as a link with the discipline `droptail`.

| system | load | packets waiting | wait | loss | busy | distribution |
|---|---|---|---|---|---|---|
";
