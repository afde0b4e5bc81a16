//! Statistics of a distribution in `summary.json`: mean, standard deviation, percentiles and maximum.

use forebay_sim::histogram;
use serde::{Deserialize, Serialize};

/// Mean, standard deviation and percentiles, in the unit with which the field's name ends, such as `queue_pkts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    #[serde(default)]
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// A statistic by its name in `summary.json`.
    pub(crate) fn named(&self, name: &str) -> Option<f64> {
        Some(match name {
            "mean" => self.mean,
            "std" => self.std,
            "p50" => self.p50,
            "p95" => self.p95,
            "p99" => self.p99,
            "max" => self.max,
            _ => return None,
        })
    }

    pub(crate) fn new(s: histogram::Summary, factor: f64) -> Self {
        let s = s.scaled(factor);
        Self { mean: s.mean, std: s.std, p50: s.p50, p95: s.p95, p99: s.p99, max: s.max }
    }
}
