//! What every comparison shares: packets, buffers and random settings, and the drive through both sides.

mod drive;
mod listing;
mod traffic;

pub(crate) use drive::*;
pub(crate) use listing::*;
pub(crate) use traffic::*;
