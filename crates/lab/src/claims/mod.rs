//! Claims of papers as data, and the checks that decide them. A contender is a discipline that a scenario compares; the
//! axes of a scenario are the keys that vary between its runs.
//!
//! The claims of a paper are in sections, one for each experiment. A section has a subject, the contender that follows
//! the paper's own rule. The verdict on a claim is that of the subject; variants are other contenders, other values of
//! the axes or other scenarios, which are tested in addition. A reading of the paper is a combination of values for the
//! settings that it does not state. The verdict is under the first reading, that of our scenario files, and without
//! checks that were written only after the claim's first simulation. The grade of a claim also uses these checks and
//! other readings.

pub mod arithmetic;
pub mod calibration;
pub mod exhibits;
pub mod found;
pub mod grade;
pub mod interval;
pub mod models;
pub mod papers;
pub mod registration;
pub mod theorems;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::figures::level::Seeds;
use grade::{Checks, Grade, ReadingFound};

/// Values of some or all axes of a scenario.
pub type Point = BTreeMap<String, String>;

/// An experiment of a paper, and the contender that decides the verdicts of its claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Id of the section, to which its claims refer.
    pub id: String,
    /// Heading of the section in reports.
    pub title: String,
    /// Description of the experiment.
    pub text: String,
    /// Name of the scenario file, without `.toml`; `None` if no claim of the section needs runs.
    pub scenario: Option<String>,
    /// The contender with the paper's own discipline, as written in the scenario. It decides the verdicts. Empty in a suite
    /// whose claims are tested for each discipline of `aqm`.
    #[serde(default)]
    pub subject: String,
    /// Other contenders to which the same checks are applied.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Keys that vary in the scenario because the paper leaves them open, with the values for which the verdict counts.
    /// Other values are shown as variants.
    #[serde(default)]
    pub point: Point,
    /// Scenarios with another interpretation of the paper. The `subject` is tested in them too, as a variant.
    #[serde(default)]
    pub also: Vec<String>,
    /// Numbers of seeds of `forebay reproduce` with `--quick`, without an option and with `--full`. Default: the
    /// numbers of seeds at the top of `claims.toml`.
    #[serde(default)]
    pub seeds: Seeds,
    /// Whether the section is run at the level `--quick`.
    #[serde(default = "yes")]
    pub quick: bool,
}

const fn yes() -> bool {
    true
}

impl Section {
    /// The main scenario of the section, followed by those of `also`.
    pub fn scenarios(&self) -> impl Iterator<Item = &String> {
        self.scenario.iter().chain(&self.also)
    }
}

/// A statement of a paper that can be tested, and the checks that decide its verdict: a `[[claim]]` of `claims.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Id, which never changes.
    pub id: String,
    /// Id of the section to which the claim belongs.
    pub section: String,
    /// The claim in our words.
    pub claim: String,
    /// Place in the paper, and the numbers that are printed there.
    pub printed: String,
    /// The sentence of the paper that makes the claim, quoted.
    #[serde(default)]
    pub sentence: String,
    /// Name of the theorem, tested by computation, that decides the claim in place of checks of runs.
    pub theorem: Option<String>,
    /// Why the claim cannot be tested here; `None` if it can.
    pub not_run: Option<String>,
    /// Why the claim does not hold, as far as known; not shown if it holds.
    pub why: Option<String>,
    /// Why the paper's own numbers contradict the claim.
    pub contradicted: Option<String>,
    /// Which data of the paper are missing, if the claim cannot be decided without them.
    pub undecidable: Option<String>,
    /// Why every discipline would meet the claim, drop-tail included.
    pub vacuous: Option<String>,
    /// Checks of results of runs; the claim holds if all of them hold.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
}

/// Who states the requirement of a check.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The paper states it, bound included.
    Printed,
    /// Our choice of a bound for a word of the paper, or a comparison that the paper does not state.
    #[default]
    Ours,
}

