//! What is measured, and what a run leaves behind.

pub(crate) mod delays;
pub mod histogram;
pub mod meter;
pub mod outcome;
pub mod over_time;
