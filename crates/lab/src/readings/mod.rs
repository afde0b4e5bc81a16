//! Readings of a paper. A reading is a combination of values for the settings that the paper leaves open; each claim of
//! the paper holds under some readings and not under others.
//!
//! - [`space`]: the settings with their candidate values, from `papers/PAPER/readings.toml`.
//! - [`mod@bench`]: simulates the paper's experiments under a reading, and applies the checks of the claims.
//! - [`search`]: which readings are tried.
//! - [`confirm`]: simulates the best readings again with other seeds.
//! - [`summary`]: how often each claim holds under the tried readings, and which settings decide this.

pub mod bench;
pub mod confirm;
pub mod search;
pub mod space;
pub mod summary;
