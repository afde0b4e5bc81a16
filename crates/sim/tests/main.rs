//! The simulator from outside: rules of connections and networks, scripts, fingerprints.

mod applications;
mod common;
mod conditions;
mod connection;
mod connections;
mod engine;
mod fingerprints;
mod long_range;
mod markers;
mod random_networks;
mod rtp;
mod scenario;
mod script;
mod scripts;
mod topologies;
