//! The flow queues of a tin and their order of service: DRR++ with a list of decaying queues.
//!
//! Linux: `cake_dequeue`, `cake_get_flow_quantum`.

use alloc::boxed::Box;

use super::hosts::{Hosts, QUEUES, Table, table};
use crate::aqm::delay::cobalt::{Rule, State};
use crate::base::rng::Rng;

/// No queue.
const NONE: u16 = u16::MAX;

/// The set that a queue is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    /// Idle: in no list.
    None,
    /// Its flow sends less than its share.
    Sparse,
    /// Empty, but still in the list of old queues. It counts as sparse.
    SparseWait,
    /// Its flow has a backlog.
    Bulk,
    /// Empty, until the state of COBALT is at rest.
    Decaying,
}

/// A flow queue, without its packets and without the state of COBALT. It is small, so that those of all flows stay in
/// the processor's first cache.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    /// Bytes that it may send.
    pub(super) deficit: i32,
    /// Entry of its source in the host table.
    pub(super) source: u16,
    /// Entry of its destination in the host table.
    pub(super) destination: u16,
    next: u16,
    before: u16,
    /// The set that it is in.
    pub(super) set: Set,
    /// Whether a flow has ever taken the queue, so that it has entries in the host tables.
    pub(super) has_hosts: bool,
}

/// The index of queue `at`. The remainder changes nothing, and the compiler sees that the index is valid.
#[inline]
pub(super) const fn index(at: u16) -> usize {
    at as usize % QUEUES
}

/// A list of queues: its first and its last one.
#[derive(Clone, Copy)]
struct List {
    first: u16,
    last: u16,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    fn push(&mut self, flows: &mut Table<Flow>, at: u16) {
        let flow = &mut flows[index(at)];
        (flow.next, flow.before) = (NONE, self.last);
        match self.last {
            NONE => self.first = at,
            last => flows[index(last)].next = at,
        }
        self.last = at;
    }

    /// Removes the first queue.
    #[inline]
    fn pop(&mut self, flows: &mut Table<Flow>) {
        debug_assert_ne!(self.first, NONE);
        self.first = flows[index(self.first)].next;
        match self.first {
            NONE => self.last = NONE,
            next => flows[index(next)].before = NONE,
        }
    }

    #[inline]
    fn remove(&mut self, flows: &mut Table<Flow>, at: u16) {
        let Flow { next, before, .. } = flows[index(at)];
        match before {
            NONE => self.first = next,
            before => flows[index(before)].next = next,
        }
        match next {
            NONE => self.last = before,
            next => flows[index(next)].before = before,
        }
    }

    /// Moves the first queue to the end.
    #[inline]
    fn rotate(&mut self, flows: &mut Table<Flow>) {
        let (first, last) = (self.first, self.last);
        if first == last {
            return;
        }
        self.first = core::mem::replace(&mut flows[index(first)].next, NONE);
        flows[index(self.first)].before = NONE;
        flows[index(first)].before = last;
        flows[index(last)].next = first;
        self.last = first;
    }
}

/// 65535/load for each number of flows of a host, as in the kernel, so that no packet needs a division.
const fn shares() -> [u16; QUEUES + 1] {
    let mut shares = [u16::MAX; QUEUES + 1];
    let mut load = 1;
    while load <= QUEUES {
        shares[load] = (65_535 / load) as u16;
        load += 1;
    }
    shares
}

static SHARES: [u16; QUEUES + 1] = shares();

/// The flow queues of a tin.
#[derive(Clone)]
pub(super) struct Flows {
    /// The queues.
    pub(super) flows: Box<Table<Flow>>,
    /// For each queue, the state of COBALT. It remains when another flow takes the queue.
    pub(super) cobalt: Box<Table<State>>,
    /// For each queue, the hash of the flow that has it. Apart from the queues: a search reads eight of them.
    pub(super) tags: Box<Table<u32>>,
    /// The hosts that they count for.
    pub(super) hosts: Hosts,
    new: List,
    old: List,
    decaying: List,
    /// Sparse queues, also those that wait.
    pub(super) sparse: u32,
    /// Bulk queues.
    pub(super) bulk: u32,
    /// Decaying queues.
    pub(super) decay: u32,
}

impl Flows {
    /// Idle queues under `rule`.
    pub(super) fn new(rule: &Rule, hosts: Hosts) -> Self {
        let idle =
            Flow { deficit: 0, source: 0, destination: 0, next: NONE, before: NONE, set: Set::None, has_hosts: false };
        let (new, old, decaying) = (List::EMPTY, List::EMPTY, List::EMPTY);
        let (flows, cobalt, tags) = (table(idle), table(rule.state()), table(0));
        Self { flows, cobalt, tags, hosts, new, old, decaying, sparse: 0, bulk: 0, decay: 0 }
    }

