//! A set of packet numbers in a sliding window, stored as a ring of bits.

/// The set. The caller passes the bottom of the window, which only moves up; the set has nothing below it.
#[derive(Clone, Debug, Default)]
pub(super) struct BitRing {
    /// The number of words is a power of two, or 0 before the first insertion. There is always one word more than the
    /// window needs, so that a run of packets never fills the ring.
    words: Box<[u64]>,
    count: u32,
}

impl BitRing {
    /// Is the set empty?
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of packets in the set.
    pub(super) const fn len(&self) -> u32 {
        self.count
    }

    /// Empties the set.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    const fn word(&self, seq: u32) -> usize {
        (seq as usize >> 6) & (self.words.len() - 1)
    }

    const fn place(&self, seq: u32) -> (usize, u64) {
        (self.word(seq), 1 << (seq & 63))
    }

    /// Adds `seq`, which must be at or above `bottom`.
    pub(super) fn insert(&mut self, bottom: u32, seq: u32) {
        self.reserve(bottom, seq);
        let (word, bit) = self.place(seq);
        if self.words[word] & bit == 0 {
            self.words[word] |= bit;
            self.count += 1;
        }
    }

    /// Adds `start..end`, which must be at or above `bottom`. Calls `added` for each packet that was not in the set.
    pub(super) fn insert_run(&mut self, bottom: u32, start: u32, end: u32, mut added: impl FnMut(u32)) {
        if start >= end {
            return;
        }
        self.reserve(bottom, end - 1);
        let mut at = start;
        while at < end {
            let stop = end.min((at | 63) + 1);
            let mask = (u64::MAX >> (64 - (stop - at))) << (at & 63);
            let word = self.word(at);
            let mut fresh = mask & !self.words[word];
            self.words[word] |= mask;
            self.count += fresh.count_ones();
            while fresh != 0 {
                added((at & !63) + fresh.trailing_zeros());
                fresh &= fresh - 1;
            }
            at = stop;
        }
    }

    fn reserve(&mut self, bottom: u32, seq: u32) {
        let span = (seq - bottom) as usize + 64;
        if span > self.words.len() * 64 {
            self.grow(bottom, span);
        }
    }

    #[cold]
    fn grow(&mut self, bottom: u32, span: usize) {
        let old = core::mem::take(&mut self.words);
        self.words = vec![0; span.div_ceil(64).next_power_of_two()].into_boxed_slice();
        for seq in (bottom..).take(old.len() * 64) {
            if old[(seq as usize >> 6) & (old.len() - 1)] & (1 << (seq & 63)) != 0 {
                let (word, bit) = self.place(seq);
                self.words[word] |= bit;
            }
        }
    }

    /// Is `seq`, which must be at or above `bottom`, in the set?
    pub(super) fn has(&self, bottom: u32, seq: u32) -> bool {
        let (word, bit) = match self.words.len() {
            words if ((seq - bottom) as usize) < words * 64 => self.place(seq),
            _ => return false,
        };
        self.words[word] & bit != 0
    }

    /// Removes `seq`; returns whether it was in the set.
    pub(super) fn remove(&mut self, seq: u32) -> bool {
        if self.count == 0 {
            return false;
        }
        let (word, bit) = self.place(seq);
        let there = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        self.count -= u32::from(there);
        there
    }

    /// Removes the run of consecutive packets that starts at `next`; returns its length.
    pub(super) fn take_run(&mut self, next: u32) -> u32 {
        let mut run = 0;
        while self.remove(next + run) {
            run += 1;
        }
        run
    }

    /// The first packet at or above `from` that is not in the set.
    pub(super) fn clear_from(&self, from: u32) -> u32 {
        let mut at = from;
        if self.count == 0 {
            return from;
        }
        loop {
            let holes = !self.words[self.word(at)] >> (at & 63);
            if holes != 0 {
                return at + holes.trailing_zeros();
            }
            at = (at | 63) + 1;
        }
    }

    /// The last packet at or below `from`, and not below `bottom`, that is not in the set.
    pub(super) fn clear_up_to(&self, from: u32, bottom: u32) -> Option<u32> {
        let mut at = from;
        while at >= bottom && self.count > 0 {
            let holes = !self.words[self.word(at)] << (63 - (at & 63));
            if holes != 0 {
                return at.checked_sub(holes.leading_zeros()).filter(|&hole| hole >= bottom);
            }
            at = (at & !63).checked_sub(1)?;
        }
        (at >= bottom).then_some(at)
    }

    /// Number of packets in `start..end` that are not in the set.
    pub(super) fn count_clear(&self, start: u32, end: u32) -> u32 {
        let (mut at, mut clear) = (start, 0);
        while at < end {
            let stop = end.min((at | 63) + 1);
            let mask = (u64::MAX >> (64 - (stop - at))) << (at & 63);
            clear += match self.count {
                0 => stop - at,
                _ => (mask & !self.words[self.word(at)]).count_ones(),
            };
            at = stop;
        }
        clear
    }
}

#[cfg(test)]
mod tests {
    use super::BitRing;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn bit_ring_matches_ordered_set(
            steps in prop::collection::vec((0u32..300, 1u32..200, 0u32..40), 1..60)
        ) {
            let (mut ring, mut set, mut bottom) = (BitRing::default(), BTreeSet::new(), 0u32);
            for (offset, length, advance) in steps {
                let (start, end) = (bottom + offset, bottom + offset + length);
                let mut added = Vec::new();
                ring.insert_run(bottom, start, end, |seq| added.push(seq));
                let fresh: Vec<u32> = (start..end).filter(|&seq| set.insert(seq)).collect();
                prop_assert_eq!(added, fresh);
                ring.insert(bottom, end + 3);
                set.insert(end + 3);

                let hole = (start..).find(|seq| !set.contains(seq)).unwrap();
                prop_assert_eq!(ring.clear_from(start), hole);
                let hole = (bottom..end).rev().find(|seq| !set.contains(seq));
                prop_assert_eq!(ring.clear_up_to(end - 1, bottom), hole);
                let clear = (bottom..end).filter(|seq| !set.contains(seq)).count() as u32;
                prop_assert_eq!(ring.count_clear(bottom, end), clear);

                for seq in bottom..bottom + advance {
                    prop_assert_eq!(ring.remove(seq), set.remove(&seq));
                }
                for seq in bottom..end + 300 {
                    prop_assert_eq!(ring.has(bottom, seq), set.contains(&seq));
                }
                bottom += advance;
                prop_assert_eq!((ring.len() as usize, ring.is_empty()), (set.len(), set.is_empty()));
            }
        }
    }
}
