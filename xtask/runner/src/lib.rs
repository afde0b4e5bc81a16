//! Shared by all tasks of `cargo xtask`: other programs, and the count of passed tests.

pub mod cargo_tests;
pub mod program;
pub mod tally;
