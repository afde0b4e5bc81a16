//! The words of `forebay theory`.

use std::path::PathBuf;

use clap::Args;

use crate::map::MapArgs;
use crate::markov::MarkovArgs;
use crate::models::Model;

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
