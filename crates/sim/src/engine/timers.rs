//! The timers of all flows, in a calendar queue. It groups timers by day, a span of 17 ms, and sorts only the current
//! day.
//!
//! One heap for the timers of 10,000 flows would cost 14 unpredictable memory accesses per operation. Most timers are
//! set far ahead, for retransmissions that turn out to be unnecessary. Such a timer is only appended to the list of its
//! day. A day is sorted when it becomes the current one.

use std::collections::BinaryHeap;

use forebay_aqm::base::time::Instant;

/// A day has 2^24 ns (17 ms).
const DAY_BITS: u32 = 24;
/// Days with a list, 4.3 s in all; later timers wait in a heap.
const DAYS: u64 = 256;

/// Time and flow of a timer in one number, for fast comparison. Inverted, so that a `BinaryHeap` yields the earliest
/// first, and at equal times the lowest flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm(u128);

impl Alarm {
    const fn new(at: Instant, flow: usize) -> Self {
        Self(!((at.nanos() as u128) << 32 | flow as u128))
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((!self.0 >> 32) as u64)
    }

    const fn flow(self) -> usize {
        !self.0 as u32 as usize
    }

    const fn day(self) -> u64 {
        self.at().nanos() >> DAY_BITS
    }
}

/// Timers of flows, earliest first; at equal times lowest flow first.
pub(crate) struct Timers {
    /// Timers up to and including `today`. Empty only if there are no timers.
    near: BinaryHeap<Alarm>,
    today: u64,
    /// By day modulo `DAYS`: timers of the days after `today` and before `today + DAYS`, unsorted.
    days: Vec<Vec<Alarm>>,
    /// One bit per day with timers.
    full: [u64; DAYS as usize / 64],
    /// Timers from day `today + DAYS` on.
    later: BinaryHeap<Alarm>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        let days = (0..DAYS).map(|_| Vec::new()).collect();
        Self { near: BinaryHeap::new(), today: 0, days, full: [0; DAYS as usize / 64], later: BinaryHeap::new() }
    }

    /// Adds a timer.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, flow: usize) {
        self.place(Alarm::new(at, flow));
        if self.near.is_empty() {
            self.turn_page();
        }
    }

    /// Time of the earliest timer.
    #[inline]
    pub(crate) fn first(&self) -> Option<Instant> {
        self.near.peek().map(|alarm| alarm.at())
    }

    /// Removes the earliest timer; returns its time and flow.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, usize)> {
        let alarm = self.near.pop()?;
        if self.near.is_empty() {
            self.turn_page();
        }
        Some((alarm.at(), alarm.flow()))
    }

    #[inline]
    fn place(&mut self, alarm: Alarm) {
        let day = alarm.day();
        if day <= self.today {
            self.near.push(alarm);
        } else if day - self.today < DAYS {
            let day = (day % DAYS) as usize;
            self.days[day].push(alarm);
            self.full[day / 64] |= 1 << (day % 64);
        } else {
            self.later.push(alarm);
        }
    }

    /// Advances to the next day with timers.
    fn turn_page(&mut self) {
        let later = self.later.peek().map(|alarm| alarm.day());
        // All timers in `days` are earlier than those in `later`.
        let Some(today) = self.next_full().or(later) else { return };
        self.today = today;
        let day = (today % DAYS) as usize;
        self.near.extend(self.days[day].drain(..));
        self.full[day / 64] &= !(1 << (day % 64));
        while self.later.peek().is_some_and(|alarm| alarm.day() - today < DAYS) {
            self.later.pop().into_iter().for_each(|alarm| self.place(alarm));
        }
    }

    /// The first day after today with timers.
    fn next_full(&self) -> Option<u64> {
        let first = self.today + 1;
        let words = self.full.len();
        // The word of the first day is checked twice: first the bits from that day on, at the end the bits before it.
        (0..=words).find_map(|i| {
            let word = (first % DAYS) as usize / 64 + i;
            let before = (1u64 << (first % 64)) - 1;
            let wanted = match i {
                0 => !before,
                _ if i == words => before,
                _ => u64::MAX,
            };
            let bits = self.full[word % words] & wanted;
            (bits != 0).then(|| (first / 64 + i as u64) * 64 + u64::from(bits.trailing_zeros()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::time::Span;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a sorted set, for timers up to 2^43 ns (2.4 hours) ahead.
        #[test]
        fn timers_match_sorted_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..44, 0u64..1 << 44, 0usize..50), 1..400)
        ) {
            let mut timers = Timers::new();
            let mut plain = std::collections::BTreeSet::new();
            let mut now = Instant::ZERO;
            for (push, bits, ahead, flow) in steps {
                if push || plain.is_empty() {
                    let at = now + Span::from_nanos(ahead & ((1 << bits) - 1));
                    if plain.insert((at, flow)) {
                        timers.push(at, flow);
                    }
                } else {
                    let first = plain.pop_first();
                    prop_assert_eq!(timers.pop(), first);
                    now = first.map_or(now, |(at, _)| at);
                }
                prop_assert_eq!(timers.first(), plain.first().map(|&(at, _)| at));
            }
            while let Some(first) = plain.pop_first() {
                prop_assert_eq!(timers.pop(), Some(first));
            }
            prop_assert_eq!(timers.pop(), None);
        }
    }
}
