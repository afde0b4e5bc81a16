//! Run directories, claims, exhibits and reports: what is left on disk, and what it says.

mod claims;
mod class_columns;
#[path = "../dumbbell/mod.rs"]
mod dumbbell;
mod exhibits;
mod report;
mod store;
mod writers;
