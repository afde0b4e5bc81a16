//! One file per command: it calls the crate `forebay_lab`, which does the work, and prints the result.

pub(crate) mod advise;
pub(crate) mod bench;
pub(crate) mod claims;
pub(crate) mod compare;
#[cfg(target_os = "linux")]
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod packetdrill;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod sweep;
pub(crate) mod tune;
