//! One bulk connection over a path with random losses, measured over seeds and compared with its formulas.

pub(crate) mod chart;
pub(crate) mod connection;
pub(crate) mod formula;
pub(crate) mod page;
