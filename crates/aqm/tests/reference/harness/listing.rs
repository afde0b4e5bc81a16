//! The trait of transcribed listings of disciplines, and the types of their packets, links, settings and results.

use std::collections::{BTreeMap, VecDeque};

use forebay_aqm::base::packet::{Ack, Hosts};
use forebay_aqm::base::rng::Rng;

/// Nanoseconds in a second.
pub(crate) const SECOND: f64 = 1e9;

/// A packet as a listing sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pkt {
    pub(crate) id: u32,
    pub(crate) size: u32,
    pub(crate) class: u8,
    pub(crate) flow: u32,
    /// Number of the pair of source and destination.
    pub(crate) pair: u32,
    pub(crate) udp: bool,
    pub(crate) ect: bool,
    /// ECT(1) or CE, which go to the L queue (RFC 9331).
    pub(crate) l4s: bool,
    pub(crate) ect1: bool,
    /// Out of profile.
    pub(crate) out: bool,
    pub(crate) hosts: Hosts,
    pub(crate) ack: Ack,
    pub(crate) dscp: u8,
    pub(crate) tstamp: u64,
}

/// Fate of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Queued,
    Marked,
    Early,
    Overflow,
}

/// Result of a departure: packets dropped, and the packet sent, marked or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Departure {
    pub(crate) dropped: Vec<u32>,
    pub(crate) sent: Option<(u32, bool)>,
}

/// The rule's decision about a packet before the buffer is checked.
#[derive(PartialEq)]
pub(crate) enum Fate {
    Pass,
    Mark,
    Drop,
}

/// Packets or bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) enum Unit {
    #[default]
    Pkts,
    Bytes,
}

/// The link of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Net {
    /// Bits per second.
    pub(crate) bandwidth: u64,
    pub(crate) limit: u64,
    pub(crate) limit_in: Unit,
    pub(crate) mean_pktsize: u64,
    /// Mark ECT packets instead of dropping them.
    pub(crate) setbit: bool,
}

impl Net {
    /// Link capacity C in `unit` per second.
    pub(crate) fn capacity(&self, unit: Unit) -> f64 {
        let per_sec = self.bandwidth as f64 / 8.0;
        if unit == Unit::Bytes { per_sec } else { per_sec / self.mean_pktsize as f64 }
    }

    /// The buffer limit in `unit`.
    pub(crate) fn room(&self, unit: Unit) -> f64 {
        let (limit, mean) = (self.limit as f64, self.mean_pktsize as f64);
        match (self.limit_in, unit) {
            (Unit::Bytes, Unit::Pkts) => limit / mean,
            (Unit::Pkts, Unit::Bytes) => limit * mean,
            _ => limit,
        }
    }

    /// Whether a queue of this many packets and bytes has no room for `arriving`.
    pub(crate) fn full(&self, (pkts, bytes): (u64, u64), arriving: &Pkt) -> bool {
        match self.limit_in {
            Unit::Pkts => pkts >= self.limit,
            Unit::Bytes => bytes + u64::from(arriving.size) > self.limit,
        }
    }
}

/// The queued packets.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) q: VecDeque<Pkt>,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> u64 {
        self.q.iter().map(|pkt| u64::from(pkt.size)).sum()
    }

    pub(crate) fn length(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Pkts => self.q.len() as f64,
            Unit::Bytes => self.bytes() as f64,
        }
    }

    /// Packets and bytes queued.
    pub(crate) fn backlog(&self) -> (u64, u64) {
        (self.q.len() as u64, self.bytes())
    }

    pub(crate) fn full(&self, net: &Net, pkt: &Pkt) -> bool {
        net.full(self.backlog(), pkt)
    }

    /// The common end of all listings: drops if full, marks or drops if `signal`, and enqueues otherwise.
    pub(crate) fn finish(&mut self, net: &Net, pkt: Pkt, signal: bool) -> Outcome {
        let outcome = if self.full(net, &pkt) {
            Outcome::Overflow
        } else if signal && !(net.setbit && pkt.ect) {
            Outcome::Early
        } else if signal {
            Outcome::Marked
        } else {
            Outcome::Queued
        };
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            self.q.push_back(pkt);
        }
        outcome
    }

    /// A departure without an AQM decision.
    pub(crate) fn plain_deque(&mut self) -> Departure {
        Departure { dropped: vec![], sent: self.q.pop_front().map(|pkt| (pkt.id, false)) }
    }
}

/// Number of times that each relevant branch was taken.
#[derive(Default)]
pub(crate) struct Seen(pub(crate) BTreeMap<&'static str, u64>);

impl Seen {
    pub(crate) fn note(&mut self, what: &'static str, happened: bool) {
        *self.0.entry(what).or_default() += u64::from(happened);
    }
}

/// A transcribed listing.
pub(crate) trait Listing {
    /// An arrival.
    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome;

    /// Waiting packets dropped because of the latest arrival, in order.
    fn victims(&mut self) -> Vec<u32> {
        vec![]
    }

    /// Receives the stream of random numbers of the library, before the first packet. For a listing that needs more bits
    /// of a number than `uniform` has; it must then draw every number itself.
    fn adopt(&mut self, _stream: &Rng) {}

    /// Receives the packet that the library sends next. It only decides between two packets that are equal up to
    /// rounding in the listing.
    fn break_tie(&mut self, _sent: Option<u32>) {}

    /// The link requests a packet.
    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure;

    /// Until when the latest departure found the packets held back.
    fn held(&self) -> Option<u64> {
        None
    }

    /// Time of the next timer.
    fn next_timer(&self) -> Option<u64> {
        None
    }

    /// Handles the expired timer.
    fn timer(&mut self) {}

    /// Compared variables: name of the library's probe, value, and scale. The allowed difference is relative to the
    /// larger of value and scale.
    fn shown(&self) -> Vec<(&'static str, f64, f64)>;

    /// Allowed relative difference. The default is for a listing that adds in the same order as the library.
    fn rounding(&self) -> f64 {
        1e-12
    }

    /// Branches taken.
    fn seen(&self) -> &Seen;

    /// Packets and bytes queued.
    fn backlog(&self) -> (u64, u64);
}

/// Common methods of [`Listing`], each with the field that it uses: `usual!(seen, backlog = buffer)`.
macro_rules! usual {
    ($($method:ident $(= $field:ident)?),+) => { $( usual!(@$method $($field)?); )+ };
    (@seen) => {
        fn seen(&self) -> &Seen {
            &self.seen
        }
    };
    (@backlog $queue:ident) => {
        fn backlog(&self) -> (u64, u64) {
            self.$queue.backlog()
        }
    };
    (@deque $buffer:ident) => {
        fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
            self.$buffer.plain_deque()
        }
    };
    (@victims $dropped:ident) => {
        fn victims(&mut self) -> Vec<u32> {
            std::mem::take(&mut self.$dropped)
        }
    };
    (@next_timer $due:ident) => {
        fn next_timer(&self) -> Option<u64> {
            Some(self.$due)
        }
    };
}
