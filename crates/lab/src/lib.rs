//! The laboratory around the engine: what is read before a run and worked out after it.
//!
//! [`scenario`] turns a file into typed experiments and says exactly what is wrong with a bad one;
//! [`plan`] multiplies it by contenders and seeds, [`batch`] runs that on all cores, [`store`] keeps
//! every finished run; [`record`], [`metrics`], [`quantity`], [`compare`] and [`stats`] are the figures.

pub mod build;
pub mod claims;
pub mod commands;
mod declare;
pub mod disk;
mod document;
pub mod estimate;
pub mod figures;
pub mod input;
pub mod load;
pub mod own;
pub mod render;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod scenario;
pub mod theory;
pub mod traces;

pub use build::lower;
pub use claims::{exhibits, models, papers, theorems};
pub use disk::lock;
pub use figures::{class_column, level, settling, stats};
pub use reproduce::{claim_file, judge, trial};
pub use results::{column, metrics, quantity, record, table};
pub use run::{batch, bench, compare, plan, store};
