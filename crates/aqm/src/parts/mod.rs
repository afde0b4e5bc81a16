//! Bricks that several disciplines share, one per file.

pub mod pair_table;
pub mod red_curve;
