//! What is recorded of every simulated run: its fingerprint, the number of events, and the accounting of packets.

use forebay_aqm::base::time::Instant;

use super::audit::PacketCounters;
use crate::link::segment::Segment;

/// Hash of one packet event. The run's fingerprint is the sum of the hashes, so that it does not depend on the order
/// in which events are computed.
#[inline]
const fn trace(at: Instant, segment: &Segment, what: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (at.nanos() ^ ((segment.flow as u64) << 40)).wrapping_mul(ODD);
    let hash = (hash.rotate_left(29) ^ ((segment.seq as u64) << 8 | what)).wrapping_mul(ODD);
    hash ^ (hash >> 32)
}

/// Argument `what` of `trace` for a dropped or lost packet. For a delivered one it is the packet's kind.
const DROPPED: u64 = 0xff;

/// Record of a run.
pub(super) struct Record {
    /// Sum of the hashes of all packet events so far.
    pub(super) fingerprint: u64,
    /// Events processed so far.
    pub(super) events: u64,
    /// Accounting checks, in debug builds.
    pub(super) counters: PacketCounters,
}

impl Record {
    /// A record without events.
    pub(super) const fn new(counters: PacketCounters) -> Self {
        Self { fingerprint: 0, events: 0, counters }
    }

    /// A packet has reached its host.
    #[inline(always)]
    pub(super) fn delivered(&mut self, at: Instant, segment: &Segment) {
        self.fingerprint = self.fingerprint.wrapping_add(trace(at, segment, segment.mark.kind() as u64));
        self.counters.deliver(segment, at);
    }

    /// A packet was dropped or lost.
    #[inline(always)]
    pub(super) fn lost(&mut self, at: Instant, segment: &Segment) {
        self.fingerprint = self.fingerprint.wrapping_add(trace(at, segment, DROPPED));
    }
}
