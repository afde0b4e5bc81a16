//! One simulated link as a queueing system, measured over seeds and compared with exact formulas.

pub(crate) mod page;
pub(crate) mod system;
