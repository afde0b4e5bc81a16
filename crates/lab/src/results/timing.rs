//! How long after the times that an emulated link computed it sent real packets: `timing.json`, and `timing` of
//! `meta.json` and `summary.json`.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::results::record::Spread;

/// The timing of one real run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timing {
    /// Whether the run is valid: `faults` is empty.
    pub valid: bool,
    /// What makes the run invalid: packets sent too late, packets lost outside of the emulated links, failed endpoints.
    pub faults: Vec<String>,
    /// Time in ms from when a packet should leave the link to when it left, by direction: `up` and `down`. `None`
    /// without packets.
    pub late_ms: Named<Option<Spread>>,
    /// Counts and delays of packets at the emulator; `None` except for `forebay link`.
    #[serde(flatten)]
    pub seen: Option<Seen>,
    /// CPU seconds of the emulator; `None` in results of old versions.
    pub cpu_seconds: Option<f64>,
    /// Duration of the run in real time.
    pub wall_seconds: Option<f64>,
}

/// What the emulator saw of the packets of a command behind a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Time from the arrival of a packet until the emulator read it.
    pub age_ms: Option<Spread>,
    /// Packets lost before the emulator read them.
    pub missed_pkts: u64,
    /// Packets that an interface refused to send.
    pub refused_pkts: u64,
    /// Packets lost because they need an unsupported offload, or are longer than a slot of the receive ring while the
    /// socket buffer is full.
    pub unfinished_pkts: u64,
    /// Packets whose checksum or segmentation was left to hardware and was done by the emulator.
    pub completed_pkts: u64,
}

/// Timing of one of several real runs: an entry of `timing.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Label of the contender (compared discipline); `None` in directories of one run.
    #[serde(default)]
    pub label: Option<String>,
    /// Seed of the run.
    #[serde(default)]
    pub seed: u64,
    /// How often the run was done: an invalid run ([`Timing::valid`]) is repeated.
    #[serde(default)]
    pub attempts: u32,
    /// Timing of the run; of the last one if it was repeated.
    #[serde(default)]
    pub timing: Timing,
}

/// `timing` of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timings {
    /// Timing of a command behind a link.
    Link(Timing),
    /// Timing of each run on the kernel.
    Kernel(Vec<RunTiming>),
}
