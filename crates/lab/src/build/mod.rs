//! From a scenario to a network that the simulator runs, and what makes no sense as a whole.

pub(crate) mod backlog;
pub(crate) mod layout;
pub(crate) mod limits;
pub mod lower;
pub(crate) mod own_links;
