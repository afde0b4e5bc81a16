//! The document `claims.json` of `forebay reproduce`: the result of each claim of the papers, and the numbers of claims
//! by verdict and by grade. The verdict says whether the claim holds in our scenario files; the grade says how much of
//! it holds, and under which values of the settings that the paper does not state.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::claims::arithmetic::{self, Relation};
use crate::claims::grade::Grade;
use crate::claims::papers::PAPERS;
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
    /// The relations between numbers printed in the papers that concern these claims, and those that concern no claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arithmetic: Vec<Relation>,
}

impl Verdicts {
    /// The document for these claims.
    pub fn new(claims: Vec<ClaimResult>) -> Self {
        let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        let summary = Verdict::ALL.iter().map(|verdict| (verdict.word(), count(*verdict))).collect();
        let graded = |grade: Grade| claims.iter().filter(|claim| claim.grade == Some(grade)).count();
        let grades = Grade::ALL.iter().map(|grade| (grade.word(), graded(*grade))).collect();
        let arithmetic = relations(&claims);
        Self { version: 1, claims, summary, grades, arithmetic }
    }
}

/// The relations between numbers printed in the papers of these claims: those that concern one of the claims, and those
/// that concern no claim.
pub fn relations(claims: &[ClaimResult]) -> Vec<Relation> {
    let papers = PAPERS.iter().filter(|paper| claims.iter().any(|claim| claim.paper == paper.name));
    // The files are compiled in, and a test reads them.
    let all = papers.flat_map(|paper| arithmetic::check(paper.arithmetic).unwrap_or_default());
    let concerns =
        |relation: &Relation| relation.claims.is_empty() || claims.iter().any(|it| relation.claims.contains(&it.id));
    all.filter(concerns).collect()
}
