//! Flow queueing: round robin over queues, with priority for queues without a backlog.
//!
//! Chains are intrusive lists of queue numbers: a queue joins, leaves or changes its chain in constant time.
//! [`FlowQueues`] is the scheduler of FQ-CoDel and FQ-PIE, a deficit round robin (Shreedhar and Varghese 1996) with
//! two tiers, as DRR++. [`fattest`] finds the longest queue, from which a full buffer drops.

use alloc::vec::Vec;

use crate::base::port::{ListId, Port};

/// No queue. Queue numbers use all 16 bits, so this needs more.
const NONE: u32 = u32::MAX;

/// The queue with this number; `None` for the number that means no queue, [`NONE`].
#[inline]
fn id(number: u32) -> Option<ListId> {
    (number != NONE).then_some(ListId(number as u16))
}

/// For each queue, the next queue in its chain (a linked list of queues). A queue is in at most one chain.
#[derive(Clone)]
pub struct Links {
    next: Vec<u32>,
}

/// A chain: a linked list of queues, given by its first and its last one.
#[derive(Clone, Copy)]
pub struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    /// The empty chain.
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// The first queue of the chain.
    #[inline]
    pub fn first(self) -> Option<ListId> {
        id(self.head)
    }

    /// Whether the chain is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.head == NONE
    }
}

impl Links {
    /// Links for `count` queues, none of them in a chain.
    pub fn new(count: usize) -> Self {
        Self { next: alloc::vec![NONE; count] }
    }

    /// Appends `queue`, which is in no chain, to `chain`.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, queue: ListId) {
        let number = u32::from(queue.0);
        self.next[usize::from(queue.0)] = NONE;
        if chain.tail == NONE {
            chain.head = number;
        } else {
            self.next[chain.tail as usize] = number;
        }
        chain.tail = number;
    }

    /// Removes the first queue of `chain` and returns it.
    #[inline]
    pub fn pop(&self, chain: &mut Chain) -> Option<ListId> {
        let first = chain.first()?;
        chain.head = self.next[usize::from(first.0)];
        if chain.head == NONE {
            chain.tail = NONE;
        }
        Some(first)
    }

    /// Removes `queue` from any place in `chain`; walks the chain from the head.
    pub fn remove(&mut self, chain: &mut Chain, queue: ListId) {
        let number = u32::from(queue.0);
        if chain.head == number {
            self.pop(chain);
            return;
        }
        let before = self.walk(*chain).find(|at| self.next[usize::from(at.0)] == number);
        if let Some(before) = before {
            self.next[usize::from(before.0)] = self.next[usize::from(queue.0)];
            if chain.tail == number {
                chain.tail = u32::from(before.0);
            }
        }
    }

    /// The queues of `chain` in order.
    pub fn walk(&self, chain: Chain) -> impl Iterator<Item = ListId> + '_ {
        let mut at = chain.head;
        core::iter::from_fn(move || {
            let queue = id(at)?;
            at = self.next[usize::from(queue.0)];
            Some(queue)
        })
    }
}

/// The choice among several longest queues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// The first one in the iteration.
    First,
    /// The one with the lowest number, as in Linux, which scans its table.
    Lowest,
}

