//! The documents of a result directory as types, for writing and reading.
//!
//! `meta.json` is [`meta::Meta`], `summary.json` is [`summary::Summary`], `claims.json` is
//! [`verdicts::Verdicts`], `timing.json` is a list of [`timing::RunTiming`]. Names and order of fields are the
//! published format. Fields that older versions did not write have defaults.

pub mod column;
pub mod metrics;
pub mod quantity;
pub mod record;
pub mod spread;
pub mod table;
pub mod traffic;

pub mod comparison;
pub mod meta;
pub mod named;
pub(crate) mod over_time;
pub mod summary;
pub mod timing;
pub mod verdicts;
