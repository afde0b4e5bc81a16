//! Runs experiments: lists the runs (plan), executes them on all cores (batch), stores and compares their results. A
//! run has one combination of the values of varied keys (case), one compared discipline (contender) and one seed.

pub mod batch;
pub mod bench;
mod build_id;
pub mod compare;
pub mod guard;
pub mod plan;
pub mod store;
