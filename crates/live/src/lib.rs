//! Emulates a link between network namespaces, so that Forebay's disciplines queue the packets of real TCP stacks. The
//! crate is empty on systems other than Linux.
//!
//! - [`fabric`]: the simulator's links, carrying real [`frame`]s; optionally with a [`journal`].
//! - `round_trips`: RTT samples of the connections.
//! - `connections`: completion times of the connections.
//! - [`emulator`]: moves frames between two interfaces in real time.
//! - [`namespaces`]: the endpoints; connected through [`port`]s.
//! - [`nat`]: connects the link to the network of the machine.
//! - [`offload`]: completes what senders left to hardware.
//! - [`traffic`]: the flows of a scenario as real connections.
//! - [`sys`]: the system calls.

#![cfg(target_os = "linux")]

#[cfg(feature = "attach")]
pub mod attach;
mod connections;
pub mod doctor;
pub mod emulator;
pub mod fabric;
pub mod frame;
pub mod journal;
pub mod namespaces;
pub mod nat;
pub mod offload;
pub mod port;
mod round_trips;
pub mod sys;
pub mod traffic;
