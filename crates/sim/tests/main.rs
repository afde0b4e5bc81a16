//! Integration tests of the simulator: connections, networks, scripts and fingerprints.

mod applications;
mod bundles;
mod common;
mod conditions;
mod connection;
mod connections;
mod engine;
mod fingerprints;
mod long_range;
mod markers;
mod nada;
mod prague;
mod random_networks;
mod rtp;
mod scenario;
mod script;
mod scripts;
mod topologies;
mod video;
