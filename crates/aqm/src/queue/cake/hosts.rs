//! The queue of a packet, and the hosts that it counts for: a hash table with sets of eight ways.
//!
//! Linux: `cake_hash`.

use alloc::boxed::Box;

use super::flows::{Flow, Flows, Set, index};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::rng::{Rng, mix};
use crate::choice;

/// Flow queues and hosts of a tin.
pub(super) const QUEUES: usize = 1024;

/// One value for each queue, or for each host.
pub(super) type Table<T> = [T; QUEUES];

/// A table with this value everywhere, made without a copy on the stack.
pub(super) fn table<T: Copy>(value: T) -> Box<Table<T>> {
    let all = alloc::vec![value; QUEUES].into_boxed_slice();
    all.try_into().unwrap_or_else(|_| Box::new([value; QUEUES]))
}

/// Ways of a set.
const WAYS: usize = 8;

choice! {
    /// What has a queue of its own, and which hosts share the link equally.
    pub enum Isolation {
        /// One queue.
        FlowBlind = "flowblind",
        /// A queue for each source.
        SrcHost = "srchost",
        /// A queue for each destination.
        DstHost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow.
        Flows = "flows",
        /// A queue for each flow; sources share equally.
        DualSrcHost = "dual-srchost",
        /// A queue for each flow; destinations share equally.
        DualDstHost = "dual-dsthost",
        /// A queue for each flow; sources and destinations share equally.
        TripleIsolate = "triple-isolate",
    }
}

choice! {
    /// How a queue is computed from a flow, and an entry of the host table from a host.
    pub enum Hash {
        /// A hash with a salt: flows and hosts collide as in a router.
        Salted = "salted",
        /// The numbers of flows and hosts: up to 1024 consecutive ones have a queue each.
        Exact = "exact",
    }
}

impl Isolation {
    /// Whether flows are isolated, not only hosts.
    const fn by_flow(self) -> bool {
        matches!(self, Self::Flows | Self::DualSrcHost | Self::DualDstHost | Self::TripleIsolate)
    }

    /// Whether bulk flows of a source are counted.
    #[inline]
    pub(super) const fn counts_sources(self) -> bool {
        matches!(self, Self::DualSrcHost | Self::TripleIsolate)
    }

    /// Whether bulk flows of a destination are counted.
    #[inline]
    pub(super) const fn counts_destinations(self) -> bool {
        matches!(self, Self::DualDstHost | Self::TripleIsolate)
    }
}

/// A host entry in one role: as source, or as destination.
#[derive(Clone, Copy, Default)]
pub(super) struct Host {
    tag: u32,
    /// Id of the host that took the entry last. It saves the hash of the host if a flow of the same host follows.
    id: u16,
    /// Bulk flows of the host.
    bulk: u16,
}

/// The host tables of a tin, and the bulk flows of each host.
#[derive(Clone)]
pub(super) struct Hosts {
    isolation: Isolation,
    sources: Box<Table<Host>>,
    destinations: Box<Table<Host>>,
}

impl Hosts {
    /// Tables without bulk flows.
    pub(super) fn new(isolation: Isolation) -> Self {
        let hosts = || table(Host::default());
        Self { isolation, sources: hosts(), destinations: hosts() }
    }

    /// A flow becomes a bulk flow of its hosts.
    #[inline]
    pub(super) fn add(&mut self, flow: &Flow) {
        self.add_source(flow);
        self.add_destination(flow);
    }

    /// A bulk flow of its hosts ends.
    #[inline]
    pub(super) fn remove(&mut self, flow: &Flow) {
        if self.isolation.counts_sources() {
            let bulk = &mut self.sources[index(flow.source)].bulk;
            *bulk = bulk.saturating_sub(1);
        }
        if self.isolation.counts_destinations() {
            let bulk = &mut self.destinations[index(flow.destination)].bulk;
            *bulk = bulk.saturating_sub(1);
        }
    }

    #[inline]
    fn add_source(&mut self, flow: &Flow) {
        if self.isolation.counts_sources() {
            let bulk = &mut self.sources[index(flow.source)].bulk;
            *bulk = (*bulk + 1).min(QUEUES as u16);
        }
    }

    #[inline]
    fn add_destination(&mut self, flow: &Flow) {
        if self.isolation.counts_destinations() {
            let bulk = &mut self.destinations[index(flow.destination)].bulk;
            *bulk = (*bulk + 1).min(QUEUES as u16);
        }
    }

    /// The number of flows that the hosts of `flow` divide their share among: at least 1.
    #[inline]
    pub(super) fn load(&self, flow: &Flow) -> u16 {
        let mut load = 1;
        if self.isolation.counts_sources() {
            load = load.max(self.sources[index(flow.source)].bulk);
        }
        if self.isolation.counts_destinations() {
            load = load.max(self.destinations[index(flow.destination)].bulk);
        }
        load
    }

    /// The entry of host `id`, whose hash is `tag`: its own, else one without bulk flows, else the one where the search
    /// began.
    #[inline(never)]
    fn entry(table: &mut Table<Host>, id: u16, tag: u32) -> u16 {
        let ways = || ways(tag);
        let found = ways().find(|&at| table[at].tag == tag);
        let at = found.or_else(|| ways().find(|&at| table[at].bulk == 0)).unwrap_or(tag as usize % QUEUES);
        (table[at].tag, table[at].id) = (tag, id);
        at as u16
    }
}

/// The indices of the ways of the set of `tag`, from the way of the tag on.
fn ways(tag: u32) -> impl Iterator<Item = usize> {
    let at = tag as usize % QUEUES;
    let (set, way) = (at - at % WAYS, at % WAYS);
    (0..WAYS).map(move |i| (set + (way + i) % WAYS) % QUEUES)
}

