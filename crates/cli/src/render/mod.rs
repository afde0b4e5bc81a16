//! What a terminal shows: tables, progress, charts.

pub(crate) mod chart;
pub(crate) mod output;
pub(crate) mod progress;
