//! Terminal output: tables, progress, charts.

pub(crate) mod chart;
pub(crate) mod output;
pub(crate) mod picture;
pub(crate) mod progress;
