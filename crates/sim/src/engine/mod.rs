//! Data structures of the simulator: agenda of events, timers, rings, slabs, and compact optional times and indices.

pub mod agenda;
pub mod due;
pub mod index;
pub mod ring;
pub mod slab;
pub(crate) mod timers;
