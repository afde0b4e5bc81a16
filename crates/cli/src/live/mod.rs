//! Commands that work on real packets: emulated links, and AQM control laws on network devices.

pub(crate) mod attach;
#[cfg(target_os = "linux")]
pub(crate) mod journal;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
pub(crate) mod link;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
pub(crate) mod top;
