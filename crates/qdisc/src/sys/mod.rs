//! The interface to C: all unsafe code.

pub mod exports;
#[cfg(feature = "kernel")]
mod runtime;
