//! The receiving end of a TCP connection: cumulative acknowledgements, reordering, ECN echo.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};

/// A held acknowledgement leaves after this at the latest (ns-2's delayed-ACK sink; RFC 1122 allows 500 ms).
const DELAYED_ACK: Span = Span::from_millis(100);

/// One acknowledgement to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The next packet number expected.
    pub next: u32,
    /// ECN-Echo (RFC 3168 section 6.1.3).
    pub ece: bool,
}

/// State of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    next: u32,
    held: u32,
    /// Packets beyond `next` that have arrived, one bit each; empty while everything is in order.
    early: EarlySet,
    delayed: bool,
    ece: bool,
    deadline: Option<Instant>,
}

impl Receiver {
    /// Nothing received; with `delayed`, every second in-order packet is acknowledged at once.
    pub fn new(delayed: bool) -> Self {
        Self { delayed, ..Self::default() }
    }

    /// In-order packets so far.
    pub const fn in_order(&self) -> u32 {
        self.next
    }

    /// Packet `seq` has arrived; the acknowledgement to send at once, if any.
    #[inline]
    pub fn on_data(&mut self, now: Instant, seq: u32, ecn: Ecn, cwr: bool) -> Option<Ack> {
        if cwr {
            self.ece = false;
        }
        if ecn == Ecn::Ce {
            self.ece = true;
        }
        let in_order = seq == self.next;
        let filled_a_gap = in_order && !self.early.is_empty();
        if in_order {
            self.next += 1;
            self.next += self.early.take_run(self.next);
        } else if seq > self.next {
            self.early.insert(self.next, seq);
        }
        if self.delayed && in_order && !filled_a_gap && self.held == 0 {
            self.held = 1;
            self.deadline = Some(now + DELAYED_ACK);
            return None;
        }
        Some(self.ack())
    }

    /// When a held acknowledgement must leave.
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The acknowledgement as of now; nothing is held any more.
    pub fn ack(&mut self) -> Ack {
        self.held = 0;
        self.deadline = None;
        Ack { next: self.next, ece: self.ece }
    }
}

/// A set of packet numbers in a sliding window: a ring of bits, allocated on the first reordering.
#[derive(Clone, Debug, Default)]
struct EarlySet {
    words: Vec<u64>,
    count: u32,
}

impl EarlySet {
    const fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&self, seq: u32) -> (usize, u64) {
        ((seq as usize >> 6) & (self.words.len() - 1), 1 << (seq & 63))
    }

    /// Adds `seq`, which lies beyond `next`, the bottom of the window.
    fn insert(&mut self, next: u32, seq: u32) {
        let span = (seq - next) as usize + 64;
        if span > self.words.len() * 64 {
            self.grow(next, span);
        }
        let (word, bit) = self.place(seq);
        if self.words[word] & bit == 0 {
            self.words[word] |= bit;
            self.count += 1;
        }
    }

    #[cold]
    fn grow(&mut self, next: u32, span: usize) {
        let old = core::mem::take(&mut self.words);
        self.words = vec![0; span.div_ceil(64).next_power_of_two()];
        for seq in (next..).take(old.len() * 64) {
            if old[(seq as usize >> 6) & (old.len() - 1)] & (1 << (seq & 63)) != 0 {
                let (word, bit) = self.place(seq);
                self.words[word] |= bit;
            }
        }
    }

    /// Removes the run that begins at `next` and says how long it was.
    fn take_run(&mut self, next: u32) -> u32 {
        let mut run = 0;
        while self.count > 0 {
            let (word, bit) = self.place(next + run);
            if self.words[word] & bit == 0 {
                break;
            }
            self.words[word] &= !bit;
            self.count -= 1;
            run += 1;
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arrive(r: &mut Receiver, seq: u32) -> Option<u32> {
        r.on_data(Instant::ZERO, seq, Ecn::NotEct, false).map(|ack| ack.next)
    }

    #[test]
    fn acknowledges_cumulatively_and_duplicates_while_a_hole_is_open() {
        let mut r = Receiver::new(false);
        let acks: Vec<_> = [0, 2, 3, 1, 1, 4].iter().map(|&s| arrive(&mut r, s).unwrap()).collect();
        assert_eq!(acks, [1, 1, 1, 4, 4, 5]);
    }

    #[test]
    fn delayed_ack_holds_one_in_order_packet_only() {
        let mut r = Receiver::new(true);
        assert_eq!(arrive(&mut r, 0), None);
        assert_eq!(r.deadline(), Some(Instant::ZERO + DELAYED_ACK));
        assert_eq!(arrive(&mut r, 1), Some(2));
        assert_eq!(r.deadline(), None);
        assert_eq!(arrive(&mut r, 3), Some(2), "out of order: at once (RFC 5681 section 4.2)");
        assert_eq!(arrive(&mut r, 2), Some(4), "fills a gap: at once");
    }

    #[test]
    fn echoes_congestion_until_cwr() {
        let mut r = Receiver::new(false);
        let mut ece = |seq, ecn, cwr| r.on_data(Instant::ZERO, seq, ecn, cwr).unwrap().ece;
        assert!(!ece(0, Ecn::Ect0, false));
        assert!(ece(1, Ecn::Ce, false));
        assert!(ece(2, Ecn::Ect0, false));
        assert!(!ece(3, Ecn::Ect0, true));
        assert!(ece(4, Ecn::Ce, true), "a mark on the CWR packet itself counts");
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(seqs in prop::collection::vec(0u32..700, 1..600)) {
            let mut r = Receiver::new(false);
            let mut seen = BTreeSet::new();
            for seq in seqs {
                seen.insert(seq);
                let next = (0..).find(|s| !seen.contains(s)).unwrap();
                prop_assert_eq!(arrive(&mut r, seq), Some(next));
            }
        }
    }
}
