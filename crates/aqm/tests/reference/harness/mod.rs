//! Helpers for all comparisons: packets, buffers, random settings, and the run through both sides.

#[macro_use]
mod listing;

mod drive;
mod traffic;

pub(crate) use drive::*;
pub(crate) use listing::*;
pub(crate) use traffic::*;
