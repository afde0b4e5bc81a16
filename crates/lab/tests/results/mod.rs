//! Run directories, claims, exhibits and reports: files and their content.

mod arithmetic;
mod claims;
mod class_columns;
mod exhibits;
mod flow_columns;
mod readings_page;
mod report;
mod store;
mod traffic;
mod writers;
