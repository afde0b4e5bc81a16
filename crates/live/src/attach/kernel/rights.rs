//! What changing queues takes.

use std::fs;

use super::fault::Fault;

/// May this process change queues, as `command` does?
pub(in crate::attach) fn permitted(command: &str) -> Result<(), Fault> {
    /// `CAP_NET_ADMIN`, by its number.
    const NET_ADMIN: u64 = 12;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if mask.is_none_or(|mask| mask >> NET_ADMIN & 1 == 1) {
        return Ok(());
    }
    let what = format!("{command} changes the queue of a device: that takes CAP_NET_ADMIN, which root has");
    Err(Fault::Unavailable(what))
}
