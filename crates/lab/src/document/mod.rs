//! A TOML file as a tree in which every value has its place in the source. `--set` and `[vary]` change the tree before
//! the scenario is read from it.

pub(crate) mod file;
mod lines;
pub(crate) mod paths;
pub(crate) mod points;
pub(crate) mod set;
mod tree;
pub(crate) mod vary;

pub(crate) use lines::{NO_CONTROL, Text, join, list, quote};
pub use points::Overrides;
pub(crate) use tree::{Entry, Node, Place, Source, Value, parse, toml_error};
