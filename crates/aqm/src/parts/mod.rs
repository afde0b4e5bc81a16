//! Bricks that several disciplines share, one per file.

pub mod adaptive;
pub mod pair_table;
pub mod red_curve;
pub mod share;
pub mod split;
