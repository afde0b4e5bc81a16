//! The declaration of a discipline: parameters, probes, sources, tc(8) arguments, and common parameters.

pub mod accepted;
pub mod common;
pub mod design;
pub mod markers;
pub mod params;
pub mod settings;
pub mod tc;
pub mod threshold;
