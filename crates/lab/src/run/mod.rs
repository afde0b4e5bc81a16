//! Cases, contenders and seeds as runs: planned, run on all cores, kept, compared.

pub mod batch;
pub mod bench;
pub mod compare;
pub mod plan;
pub mod store;
