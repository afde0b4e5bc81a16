//! The words that all commands share which run a scenario: what is run, how often, and where its results go.

use std::path::PathBuf;

use clap::{Args, value_parser};
use forebay_lab::commands::run::{Batch, LARGEST_SEED, Source};
use forebay_lab::scenario::Overrides;

/// What is run, and where its results go.
#[derive(Args, Debug)]
pub(crate) struct BatchArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// A discipline in place of the file's own; again for more, the first is the baseline.
    #[arg(long = "aqm", value_name = "DISCIPLINE")]
    pub(crate) aqm: Vec<String>,
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(0..=LARGEST_SEED))]
    pub(crate) seed: u64,
    /// How many seeds each discipline runs with.
    #[arg(long, visible_alias = "seeds", value_name = "N", default_value_t = 5)]
    #[arg(value_parser = value_parser!(u64).range(1..=100_000))]
    pub(crate) runs: u64,
    /// Replace or add one value of the file by its dotted path; again for more.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where results go; default runs/<file>-<hash of the resolved scenario>.
    #[arg(short, long, visible_alias = "out", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Run also what will take more than half of the memory, or more than a day.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// A batch, and axes of values to run it over.
#[derive(Args, Debug)]
pub(crate) struct GridArgs {
    /// An axis: a path of the file and the values it takes; again for more.
    #[arg(long = "vary", value_name = "PATH=VALUES")]
    pub(crate) vary: Vec<String>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// How many runs at a time.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Jobs {
    /// How many runs at a time; default one per core.
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

impl BatchArgs {
    /// How often the scenario runs, and where its results go.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            source: Source { file: &self.scenario, text: None },
            seed: self.seed,
            runs: self.runs,
            output: self.output.as_deref(),
            force: self.force,
            jobs: self.jobs.jobs,
        }
    }

    /// What is changed in the scenario, with these axes.
    pub(crate) fn changes(&self, vary: &[String]) -> Overrides {
        Overrides { sets: self.set.clone(), vary: vary.to_vec(), aqm: self.aqm.clone() }
    }
}