/// The queue of `queues` with most bytes, including `arriving` (queue, bytes).
pub fn fattest(queues: impl Iterator<Item = ListId>, port: &Port, arriving: (ListId, u32), tie: Tie) -> ListId {
    let (mut most, mut found) = (0, arriving.0);
    for queue in queues {
        let own = if queue == arriving.0 { u64::from(arriving.1) } else { 0 };
        let bytes = port.level(queue).bytes() + own;
        if bytes > most || (bytes == most && tie == Tie::Lowest && queue.0 < found.0) {
            (most, found) = (bytes, queue);
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// In no chain, because it is empty.
    Idle,
    New,
    Old,
}

#[derive(Clone, Copy)]
struct Flow {
    /// Bytes that the queue may still send in this round; negative if it sent too much.
    credit: i32,
    tier: Tier,
}

/// Deficit round robin with new queues before old queues.
pub struct FlowQueues {
    flows: Vec<Flow>,
    links: Links,
    new: Chain,
    old: Chain,
    quantum: i32,
    /// True: a new queue that becomes empty always joins the old queues (RFC 8290). False: it joins them only if there
    /// is an old queue, otherwise it becomes idle (Linux).
    always_old: bool,
}

impl FlowQueues {
    /// Creates `count` idle queues. Each may send `quantum` bytes (above 0) per round. `always_old`: whether a new
    /// queue that becomes empty always joins the old queues (RFC 8290), or only if there is an old queue (Linux).
    pub fn new(count: usize, quantum: i32, always_old: bool) -> Self {
        Self {
            flows: alloc::vec![Flow { credit: 0, tier: Tier::Idle }; count],
            links: Links::new(count),
            new: Chain::EMPTY,
            old: Chain::EMPTY,
            quantum,
            always_old,
        }
    }

    /// These queues with the chains and credits of `before`, which has the same number of queues.
    pub fn after(self, before: &Self) -> Self {
        let Self { new, old, .. } = *before;
        Self { flows: before.flows.clone(), links: before.links.clone(), new, old, ..self }
    }

    /// Appends `queue` to the new queues with one quantum, unless it is active.
    #[inline]
    pub fn activate(&mut self, queue: ListId) {
        let flow = &mut self.flows[usize::from(queue.0)];
        if flow.tier == Tier::Idle {
            *flow = Flow { credit: self.quantum, tier: Tier::New };
            self.links.push(&mut self.new, queue);
        }
    }

    /// The queue that has the turn; it may be empty.
    #[inline]
    pub fn turn(&mut self) -> Option<ListId> {
        loop {
            let chain = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let queue = chain.first()?;
            let flow = &mut self.flows[usize::from(queue.0)];
            if flow.credit > 0 {
                return Some(queue);
            }
            *flow = Flow { credit: flow.credit + self.quantum, tier: Tier::Old };
            self.links.pop(chain);
            self.links.push(&mut self.old, queue);
        }
    }

    /// Records that `queue`, which has the turn, sent `len` bytes.
    #[inline]
    pub fn sent(&mut self, queue: ListId, len: u32) {
        let credit = &mut self.flows[usize::from(queue.0)].credit;
        *credit = credit.saturating_sub_unsigned(len);
    }

    /// Ends the turn of `queue`, which is empty. A new queue joins the old queues, so that it cannot become new again
    /// before each of them had its turn.
    #[inline]
    pub fn empty(&mut self, queue: ListId) {
        let flow = &mut self.flows[usize::from(queue.0)];
        if flow.tier == Tier::Old {
            self.links.pop(&mut self.old);
            flow.tier = Tier::Idle;
            return;
        }
        self.links.pop(&mut self.new);
        if self.always_old || !self.old.is_empty() {
            self.links.push(&mut self.old, queue);
            flow.tier = Tier::Old;
        } else {
            flow.tier = Tier::Idle;
        }
    }

    /// Every active queue, new ones first.
    pub fn active(&self) -> impl Iterator<Item = ListId> + '_ {
        self.links.walk(self.new).chain(self.links.walk(self.old))
    }

    /// The numbers of new and of old queues.
    pub fn lengths(&self) -> (usize, usize) {
        (self.links.walk(self.new).count(), self.links.walk(self.old).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends up to `packets` packets and returns their queues. `waiting` has the number of packets and the packet
    /// length of each queue.
    fn order(flows: &mut FlowQueues, waiting: &mut [(u32, u32)], packets: usize) -> Vec<u16> {
        let mut sent = Vec::new();
        while sent.len() < packets {
            let Some(queue) = flows.turn() else { break };
            let (count, len) = &mut waiting[usize::from(queue.0)];
            if *count == 0 {
                flows.empty(queue);
                continue;
            }
            *count -= 1;
            flows.sent(queue, *len);
            sent.push(queue.0);
        }
        sent
    }

    #[test]
    fn queues_send_equal_bytes_per_round() {
        let mut flows = FlowQueues::new(2, 300, true);
        (0..2).for_each(|at| flows.activate(ListId(at)));
        assert_eq!(order(&mut flows, &mut [(9, 100), (9, 300)], 8), [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn bytes_sent_beyond_credit_reduce_the_next_credit() {
        let mut flows = FlowQueues::new(2, 300, true);
        (0..2).for_each(|at| flows.activate(ListId(at)));
        // Queue 0 sends 250 and 250 with 300: credit -200. The next round gives 100, and -150 after the next packet.
        assert_eq!(order(&mut flows, &mut [(9, 250), (9, 300)], 6), [0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn new_queue_is_first_for_one_quantum() {
        let mut flows = FlowQueues::new(4, 300, true);
        (0..2).for_each(|at| flows.activate(ListId(at)));
        let mut waiting = [(9, 300), (9, 300), (0, 0), (2, 300)];
        assert_eq!(order(&mut flows, &mut waiting, 2), [0, 1]);
        flows.activate(ListId(3));
        assert_eq!(order(&mut flows, &mut waiting, 4), [3, 0, 1, 3]);
        assert_eq!(flows.lengths(), (0, 3));
    }

    #[test]
    fn empty_new_queue_joins_the_old_queues() {
        for always_old in [true, false] {
            let mut flows = FlowQueues::new(2, 300, always_old);
            flows.activate(ListId(0));
            let mut waiting = [(1, 100), (0, 0)];
            assert_eq!(order(&mut flows, &mut waiting, 1), [0]);
            let queue = flows.turn().unwrap();
            flows.empty(queue);
            // Without an old queue, Linux makes it idle.
            assert_eq!(flows.lengths(), (0, usize::from(always_old)));
        }
    }

    #[test]
    fn queue_can_leave_a_chain_at_any_position() {
        let (mut links, mut chain) = (Links::new(4), Chain::EMPTY);
        let held = |links: &Links, chain| links.walk(chain).map(|queue| queue.0).collect::<Vec<_>>();
        (0..4).for_each(|at| links.push(&mut chain, ListId(at)));
        links.remove(&mut chain, ListId(1));
        assert_eq!(held(&links, chain), [0, 2, 3]);
        links.remove(&mut chain, ListId(3));
        links.push(&mut chain, ListId(1));
        assert_eq!(held(&links, chain), [0, 2, 1], "the tail is known");
        links.remove(&mut chain, ListId(0));
        links.remove(&mut chain, ListId(2));
        links.remove(&mut chain, ListId(1));
        assert!(chain.is_empty());
        links.push(&mut chain, ListId(3));
        assert_eq!(held(&links, chain), [3]);
    }

    #[test]
    fn supports_65536_queues() {
        let mut flows = FlowQueues::new(65_536, 300, true);
        [0, 65_535, 65_534].into_iter().for_each(|at| flows.activate(ListId(at)));
        let turns: Vec<u16> = (0..6)
            .filter_map(|_| {
                let queue = flows.turn()?;
                flows.sent(queue, 300);
                Some(queue.0)
            })
            .collect();
        assert_eq!((turns, flows.lengths()), (alloc::vec![0, 65_535, 65_534, 0, 65_535, 65_534], (0, 3)));
    }
}
