//! Compares contenders (the disciplines that a scenario compares): means with 95 % confidence intervals, and
//! differences paired by seed. A case is a combination of the values of the axes, which are the keys that vary.

use std::collections::BTreeMap;

use crate::figures::stats::Interval;
use crate::results::comparison::{CaseComparison, Comparison, ContenderComparison, classes, paired_by_seed};
use crate::results::named::Axes;
use crate::results::quantity;
use crate::results::record::{self, RunRecord, RunSummary};
use crate::run::plan::Plan;

/// Quantities of every comparison: name, unit.
pub const QUANTITIES: [(&str, &str); 8] = [
    ("queue_pkts.mean", "packets"),
    ("queue_pkts.std", "packets"),
    ("utilisation", "1"),
    ("loss_ratio", "1"),
    ("mark_ratio", "1"),
    ("goodput_ratio", "1"),
    ("settling_s", "s"),
    ("overshoot_pkts", "packets"),
];

/// One contender in one case, with all seeds.
pub struct Group<'a> {
    /// Unique label of contender and case, such as `raqm q0=50 [n=40]`.
    pub label: String,
    /// Index of the case.
    pub case: usize,
    /// Index of the contender.
    pub contender: usize,
    /// Its runs, by seed.
    pub runs: Vec<&'a RunRecord>,
}

impl Group<'_> {
    /// The results of its runs at the first link under study.
    fn summaries(&self) -> Vec<&RunSummary> {
        self.runs.iter().map(|run| &run.summary).collect()
    }

    /// A quantity of every run, with its seed.
    pub fn samples(&self, quantity: &str) -> Result<Vec<(u64, f64)>, String> {
        let sample = |run: &&RunRecord| Ok((run.summary.seed, quantity::of(run, quantity)?));
        self.runs.iter().map(sample).collect()
    }

    /// A quantity of every run, in order of seeds.
    pub fn values(&self, quantity: &str) -> Result<Vec<f64>, String> {
        Ok(self.samples(quantity)?.into_iter().map(|(_, value)| value).collect())
    }
}

/// The results of the runs by case and contender, each in order of seeds.
pub fn groups<'a>(plan: &Plan, records: &'a [RunRecord]) -> Vec<Group<'a>> {
    let mut by_label: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        by_label.entry(&record.summary.label).or_default().push(record);
    }
    let mut groups = Vec::new();
    for (case, it) in plan.cases.iter().enumerate() {
        for (contender, c) in it.scenario.compare.iter().enumerate() {
            let label = record::label(c, it);
            let mut runs = by_label.get(&*label).cloned().unwrap_or_default();
            runs.sort_by_key(|r| r.summary.seed);
            groups.push(Group { label, case, contender, runs });
        }
    }
    groups
}

/// The `compare` part of `summary.json`: means of the contenders of each case, and their differences from the
/// first contender, paired by seed.
pub fn compare(plan: &Plan, records: &[RunRecord]) -> Comparison {
    let mut groups = groups(plan, records).into_iter().peekable();
    let cases = plan.cases.iter().enumerate().map(|(case, it)| {
        let of_case = std::iter::from_fn(|| groups.next_if(|group| group.case == case));
        (it.axes.iter().cloned().collect(), of_case.filter(|group| !group.runs.is_empty()).collect())
    });
    of_groups(cases)
}

/// Compares every group (the runs of a contender) of a case with the first group of the same case, the baseline. Each
/// group must have at least one run.
pub fn of_groups<'a>(cases: impl Iterator<Item = (Axes, Vec<Group<'a>>)>) -> Comparison {
    let case = |(axes, groups): (Axes, Vec<Group<'a>>)| CaseComparison {
        axes,
        baseline: groups.first().map(|group| group.label.clone()),
        contenders: groups.iter().map(|group| contender(group, &groups[0])).collect(),
    };
    Comparison { confidence: 0.95, cases: cases.map(case).collect() }
}

fn contender(group: &Group, baseline: &Group) -> ContenderComparison {
    let is_compared = group.contender != baseline.contender;
    let (mut mean, mut difference) = (Vec::new(), Vec::new());
    for (quantity, _) in QUANTITIES {
        let (Ok(own), Ok(base)) = (group.samples(quantity), baseline.samples(quantity)) else { continue };
        let values: Vec<f64> = own.iter().map(|(_, value)| *value).collect();
        mean.push((quantity, Interval::of(&values)));
        if is_compared {
            difference.push((quantity, paired_by_seed(&own, &base)));
        }
    }
    ContenderComparison {
        label: group.label.clone(),
        runs: group.runs.len(),
        mean: mean.into_iter().collect(),
        difference: difference.into_iter().collect(),
        classes: classes(&group.summaries(), is_compared.then(|| baseline.summaries()).as_deref()),
    }
}
