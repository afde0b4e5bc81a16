//! Claims as data: what a paper says, and the checks that try it.

pub mod exhibits;
pub mod models;
pub mod papers;
pub mod theorems;
pub(crate) mod theorems_msvb;
pub(crate) mod theorems_tail;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::figures::level::Seeds;

/// A point on a scenario's axes, or part of one: axis to value.
pub type Point = BTreeMap<String, String>;

/// One experiment and the contender whose verdict counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its name.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What it does.
    pub text: String,
    /// Its scenario; theory has none.
    pub scenario: Option<String>,
    /// The paper's own rule, as the scenario writes it.
    #[serde(default)]
    pub subject: String,
    /// Other rules tried on the same checks.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Axes that the paper leaves open, with the value at which the verdict counts; the others are shown beside it.
    #[serde(default)]
    pub point: Point,
    /// Scenarios that read the paper otherwise: the subject is tried there too.
    #[serde(default)]
    pub also: Vec<String>,
    /// Seeds by level; where it says nothing, those of the paper.
    #[serde(default)]
    pub seeds: Seeds,
}

impl Section {
    /// Every scenario that its claims look at, its own first.
    pub fn scenarios(&self) -> impl Iterator<Item = &String> {
        self.scenario.iter().chain(&self.also)
    }
}

/// One claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its fixed id.
    pub id: String,
    /// Its section.
    pub section: String,
    /// The claim in our words.
    pub claim: String,
    /// What the paper printed.
    pub printed: String,
    /// The theorem that decides it, instead of checks.
    pub theorem: Option<String>,
    /// Why nothing here decides it.
    pub not_run: Option<String>,
    /// Why it does not hold, as far as is known; said where it does not.
    pub why: Option<String>,
    /// All must hold.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
}

/// One question to the runs; see `docs/claims.md`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The question in words.
    pub what: String,
    /// The quantity.
    pub quantity: String,
    /// Whose; the subject's by default.
    pub of: Option<String>,
    /// At which points of the axes; all by default.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// The quantity on the x axis, for checks of a curve over all points.
    pub against: Option<String>,
    /// Where on the curve.
    pub at: Option<f64>,
    /// Smaller than this contender's.
    pub less_than: Option<String>,
    /// Larger than this contender's.
    pub more_than: Option<String>,
    /// The bound is on the quotient to this contender's.
    pub relative_to: Option<String>,
    /// The other's point, where it is not the same.
    #[serde(default)]
    pub there: Point,
    /// By at least this much.
    #[serde(default)]
    pub margin: f64,
    /// Not the other's quantity, but so many times that.
    pub times: Option<f64>,
    /// Between these.
    pub within: Option<[f64; 2]>,
    /// No less than this.
    pub at_least: Option<f64>,
    /// No more than this.
    pub at_most: Option<f64>,
}

impl Check {
    /// The contender that the difference is from.
    pub fn other(&self) -> Option<&str> {
        self.less_than.as_deref().or(self.more_than.as_deref()).or(self.relative_to.as_deref())
    }

    /// Does it say what is asked for?
    pub const fn has_bound(&self) -> bool {
        self.less_than.is_some()
            || self.more_than.is_some()
            || self.within.is_some()
            || self.at_least.is_some()
            || self.at_most.is_some()
    }
}

/// What became of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check holds.
    Reproduced,
    /// Some check fails.
    NotReproduced,
    /// No check fails, some interval straddles its bound.
    Inconclusive,
    /// A theorem that is false as printed.
    Refuted,
    /// Not tried.
    NotRun,
}

impl Verdict {
    /// Every verdict, in the order of summaries.
    pub const ALL: [Self; 5] = [Self::Reproduced, Self::NotReproduced, Self::Inconclusive, Self::Refuted, Self::NotRun];

    /// Its fixed word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not-reproduced",
            Self::Inconclusive => "inconclusive",
            Self::Refuted => "refuted",
            Self::NotRun => "not-run",
        }
    }

    /// Was it tried, and does not hold or cannot be told?
    pub const fn asks_why(self) -> bool {
        matches!(self, Self::NotReproduced | Self::Inconclusive | Self::Refuted)
    }
}

/// What became of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The interval lies within the bound.
    Holds,
    /// It lies outside.
    Fails,
    /// It straddles the bound.
    Straddles,
}

/// A check with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The question, and the point of the axes it was asked at.
    pub what: String,
    /// The mean, or the mean difference; none if there was nothing to measure.
    pub value: Option<f64>,
    /// Lower end of its 95 % confidence interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How many seeds.
    pub n: usize,
    /// What was asked for.
    pub bound: String,
    /// The answer.
    pub outcome: Outcome,
    /// Anything else worth saying.
    pub note: Option<String>,
}

/// A check of a number without spread.
pub(crate) fn yes_no(what: &str, value: f64, bound: &str, holds: bool) -> CheckResult {
    let outcome = if holds { Outcome::Holds } else { Outcome::Fails };
    let exact = Some(value);
    CheckResult {
        what: what.into(),
        value: exact,
        low: exact,
        high: exact,
        n: 1,
        bound: bound.into(),
        outcome,
        note: None,
    }
}

/// A rule that is not the paper's, on the same checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// The rule.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its checks.
    pub checks: Vec<CheckResult>,
}

/// Name of what `evidence.detail` says of a claim that nothing here can try: why.
pub(crate) const NOT_RUN: &str = "not run";

/// What else there is to say of a claim, by name: figures and words as they come.
pub type Detail = Map<String, Value>;

/// What there is to say as `json!` writes it: an object.
pub(crate) fn detail(said: Value) -> Detail {
    if let Value::Object(said) = said { said } else { Detail::new() }
}

/// What a verdict rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The paper's own rule.
    pub checks: Vec<CheckResult>,
    /// Other rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantResult>,
    /// What the paper printed.
    pub printed: String,
    /// Anything else: orbits of a theorem.
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub detail: Detail,
}

impl Evidence {
    /// Why the claim was not tried, if it was not.
    pub fn not_run(&self) -> Option<&str> {
        self.detail.get(NOT_RUN)?.as_str()
    }
}

/// A claim with its verdict: an entry of `reproduce --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Fixed id.
    pub id: String,
    /// Paper.
    pub paper: String,
    /// The claim.
    pub claim: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not hold, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// From a quick run: few seeds, straddling intervals decided by their mean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// What it rests on.
    pub evidence: Evidence,
    /// How many runs it looked at.
    pub runs: usize,
    /// CPU time of those runs.
    pub cpu_seconds: f64,
    /// Its section.
    pub section: String,
}
