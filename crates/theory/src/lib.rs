//! What can be worked out without simulating: plain functions in, numbers out.
//!
//! Nothing here knows a discipline; the laboratory passes the rules in as functions, so that theory and
//! simulation speak of the very same code.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod classes;
pub mod dde;
pub mod dense;
pub mod fit;
pub mod lindley;
pub mod mmpp;
pub mod nyquist;
pub mod queues;
pub mod recurrence;
pub mod svb;
pub mod swing;
pub mod tcp;
pub mod tcp_fluid;
pub mod tcp_loop;
