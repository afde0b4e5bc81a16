//! Forebay's packet-level simulator.
//!
//! A [`network::Network`] describes links, hosts and flows; a [`world::World`] runs it to its end,
//! deterministically from the seed, and returns an [`outcome::Outcome`]. Endpoints are sans-IO: they
//! are told the time and asked what to send. Disciplines come from `forebay-aqm`, unchanged.

pub mod agenda;
mod ahead;
pub mod app;
mod arrived;
mod audit;
mod call;
mod delays;
pub mod draw;
pub mod dumbbell;
mod flow;
pub mod graph;
pub mod histogram;
pub mod levels;
pub mod link;
pub mod lone;
pub mod loss;
pub mod meter;
pub mod network;
pub mod outcome;
pub mod over_time;
pub mod pace;
pub mod parking_lot;
pub mod ring;
pub mod rtp;
pub mod schedule;
pub mod segment;
pub mod source;
pub mod tcp;
mod timers;
pub mod wire;
pub mod world;
