//! Books of a link that must balance, kept in builds with debug assertions; elsewhere the calls are empty.
//!
//! They count beside the link's own counters, so that a packet that is lost, doubled, overtaken or sent
//! back in time stops the run where it happens.

use forebay_aqm::base::time::Instant;

/// Books of one link.
#[derive(Default)]
pub(super) struct LinkBooks {
    offered: u64,
    begun: u64,
    /// Time of the last arrival, and the latest at which a transmission ends.
    arrived: Instant,
    ends: Instant,
    /// By slot: which arrival it holds. Drop-tail as arithmetic has no slots.
    arrivals: Vec<u64>,
    /// The arrival that was served last.
    served: u64,
}

impl LinkBooks {
    /// A packet is offered at `now`.
    #[inline(always)]
    pub(super) fn offer(&mut self, now: Instant) {
        if cfg!(debug_assertions) {
            assert!(now >= self.arrived, "arrivals at a link run forward");
            self.arrived = now;
            self.offered += 1;
        }
    }

    /// The packet that was just offered is put into `slot`.
    #[inline(always)]
    pub(super) fn store(&mut self, slot: u32) {
        if cfg!(debug_assertions) {
            let slot = slot as usize;
            self.arrivals.resize(self.arrivals.len().max(slot + 1), 0);
            self.arrivals[slot] = self.offered;
        }
    }

    /// The packet in `slot` is served next. A queue with one list serves in the order of arrival.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: u32, one_list: bool) {
        if cfg!(debug_assertions) {
            let arrival = self.arrivals[slot as usize];
            assert!(!one_list || arrival > self.served, "first in, first out");
            self.served = arrival;
        }
    }

    /// A packet waits no longer.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if cfg!(debug_assertions) {
            self.begun += 1;
        }
    }

    /// The transmission of the next packet in order ends at `end`. Its begin says less: a host's line wanders,
    /// and a long packet may begin before the end of a short one before it.
    #[inline(always)]
    pub(super) fn end(&mut self, end: Instant) {
        if cfg!(debug_assertions) {
            assert!(end >= self.ends, "transmissions end one after the other");
            self.ends = end;
        }
    }

    /// Conservation: what was offered has begun its transmission, was dropped, or waits.
    #[inline(always)]
    pub(super) fn balance(&self, dropped: u64, queued: usize) {
        debug_assert_eq!(self.offered, self.begun + dropped + queued as u64, "offered = begun + dropped + queued");
    }
}

#[cfg(test)]
#[cfg(debug_assertions)]
mod tests {
    use super::*;
    use crate::testing::{at, stops};

    /// A link that took packets 1 to 3 into slots 0 to 2 at times 10 to 30 and sends the first.
    fn link() -> LinkBooks {
        let mut books = LinkBooks::default();
        for slot in 0..3 {
            books.offer(at(10 * u64::from(slot + 1)));
            books.store(slot);
        }
        books.take(0, true);
        books.begin();
        books.end(at(35));
        books
    }

    #[test]
    fn a_sound_link_passes() {
        let mut books = link();
        books.balance(0, 2);
        books.take(1, true);
        books.begin();
        books.balance(1, 0);
        books.take(0, false);
    }

    #[test]
    fn faults_of_a_link_are_found() {
        assert!(stops(|| link().balance(0, 1)), "dropped without counting");
        assert!(stops(|| link().balance(1, 2)), "counted without dropping");
        assert!(stops(|| link().offer(at(29))), "time travel");
        assert!(stops(|| link().end(at(34))), "two transmissions at once");
        let swapped = || {
            let mut books = link();
            books.take(2, true);
            books.take(1, true);
        };
        assert!(stops(swapped), "overtaken");
        assert!(stops(|| link().take(0, true)), "served twice");
    }
}
