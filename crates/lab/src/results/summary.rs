//! `summary.json`: the results of all runs of a scenario and their comparison.

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::timing::Timings;
use crate::results::record::RunSummary;
use crate::scenario::Scenario;

/// `summary.json`, and the output of `forebay run --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Format version, 1.
    pub version: u32,
    /// Title of the scenario.
    pub scenario: String,
    /// Every finished run, at every link under study.
    pub runs: Vec<RunSummary>,
    /// Means and paired differences.
    pub compare: Comparison,
    /// What tables of results show.
    #[serde(default, skip_serializing_if = "Shown::is_default")]
    pub shown: Shown,
    /// For runs with real packets (`forebay link`, `forebay run --on kernel`): whether every run was valid. A run is
    /// not if packets were sent too late or lost outside of the emulated links, or if a sender or receiver failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// For runs with real packets: their timing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timings>,
}

/// What tables of results show, from the scenario's `[report]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// [Names](crate::figures::metric::Metric::name) of the metrics in the first table. If empty, the table has the
    /// metrics with values, as many as fit into its width.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Whether the scenario has a target queue length; only then tables have settling times.
    #[serde(default)]
    pub reference: bool,
}

impl Shown {
    /// The settings in `[report]` of this scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let columns = scenario.report.columns.iter().map(|metric| metric.name.to_string());
        Self { columns: columns.collect(), reference: scenario.report.reference.is_some() }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Summary {
    /// Summary of simulated runs.
    pub fn new(scenario: &str, runs: Vec<RunSummary>, compare: Comparison, shown: Shown) -> Self {
        Self { version: 1, scenario: scenario.to_string(), runs, compare, shown, valid: None, timing: None }
    }
}
