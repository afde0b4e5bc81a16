//! Overviews: `index.html` of several papers, the summary of a suite, the advice for a line.

pub(super) mod advice;
pub(super) mod index;
pub(super) mod suite;
