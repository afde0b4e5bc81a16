//! What every discipline stands on.

pub mod accepted;
pub mod adapters;
pub mod common;
pub mod cx;
pub mod design;
pub mod host;
pub mod ladder;
pub mod markers;
pub mod nearest;
pub mod own;
pub mod packet;
pub mod params;
pub mod port;
pub mod prelude;
pub mod registry;
pub mod rng;
pub mod settings;
pub mod tc;
pub mod text;
pub mod threshold;
pub mod time;
pub mod units;
pub mod verdict;
