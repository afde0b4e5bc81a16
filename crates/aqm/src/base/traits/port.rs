//! The storage and counters of a queue.
//!
//! A `Port` owns a slab of packet descriptors with one or several FIFO lists under one shared limit. Packets enter only
//! through `admit` and leave only through `pop_judged`, `take`, `drop_head` and `drop_at`. All of these end in
//! `accept`, `deliver` or `discard`, which count the packet, record the reason and notify the AQM. Therefore offered
//! = delivered + dropped + queued holds for every discipline (`Port::check`).

use alloc::vec::Vec;

mod fates;

use crate::base::packet::{Ecn, Packet};
use crate::base::units::{Depth, Limit, Link, Rate};
use crate::base::verdict::Reason;

/// A count of packets and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Number of packets.
    pub pkts: u64,
    /// Sum of the lengths of these packets in bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, len: u32) {
        self.pkts += 1;
        self.bytes += u64::from(len);
    }

    /// The difference to the count `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self { pkts: self.pkts - earlier.pkts, bytes: self.bytes - earlier.bytes }
    }

    /// The sum of both counts.
    pub const fn plus(self, other: Self) -> Self {
        Self { pkts: self.pkts + other.pkts, bytes: self.bytes + other.bytes }
    }
}

/// The backlog of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Number of packets that wait.
    pub pkts: u32,
    /// Sum of the lengths of these packets in bytes.
    pub bytes: u64,
}

/// The counters of a port since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// All arrivals, also those that are dropped.
    pub offered: Count,
    /// Arrivals that entered the buffer, marked or not.
    pub accepted: Count,
    /// Packets passed to the link.
    pub departed: Count,
    /// Early drops, at arrival or later, including those of a threshold marker in front of the discipline.
    pub dropped_early: Count,
    /// Packets dropped because the buffer was full.
    pub dropped_overflow: Count,
    /// CE marks set here; packets that arrived with CE do not count.
    pub marked: Count,
}

impl Tally {
    /// Sets CE and counts a mark, unless the packet already has CE.
    #[inline]
    fn mark(&mut self, packet: &mut Packet) {
        if packet.ecn != Ecn::Ce {
            self.marked.add(packet.len);
            packet.ecn = Ecn::Ce;
        }
    }

    /// Arrivals minus early drops: what would have entered an unlimited buffer.
    pub const fn post_drop(&self) -> Count {
        self.offered.since(self.dropped_early)
    }

    /// The difference to the counters `earlier`.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            offered: self.offered.since(earlier.offered),
            accepted: self.accepted.since(earlier.accepted),
            departed: self.departed.since(earlier.departed),
            dropped_early: self.dropped_early.since(earlier.dropped_early),
            dropped_overflow: self.dropped_overflow.since(earlier.dropped_overflow),
            marked: self.marked.since(earlier.marked),
        }
    }
}

/// The index of a list of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListId(pub u16);

/// The only list of a plain FIFO.
pub const MAIN: ListId = ListId(0);

/// A packet that is removed from its list but not yet sent or dropped.
#[must_use]
#[derive(Debug)]
pub struct Taken(u32);

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    packet: Packet,
    next: u32,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    pkts: u32,
    bytes: u64,
}

/// The storage and counters of a queue; see the module documentation.
pub struct Port {
    nodes: Vec<Node>,
    free: u32,
    lists: Vec<List>,
    pkts: u32,
    bytes: u64,
    /// The counters. `accepted` is not updated for each packet: it is `offered` minus `refused`, the packets dropped at
    /// arrival, which are rare.
    tally: Tally,
    refused: Count,
    link: Link,
    ecn: bool,
    discarded: Vec<(Packet, Reason)>,
}

impl Port {
    /// An empty port with `lists` lists; with `ecn`, ECT packets are marked instead of dropped.
    pub fn new(link: Link, lists: usize, ecn: bool) -> Self {
        let empty = List { head: NONE, tail: NONE, pkts: 0, bytes: 0 };
        Self {
            nodes: Vec::new(),
            free: NONE,
            lists: alloc::vec![empty; lists],
            pkts: 0,
            bytes: 0,
            tally: Tally::default(),
            refused: Count::default(),
            link,
            ecn,
            discarded: Vec::new(),
        }
    }

