//! What every comparison shares: packets, buffers and random settings, and the drive through both sides.

#[macro_use]
mod listing;

mod drive;
mod traffic;

pub(crate) use drive::*;
pub(crate) use listing::*;
pub(crate) use traffic::*;
