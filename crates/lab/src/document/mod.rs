//! A TOML file as a tree in which every value knows its place, before it is read: what is set, what varies.

pub(crate) mod file;
mod lines;
pub(crate) mod paths;
pub(crate) mod points;
pub(crate) mod set;
mod tree;
pub(crate) mod vary;

pub(crate) use lines::{NO_CONTROL, Text, list, quote};
pub use points::Overrides;
pub(crate) use tree::{Entry, Node, Place, Source, Value, join, parse};
