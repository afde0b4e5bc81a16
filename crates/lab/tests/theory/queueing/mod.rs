//! One link as a queueing system, measured over seeds and beside its formula.

pub(crate) mod page;
pub(crate) mod system;
