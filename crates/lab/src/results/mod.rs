//! The documents of a result directory as types: what is written is what is read.
//!
//! `meta.json` is [`meta::Meta`], `summary.json` is [`summary::Summary`], `claims.json` is [`verdicts::Verdicts`], `timing.json` is a list of
//! [`timing::RunTiming`]. Names and order of the fields are the published format; a field that older versions did not write has a
//! default.

pub mod column;
pub mod metrics;
pub mod quantity;
pub mod record;
pub mod table;

pub mod comparison;
pub mod meta;
pub mod named;
pub mod summary;
pub mod timing;
pub mod verdicts;
