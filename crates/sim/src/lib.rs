//! Forebay's packet-level simulator.
//!
//! A [`network::Network`] describes links, hosts and flows. A [`world::World`] runs it deterministically from a seed
//! and returns an [`outcome::Outcome`]. TCP endpoints do no I/O: the caller passes the time and packets and sends
//! what they return. Queue disciplines are those of `forebay-aqm`, unchanged.
//!
//! Modules, each depending only on earlier ones:
//! - `engine`: event agenda, timers, tables;
//! - `tcp`: connection endpoints and congestion controls;
//! - `measure`: meters and results;
//! - `wire`: losses and variable rates;
//! - `traffic`: packet sources, applications, video;
//! - `network`: network descriptions;
//! - `link`: queue, transmitter and wire of a link;
//! - `world`: the running simulation.

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
pub use measure::{bundles, delays, histogram, meter, observed, outcome, over_time, tracks};
pub use network::{graph, parking_lot};
pub use traffic::{app, draw, page, rtp, source, video};
pub use wire::{delay, levels, loss, pace, schedule};
