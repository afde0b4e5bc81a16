//! Commands on real packets: an emulated link, devices under a law.

pub(crate) mod attach;
#[cfg(target_os = "linux")]
pub(crate) mod journal;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
pub(crate) mod link;
pub(crate) mod top;
