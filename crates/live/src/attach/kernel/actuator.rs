//! The actuator, which marks and drops packets for `forebay attach`: the BPF program at one of two hooks, or nftables
//! rules.

use super::fastpath::FastPath;
use super::fault::Fault;
use super::kind::Kind;
use super::nft::Nft;
use super::place::Lock;
use super::state::State;
use super::words::{Counters, Settings};
use crate::sys::attach_process::monotonic;
use crate::sys::qdisc_list::Qdisc;

/// An installed actuator.
pub(in crate::attach) enum Actuator {
    Bpf(Box<FastPath>),
    Nft(Nft),
}

impl Actuator {
    /// Installs an actuator. Writes each change to the state file before it makes the change. On failure nothing of the
    /// actuator remains.
    pub(in crate::attach) fn put(kind: Kind, state: &mut State, lock: &Lock) -> Result<Self, Fault> {
        state.actuator = Some(kind);
        state.write(lock)?;
        let put = match kind {
            Kind::Nft => Nft::put(state).map(Self::Nft),
            Kind::Tcx | Kind::Clsact => FastPath::put(kind, state, lock).map(|path| Self::Bpf(Box::new(path))),
        };
        put.or_else(|fault| {
            match kind {
                // nftables applies a rule set atomically.
                Kind::Nft => {}
                Kind::Tcx | Kind::Clsact => FastPath::remove(state)?,
            }
            (state.actuator, state.made_clsact, state.filter) = (None, false, None);
            state.write(lock)?;
            Err(fault)
        })
    }

    /// Opens the actuator of a device for reading; `state` describes what is installed there.
    pub(in crate::attach) fn open(state: &State) -> Result<Reader, Fault> {
        match state.actuator {
            None => Err(Fault::Unavailable(format!("{}: no actuator is installed", state.device))),
            Some(Kind::Nft) => Ok(Reader::Nft(state.index, Nft::header(state.index)?)),
            Some(Kind::Tcx | Kind::Clsact) => FastPath::open(&state.key()).map(|path| Reader::Bpf(Box::new(path))),
        }
    }

    /// Removes the actuator of a device, also a partly installed one; `state` describes what is installed there.
    pub(in crate::attach) fn remove(state: &State) -> Result<(), Fault> {
        match state.actuator {
            None => Ok(()),
            Some(Kind::Nft) => Nft::remove(state.index),
            Some(Kind::Tcx | Kind::Clsact) => FastPath::remove(state),
        }
    }

    /// The actuator's counters, and the qdisc behind it with its counters, read at the same time. `live` is this qdisc
    /// as read just now. An nftables actuator returns both as they were when it last renewed its rules.
    pub(in crate::attach) fn counters(&self, live: &Qdisc) -> Result<(Counters, Qdisc), Fault> {
        match self {
            Self::Bpf(path) => path.counters().map(|counters| (counters, live.clone())),
            Self::Nft(nft) => nft.counters(),
        }
    }

    /// Sets the signal probability. nftables rules cannot read the backlog or the packet length: their probability is
    /// computed here for `backlog` bytes and a packet of `packet` bytes.
    pub(in crate::attach) fn set(&mut self, settings: &Settings, backlog: u64, packet: u64) -> Result<(), Fault> {
        match self {
            Self::Bpf(path) => path.set(settings),
            Self::Nft(nft) => nft.set(settings.probability(backlog, packet)),
        }
    }
}

/// An actuator opened for reading.
pub(in crate::attach) enum Reader {
    Bpf(Box<FastPath>),
    /// nftables rules: index of the device, and length of its link-layer header in bytes.
    Nft(u32, u64),
}

impl Reader {
    /// The counters, the signal probability of a packet of `packet` bytes at `backlog` bytes, and whether the daemon's
    /// settings are in force: they expire if the daemon does not renew them.
    pub(in crate::attach) fn read(&self, backlog: u64, packet: u64) -> Result<(Counters, f64, bool), Fault> {
        match self {
            Self::Bpf(path) => {
                let settings = path.settings()?;
                let rules = settings.rules_at(monotonic());
                let p = if rules { settings.probability(backlog, packet) } else { 0.0 };
                Ok((path.counters()?, p, rules))
            }
            Self::Nft(device, header) => Nft::read(*device, *header),
        }
    }
}
