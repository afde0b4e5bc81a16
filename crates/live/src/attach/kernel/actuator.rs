//! What drops and marks: the BPF program at one of two hooks, or rules of nftables.

use super::fastpath::FastPath;
use super::fault::Fault;
use super::kind::Kind;
use super::nft::Nft;
use super::place::Lock;
use super::state::State;
use super::words::{Counters, Settings};
use crate::sys::attach_process::monotonic;
use crate::sys::qdiscs::Qdisc;

/// An actuator in place.
pub(in crate::attach) enum Actuator {
    Bpf(Box<FastPath>),
    Nft(Nft),
}

impl Actuator {
    /// Puts one in place for an attachment, which is told before anything is changed. If it cannot, nothing is left of it.
    pub(in crate::attach) fn put(kind: Kind, state: &mut State, lock: &Lock) -> Result<Self, Fault> {
        state.actuator = Some(kind);
        state.write(lock)?;
        let put = match kind {
            Kind::Nft => Nft::put(state).map(Self::Nft),
            Kind::Tcx | Kind::Clsact => FastPath::put(kind, state, lock).map(|path| Self::Bpf(Box::new(path))),
        };
        put.or_else(|fault| {
            match kind {
                // Its rules come all at once or not at all.
                Kind::Nft => {}
                Kind::Tcx | Kind::Clsact => FastPath::remove(state)?,
            }
            (state.actuator, state.made_clsact, state.filter) = (None, false, None);
            state.write(lock)?;
            Err(fault)
        })
    }

    /// The one of an attachment that stands, to look at.
    pub(in crate::attach) fn open(state: &State) -> Result<Reader, Fault> {
        match state.actuator {
            None => Err(Fault::Unavailable(format!("{}: nothing marks or drops there now", state.device))),
            Some(Kind::Nft) => Ok(Reader::Nft(state.index, Nft::header(state.index)?)),
            Some(Kind::Tcx | Kind::Clsact) => FastPath::open(&state.key()).map(|path| Reader::Bpf(Box::new(path))),
        }
    }

    /// Removes the one of an attachment, whatever is left of it.
    pub(in crate::attach) fn remove(state: &State) -> Result<(), Fault> {
        match state.actuator {
            None => Ok(()),
            Some(Kind::Nft) => Nft::remove(state.index),
            Some(Kind::Tcx | Kind::Clsact) => FastPath::remove(state),
        }
    }

    /// What it has counted, and what the queue had at that moment, `live` being what it has now.
    pub(in crate::attach) fn books(&self, live: &Qdisc) -> Result<(Counters, Qdisc), Fault> {
        match self {
            Self::Bpf(path) => path.counters().map(|counters| (counters, live.clone())),
            Self::Nft(nft) => nft.books(),
        }
    }

    /// What it does from now on, `backlog` being what waits now.
    pub(in crate::attach) fn set(&mut self, settings: &Settings, backlog: u64, packet: u64) -> Result<(), Fault> {
        match self {
            Self::Bpf(path) => path.set(settings),
            Self::Nft(nft) => nft.set(settings.probability(backlog, packet)),
        }
    }
}

/// An actuator to look at.
pub(in crate::attach) enum Reader {
    Bpf(Box<FastPath>),
    /// The device, and the bytes of its link's header.
    Nft(u32, u64),
}

impl Reader {
    /// What it has counted; and the probability of a signal for a packet of `packet` bytes at `backlog`.
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
