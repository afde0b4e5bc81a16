//! Plain values: time, sizes and rates, a packet, random numbers, and how they are read from text.

pub mod nearest;
pub mod packet;
pub mod rng;
pub mod text;
pub mod time;
pub mod units;
