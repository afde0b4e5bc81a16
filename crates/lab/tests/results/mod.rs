//! Directories of results, claims of papers, figures and tables of papers, and reports: the files and their content.

mod arithmetic;
mod claims;
mod class_columns;
mod exhibits;
mod flow_columns;
mod l4s_table;
mod readings_page;
mod report;
mod store;
mod traffic;
mod writers;
