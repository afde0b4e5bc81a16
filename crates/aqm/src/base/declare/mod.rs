//! The declaration of a discipline: its parameters, its internal variables that can be plotted (probes), the paper, RFC
//! or code that it implements, and its arguments in tc(8). Also the parameters that every discipline has.

pub mod accepted;
pub mod common;
pub mod design;
pub mod markers;
pub mod params;
pub mod settings;
pub mod tc;
pub mod threshold;
