//! Runs experiments: plans of cases, contenders and seeds, batches on all cores, storage, comparison.

pub mod batch;
pub mod bench;
pub mod compare;
pub mod plan;
pub mod store;
