//! Theory of AQM without simulation: pure functions from parameters to numbers.
//!
//! This crate contains no disciplines. `forebay-lab` passes the rule of a discipline to a model as a function, so that
//! theory and simulation use the same code.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod classes;
pub mod dde;
pub mod dense;
pub mod fit;
pub mod lindley;
pub mod mmpp;
pub mod nyquist;
pub mod oscillation;
pub mod queues;
pub mod recurrence;
pub mod svb;
pub mod tcp;
pub mod tcp_fluid;
pub mod tcp_loop;
