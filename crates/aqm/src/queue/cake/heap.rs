//! A binary heap of the queues of all tins, by their length in bytes. An overflow drops from its first queue.
//!
//! Linux: `cake_heapify`, `cake_heapify_up`, `cake_drop`. When a queue becomes shorter, the kernel moves it down by one
//! level only: it compares the level below with the length of the queue that moved up. Therefore the first queue is
//! certainly the longest one only directly after the heap was built.

use alloc::boxed::Box;

use super::diffserv::MAX_TINS;
use super::hosts::QUEUES;

/// Number of queues, with those of tins that are not used.
const COUNT: usize = MAX_TINS * QUEUES;
/// Number of departures without an overflow after which the heap is not updated any more.
const KEPT: u16 = u16::MAX;

/// The heap. A queue has the number of its list: 1024 times the tin, and its number in the tin.
#[derive(Clone)]
pub(super) struct Heap {
    /// The queues in the order of the heap.
    queues: Box<[u16; COUNT]>,
    /// For each queue, its place in the heap.
    places: Box<[u16; COUNT]>,
    /// Number of departures until the heap is not updated any more; 0: it is not updated.
    left: u16,
    /// Number of queues of the tins that are used, the first ones.
    used: usize,
}

impl Heap {
    /// A heap for `tins` tins that is not updated. At first, the queues with the same number of all tins are neighbours
    /// (`cake_init`).
    pub(super) fn new(tins: usize) -> Self {
        let (mut queues, mut places) = (Box::new([0; COUNT]), Box::new([0; COUNT]));
        for place in 0..COUNT {
            let queue = place % MAX_TINS * QUEUES + place / MAX_TINS;
            queues[place] = queue as u16;
            places[queue] = place as u16;
        }
        Self { queues, places, left: 0, used: tins * QUEUES }
    }

    /// Whether the heap is updated.
    #[inline]
    pub(super) const fn is_kept(&self) -> bool {
        self.left > 0
    }

    /// The queue to drop from. `bytes` gives the length of a queue in bytes. If the heap is not updated, or if its first
    /// queue has no packets (`is_empty`), the heap is built again.
    pub(super) fn longest(&mut self, bytes: impl Fn(u16) -> u64, is_empty: impl Fn(u16) -> bool) -> u16 {
        if !self.is_kept() || is_empty(self.queues[0]) {
            (0..COUNT / 2).rev().for_each(|place| self.sink(place, &bytes));
        }
        self.left = KEPT;
        self.queues[0]
    }

    /// The queue has become longer.
    #[cold]
    #[inline(never)]
    pub(super) fn grown(&mut self, queue: u16, bytes: impl Fn(u16) -> u64) {
        let mut place = self.place(queue);
        while place > 0 {
            let above = (place - 1) / 2;
            if self.len(place, &bytes) <= self.len(above, &bytes) {
                break;
            }
            self.swap(place, above);
            place = above;
        }
    }

    /// The queue has become shorter.
    #[cold]
    #[inline(never)]
    pub(super) fn shrunk(&mut self, queue: u16, bytes: impl Fn(u16) -> u64) {
        self.sink(self.place(queue), &bytes);
    }

    /// A packet has departed.
    pub(super) const fn departed(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Length of the queue at a place, in bytes; 0 beyond the last place.
    fn len(&self, place: usize, bytes: &impl Fn(u16) -> u64) -> u64 {
        let queue = self.queues.get(place).filter(|queue| usize::from(**queue) < self.used);
        queue.map_or(0, |queue| bytes(*queue))
    }

    fn place(&self, queue: u16) -> usize {
        usize::from(self.places[usize::from(queue) % COUNT])
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.queues.swap(one, other);
        for place in [one, other] {
            self.places[usize::from(self.queues[place])] = place as u16;
        }
    }

    fn sink(&mut self, mut place: usize, bytes: &impl Fn(u16) -> u64) {
        let mut most = self.len(place, bytes);
        loop {
            let mut longest = place;
            for below in [2 * place + 1, 2 * place + 2] {
                let len = self.len(below, bytes);
                if len > most {
                    (longest, most) = (below, len);
                }
            }
            if longest == place {
                return;
            }
            // `most` stays the length of the queue that moved up.
            self.swap(place, longest);
            place = longest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(of: &[(u16, u64)]) -> impl Fn(u16) -> u64 {
        move |queue| of.iter().find(|(known, _)| *known == queue).map_or(0, |(_, bytes)| *bytes)
    }

    #[test]
    fn longest_queue_of_all_tins_is_first() {
        let mut heap = Heap::new(8);
        assert!(!heap.is_kept());
        let bytes = lengths(&[(5, 100), (1024 + 900, 300), (7 * 1024 + 1023, 200)]);
        assert_eq!(heap.longest(&bytes, |_| false), 1024 + 900);
        assert!(heap.is_kept());
        (0..KEPT).for_each(|_| heap.departed());
        assert!(!heap.is_kept());
    }

    /// In a new heap, queue 0 of tin N is at place N.
    #[test]
    fn shorter_queue_moves_down_one_level_only() {
        let queue = |tin: u16| tin * 1024;
        let of =
            |lens: [u64; 7]| (0..7).map(|tin| (queue(tin), lens[usize::from(tin)])).collect::<alloc::vec::Vec<_>>();
        let before = of([70, 60, 30, 50, 40, 20, 10]);
        let mut heap = Heap::new(8);
        assert_eq!(heap.longest(lengths(&before), |_| false), queue(0));
        let after = of([5, 60, 30, 50, 40, 20, 10]);
        heap.shrunk(queue(0), lengths(&after));
        assert_eq!(heap.queues[..4], [queue(1), queue(0), queue(2), queue(3)], "not below the queue of 50 bytes");
        let grown = of([65, 60, 30, 50, 40, 20, 10]);
        heap.grown(queue(0), lengths(&grown));
        assert_eq!(heap.queues[0], queue(0));
    }

    #[test]
    fn empty_first_queue_rebuilds_the_heap() {
        let mut heap = Heap::new(8);
        heap.longest(lengths(&[(1, 10)]), |_| false);
        let bytes = lengths(&[(900, 10)]);
        assert_eq!(heap.longest(&bytes, |queue| queue != 900), 900);
    }
}
