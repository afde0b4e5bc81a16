//! Measurements, and the results of a run.

pub mod bundles;
pub mod delays;
pub mod histogram;
pub mod meter;
pub mod outcome;
pub mod over_time;
pub mod tracks;
