//! The document `claims.json` of `forebay reproduce`: the result of each claim, and the numbers of claims by
//! verdict and by grade.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::claims::grade::Grade;
use crate::claims::{ClaimResult, Verdict};

/// The content of `claims.json`, which `forebay reproduce --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Format version, 1.
    #[serde(default)]
    pub version: u32,
    /// The claims, in the order of their papers.
    pub claims: Vec<ClaimResult>,
    /// Number of claims by verdict.
    #[serde(default)]
    pub summary: Named<usize>,
    /// Number of claims by grade.
    #[serde(default)]
    pub grades: Named<usize>,
}

impl Verdicts {
    /// The document for these claims.
    pub fn new(claims: Vec<ClaimResult>) -> Self {
        let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        let summary = Verdict::ALL.iter().map(|verdict| (verdict.word(), count(*verdict))).collect();
        let graded = |grade: Grade| claims.iter().filter(|claim| claim.grade == Some(grade)).count();
        let grades = Grade::ALL.iter().map(|grade| (grade.word(), graded(*grade))).collect();
        Self { version: 1, claims, summary, grades }
    }
}
