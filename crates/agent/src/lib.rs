//! What a host orders from the guest agent, and how the orders are written.
//!
//! The host computes everything that needs knowledge of scenarios: netlink messages, times, file sizes. The agent (the
//! program of this package) only sends the messages and makes the traffic.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bytes;
pub mod orders;

pub use orders::{Flow, Message, Orders, Piece, Program, Work};