    /// A read-only view of `list` and of the port.
    #[inline]
    pub fn level(&self, list: ListId) -> Level<'_> {
        Level { port: self, list: &self.lists[usize::from(list.0)] }
    }

    /// Backlog in packets, of all lists.
    pub const fn pkts(&self) -> u32 {
        self.pkts
    }

    /// Backlog in bytes, of all lists.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The counters of all lists.
    pub const fn tally(&self) -> Tally {
        Tally { accepted: self.tally.offered.since(self.refused), ..self.tally }
    }

    /// Whether `list` is empty.
    #[inline]
    pub fn is_empty(&self, list: ListId) -> bool {
        self.lists[usize::from(list.0)].pkts == 0
    }

    /// The oldest packet of `list`.
    pub fn head(&self, list: ListId) -> Option<&Packet> {
        self.level(list).head()
    }

    /// Packets dropped since this list was last cleared. The program that owns the queue must clear the list and free
    /// what it stores itself under each packet's [`slot`](Packet::slot).
    pub fn discarded(&mut self) -> &mut Vec<(Packet, Reason)> {
        &mut self.discarded
    }

    /// Whether a packet of `len` bytes fits into the buffer.
    #[inline]
    pub const fn fits(&self, len: u32) -> bool {
        match self.link.limit {
            Limit::Packets(n) => self.pkts < n,
            Limit::Bytes(b) => self.bytes + len as u64 <= b,
        }
    }

    /// Whether this port has never stored a packet.
    pub(in crate::base) const fn is_untouched(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Overwrites the backlog and discards stored packets. Only for
    /// [`Queue::advise`](crate::base::host::Queue::advise), which decides about the packets of an external queue.
    pub(in crate::base) fn stand_for(&mut self, Backlog { pkts, bytes }: Backlog) {
        self.nodes.clear();
        self.free = NONE;
        self.lists.fill(List { head: NONE, tail: NONE, pkts: 0, bytes: 0 });
        (self.pkts, self.bytes) = (pkts, bytes);
        if let Some(main) = self.lists.first_mut() {
            (main.pkts, main.bytes) = (pkts, bytes);
        }
    }

    /// Whether a signal marks `packet`; otherwise it drops the packet.
    #[inline]
    pub const fn marks(&self, packet: &Packet) -> bool {
        self.ecn && packet.ecn.is_capable()
    }

    /// Appends a packet to `list`. Returns references to the stored packet and to the counters. Always inlined: in a
    /// call, the packet would be written in narrow stores and read in wide loads, which prevents store forwarding.
    #[inline(always)]
    fn push(&mut self, list: ListId, packet: Packet) -> (&mut Packet, &mut Tally) {
        let node = Node { packet, next: NONE };
        let at = self.free.min(self.nodes.len() as u32);
        let list = &mut self.lists[usize::from(list.0)];
        if list.tail == NONE {
            list.head = at;
        } else {
            self.nodes[list.tail as usize].next = at;
        }
        list.tail = at;
        list.pkts += 1;
        list.bytes += u64::from(packet.len);
        self.pkts += 1;
        self.bytes += u64::from(packet.len);
        if at as usize == self.nodes.len() {
            self.nodes.push(node);
        } else {
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
        }
        (&mut self.nodes[at as usize].packet, &mut self.tally)
    }

    #[inline]
    fn pop(&mut self, list: ListId) -> Option<Packet> {
        self.unlink(list).map(|at| self.nodes[at as usize].packet)
    }

    /// Removes the oldest packet of `list`. Its node is on the free list but still readable.
    #[inline]
    fn unlink(&mut self, list: ListId) -> Option<u32> {
        let list = &mut self.lists[usize::from(list.0)];
        let at = list.head;
        if at == NONE {
            return None;
        }
        let node = &mut self.nodes[at as usize];
        list.head = core::mem::replace(&mut node.next, self.free);
        self.free = at;
        if list.head == NONE {
            list.tail = NONE;
        }
        list.pkts -= 1;
        list.bytes -= u64::from(node.packet.len);
        self.pkts -= 1;
        self.bytes -= u64::from(node.packet.len);
        Some(at)
    }

    /// Puts node `at` of `list` on the free list and updates the backlog.
    #[inline]
    fn release(&mut self, list: ListId, at: u32, len: u32) {
        self.nodes[at as usize].next = self.free;
        self.free = at;
        let list = &mut self.lists[usize::from(list.0)];
        list.pkts -= 1;
        list.bytes -= u64::from(len);
        self.pkts -= 1;
        self.bytes -= u64::from(len);
    }

    /// Checks conservation, offered = departed + dropped + queued, in packets and bytes, and that the backlog is within
    /// the buffer.
    pub fn check(&self) -> Result<(), &'static str> {
        let t = self.tally();
        let out = t.departed.plus(t.dropped_early).plus(t.dropped_overflow);
        let held = Count { pkts: u64::from(self.pkts), bytes: self.bytes };
        if t.offered != out.plus(held) {
            return Err("offered != departed + dropped + queued");
        }
        match self.link.limit {
            Limit::Packets(n) if self.pkts > n => Err("more packets than the limit"),
            Limit::Bytes(b) if self.bytes > b => Err("more bytes than the limit"),
            _ => Ok(()),
        }
    }
}

