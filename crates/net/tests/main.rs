//! Tests of the network.

mod network;
