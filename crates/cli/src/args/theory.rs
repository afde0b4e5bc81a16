//! The words of `forebay theory`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use forebay_lab::commands::map::{self as commands, Side};
use forebay_lab::commands::theory;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::theory::markov::{Ask, Cells};

/// Arguments of `theory`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay theory stability case1.toml
  forebay theory stability case1.toml --aqm \"pi preset=ns2 q_ref=50\" --critical
  forebay theory stability case1.toml --vary flows.ftp.count=10,40,160 --json
  forebay theory stability case1.toml --map flows=5..500 \\
      --map rtt=20ms..1s -o map.svg
  forebay theory fluid case1.toml --aqm \"raqm q0=50\"
  forebay theory mmpp examples/aaqm-model.toml
  forebay theory markov case1.toml --p 0.014 --step 0.5rtt --sigma 77kbit
  forebay theory markov case1.toml --aqm \"pi preset=ns2 q_ref=50\" --json | \\
      jq '.results[0].distribution'

Models
  stability: rest and margins of long-lived TCP and a discipline, by Nyquist
  fluid: the course of that loop from an empty queue
  mmpp: queue, delay and losses under mmpp, map, onoff and Poisson traffic
  markov: distribution of TCP's queue at one signal probability

A law answers by its own code, the one that is simulated. Delays of the loop and the queue of mmpp are exact; markov's rates \
are set anew every S seconds, with noise.")]
pub(crate) struct TheoryArgs {
    /// Which model.
    pub(crate) model: Model,
    /// The scenario file.
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// A discipline in place of the file's own; again for more.
    #[arg(long = "aqm", value_name = "DISCIPLINE")]
    pub(crate) aqm: Vec<String>,
    /// Replace or add one value of the file by its dotted path; again for more.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// An axis: a path of the file and the values it takes; again for more.
    #[arg(long = "vary", value_name = "PATH=VALUES")]
    pub(crate) vary: Vec<String>,
    /// stability: also how many flows, which round trip and which rate are the edge.
    #[arg(long)]
    pub(crate) critical: bool,
    #[command(flatten)]
    pub(crate) map: MapArgs,
    #[command(flatten)]
    pub(crate) markov: MarkovArgs,
}

/// Which model.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    /// Rest and margins of the linear loop.
    Stability,
    /// The course of the nonlinear loop.
    Fluid,
    /// The queue in the long run under datagrams that Markov chains bring.
    Mmpp,
    /// The distribution of the queue at one signal probability.
    Markov,
}

impl Model {
    /// Its word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Stability => "stability",
            Self::Fluid => "fluid",
            Self::Mmpp => "mmpp",
            Self::Markov => "markov",
        }
    }
}

/// Arguments of the map.
#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// stability: a side of a map: flows=5..500, rtt=20ms..2s (mean base) or rate=1mbit..1gbit; twice.
    #[arg(long = "map", value_name = "AXIS=FROM..TO")]
    map: Vec<String>,
    /// stability: points along each side of the map.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) points: u32,
    /// A picture, an SVG file: of the map, of the fluid's course, of the queue's distribution (markov, mmpp).
    #[arg(short = 'o', long = "output", value_name = "FILE.svg")]
    pub(crate) output: Option<PathBuf>,
}

impl MapArgs {
    /// The two sides, if a map is asked for.
    pub(crate) fn sides(&self, model: Model) -> Result<Option<[Side; 2]>, InputError> {
        if self.map.is_empty() {
            return match &self.output {
                Some(path) if model == Model::Stability => {
                    let accepts = "only with --map, whose picture it is";
                    Err(InputError::new("-o", "", Found::text(&path.display().to_string()), accepts))
                }
                _ => Ok(None),
            };
        }
        if model != Model::Stability {
            let accepts = "stability: the other models have no such argument";
            return Err(InputError::new("--map", "", Found::text(model.word()), accepts));
        }
        commands::sides(&self.map)
    }
}

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
