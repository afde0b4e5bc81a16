//! Readings of a paper: values of the settings that it leaves open, and what its claims give under them.
//!
//! - [`space`]: the settings with their candidates, from `papers/PAPER/readings.toml`.
//! - [`bench`]: simulates the paper's experiments under a reading, and applies the checks.
//! - [`search`]: which readings are tried.
//! - [`summary`]: what the tried readings say about each claim.

pub mod bench;
pub mod search;
pub mod space;
pub mod summary;
