//! From a name and its parameters to a queue: adapters, the registry, disciplines from outside the tree.

pub mod adapters;
pub mod host;
pub mod own;
pub mod registry;
