//! One bulk TCP connection over a path with random losses, measured over seeds and compared with formulas for its send
//! rate.

pub(crate) mod chart;
pub(crate) mod connection;
pub(crate) mod formula;
pub(crate) mod page;
