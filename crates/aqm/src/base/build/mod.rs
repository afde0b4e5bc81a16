//! Builds the queue of a discipline from its name and parameters. Has the adapters between the traits of disciplines,
//! the registry of built-in disciplines, and custom disciplines.

pub mod adapters;
pub mod host;
pub mod own;
pub mod registry;
