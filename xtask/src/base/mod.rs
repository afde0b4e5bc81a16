//! Shared by all tasks: other programs, the files of the checkout, the count of passed checks.

pub(crate) mod links;
pub(crate) mod rules;
pub(crate) mod stages;
pub(crate) mod tree;

pub(crate) use runner::{program, tally};
