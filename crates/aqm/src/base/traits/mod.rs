//! The traits of disciplines, and the port that stores and counts packets.

pub mod cx;
pub mod discipline;
pub mod port;
pub mod verdict;