    /// Whether a queue may have packets.
    #[inline]
    pub(super) const fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The share of a flow in `quantum`, with a random bit for the fraction.
    #[inline]
    fn share(&self, at: u16, quantum: u16, rng: &mut Rng) -> i32 {
        let load = self.hosts.load(&self.flows[index(at)]);
        let dither = rng.bits() >> 48;
        ((u64::from(quantum) * u64::from(SHARES[usize::from(load).min(QUEUES)]) + dither) >> 16) as i32
    }

    /// A packet has arrived at queue `at`.
    #[inline]
    pub(super) fn arrived(&mut self, at: u16, quantum: u16, rng: &mut Rng) {
        let set = self.flows[index(at)].set;
        if set == Set::Sparse || set == Set::Bulk {
            return;
        }
        if set == Set::SparseWait {
            self.sparse -= 1;
            self.becomes_bulk(at);
            return;
        }
        if set == Set::Decaying {
            self.decaying.remove(&mut self.flows, at);
            self.decay -= 1;
        }
        self.new.push(&mut self.flows, at);
        self.sparse += 1;
        let deficit = self.share(at, quantum, rng);
        self.flows[index(at)].deficit = deficit;
        self.flows[index(at)].set = Set::Sparse;
    }

    fn becomes_bulk(&mut self, at: u16) {
        self.flows[index(at)].set = Set::Bulk;
        self.bulk += 1;
        self.hosts.add(&self.flows[index(at)]);
    }

    /// The queue whose turn it is; it may be empty. `first`: this is the first look of a dequeue, which also looks at
    /// the decaying queues. `has_packets` says whether a queue has packets. `None`: no queue is in a list.
    #[inline]
    pub(super) fn turn(
        &mut self,
        mut first: bool,
        quantum: u16,
        has_packets: impl Fn(u16) -> bool,
        rng: &mut Rng,
    ) -> Option<u16> {
        loop {
            let list = match () {
                () if first && self.decaying.first != NONE => &mut self.decaying,
                () if self.new.first != NONE => &mut self.new,
                () if self.old.first != NONE => &mut self.old,
                () => &mut self.decaying,
            };
            let at = list.first;
            first = false;
            if at == NONE {
                return None;
            }
            if self.flows[index(at)].deficit > 0 {
                return Some(at);
            }
            let is_sparse = self.flows[index(at)].set == Set::Sparse;
            list.pop(&mut self.flows);
            if is_sparse && has_packets(at) {
                self.sparse -= 1;
                self.becomes_bulk(at);
            } else if is_sparse {
                self.flows[index(at)].set = Set::SparseWait;
            }
            let share = self.share(at, quantum, rng);
            self.flows[index(at)].deficit += share;
            self.old.push(&mut self.flows, at);
        }
    }

    /// The decaying queue whose turn it is, if it may send: the first look of a dequeue.
    #[inline]
    pub(super) fn decaying(&self) -> Option<u16> {
        let at = self.decaying.first;
        (at != NONE && self.flows[index(at)].deficit > 0).then_some(at)
    }

    /// The first decaying queue has been looked at. If COBALT is at rest (`rests`), it is idle.
    #[inline]
    pub(super) fn decayed(&mut self, rests: bool) {
        if rests {
            let at = self.decaying.first;
            self.decaying.pop(&mut self.flows);
            self.decay -= 1;
            self.flows[index(at)].set = Set::None;
        } else {
            self.decaying.rotate(&mut self.flows);
        }
    }

    /// The queue `at`, whose turn it is, is empty. It decays until COBALT is at rest (`rests`), then it is idle.
    #[inline]
    pub(super) fn emptied(&mut self, at: u16, rests: bool) {
        let set = self.flows[index(at)].set;
        if set == Set::Decaying {
            self.decaying.pop(&mut self.flows);
            self.decay -= 1;
        } else if set == Set::Sparse {
            self.new.pop(&mut self.flows);
            self.sparse -= 1;
        } else {
            self.old.pop(&mut self.flows);
            if set == Set::Bulk {
                self.bulk -= 1;
                self.hosts.remove(&self.flows[index(at)]);
            } else {
                self.sparse -= 1;
            }
        }
        self.flows[index(at)].set = if rests {
            Set::None
        } else {
            self.decaying.push(&mut self.flows, at);
            self.decay += 1;
            Set::Decaying
        };
    }
}
