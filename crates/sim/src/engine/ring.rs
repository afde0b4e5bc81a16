//! A growable FIFO ring of `Copy` records: like `VecDeque`, but with a power-of-two size and few operations.

/// A FIFO queue.
pub struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// An empty ring.
    pub fn new() -> Self {
        Self { slots: vec![T::default(); 16], head: 0, len: 0 }
    }

    /// Number of records.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Is the ring empty?
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest record.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }

    /// The newest record.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get((self.head + self.len - 1) & (self.slots.len() - 1)) }
    }

    /// Adds a record at the end.
    #[inline]
    pub fn push(&mut self, record: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let at = (self.head + self.len) & mask;
        self.slots[at] = record;
        self.len += 1;
    }

    /// Removes the oldest record, if any. Read it with [`front`](Self::front) first: returning a copy in an `Option`
    /// is slower.
    #[inline]
    pub fn skip(&mut self) {
        let some = usize::from(self.len > 0);
        self.head = (self.head + some) & (self.slots.len() - 1);
        self.len -= some;
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize(self.slots.len() * 2, T::default());
    }
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use std::collections::VecDeque;

    #[test]
    fn ring_matches_vecdeque_while_growing() {
        let (mut ring, mut deque) = (Ring::new(), VecDeque::new());
        for i in 0u32..5000 {
            ring.push(i);
            deque.push_back(i);
            if i % 3 == 0 {
                ring.skip();
                deque.pop_front();
            }
            assert_eq!((ring.front(), ring.back(), ring.len()), (deque.front(), deque.back(), deque.len()));
        }
        while let Some(&x) = ring.front() {
            assert_eq!(Some(x), deque.pop_front());
            ring.skip();
        }
        ring.skip();
        assert!(ring.is_empty() && deque.is_empty());
    }
}
