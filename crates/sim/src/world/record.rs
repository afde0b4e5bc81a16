//! What a run keeps about itself: its fingerprint, its events and its books.

use forebay_aqm::base::time::Instant;

use super::audit::Books;
use crate::link::segment::Segment;

/// One packet event as a number. A run's fingerprint is their sum: what happened when, in whatever order it
/// was computed.
#[inline]
const fn trace(at: Instant, segment: &Segment, what: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (at.nanos() ^ ((segment.flow as u64) << 40)).wrapping_mul(ODD);
    let hash = (hash.rotate_left(29) ^ ((segment.seq as u64) << 8 | what)).wrapping_mul(ODD);
    hash ^ (hash >> 32)
}

/// What the trace of a drop or loss says; that of a delivery says the segment's kind.
const DROPPED: u64 = 0xff;

/// See the module's text.
pub(super) struct Record {
    /// The hash of every packet event so far.
    pub(super) fingerprint: u64,
    /// Events so far.
    pub(super) events: u64,
    /// Kept in debug builds.
    pub(super) books: Books,
}

impl Record {
    /// Nothing has happened.
    pub(super) const fn new(books: Books) -> Self {
        Self { fingerprint: 0, events: 0, books }
    }

    /// A segment has reached its host.
    #[inline(always)]
    pub(super) fn delivered(&mut self, at: Instant, segment: &Segment) {
        self.fingerprint = self.fingerprint.wrapping_add(trace(at, segment, segment.mark.kind() as u64));
        self.books.deliver(segment, at);
    }

    /// A segment was dropped or lost.
    #[inline(always)]
    pub(super) fn lost(&mut self, at: Instant, segment: &Segment) {
        self.fingerprint = self.fingerprint.wrapping_add(trace(at, segment, DROPPED));
    }
}
