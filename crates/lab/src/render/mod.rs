//! Text output: aligned tables, whose numbers have as many digits as their confidence intervals justify.
//!
//! [`summary`] makes the output of `forebay run`, and of a `Results` object in Python. [`look`] has colours and
//! terminal width. [`svg`] writes pictures.

pub mod answer;
mod beyond;
pub mod digits;
pub mod flent;
pub mod look;
pub mod matrix;
pub mod summary;
pub mod svg;
pub mod text_table;
pub(crate) mod verdict;
