//! Results as text for people: aligned tables with as many digits as an interval justifies.
//!
//! [`summary`] is what `forebay run` prints and what a `Results` of Python prints; [`look`] says whether it has colours and how
//! wide the terminal is.

mod beyond;
pub mod columns;
pub mod digits;
pub mod look;
pub mod summary;
