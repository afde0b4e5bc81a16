//! What a discipline implements, and the port through which every packet goes.

pub mod cx;
pub mod ladder;
pub mod port;
pub mod verdict;
