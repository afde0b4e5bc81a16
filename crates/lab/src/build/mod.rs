//! Builds the network of a scenario for the simulator, and checks complete scenarios.

pub(crate) mod backlog;
pub(crate) mod buffers;
pub(crate) mod description;
pub(crate) mod layout;
pub(crate) mod limits;
pub mod lower;
pub(crate) mod own_links;
