//! Scores of applications: how good a line is for its user, computed from delays, losses and completion times.
//!
//! - [`bloat`]: the grade of speed tests, from the increase of the round-trip time under load.
//! - [`responsiveness`]: round trips per minute (RPM).
//! - [`voip`]: the rating and the mean opinion score (MOS) of a call, by the E-model.
//! - [`web`]: the load time of a page, relative to that on the idle line.
//! - [`video`]: the quality of experience (QoE) of adaptive video.
//! - [`gaming`]: the share of late frames of a cloud game.
//! - [`total`]: points from 0 to 100 for each score, and their geometric mean.
//!
//! All functions are pure. None panics: a function returns `None` if a score is not defined for its arguments.
//! Transcendental functions are those of `libm`, so that all machines compute the same digits.

pub mod bloat;
pub mod gaming;
pub mod responsiveness;
pub mod total;
pub mod video;
pub mod voip;
pub mod web;