/// Counters of the hash table.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WayCounts {
    /// Packets whose flow was in another way of its set.
    pub(super) hits: u32,
    /// Packets of new flows that found a free way.
    pub(super) misses: u32,
    /// Packets of new flows that found all ways in use.
    pub(super) collisions: u32,
}

/// The hash of flows and hosts.
#[derive(Clone)]
pub(super) struct Hasher {
    isolation: Isolation,
    hash: Hash,
    salt: Auto<u32>,
}

/// Separates the hashes of hosts from those of flows: ours.
const SOURCE: u64 = 0x5351_0000_0000;
const DESTINATION: u64 = 0x4451_0000_0000;

impl Hasher {
    /// A hash with this salt; auto: drawn at the first packet.
    pub(super) const fn new(isolation: Isolation, hash: Hash, salt: Auto<u32>) -> Self {
        Self { isolation, hash, salt }
    }

    /// This hash as the successor of `before`, whose salt it keeps. `None` if flows would change their queues.
    pub(super) fn after(self, before: &Self) -> Option<Self> {
        let same = (self.isolation, self.hash) == (before.isolation, before.hash);
        let salt = match (self.salt, before.salt) {
            (salt, Auto::Auto) | (Auto::Auto, salt) => salt,
            (salt, drawn) if salt == drawn => salt,
            _ => return None,
        };
        same.then_some(Self { salt, ..self })
    }

    #[inline]
    fn salt(&mut self, rng: &mut Rng) -> u64 {
        if let Auto::Given(salt) = self.salt {
            return u64::from(salt);
        }
        let salt = (rng.bits() >> 32) as u32;
        self.salt = Auto::Given(salt);
        u64::from(salt)
    }

    /// The tag of a host, from its id.
    #[inline]
    fn host(&self, id: u16, role: u64) -> u32 {
        match (self.hash, self.salt) {
            (Hash::Salted, Auto::Given(salt)) => (mix(u64::from(salt) << 16 ^ role ^ u64::from(id)) >> 32) as u32,
            _ => u32::from(id),
        }
    }

    /// The tag of the flow, pair of hosts or host that the packet belongs to.
    #[inline]
    fn tag(&mut self, packet: &Packet, rng: &mut Rng) -> u32 {
        let salt = if self.hash == Hash::Salted { self.salt(rng) } else { 0 };
        if self.isolation.by_flow() {
            return match self.hash {
                Hash::Salted => (mix(salt << 32 | u64::from(packet.flow)) >> 32) as u32,
                Hash::Exact => packet.flow,
            };
        }
        let (source, destination) =
            (self.host(packet.hosts.source, SOURCE), self.host(packet.hosts.destination, DESTINATION));
        match self.isolation {
            Isolation::SrcHost => source,
            Isolation::DstHost => destination,
            // Rotated, so that pairs of small numbers differ.
            Isolation::Hosts if self.hash == Hash::Exact => source ^ destination.rotate_left(5),
            Isolation::Hosts => source ^ destination,
            _ => 0,
        }
    }

    /// The queue of `packet`, from 0 to 1023.
    #[inline]
    pub(super) fn queue(&mut self, packet: &Packet, flows: &mut Flows, counts: &mut WayCounts, rng: &mut Rng) -> u16 {
        if self.isolation == Isolation::FlowBlind {
            return 0;
        }
        let tag = self.tag(packet, rng);
        let first = tag as usize % QUEUES;
        let (at, is_new) = if flows.tags[first] == tag {
            (first, flows.flows[first].set == Set::None)
        } else {
            Self::search(tag, flows, counts)
        };
        if is_new {
            self.takes(packet, at, flows);
        }
        at as u16
    }

    /// Searches the set of `tag` for its queue, for a free one, or takes the first one from its flow. Also returns
    /// whether the flow takes the queue.
    #[inline(never)]
    fn search(tag: u32, flows: &mut Flows, counts: &mut WayCounts) -> (usize, bool) {
        let first = tag as usize % QUEUES;
        if let Some(at) = ways(tag).find(|&at| flows.tags[at] == tag) {
            counts.hits += u32::from(at != first);
            return (at, flows.flows[at].set == Set::None);
        }
        let at = if let Some(at) = ways(tag).find(|&at| flows.flows[at].set == Set::None) {
            counts.misses += 1;
            at
        } else {
            counts.collisions += 1;
            if flows.flows[first].set == Set::Bulk {
                flows.hosts.remove(&flows.flows[first]);
            }
            first
        };
        flows.tags[at] = tag;
        (at, true)
    }

    /// The flow of `packet` takes the unused queue `at`: the queue counts for its hosts.
    #[inline]
    fn takes(&self, packet: &Packet, at: usize, flows: &mut Flows) {
        let Flows { flows, hosts, .. } = flows;
        let flow = &mut flows[at];
        let is_bulk = flow.set == Set::Bulk;
        let crate::base::packet::Hosts { source, destination } = packet.hosts;
        if self.isolation.counts_sources() {
            if !flow.has_hosts || hosts.sources[index(flow.source)].id != source {
                flow.source = Hosts::entry(&mut hosts.sources, source, self.host(source, SOURCE));
            }
            if is_bulk {
                hosts.add_source(flow);
            }
        }
        if self.isolation.counts_destinations() {
            if !flow.has_hosts || hosts.destinations[index(flow.destination)].id != destination {
                flow.destination =
                    Hosts::entry(&mut hosts.destinations, destination, self.host(destination, DESTINATION));
            }
            if is_bulk {
                hosts.add_destination(flow);
            }
        }
        flow.has_hosts = true;
    }
}