/// A check of runs; see `docs/claims.md`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Description of the check.
    pub what: String,
    /// Who states the requirement of the check: the paper, or we.
    #[serde(default)]
    pub by: By,
    /// Whether the check was written only after the claim's first simulation. It then counts for the grade and not for
    /// the verdict.
    #[serde(default)]
    pub added: bool,
    /// Whether the check asks for more than the paper says, or for something else. It then counts for the verdict,
    /// because it was written before the claim's first simulation, and not for the grade.
    #[serde(default)]
    pub superseded: bool,
    /// The quantity that is checked, in the syntax of `docs/claims.md`.
    pub quantity: String,
    /// Contender; default the subject of the section.
    pub of: Option<String>,
    /// Values of the keys that the scenario varies: they select the runs. Default all runs.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// Quantity on the x axis, for a check of a curve over all values of the keys that the scenario varies.
    pub against: Option<String>,
    /// Position on the x axis at which the curve is checked.
    pub at: Option<f64>,
    /// Minimum common x range of the two curves, as a fraction (0 to 1) of the longer of the two ranges.
    pub overlap: Option<f64>,
    /// The quantity must be smaller than that of this contender.
    pub less_than: Option<String>,
    /// The quantity must be larger than that of this contender.
    pub more_than: Option<String>,
    /// The quantity is divided by that of this contender, and the bound applies to the quotient.
    pub relative_to: Option<String>,
    /// Values of the keys that the scenario varies, for the other contender, if they differ from those of this one.
    #[serde(default)]
    pub there: Point,
    /// A second point of these keys: the other contender's quantity there is added to that at `there`.
    #[serde(default)]
    pub plus: Point,
    /// Minimum difference from the other contender's quantity.
    #[serde(default)]
    pub margin: f64,
    /// Factor on the other contender's quantity before the comparison.
    pub times: Option<f64>,
    /// Range of accepted values.
    pub within: Option<[f64; 2]>,
    /// Lower bound, inclusive.
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    pub at_most: Option<f64>,
}

impl Check {
    /// The contender with which the check compares its own; `None` if the check compares with numbers only.
    pub fn other(&self) -> Option<&str> {
        self.less_than.as_deref().or(self.more_than.as_deref()).or(self.relative_to.as_deref())
    }

    /// Whether the check has a bound.
    pub const fn has_bound(&self) -> bool {
        self.less_than.is_some()
            || self.more_than.is_some()
            || self.within.is_some()
            || self.at_least.is_some()
            || self.at_most.is_some()
    }
}

/// Verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check holds.
    Reproduced,
    /// Some check fails.
    NotReproduced,
    /// No check fails, but the confidence interval of some check straddles the bound.
    Inconclusive,
    /// The claim is a theorem that is false as printed.
    Refuted,
    /// Not tested; [`Claim::not_run`] has the reason.
    NotRun,
}

impl Verdict {
    /// All verdicts, in the order in which summaries list them.
    pub const ALL: [Self; 5] = [Self::Reproduced, Self::NotReproduced, Self::Inconclusive, Self::Refuted, Self::NotRun];

    /// Name of the verdict in files, which never changes.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not-reproduced",
            Self::Inconclusive => "inconclusive",
            Self::Refuted => "refuted",
            Self::NotRun => "not-run",
        }
    }

    /// Whether the claim was tested and does not hold or is inconclusive, so that the reason is of interest.
    pub const fn asks_why(self) -> bool {
        matches!(self, Self::NotReproduced | Self::Inconclusive | Self::Refuted)
    }
}

/// Outcome of a check, from the 95 % confidence interval of the mean over the seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The interval is within the bound.
    Holds,
    /// The interval is outside the bound.
    Fails,
    /// The interval straddles the bound.
    Straddles,
}

