//! What the simulator is built on: the agenda of events, timers, rings, slabs, and what may be absent in four or eight bytes.

pub mod agenda;
pub mod due;
pub mod index;
pub mod ring;
pub mod slab;
pub(crate) mod timers;
