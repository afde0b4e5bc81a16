//! The document `claims.json` of `forebay reproduce`: the result of each claim, and the number of claims by verdict.

use serde::{Deserialize, Serialize};

use super::named::Named;
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
}

impl Verdicts {
    /// The document for these claims.
    pub fn new(claims: Vec<ClaimResult>) -> Self {
        let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        let summary = Verdict::ALL.iter().map(|verdict| (verdict.word(), count(*verdict))).collect();
        Self { version: 1, claims, summary }
    }
}
