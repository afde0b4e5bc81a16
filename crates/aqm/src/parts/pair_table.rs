//! Counts packets per key and forgets idle keys, in a table of fixed size.
//!
//! Open addressing: a key may be in any of a few slots from its home slot on. A new key takes the first vacant or
//! expired slot, otherwise it evicts the key that was idle longest.

use alloc::vec::Vec;

use crate::base::time::{Instant, Span};

/// Number of slots, from the home slot on, that a key may be in.
const WINDOW: usize = 8;

/// 2^32 over the golden ratio: spreads consecutive keys (Knuth 6.4).
const SPREAD: u32 = 0x9e37_79b9;

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u32,
    /// 0: never used.
    count: u32,
    seen: Instant,
}

/// The table of keys and their packet counts.
#[derive(Clone)]
pub struct PairTable {
    slots: Vec<Slot>,
    memory: Span,
    evicted: u64,
}

impl PairTable {
    /// A table for `capacity` keys, at least one; a key idle for `memory` is forgotten.
    pub fn new(capacity: u32, memory: Span) -> Self {
        Self { slots: alloc::vec![Slot::default(); capacity.max(1) as usize], memory, evicted: 0 }
    }

    /// This table with another idle time `memory`.
    pub fn remembering(&self, memory: Span) -> Self {
        Self { memory, ..self.clone() }
    }

    /// Counts a packet of `key` and returns the new count.
    pub fn count(&mut self, key: u32, now: Instant) -> u32 {
        let memory = self.memory;
        let gone = |slot: &Slot| slot.count == 0 || now.since(slot.seen) >= memory;
        let at = self.find(key).unwrap_or_else(|| {
            let at = self.window(key).find(|&at| gone(&self.slots[at])).unwrap_or_else(|| self.oldest(key));
            self.evicted += u64::from(!gone(&self.slots[at]));
            self.slots[at] = Slot { key, count: 0, seen: now };
            at
        });
        let slot = &mut self.slots[at];
        let before = if gone(slot) { 0 } else { slot.count };
        *slot = Slot { key, count: before.saturating_add(1), seen: now };
        slot.count
    }

    /// Number of keys evicted before they expired.
    pub const fn evicted(&self) -> u64 {
        self.evicted
    }

    fn window(&self, key: u32) -> impl Iterator<Item = usize> + use<> {
        let n = self.slots.len();
        let home = ((u64::from(key.wrapping_mul(SPREAD)) * n as u64) >> 32) as usize;
        (home..home + WINDOW.min(n)).map(move |at| if at < n { at } else { at - n })
    }

    /// The slot of `key`. A slot never becomes unused again, so the first unused one ends the search.
    fn find(&self, key: u32) -> Option<usize> {
        let used = self.window(key).take_while(|&at| self.slots[at].count > 0);
        { used }.find(|&at| self.slots[at].key == key)
    }

    fn oldest(&self, key: u32) -> usize {
        self.window(key).min_by_key(|&at| self.slots[at].seen).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_hand::ms as at;

    const T: Span = Span::from_millis(5000);

    #[test]
    fn idle_key_is_forgotten_and_counts_from_one() {
        let mut table = PairTable::new(100, T);
        assert_eq!([0, 1, 2].map(|ms| table.count(7, at(ms))), [1, 2, 3]);
        assert_eq!(table.count(8, at(3)), 1);
        assert_eq!(table.count(7, at(5001)), 4, "silent for 4999 ms");
        assert_eq!(table.count(7, at(10_001)), 1, "silent for 5000 ms");
        assert_eq!(table.evicted(), 0);
    }

    #[test]
    fn new_key_without_slot_evicts_longest_idle_key() {
        let mut table = PairTable::new(4, T);
        for key in 0..4 {
            table.count(key, at(u64::from(key)));
        }
        table.count(0, at(10));
        assert_eq!((table.count(99, at(11)), table.evicted()), (1, 1));
        assert_eq!(table.count(0, at(12)), 3, "key 1 had to go, not key 0");
        assert_eq!((table.count(1, at(13)), table.evicted()), (1, 2));
        // Expired keys make room without an eviction.
        assert_eq!((table.count(50, at(9000)), table.evicted()), (1, 2));
    }

    #[test]
    fn counts_match_a_btreemap_without_evictions() {
        let mut table = PairTable::new(4096, T);
        let mut map = alloc::collections::BTreeMap::<u32, (u32, u64)>::new();
        let mut rng = crate::base::rng::Rng::stream(1, "pairs");
        let mut ms = 0;
        for _ in 0..100_000 {
            ms += rng.below(20);
            let key = rng.below(1000) as u32 * 65_536;
            let (count, seen) = map.entry(key).or_insert((0, 0));
            *count = if *count > 0 && ms - *seen < 5000 { *count + 1 } else { 1 };
            *seen = ms;
            assert_eq!(table.count(key, at(ms)), *count);
        }
        assert_eq!(table.evicted(), 0);
    }
}
