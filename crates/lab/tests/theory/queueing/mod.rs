//! One link as a queueing system, measured over seeds and compared with its formula.

pub(crate) mod page;
pub(crate) mod system;
