//! What `forebay theory markov` asks and shows.

use clap::{Args, ValueEnum};
use forebay_lab::commands::theory;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::theory::markov::{Ask, Cells, Markov};

use crate::models::{Cell, Column, Model};

/// The figures of a row.
pub(crate) const COLUMNS: [Column<Markov>; 14] = [
    (|a| Cell::Yes(a.stable), "stable", ""),
    (|a| Cell::Number(a.p), "p", ""),
    (|a| Cell::Number(a.q_rest_pkts), "rest", "pkts"),
    (|a| Cell::Number(a.rtt_ms), "RTT", "ms"),
    (|a| Cell::Number(a.step_ms), "S", "ms"),
    (|a| Cell::Number(a.slope), "slope", ""),
    (|a| Cell::Number(a.contraction_bound_ms), "S (6.1)", "ms"),
    (|a| Cell::Number(a.mixed_bound_ms), "S (6.2)", "ms"),
    (|a| Cell::Number(a.edge_ms), "S (edge)", "ms"),
    (|a| Cell::of(a.q_mean_pkts), "mean", "pkts"),
    (|a| Cell::of(a.q_std_pkts), "std", "pkts"),
    (|a| Cell::of(a.linear_std_pkts), "linear", "pkts"),
    (|a| Cell::of(a.q_p99_pkts), "p99", "pkts"),
    (|a| Cell::of(a.overflow), "lost", ""),
];
/// What its signs mean.
pub(crate) const ABOUT: &str = "S: below (6.1) every step leads nearer to the rest, up to (6.2) every orbit ends there, \
beyond the edge none stays\nlinear: std with the map straight about the rest; -: none, or noise too small for a chain";

/// Arguments of the model.
#[derive(Args, Debug)]
pub(crate) struct MarkovArgs {
    /// markov: signal probability that the flows meet; default where the discipline rests.
    #[arg(long = "p", value_name = "P", allow_hyphen_values = true)]
    p: Option<String>,
    /// markov: standard deviation of a flow's rate, 77kbit or 25% of its mean; default 25.7%, the paper's.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    sigma: Option<String>,
    /// markov: S, from one setting of the rates to the next, 0.5rtt or 50ms; default 1rtt.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    step: Option<String>,
    /// markov: what queue a cell is taken for; default its middle.
    #[arg(long, value_name = "WHICH")]
    cells: Option<Taken>,
}

/// What queue a cell is taken for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    /// Its middle.
    Middle,
    /// Its lower end, a cell being a packet: as in the paper, up to a packet too low.
    Lower,
}

impl MarkovArgs {
    /// What they ask; any of them under another model is a mistake.
    pub(crate) fn ask(&self, model: Model) -> Result<Ask, InputError> {
        let cells = self.cells.map(|_| "--cells");
        let texts = [("--p", &self.p), ("--sigma", &self.sigma), ("--step", &self.step)];
        let given = texts.iter().find(|(_, text)| text.is_some()).map(|(name, _)| *name).or(cells);
        if let Some(name) = given.filter(|_| model != Model::Markov) {
            let accepts = "markov: the other models have no such argument";
            return Err(InputError::new(name, "", Found::text(model.word()), accepts));
        }
        let mut ask = theory::ask(self.p.as_deref(), self.sigma.as_deref(), self.step.as_deref())?;
        if self.cells == Some(Taken::Lower) {
            ask.cells = Cells::Lower;
        }
        Ok(ask)
    }

    /// The signal probability as it was given.
    pub(crate) fn p(&self) -> Option<&str> {
        self.p.as_deref()
    }
}
