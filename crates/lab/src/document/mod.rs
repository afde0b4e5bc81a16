//! A TOML file as a tree whose values know their place. `--set` and `[vary]` are applied to it before it is
//! read.

pub(crate) mod file;
mod lines;
pub(crate) mod paths;
pub(crate) mod points;
pub(crate) mod set;
mod tree;
pub(crate) mod vary;

pub(crate) use lines::{NO_CONTROL, Text, join, list, quote};
pub use points::Overrides;
pub(crate) use tree::{Entry, Node, Place, Source, Value, parse};
