//! Run directories, claims, exhibits and reports: what is left on disk, and what it says.

mod claims;
mod class_columns;
mod exhibits;
mod report;
mod store;
mod writers;
