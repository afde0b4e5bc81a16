//! `summary.json`.

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::timing::Timings;
use crate::results::record::RunSummary;

/// `summary.json`, and the output of `forebay run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Format version, 1.
    pub version: u32,
    /// Title of the scenario.
    pub scenario: String,
    /// Every finished run, at every link under study.
    pub runs: Vec<RunSummary>,
    /// Means and paired differences.
    pub compare: Comparison,
    /// For real packets: whether the timing of every run was valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// For real packets: the timing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timings>,
}

impl Summary {
    /// Summary of simulated runs.
    pub fn new(scenario: &str, runs: Vec<RunSummary>, compare: Comparison) -> Self {
        Self { version: 1, scenario: scenario.to_string(), runs, compare, valid: None, timing: None }
    }
}
