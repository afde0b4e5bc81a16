//! Accounting checks of a link. They run in builds with debug assertions; in others the calls are empty.
//!
//! The checks have their own counters, separate from those of the link. They panic at the event at which a packet is
//! lost, duplicated or reordered, or at which time runs backwards.

use forebay_aqm::base::time::Instant;

/// Packet counters of one link.
#[derive(Default)]
pub(super) struct LinkCounters {
    offered: u64,
    begun: u64,
    /// Time of the latest arrival, and the end of the latest transmission.
    arrived: Instant,
    ends: Instant,
    /// For each index of the table of waiting packets, the number (from 1) of the arrival that is stored there.
    /// A drop-tail queue that computes departures on arrival, without departure events, has no such table.
    arrivals: Vec<u64>,
    /// Number of the arrival whose transmission began last.
    served: u64,
}

impl LinkCounters {
    /// A packet is offered at `now`.
    #[inline(always)]
    pub(super) fn offer(&mut self, now: Instant) {
        if cfg!(debug_assertions) {
            assert!(now >= self.arrived, "arrivals at a link run forward");
            self.arrived = now;
            self.offered += 1;
        }
    }

    /// The packet just offered is stored at index `slot` of the table of waiting packets.
    #[inline(always)]
    pub(super) fn store(&mut self, slot: u32) {
        if cfg!(debug_assertions) {
            let slot = slot as usize;
            self.arrivals.resize(self.arrivals.len().max(slot + 1), 0);
            self.arrivals[slot] = self.offered;
        }
    }

    /// The packet at index `slot` of the table of waiting packets is served next. If the discipline has a single list
    /// of packets (`one_list`), service must be in order of arrival.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: u32, one_list: bool) {
        if cfg!(debug_assertions) {
            let arrival = self.arrivals[slot as usize];
            assert!(!one_list || arrival > self.served, "first in, first out");
            self.served = arrival;
        }
    }

    /// A packet begins its transmission.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if cfg!(debug_assertions) {
            self.begun += 1;
        }
    }

    /// The transmission of the next packet in order ends at `end`. Only this end is checked: at a host with random
    /// jitter of its transmissions, a long packet may begin before the preceding short packet has ended.
    #[inline(always)]
    pub(super) fn end(&mut self, end: Instant) {
        if cfg!(debug_assertions) {
            assert!(end >= self.ends, "transmissions end one after the other");
            self.ends = end;
        }
    }

    /// Checks conservation: every packet offered has begun its transmission, was dropped, or is queued.
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

    /// The accounting of a link that stored packets 1 to 3 at indices 0 to 2 of its table, at times 10 to 30, and sends
    /// the first.
    fn link() -> LinkCounters {
        let mut counters = LinkCounters::default();
        for slot in 0..3 {
            counters.offer(at(10 * u64::from(slot + 1)));
            counters.store(slot);
        }
        counters.take(0, true);
        counters.begin();
        counters.end(at(35));
        counters
    }

    #[test]
    fn correct_link_passes_the_accounting_checks() {
        let mut counters = link();
        counters.balance(0, 2);
        counters.take(1, true);
        counters.begin();
        counters.balance(1, 0);
        counters.take(0, false);
    }

    #[test]
    fn link_accounting_finds_faults() {
        assert!(stops(|| link().balance(0, 1)), "dropped without counting");
        assert!(stops(|| link().balance(1, 2)), "counted without dropping");
        assert!(stops(|| link().offer(at(29))), "arrival before the latest one");
        assert!(stops(|| link().end(at(34))), "two transmissions at once");
        let swapped = || {
            let mut counters = link();
            counters.take(2, true);
            counters.take(1, true);
        };
        assert!(stops(swapped), "overtaken");
        assert!(stops(|| link().take(0, true)), "served twice");
    }
}
