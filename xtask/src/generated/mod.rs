//! Generated files in the repository: pages, the book, the BPF object, golden traces, quick verdicts.

pub(crate) mod bless;
pub(crate) mod book;
pub(crate) mod bpf;
pub(crate) mod coverage;
pub(crate) mod docs;
mod peers;
pub(crate) mod performance;
pub(crate) mod scenario_page;
pub(crate) mod verdict_page;
pub(crate) mod verdicts;
