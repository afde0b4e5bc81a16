//! A device under a law: `forebay attach`. Linux only, root only.
//!
//! The device gets one queue, tc(8)'s `tbf` at the rate asked for. In front of it stands a fast path that reads the
//! backlog for each packet and carries out the last [`Actuation`](forebay_aqm::base::ladder::Actuation): a BPF program,
//! or rules of nftables. The daemon asks a law for a new actuation as often as the law says. What the attachment changed
//! is in a state file, so that `detach` can undo it whatever has become of the daemon; a fast path that hears nothing
//! for a second signals no more.

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
pub use kernel::words::{Counters, PATIENCE, Settings};
pub use look::{Live, look};
pub use meter::Meter;
pub use metrics::{address, text as metrics_text};
pub use serve::Attachment;
pub use undo::detach;

/// Lets this process outlive its terminal, as nohup(1) had asked for before a handler of signals was set.
pub fn ignore_hangup() {
    crate::sys::attach_process::ignore_hangup();
}

/// Away from the terminal, for a daemon in the background.
pub fn leave_terminal() {
    crate::sys::attach_process::new_session();
}
