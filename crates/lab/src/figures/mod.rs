//! Numbers from series and samples: intervals, settling times, levels, series of classes; the metrics of traffic.

pub mod class_column;
pub mod flow_column;
pub mod level;
pub mod metric;
pub mod settling;
pub mod stats;
