//! The `compare` part of `summary.json`.

use serde::{Deserialize, Serialize};

use super::named::{Axes, Named};
use crate::figures::stats::Interval;

/// Contenders side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Confidence of the intervals: 0.95.
    pub confidence: f64,
    /// One for each point on the axes.
    pub cases: Vec<CaseComparison>,
}

/// The contenders of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    /// The point on the axes.
    pub axes: Axes,
    /// Label of the contender that differences are from; none if no run has finished.
    pub baseline: Option<String>,
    /// Those with finished runs.
    pub contenders: Vec<ContenderComparison>,
}

/// One contender of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContenderComparison {
    /// Unique label.
    pub label: String,
    /// How many runs have finished.
    pub runs: usize,
    /// Means by quantity.
    pub mean: Named<Interval>,
    /// Differences from the baseline, paired by seed; none where the two share no seed. Empty for the baseline.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub difference: Named<Option<Interval>>,
}
