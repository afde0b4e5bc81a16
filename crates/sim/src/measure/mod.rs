//! Measurements, and the results of a run.

pub(crate) mod bundles;
pub(crate) mod delays;
pub mod histogram;
pub mod meter;
pub mod outcome;
pub mod over_time;
