//! Arguments of `forebay theory`.

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
  stability: equilibrium and stability margins of TCP and an AQM (Nyquist)
  fluid: trajectory of the same loop from an empty queue
  mmpp: queue, delay and loss under mmpp, map, onoff and Poisson traffic
  markov: distribution of the TCP queue at a fixed signal probability

The models run the same code of the control laws as the simulator. stability and fluid have exact delays in the \
loop; mmpp computes its queue exactly. In markov, each flow changes its rate every S seconds (--step), with a random \
deviation (--sigma).")]
pub(crate) struct TheoryArgs {
    /// Model to evaluate.
    pub(crate) model: Model,
    /// Scenario file.
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// Queue discipline to use instead of those in the scenario file; repeatable.
    #[arg(long = "aqm", value_name = "DISCIPLINE")]
    pub(crate) aqm: Vec<String>,
    /// Set the scenario key with this dotted path to a value, e.g. topology.bottleneck.rate=15mbit; repeatable.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Scenario key to vary and its values, e.g. flows.0.count=5,50,150; repeatable.
    #[arg(long = "vary", value_name = "PATH=VALUES")]
    pub(crate) vary: Vec<String>,
    /// stability: also print the number of flows, the RTT and the link rate at which the control loop of TCP and the
    /// discipline becomes unstable or stable.
    #[arg(long)]
    pub(crate) critical: bool,
    #[command(flatten)]
    pub(crate) map: MapArgs,
    #[command(flatten)]
    pub(crate) markov: MarkovArgs,
}

/// A model of `forebay theory`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    /// Equilibrium, and gain, phase and delay margins of the linearized control loop of TCP and the discipline.
    Stability,
    /// Trajectory of the nonlinear fluid model of TCP and the discipline.
    Fluid,
    /// Stationary queue under Markov-modulated arrivals (MMPP, MAP, on-off or Poisson).
    Mmpp,
    /// Distribution of the queue of TCP flows at a fixed drop or mark probability (Markov chain).
    Markov,
}

impl Model {
    /// Name of the model on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Stability => "stability",
            Self::Fluid => "fluid",
            Self::Mmpp => "mmpp",
            Self::Markov => "markov",
        }
    }
}

/// Arguments of `theory stability --map`.
#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// stability: draw a map of where the control loop is stable. The argument is one axis of the map: flows=5..500,
    /// rtt=20ms..2s (mean base RTT) or rate=1mbit..1gbit. Give it twice, for two axes.
    #[arg(long = "map", value_name = "AXIS=FROM..TO")]
    map: Vec<String>,
    /// stability: number of points along each axis of the map (--map).
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) points: u32,
    /// SVG file to write: the map (stability), the trajectory (fluid), or the queue distribution (markov, mmpp).
    #[arg(short = 'o', long = "output", value_name = "FILE.svg")]
    pub(crate) output: Option<PathBuf>,
}

impl MapArgs {
    /// The two axes of the map, or `None` without `--map`.
    pub(crate) fn sides(&self, model: Model) -> Result<Option<[Side; 2]>, InputError> {
        if self.map.is_empty() {
            return match &self.output {
                Some(path) if model == Model::Stability => {
                    let accepts = "only together with --map";
                    Err(InputError::new("-o", "", Found::text(&path.display().to_string()), accepts))
                }
                _ => Ok(None),
            };
        }
        if model != Model::Stability {
            let accepts = "stability: no other model has this argument";
            return Err(InputError::new("--map", "", Found::text(model.word()), accepts));
        }
        commands::sides(&self.map)
    }
}

/// Arguments of `theory markov`.
#[derive(Args, Debug)]
pub(crate) struct MarkovArgs {
    /// markov: probability that a packet is dropped or marked (default: that at the discipline's equilibrium).
    #[arg(long = "p", value_name = "P", allow_hyphen_values = true)]
    p: Option<String>,
    /// markov: standard deviation of a flow's rate, e.g. 77kbit, or 25% of its mean (default: 25.7%, as in the RED+Tail
    /// paper).
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    sigma: Option<String>,
    /// markov: interval S at which the senders change their rates, e.g. 0.5rtt or 50ms (default: 1rtt).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    step: Option<String>,
    /// markov: a state of the Markov chain is an interval of queue lengths. Its middle (default) or its lower end is
    /// used as the queue length.
    #[arg(long, value_name = "WHICH")]
    cells: Option<Taken>,
}

/// The queue length used for a state of the Markov chain. A state is an interval of queue lengths.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    /// The middle of the interval of queue lengths.
    Middle,
    /// The lower end of the interval of queue lengths, which is then one packet wide, as in the RED+Tail paper.
    Lower,
}

impl MarkovArgs {
    /// These arguments as parameters of the Markov chain. An argument given with another model is an error.
    pub(crate) fn ask(&self, model: Model) -> Result<Ask, InputError> {
        let cells = self.cells.map(|_| "--cells");
        let texts = [("--p", &self.p), ("--sigma", &self.sigma), ("--step", &self.step)];
        let given = texts.iter().find(|(_, text)| text.is_some()).map(|(name, _)| *name).or(cells);
        if let Some(name) = given.filter(|_| model != Model::Markov) {
            let accepts = "markov: no other model has this argument";
            return Err(InputError::new(name, "", Found::text(model.word()), accepts));
        }
        let mut ask = theory::ask(self.p.as_deref(), self.sigma.as_deref(), self.step.as_deref())?;
        if self.cells == Some(Taken::Lower) {
            ask.cells = Cells::Lower;
        }
        Ok(ask)
    }

    /// The probability that a packet is dropped or marked, as given with `--p`.
    pub(crate) fn p(&self) -> Option<&str> {
        self.p.as_deref()
    }
}
