//! How exactly real packets were delayed and sent: `timing.json`, and `timing` of `meta.json` and `summary.json`.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::results::record::Spread;

/// The timing of one real run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timing {
    /// Was it that of the network?
    pub valid: bool,
    /// What was wrong with it.
    pub faults: Vec<String>,
    /// How long after its due time a packet was handed on, by direction: `up` and `down`. None without packets.
    pub late_ms: Named<Option<Spread>>,
    /// Of `forebay link` only.
    #[serde(flatten)]
    pub seen: Option<Seen>,
    /// CPU time of the emulator; none in results of versions that did not measure it.
    pub cpu_seconds: Option<f64>,
    /// Time of the run on this machine's clock.
    pub wall_seconds: Option<f64>,
}

/// What the emulator saw of the packets of a command behind a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// From the arrival of a packet until the emulator read it.
    pub age_ms: Option<Spread>,
    /// Packets that were lost before it read them.
    pub missed_pkts: u64,
    /// Packets that an interface refused.
    pub refused_pkts: u64,
    /// Packets that came with work left to hardware which the link could not do.
    pub unfinished_pkts: u64,
    /// Packets whose work the link did in place of the hardware.
    pub completed_pkts: u64,
}

/// The timing of one of several real runs: an entry of `timing.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Label of the contender; none in directories of one run.
    #[serde(default)]
    pub label: Option<String>,
    /// Seed.
    #[serde(default)]
    pub seed: u64,
    /// How often the run was tried.
    #[serde(default)]
    pub attempts: u32,
    /// Its timing.
    #[serde(default)]
    pub timing: Timing,
}

/// `timing` of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timings {
    /// Of a command behind a link.
    Link(Timing),
    /// Of each run on the kernel.
    Kernel(Vec<RunTiming>),
}
