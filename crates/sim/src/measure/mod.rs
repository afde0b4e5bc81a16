//! Measurements during a simulated run, and the types of its results.

pub mod bundles;
pub mod delays;
pub mod histogram;
pub mod meter;
pub mod observed;
pub mod outcome;
pub mod over_time;
pub mod tracks;
pub mod video;
