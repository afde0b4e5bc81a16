//! Models compared with packet simulation of the same scenario.

mod bulk;
mod fluid;
mod mmpp;
mod pair;
mod queueing;
mod queues;
mod throughput;