/// A check with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Description, and the values of the keys that the scenario varies.
    pub what: String,
    /// Mean, or mean difference; `None` without a measurement.
    pub value: Option<f64>,
    /// Lower end of its 95 % confidence interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % confidence interval.
    pub high: Option<f64>,
    /// Number of seeds.
    pub n: usize,
    /// The bound of the check, as text.
    pub bound: String,
    /// Outcome of the check.
    pub outcome: Outcome,
    /// Who states the requirement of the check: the paper, or we.
    #[serde(default)]
    pub by: By,
    /// Whether the check was written only after the claim's first simulation and counts only for the grade.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
    /// Whether the check asks for more than the paper says and counts only for the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
    /// Further remark on the result, such as why there is no value.
    pub note: Option<String>,
    /// Distance of the mean from the bound, relative to the largest of the numbers compared: the mean, the bound and, for
    /// a difference, the means of both contenders. Negative outside the bound; -1 to 1. Not stored.
    #[serde(skip)]
    pub margin: f64,
}

/// The check that decides a verdict. Of the checks that were written before the claim's first simulation it is the
/// first that fails, else the first for which the confidence interval of the mean straddles the bound, else the first.
pub fn deciding(checks: &[CheckResult]) -> Option<&CheckResult> {
    let counts = || checks.iter().filter(|check| !check.added);
    let first = |outcome| counts().find(|check| check.outcome == outcome);
    first(Outcome::Fails).or_else(|| first(Outcome::Straddles)).or_else(|| counts().next())
}

/// Result of a check of one exact number: the confidence interval has width 0 and `n` is 1.
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
        by: By::Printed,
        added: false,
        superseded: false,
        note: None,
        margin: if holds { 1.0 } else { -1.0 },
    }
}

/// Result of the checks for a variant: another contender, other values of the keys that vary, or another scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// Name of the variant.
    pub name: String,
    /// Verdict on the claim for the variant.
    pub verdict: Verdict,
    /// Results of the checks for the variant.
    pub checks: Vec<CheckResult>,
}

/// Key in `evidence.detail` with the reason why a claim cannot be tested.
pub(crate) const NOT_RUN: &str = "not run";

/// Further results for a claim by name: numbers or text.
pub type Detail = Map<String, Value>;

/// The entries of a JSON object; empty for any other JSON value.
pub(crate) fn detail(said: Value) -> Detail {
    if let Value::Object(said) = said { said } else { Detail::new() }
}

/// Evidence for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Results of the checks that decide the verdict.
    pub checks: Vec<CheckResult>,
    /// The discipline of `checks`, if the claim is tested for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Results of variants. They do not affect the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantResult>,
    /// Place in the paper, and the numbers that are printed there.
    pub printed: String,
    /// The sentence of the paper that makes the claim, quoted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// Further results, such as the trajectories that were computed for a theorem.
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub detail: Detail,
}

impl Evidence {
    /// Why the claim was not tested; `None` if it was.
    pub fn not_run(&self) -> Option<&str> {
        self.detail.get(NOT_RUN)?.as_str()
    }
}

/// A claim with its verdict: an entry of `reproduce --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Id of the claim, which never changes.
    pub id: String,
    /// Name of the paper.
    pub paper: String,
    /// The claim in our words.
    pub claim: String,
    /// The verdict under the first reading, which is the interpretation of the paper in our scenario files.
    pub verdict: Verdict,
    /// How much of the claim holds, also under other readings (interpretations) of the paper. `None` in results of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Reason of the grade; empty if the claim holds under the first reading.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Numbers of checks that count for the grade.
    #[serde(default)]
    pub checks: Checks,
    /// The other reading of the paper on which the grade depends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingFound>,
    /// Why the claim does not hold, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the verdict is from a quick run. A quick run has few seeds; if the confidence interval of a check
    /// straddles the bound, the mean decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Evidence for the verdict.
    pub evidence: Evidence,
    /// Number of runs of the section's scenarios, with which the claim was decided.
    pub runs: usize,
    /// CPU seconds of those runs.
    pub cpu_seconds: f64,
    /// Id of the section to which the claim belongs.
    pub section: String,
}
