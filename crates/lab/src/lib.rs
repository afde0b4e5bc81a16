//! The laboratory around the simulator: reads experiments, runs them and evaluates the results.
//!
//! - [`scenario`] turns a file into typed experiments, or says what is wrong with it.
//! - [`plan`] lists the runs: each experiment with each contender (compared discipline) and seed. [`batch`] executes
//!   them on all cores. [`store`] keeps every finished run.
//! - [`record`], [`metrics`], [`quantity`], [`compare`] and [`stats`] hold and evaluate the results.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod build;
pub mod claims;
pub mod commands;
mod declare;
pub mod disk;
mod document;
pub mod estimate;
pub mod figures;
pub mod input;
pub mod linux;
pub mod load;
pub mod own;
pub mod readings;
pub mod render;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod scenario;
pub mod studio;
pub mod suites;
pub mod theory;
pub mod traces;

pub use build::lower;
pub use claims::{arithmetic, exhibits, models, papers, theorems};
pub use disk::lock;
pub use figures::{class_column, level, metric, settling, stats};
pub use reproduce::{claim_file, judge, trial};
pub use results::{column, metrics, quantity, record, table};
pub use run::{batch, bench, compare, plan, store};
