//! `forebay attach`: runs a control law on a network device. Linux and root only.
//!
//! The device gets one qdisc, tc(8)'s `tbf` at the ordered rate. A fast path in front of it reads the backlog for
//! each packet and applies the last [`Actuation`](forebay_aqm::base::discipline::Actuation). The fast path is a BPF
//! program or a set of nftables rules. The daemon calls the law at the law's update intervals and passes on the
//! actuation. A state file lists the changes, so that `detach` can undo them without the daemon. A fast path
//! without updates for one second stops signalling.

mod begin;
mod http;
mod kernel;
mod look;
mod meter;
mod metrics;
mod serve;
mod undo;

pub use begin::{Order, begin, check};
pub use kernel::fault::Fault;
pub use kernel::kind::Kind;
pub use kernel::qdisc::After;
pub use kernel::state::State;
pub use kernel::words::{Counters, SETTINGS_TIMEOUT, Settings};
pub use look::{Live, look};
pub use meter::Meter;
pub use metrics::{address, text as metrics_text};
pub use serve::Attachment;
pub use undo::detach;

/// Ignores SIGHUP, as nohup(1) does. Call it after a signal handler was installed, which would undo it.
pub fn ignore_hangup() {
    crate::sys::attach_process::ignore_hangup();
}

/// Starts a new session, detached from the terminal.
pub fn leave_terminal() {
    crate::sys::attach_process::new_session();
}
