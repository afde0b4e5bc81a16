//! A snapshot of an attachment, a control law that a daemon of `forebay attach` runs on a network device: backlog,
//! counters and signal probability.

use serde_json::{Value, json};

use super::kernel::actuator::Actuator;
use super::kernel::fault::Fault;
use super::kernel::qdisc;
use super::kernel::state::State;
use super::kernel::words::Counters;
use crate::sys::attach_process::monotonic;
use crate::sys::netlink::Netlink;
use crate::sys::qdisc_list::Qdisc;

/// A snapshot of an attachment.
#[derive(Clone, Debug)]
pub struct Live {
    /// The attachment, as its state file describes it.
    pub state: State,
    /// Time of the snapshot, CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    /// Are the daemon's settings in force? They expire one second after their last renewal.
    pub served: bool,
    /// Signal probability of a typical packet that arrives now.
    pub p: f64,
    /// Backlog of the qdisc, bytes.
    pub backlog_bytes: u64,
    /// Backlog of the qdisc, packets.
    pub backlog_pkts: u64,
    /// Bytes sent by the qdisc.
    pub sent_bytes: u64,
    /// Packets sent by the qdisc.
    pub sent_pkts: u64,
    /// Packets that the qdisc dropped for lack of space.
    pub overflow_pkts: u64,
    /// Counters of the fast path, which marks and drops packets in the kernel.
    pub counters: Counters,
}

impl Live {
    pub(super) fn new(state: &State, root: &Qdisc, counters: Counters, p: f64, served: bool) -> Self {
        Self {
            state: state.clone(),
            at_ns: monotonic(),
            served,
            p,
            backlog_bytes: root.backlog,
            backlog_pkts: root.qlen,
            sent_bytes: root.sent_bytes,
            sent_pkts: root.sent_pkts,
            overflow_pkts: root.drops,
            counters,
        }
    }

    /// Growth rate of a counter since `before`, per second; 0 if no time has passed.
    pub fn per_sec(&self, before: &Self, of: impl Fn(&Self) -> u64) -> f64 {
        let secs = self.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        let grown = of(self).saturating_sub(of(before)) as f64;
        if secs > 0.0 { grown / secs } else { 0.0 }
    }

    /// The snapshot as JSON.
    pub fn json(&self) -> Value {
        let Counters { offered, passed, marked, dropped, unruled } = self.counters;
        let count = |count: forebay_aqm::base::port::Count| json!({ "pkts": count.pkts, "bytes": count.bytes });
        json!({
            "attachment": self.state.json(),
            "served": self.served,
            "p": self.p,
            "backlog_bytes": self.backlog_bytes,
            "backlog_pkts": self.backlog_pkts,
            "sent": { "pkts": self.sent_pkts, "bytes": self.sent_bytes },
            "offered": count(offered),
            "passed": count(passed),
            "marked": count(marked),
            "dropped_early": count(dropped),
            "dropped_overflow": { "pkts": self.overflow_pkts },
            "passed_without_daemon": { "pkts": unruled },
        })
    }
}

/// Takes a snapshot from kernel state. Works also without a daemon.
pub fn look(state: &State) -> Result<Live, Fault> {
    let netlink = Netlink::open().map_err(|error| Fault::system("netlink", &error))?;
    let root = match netlink.root(state.index) {
        Ok(root) if qdisc::is_ours(&root) => root,
        Ok(_) => Qdisc::default(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Qdisc::default(),
        Err(error) => return Err(qdisc::gone(&state.device, "the qdisc", &error)),
    };
    let (counters, p, served) = Actuator::open(state)?.read(root.backlog, state.packet)?;
    Ok(Live::new(state, &root, counters, p, served))
}
