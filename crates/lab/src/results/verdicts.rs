//! `claims.json`.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::claims::{ClaimResult, Verdict};

/// `claims.json`, and what `forebay reproduce --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Format, 1.
    #[serde(default)]
    pub version: u32,
    /// The claims in the order of their papers.
    pub claims: Vec<ClaimResult>,
    /// How many claims have each verdict.
    #[serde(default)]
    pub summary: Named<usize>,
}

impl Verdicts {
    /// Of these claims.
    pub fn new(claims: Vec<ClaimResult>) -> Self {
        let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        let summary = Verdict::ALL.iter().map(|verdict| (verdict.word(), count(*verdict))).collect();
        Self { version: 1, claims, summary }
    }
}
