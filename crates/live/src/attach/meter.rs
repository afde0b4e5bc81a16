//! Counters of a device's queue, composed from those of the fast path, which marks and drops packets in the kernel for
//! `forebay attach`, and those of the qdisc behind it.

use forebay_aqm::base::port::{Count, Tally};

use super::kernel::words::Counters;
use crate::sys::qdisc_list::Qdisc;

/// Makes the counters of the device's queue ([`Tally`]) from two sets of counters that are read at different times.
///
/// The fast path counts offered, marked and early-dropped packets; the qdisc counts departures and overflow
/// drops. No counter decreases, because control laws use their differences.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Counters of the qdisc when the fast path started to count.
    first: Qdisc,
    last: Tally,
}

impl Meter {
    /// Starts counting; `first` is the qdisc now.
    pub fn new(first: Qdisc) -> Self {
        Self { first, last: Tally::default() }
    }

    /// All packets counted so far, from the present counters of the fast path and the qdisc.
    pub fn tally(&mut self, counters: &Counters, root: &Qdisc) -> Tally {
        let passed = counters.passed;
        let mean = if passed.pkts > 0 { passed.bytes as f64 / passed.pkts as f64 } else { 0.0 };
        let refused = root.drops.saturating_sub(self.first.drops);
        let departed = Count {
            pkts: root.sent_pkts.saturating_sub(self.first.sent_pkts),
            bytes: root.sent_bytes.saturating_sub(self.first.sent_bytes),
        };
        let last = self.last;
        let offered = grown(last.offered, counters.offered);
        // A period cannot drop more than was offered. If the map was read between two increments, the surplus
        // moves to the next period.
        let room = offered.since(last.offered);
        let dropped_early = plus(last.dropped_early, within(less(counters.dropped, last.dropped_early), room));
        // The qdisc counts the packets of overflow drops, not their bytes.
        let overflow = Count { pkts: refused, bytes: (refused as f64 * mean) as u64 };
        let overflow = grown(last.dropped_overflow, within(overflow, less(offered, dropped_early)));
        self.last = Tally {
            offered,
            accepted: grown(last.accepted, less(less(offered, dropped_early), overflow)),
            departed: grown(last.departed, departed),
            dropped_early,
            dropped_overflow: overflow,
            marked: grown(last.marked, counters.marked),
        };
        self.last
    }
}

/// `now`, but at least `before`.
fn grown(before: Count, now: Count) -> Count {
    Count { pkts: now.pkts.max(before.pkts), bytes: now.bytes.max(before.bytes) }
}

/// `part`, but at most `whole`.
fn within(part: Count, whole: Count) -> Count {
    Count { pkts: part.pkts.min(whole.pkts), bytes: part.bytes.min(whole.bytes) }
}

/// `from - part`, at least 0.
const fn less(from: Count, part: Count) -> Count {
    Count { pkts: from.pkts.saturating_sub(part.pkts), bytes: from.bytes.saturating_sub(part.bytes) }
}

const fn plus(a: Count, b: Count) -> Count {
    Count { pkts: a.pkts + b.pkts, bytes: a.bytes + b.bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pkts: u64) -> Count {
        Count { pkts, bytes: pkts * 1000 }
    }

    fn counters(offered: u64, dropped: u64) -> Counters {
        Counters {
            offered: count(offered),
            passed: count(offered - dropped),
            dropped: count(dropped),
            ..Counters::default()
        }
    }

    fn root(sent: u64, drops: u64) -> Qdisc {
        Qdisc { sent_pkts: sent, sent_bytes: sent * 1000, drops, ..Qdisc::default() }
    }

    #[test]
    fn every_packet_is_counted_once() {
        let mut meter = Meter::new(root(7, 1));
        let tally = meter.tally(&counters(100, 10), &root(77, 6));
        assert_eq!((tally.offered, tally.dropped_early), (count(100), count(10)));
        assert_eq!((tally.dropped_overflow, tally.departed), (count(5), count(70)));
        assert_eq!(tally.accepted, count(85));
    }

    #[test]
    fn counters_read_at_different_times_never_decrease() {
        let mut meter = Meter::new(Qdisc::default());
        let mut before = Tally::default();
        // The qdisc is read later: it may have dropped packets that the fast path had not counted yet.
        for (offered, early, sent, drops) in
            [(0, 0, 0, 3), (10, 0, 5, 3), (10, 10, 5, 4), (9, 2, 4, 4), (50, 10, 30, 9)]
        {
            let tally = meter.tally(&counters(offered, early), &root(sent, drops));
            // These subtractions would panic.
            let period = tally.since(&before);
            assert!(period.post_drop().pkts <= period.offered.pkts);
            before = tally;
        }
    }
}
