//! Computes numbers from series and samples: intervals, settling times, levels, series of classes.

pub mod class_column;
pub mod level;
pub mod settling;
pub mod stats;
