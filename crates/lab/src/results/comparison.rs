//! The `compare` part of `summary.json`.

use serde::{Deserialize, Serialize};

use super::named::{Axes, Named};
use crate::figures::stats::Interval;

/// Comparison of contenders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Confidence of the intervals: 0.95.
    pub confidence: f64,
    /// One per case.
    pub cases: Vec<CaseComparison>,
}

/// The contenders of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    /// Values of the axes.
    pub axes: Axes,
    /// Label of the contender that differences refer to; `None` if no run has finished.
    pub baseline: Option<String>,
    /// Contenders with finished runs.
    pub contenders: Vec<ContenderComparison>,
}

/// A contender in a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContenderComparison {
    /// Unique label.
    pub label: String,
    /// Number of finished runs.
    pub runs: usize,
    /// Means by quantity.
    pub mean: Named<Interval>,
    /// Differences from the baseline, paired by seed; `None` without common seeds. Empty for the baseline.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub difference: Named<Option<Interval>>,
    /// The [`METRICS`](crate::figures::metric::METRICS) of each class of traffic at the first link, and of `all`.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub classes: Named<TrafficComparison>,
}

/// A class of traffic of a contender. Metrics that no run has are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficComparison {
    /// Means by metric.
    #[serde(flatten)]
    pub mean: Named<Interval>,
    /// Differences from the baseline, paired by seed. Empty for the baseline.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub difference: Named<Option<Interval>>,
}
