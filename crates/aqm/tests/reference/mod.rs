//! The published listing of every discipline, transcribed literally. Listings are slow and simple, own their packets,
//! and share no code with the library. Times are integer nanoseconds, so that both sides have the same ties; other
//! units and names are those of the listing.

#![expect(clippy::manual_clamp, reason = "as the listings write it")]

#[macro_use]
mod harness;

mod aqm;
mod law;
mod queue;
mod shared;
mod threshold;
mod token_bucket;
