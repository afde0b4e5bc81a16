//! Numbers from series and samples: intervals, settling, levels, columns of classes.

pub mod class_column;
pub mod level;
pub mod settling;
pub mod stats;
