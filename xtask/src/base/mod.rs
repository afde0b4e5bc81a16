//! What every chore stands on: other programs, the files of the checkout, and the count of what passed.

pub(crate) mod links;
pub(crate) mod page;
pub(crate) mod rules;
pub(crate) mod stages;
pub(crate) mod tree;

pub(crate) use runner::{program, tally};
