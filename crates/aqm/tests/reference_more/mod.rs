//! The rules of MSVB and RED+Tail, transcribed as literally as possible: slow, plain, owning their
//! packets, sharing no code with the library. Times are integer nanoseconds; everything else is in the
//! rules' own units and names.

pub(crate) mod msvb;
pub(crate) mod red_tail;

use std::collections::{BTreeMap, VecDeque};

/// A packet as a router sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pkt {
    pub(crate) id: u32,
    pub(crate) size: u32,
    pub(crate) class: u8,
    pub(crate) flow: u32,
    pub(crate) pair: u32,
    pub(crate) udp: bool,
    pub(crate) ect: bool,
}

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Queued,
    Marked,
    Early,
    Overflow,
}

/// The link, in bits per second, and its buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Net {
    pub(crate) bandwidth: u64,
    pub(crate) limit: u64,
    pub(crate) limit_in_bytes: bool,
    pub(crate) mean_pktsize: u64,
    pub(crate) ecn: bool,
}

impl Net {
    /// C in bytes per second, or in packets.
    pub(crate) fn capacity(&self, bytes: bool) -> f64 {
        let per_sec = self.bandwidth as f64 / 8.0;
        if bytes { per_sec } else { per_sec / self.mean_pktsize as f64 }
    }

    /// The buffer in bytes, or in packets.
    pub(crate) fn buffer(&self, bytes: bool) -> f64 {
        let (limit, mean) = (self.limit as f64, self.mean_pktsize as f64);
        match (self.limit_in_bytes, bytes) {
            (true, true) | (false, false) => limit,
            (true, false) => limit / mean,
            (false, true) => limit * mean,
        }
    }

    fn full(&self, waiting: &[&VecDeque<Pkt>], arriving: &Pkt) -> bool {
        let packets: usize = waiting.iter().map(|list| list.len()).sum();
        let bytes: u64 = waiting.iter().map(|list| length(list, true) as u64).sum();
        if self.limit_in_bytes { bytes + u64::from(arriving.size) > self.limit } else { packets as u64 >= self.limit }
    }
}

/// Packets or bytes in a list.
pub(crate) fn length(list: &VecDeque<Pkt>, bytes: bool) -> f64 {
    list.iter().map(|pkt| if bytes { f64::from(pkt.size) } else { 1.0 }).sum()
}

/// How often each branch worth testing was taken.
#[derive(Default)]
pub(crate) struct Seen(pub(crate) BTreeMap<&'static str, u64>);

impl Seen {
    pub(crate) fn note(&mut self, what: &'static str, happened: bool) {
        *self.0.entry(what).or_default() += u64::from(happened);
    }
}

/// A transcribed rule.
pub(crate) trait Rule {
    /// An arrival; draws one uniform.
    fn enque(&mut self, pkt: Pkt, now: u64, u: f64) -> Outcome;

    /// The link wants a packet. `sent` is the library's choice: it decides between two packets that
    /// the rule holds equal, up to rounding, and nothing else.
    fn deque(&mut self, now: u64, sent: Option<u32>) -> Option<u32>;

    /// Its variables: the library's name for the probe, the value, and a size that is not small.
    fn shown(&self) -> Vec<(&'static str, f64, f64)>;

    /// Branches taken.
    fn seen(&self) -> &Seen;

    /// Packets waiting.
    fn backlog(&self) -> usize;
}
