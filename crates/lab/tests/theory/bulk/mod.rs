//! One bulk connection over a path that loses packets at random, measured over seeds and compared with its formulas.

pub(crate) mod chart;
pub(crate) mod connection;
pub(crate) mod formula;
pub(crate) mod page;
