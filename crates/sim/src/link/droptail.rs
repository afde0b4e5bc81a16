//! Drop-tail FIFOs without events: a packet's departure is computed when it arrives.

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Limit;

use super::counters::LinkCounters;
use crate::engine::ring::Ring;
use crate::measure::meter::Meter;

/// A drop-tail FIFO for a link with a buffer in packets, without measurements, and without losses or a variable rate.
/// It stores no packets, only the times at which the latest packets of the current busy period begin transmission.
pub(super) struct Line {
    limit: usize,
    /// When the transmitter becomes idle.
    free: Instant,
    /// Packets in the current busy period.
    count: usize,
    /// Times at which transmission begins, at index packet number modulo the vector's length. The length is a power of
    /// two and grows until it exceeds `limit`.
    starts: Vec<Instant>,
}

impl Line {
    /// Maximum of `limit`, packets. It bounds the length of `starts`.
    pub(super) const MAX_LIMIT: u32 = 1 << 16;

    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, free: Instant::ZERO, count: 0, starts: Vec::new() }
    }

    /// Returns when the transmission of a packet that arrives at `now` and takes `time` will end. Returns `None` if the
    /// buffer is full: the packet `limit` places ahead still waits. For `begins` see [`Link::pass`](super::Link::pass).
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Instant,
        time: Span,
        begins: impl FnOnce(Instant, Span) -> Instant,
    ) -> Option<Instant> {
        let mut start = now;
        if self.free > now {
            if self.count >= self.limit && self.starts[self.place(self.count - self.limit)] > now {
                return None;
            }
            start = begins(self.free, time).max(now);
        } else {
            self.count = 0;
        }
        if self.count == self.starts.len() && self.count <= self.limit {
            self.starts.resize((2 * self.count).max(16), Instant::ZERO);
        }
        let place = self.place(self.count);
        self.starts[place] = start;
        self.count += 1;
        self.free = start.plus(time);
        Some(self.free)
    }

    #[inline]
    const fn place(&self, packet: usize) -> usize {
        packet & (self.starts.len() - 1)
    }
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    start: Instant,
    len: u16,
}

/// A drop-tail FIFO for links for which `Line` is not possible: with measurements, losses, a variable rate, or a buffer
/// in bytes. It stores the waiting packets' lengths and transmission start times.
pub(super) struct Plain {
    limit: Limit,
    /// When the transmitter becomes idle.
    pub(super) free: Instant,
    waiting: Ring<Waiting>,
    bytes: u64,
}

impl Plain {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, free: Instant::ZERO, waiting: Ring::new(), bytes: 0 }
    }

    /// Number of waiting packets.
    pub(super) const fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A packet of `len` bytes waits until its transmission begins at `start`.
    pub(super) fn push(&mut self, start: Instant, len: u16) {
        self.waiting.push(Waiting { start, len });
        self.bytes += u64::from(len);
    }

    /// Removes packets whose transmission has begun by `now`.
    #[inline]
    pub(super) fn begin_due(&mut self, now: Instant, meter: &mut Option<Box<Meter>>, counters: &mut LinkCounters) {
        while let Some(&first) = self.waiting.front()
            && first.start <= now
        {
            self.waiting.skip();
            counters.begin();
            self.bytes -= u64::from(first.len);
            if let Some(meter) = meter {
                meter.queue_is(first.start, self.waiting.len() as u32);
            }
        }
    }

    pub(super) const fn fits(&self, len: u16) -> bool {
        match self.limit {
            Limit::Packets(n) => self.waiting.len() < n as usize,
            Limit::Bytes(b) => self.bytes + len as u64 <= b,
        }
    }
}
