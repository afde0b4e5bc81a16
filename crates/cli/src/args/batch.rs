//! Arguments shared by the commands that run a scenario: input, number of runs, output.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};
use forebay_lab::commands::run::{Batch, LARGEST_SEED};
use forebay_lab::metric::METRICS;
use forebay_lab::results::meta::Part;
use forebay_lab::results::summary::Shown;
use forebay_lab::scenario::Overrides;

/// What to run, and where to write the results.
#[derive(Args, Debug)]
pub(crate) struct BatchArgs {
    /// Scenario file, or - for standard input.
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// Queue discipline to use instead of those in the scenario file; repeatable: the table of results compares each
    /// with the first. It runs on the links that the scenario key compare.links names: by default on every bottleneck,
    /// in the forward direction only (in a topology of kind graph: on every link with study = true).
    #[arg(long = "aqm", value_name = "DISCIPLINE")]
    pub(crate) aqm: Vec<String>,
    /// Run the disciplines of --aqm also on the opposite direction of each link that compare.links names.
    #[arg(long = "both-directions")]
    pub(crate) both_directions: bool,
    /// First seed. A discipline runs once with each of several consecutive seeds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(0..=LARGEST_SEED))]
    pub(crate) seed: u64,
    /// Number of seeds, and thus of runs, for each discipline.
    #[arg(long, visible_alias = "seeds", value_name = "N", default_value_t = 5)]
    #[arg(value_parser = value_parser!(u64).range(1..=100_000))]
    pub(crate) runs: u64,
    /// Set the scenario key with this dotted path to a value, e.g. topology.bottleneck.rate=15mbit; repeatable.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Output directory (default: runs/<name of the scenario file>-<hash of the scenario with all defaults>).
    #[arg(short, long, visible_alias = "out", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Do only a part of the runs: 2/8 is every eighth run, from the second on. `forebay merge` joins the results.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Part>,
    /// Metrics in the first table of results, such as goodput_bps,wait_ms.p99 (default: the standard metrics that
    /// have values, as many as fit into the width of the terminal).
    #[arg(long, value_name = "METRIC,...", value_delimiter = ',')]
    #[arg(value_parser = metrics(), hide_possible_values = true)]
    pub(crate) columns: Vec<String>,
    /// Run even if the runs are estimated to need over half of the memory or over a day.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// A scenario to run, and those of its keys that vary (axes): it is run with each combination of their values.
#[derive(Args, Debug)]
pub(crate) struct GridArgs {
    /// Scenario key to vary and its values, e.g. flows.0.count=5,50,150; repeatable.
    #[arg(long = "vary", value_name = "PATH=VALUES")]
    pub(crate) vary: Vec<String>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// Number of runs at the same time.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Jobs {
    /// Number of runs at the same time (default: one per core).
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Reads the value of `--shard`.
fn shard(text: &str) -> Result<Part, String> {
    Part::parse(text).ok_or_else(|| "expected I/N with I from 1 to N, such as 2/8".to_string())
}

/// Accepts the names of metrics that tables can show.
fn metrics() -> PossibleValuesParser {
    METRICS.map(|metric| metric.name).into()
}

impl BatchArgs {
    /// What tables of results show: the metrics of `--columns`, else those that the scenario requests.
    pub(crate) fn shown(&self, of_scenario: Shown) -> Shown {
        if self.columns.is_empty() { of_scenario } else { Shown { columns: self.columns.clone(), ..of_scenario } }
    }

    /// These arguments as a batch of runs: scenario, seeds, output directory, limits.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            file: &self.scenario,
            seed: self.seed,
            runs: self.runs,
            output: self.output.as_deref(),
            part: self.shard,
            force: self.force,
            jobs: self.jobs.jobs,
        }
    }

    /// The changes that these arguments make to the scenario; `vary` has the arguments of `--vary`.
    pub(crate) fn changes(&self, vary: &[String]) -> Overrides {
        Overrides {
            sets: self.set.clone(),
            vary: vary.to_vec(),
            aqm: self.aqm.clone(),
            both_directions: self.both_directions,
        }
    }
}
