//! Numbers from time series and samples: confidence intervals, settling times, series of classes and flows; the metrics
//! of traffic; scores of applications; effort levels with their numbers of seeds.

pub mod class_column;
pub mod flow_column;
pub mod level;
pub mod metric;
pub mod scores;
pub mod settling;
pub mod stats;
