//! Helpers for comparing disciplines with their transcribed listings: packets, buffers, random settings, and the run
//! through both.

#[macro_use]
mod listing;

mod drive;
mod traffic;

pub(crate) use drive::*;
pub(crate) use listing::*;
pub(crate) use traffic::*;
