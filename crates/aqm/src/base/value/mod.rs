//! Plain values: time, sizes and rates, packet, random numbers, and parsing from text.

pub mod dscp;
pub mod nearest;
pub mod packet;
pub mod rng;
pub mod text;
pub mod time;
pub mod units;