impl Depth {
    /// The backlog of `level` in this depth's unit.
    #[inline]
    pub fn measure(self, level: &Level) -> f64 {
        match self {
            Self::Packets(_) => f64::from(level.pkts()),
            // Via i64: CPUs convert signed integers in one instruction, and a backlog is below 2^63 bytes.
            Self::Bytes(_) => level.bytes() as i64 as f64,
        }
    }

    /// Whether the backlog of `level` plus `packet` exceeds this depth.
    #[inline]
    pub fn is_passed(self, level: &Level, packet: &Packet) -> bool {
        match self {
            Self::Packets(n) => f64::from(level.pkts()) + 1.0 > n,
            Self::Bytes(n) => (level.bytes() + u64::from(packet.len)) as i64 as f64 > n,
        }
    }
}

/// A read-only view of one list and of its port.
#[derive(Clone, Copy)]
pub struct Level<'a> {
    port: &'a Port,
    list: &'a List,
}

impl<'a> Level<'a> {
    /// Backlog of this list in packets, without the arriving packet and the packet in transmission.
    #[inline]
    pub const fn pkts(&self) -> u32 {
        self.list.pkts
    }

    /// Backlog of this list in bytes.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.list.bytes
    }

    /// The oldest packet in this list.
    pub fn head(&self) -> Option<&'a Packet> {
        let head = self.list.head;
        (head != NONE).then(|| &self.port.nodes[head as usize].packet)
    }

    /// The packets in this list, the oldest first.
    pub fn packets(&self) -> impl Iterator<Item = &'a Packet> + use<'a> {
        let (port, mut at) = (self.port, self.list.head);
        core::iter::from_fn(move || {
            let node = port.nodes.get(at as usize)?;
            at = node.next;
            Some(&node.packet)
        })
    }

    /// Backlog of all lists of the port, in packets.
    pub const fn shared_pkts(&self) -> u32 {
        self.port.pkts
    }

    /// Backlog of all lists of the port, in bytes.
    pub const fn shared_bytes(&self) -> u64 {
        self.port.bytes
    }

    /// The link that the queue serves.
    pub const fn link(&self) -> &'a Link {
        &self.port.link
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        self.port.link.rate
    }

    /// Whether a packet of `len` bytes fits into the buffer.
    #[inline]
    pub const fn fits(&self, len: u32) -> bool {
        self.port.fits(len)
    }

    /// Whether a signal marks `packet`; otherwise it drops the packet.
    #[inline]
    pub const fn marks(&self, packet: &Packet) -> bool {
        self.port.marks(packet)
    }

    /// Whether ECN is on, so that a signal to an ECT packet is a mark.
    #[inline]
    pub const fn is_marking(&self) -> bool {
        self.port.ecn
    }

    /// The counters of all lists.
    #[inline]
    pub const fn tally(&self) -> Tally {
        self.port.tally()
    }
}
