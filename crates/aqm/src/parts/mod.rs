//! Bricks that several disciplines share, one per file.

pub mod adaptive;
pub mod depths;
pub mod pair_table;
pub mod red_curve;
pub mod round_robin;
pub mod share;
pub mod split;
pub mod virtual_buffer;
