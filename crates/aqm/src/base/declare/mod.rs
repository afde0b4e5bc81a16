//! What a discipline says of itself: parameters, probes, sources, its words in tc(8), and what all of them have in common.

pub mod accepted;
pub mod common;
pub mod design;
pub mod markers;
pub mod params;
pub mod settings;
pub mod tc;
pub mod threshold;
