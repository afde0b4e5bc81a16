//! A device under a law: `forebay attach`. Linux only, root only.
//!
//! The device gets one queue, tc(8)'s `tbf` at the rate asked for. In front of it stands a fast path that reads the
//! backlog for each packet and carries out the last [`Actuation`](forebay_aqm::base::ladder::Actuation): a BPF program,
//! or rules of nftables. The daemon asks a law for a new actuation as often as the law says. What the attachment changed
//! is in a state file, so that `detach` can undo it whatever has become of the daemon; a fast path that hears nothing
//! for a second signals no more.

mod actuator;
mod begin;
mod fastpath;
mod fault;
mod http;
mod kind;
mod look;
mod meter;
mod metrics;
mod nft;
mod place;
mod qdisc;
mod rights;
mod serve;
mod state;
mod undo;
mod words;

pub use begin::{Order, begin, check};
pub use fault::Fault;
pub use kind::Kind;
pub use look::{Live, look};
pub use meter::Meter;
pub use metrics::{address, text as metrics_text};
pub use qdisc::After;
pub use serve::Attachment;
pub use state::State;
pub use undo::detach;
pub use words::{Counters, PATIENCE, Settings};

/// Lets this process outlive its terminal, as nohup(1) had asked for before a handler of signals was set.
pub fn ignore_hangup() {
    crate::sys::attach_process::ignore_hangup();
}

/// Away from the terminal, for a daemon in the background.
pub fn leave_terminal() {
    crate::sys::attach_process::new_session();
}
