//! Checks that this process has the privilege to change qdiscs (CAP_NET_ADMIN).

use std::fs;

use super::fault::Fault;

/// Checks that this process may change qdiscs. The error says that `command` needs this privilege.
pub(in crate::attach) fn permitted(command: &str) -> Result<(), Fault> {
    /// `CAP_NET_ADMIN`: capability number.
    const NET_ADMIN: u64 = 12;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if mask.is_none_or(|mask| mask >> NET_ADMIN & 1 == 1) {
        return Ok(());
    }
    let what = format!("{command} changes the qdisc of a device: this needs CAP_NET_ADMIN (run it as root)");
    Err(Fault::Unavailable(what))
}
