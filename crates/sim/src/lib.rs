//! Forebay's packet-level simulator.
//!
//! A [`network::Network`] describes links, hosts and flows; a [`world::World`] runs it to its end,
//! deterministically from the seed, and returns an [`outcome::Outcome`]. Endpoints are sans-IO: they
//! are told the time and asked what to send. Disciplines come from `forebay-aqm`, unchanged.
//!
//! Its folders from the ground up: `engine` has the agenda of events, timers and tables; `tcp` the ends of connections; `measure`
//! meters and outcomes; `wire` what a wire does beside sending at its rate; `traffic` what flows carry; `network` descriptions;
//! `link` queue, transmitter and wire together; `world` the run. None needs one that comes later.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod engine;
pub mod link;
pub mod measure;
pub mod network;
pub mod tcp;
#[cfg(all(test, debug_assertions))]
mod testing;
pub mod traffic;
pub mod wire;
pub mod world;

pub use engine::{agenda, ring};
pub use link::{lone, segment};
pub use measure::{histogram, meter, outcome, over_time};
pub use network::{dumbbell, graph, parking_lot};
pub use traffic::{app, draw, rtp, source};
pub use wire::{levels, loss, pace, schedule};
