//! Overviews of verdicts: `index.html` of several papers, and the summary of a suite.

pub(super) mod index;
pub(super) mod suite;
