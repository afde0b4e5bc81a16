//! Shared by all tasks of `cargo xtask`: running other programs, and counting passed tests.

pub mod cargo_tests;
pub mod program;
pub mod tally;
