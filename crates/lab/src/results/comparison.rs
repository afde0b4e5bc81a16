//! The `compare` part of `summary.json`: means of the contenders (compared disciplines), and differences from the first
//! one. A case is a combination of the values of the axes, which are the keys that vary. A class of traffic is a group
//! of flows, or a service class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::named::{Axes, Named};
use super::record::RunSummary;
use super::traffic::ALL;
use crate::figures::metric::METRICS;
use crate::figures::stats::Interval;

/// Comparison of contenders: the disciplines that a scenario compares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Confidence of the intervals: 0.95.
    pub confidence: f64,
    /// One comparison per case.
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
    /// Unique label of contender and case, such as `raqm q0=50 [n=40]`.
    pub label: String,
    /// Number of finished runs.
    pub runs: usize,
    /// Means by quantity.
    pub mean: Named<Interval>,
    /// Differences from the baseline, paired by seed; `None` without common seeds. Empty for the baseline.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub difference: Named<Option<Interval>>,
    /// The metrics ([`METRICS`](crate::figures::metric::METRICS)) of each class of traffic at the first link with
    /// recorded results, and those of all traffic (`all`).
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub classes: Named<TrafficComparison>,
}

/// Results of a class of traffic of a contender. Metrics that no run has are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficComparison {
    /// Means by metric.
    #[serde(flatten)]
    pub mean: Named<Interval>,
    /// Differences from the baseline, paired by seed. Empty for the baseline.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub difference: Named<Option<Interval>>,
}

/// Mean of `a - b` over the seeds that both have, with its confidence interval; `None` without a common seed. After an
/// interruption the contenders may have different seeds.
pub fn paired_by_seed(a: &[(u64, f64)], b: &[(u64, f64)]) -> Option<Interval> {
    let partners: BTreeMap<u64, f64> = b.iter().copied().collect();
    let differences: Vec<f64> = a.iter().filter_map(|(seed, x)| Some(x - partners.get(seed)?)).collect();
    (!differences.is_empty()).then(|| Interval::of(&differences))
}

/// Metrics of each class of traffic in these runs, and their differences from `baseline`, paired by seed. Without a
/// baseline there are no differences.
pub fn classes(own: &[&RunSummary], baseline: Option<&[&RunSummary]>) -> Named<TrafficComparison> {
    let mut names: Vec<&str> = Vec::new();
    for traffic in own.iter().flat_map(|run| &run.traffic) {
        if !names.contains(&traffic.name.as_str()) {
            names.push(&traffic.name);
        }
    }
    // The result for all traffic is the last.
    names.sort_by_key(|name| *name == ALL);
    let class = |name: &str| {
        let (mut mean, mut difference) = (Vec::new(), Vec::new());
        for metric in &METRICS {
            let samples = |runs: &[&RunSummary]| -> Vec<(u64, f64)> {
                let of_run = |run: &&RunSummary| {
                    let traffic = run.traffic.iter().find(|traffic| traffic.name == name)?;
                    Some((run.seed, traffic.metric(metric.name)?))
                };
                runs.iter().filter_map(of_run).collect()
            };
            let values = samples(own);
            if values.is_empty() {
                continue;
            }
            let of =
                |values: &[(u64, f64)]| metric.interval(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            mean.push((metric.name, of(&values)));
            if let Some(baseline) = baseline {
                let base = samples(baseline);
                // Both values have the error of the metric.
                let error = metric.error * (of(&values).mean.abs() + of(&base).mean.abs());
                let paired = paired_by_seed(&values, &base).map(|found| Interval { half: found.half + error, ..found });
                difference.push((metric.name, paired));
            }
        }
        TrafficComparison { mean: mean.into_iter().collect(), difference: difference.into_iter().collect() }
    };
    names.into_iter().map(|name| (name, class(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_paired_by_seed() {
        let a = [(1, 10.0), (3, 31.0), (4, 40.0)];
        let b = [(2, 200.0), (3, 1.0), (4, 12.0)];
        let joined = paired_by_seed(&a, &b).unwrap();
        assert_eq!((joined.n, joined.mean), (2, 29.0), "30 at seed 3, 28 at seed 4");
        assert_eq!(paired_by_seed(&a[..1], &b), None);
    }
}
