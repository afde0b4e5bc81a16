//! Every discipline's published listing, transcribed literally: slow and plain, owning its packets,
//! sharing no code with the library. Times are integer nanoseconds, so that ties mean the same on
//! both sides; everything else is in the listing's own units and names.

#![expect(clippy::manual_clamp, reason = "as the listings write it")]

#[macro_use]
mod harness;

mod aqm;
mod law;
mod queue;
mod shared;
mod threshold;
mod token_bucket;
