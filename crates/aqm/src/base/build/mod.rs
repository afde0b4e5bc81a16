//! Construction of queues from a name and parameters: adapters, the registry, custom disciplines.

pub mod adapters;
pub mod host;
pub mod own;
pub mod registry;
