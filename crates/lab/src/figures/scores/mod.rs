//! Scores of applications: how good a line is for its user, computed from delays, losses and completion times.
//!
//! - [`responsiveness`]: round trips per minute (RPM).
//! - [`voip`]: the rating and the mean opinion score (MOS) of a call, by the E-model.
//! - [`total`]: points from 0 to 100 for each score, and their geometric mean.
//!
//! All functions are pure. None panics: a function returns `None` if a score is not defined for its arguments.
//! Transcendental functions are those of `libm`, so that all machines compute the same digits.

pub mod responsiveness;
pub mod total;
pub mod voip;
