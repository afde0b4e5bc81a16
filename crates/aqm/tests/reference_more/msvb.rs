//! MSVB, eq. (2) of the paper, as an update at each arrival: every class is brought up to date every
//! time, the state is saved before a packet is counted and restored if it is dropped.

use std::collections::VecDeque;

use super::{Net, Outcome, Pkt, Rule, Seen, length};

pub(crate) const CLASSES: usize = 32;

/// What a run is configured with, the bounds in bytes or packets.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) alpha: [f64; CLASSES],
    pub(crate) phi: [f64; CLASSES],
    pub(crate) cap: f64,
    pub(crate) init: f64,
    pub(crate) floor: f64,
    pub(crate) bytes: bool,
    pub(crate) offered: bool,
}

pub(crate) struct Msvb {
    net: Net,
    set: Settings,
    queue: VecDeque<Pkt>,
    seen: Seen,
    last: u64,
    qv: f64,
    b: [f64; CLASSES],
    p: f64,
    class: usize,
}

impl Msvb {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        let (queue, seen, b) = (VecDeque::new(), Seen::default(), [set.init; CLASSES]);
        Self { net, set, queue, seen, last: 0, qv: 0.0, b, p: 0.0, class: 0 }
    }
}

impl Rule for Msvb {
    fn enque(&mut self, pkt: Pkt, now: u64, u: f64) -> Outcome {
        let c = self.net.capacity(self.set.bytes);
        let dt = (now - self.last) as f64 / 1e9;
        self.last = now;
        let size = if self.set.bytes { f64::from(pkt.size) } else { 1.0 };
        let i = usize::from(pkt.class) % CLASSES;
        self.class = i;

        self.qv -= c * dt;
        if self.qv < 0.0 {
            self.qv = 0.0;
        }
        for j in 0..CLASSES {
            self.b[j] += self.set.alpha[j] * self.set.phi[j] * c * dt;
            if self.b[j] > self.set.cap {
                self.b[j] = self.set.cap;
            }
        }
        self.seen.note("at the cap", self.b[i] == self.set.cap);
        let (qv_before, bi_before) = (self.qv, self.b[i]);

        self.qv += size;
        self.b[i] -= self.set.alpha[i] * size;
        self.seen.note("at the floor", self.b[i] < self.set.floor);
        if self.b[i] < self.set.floor {
            self.b[i] = self.set.floor;
        }
        self.p = 0.0;
        if self.qv > self.b[i] {
            self.p = (self.qv - self.b[i]) / self.qv;
        }
        self.seen.note("certain", self.p == 1.0);
        self.seen.note("neither sure nor impossible", self.p > 0.0 && self.p < 1.0);

        let outcome = if self.net.full(&[&self.queue], &pkt) {
            Outcome::Overflow
        } else if u < self.p && self.net.ecn && pkt.ect {
            Outcome::Marked
        } else if u < self.p {
            Outcome::Early
        } else {
            Outcome::Queued
        };
        let dropped = matches!(outcome, Outcome::Early | Outcome::Overflow);
        self.seen.note("dropped and restored", dropped && !self.set.offered);
        self.seen.note("dropped and counted", dropped && self.set.offered);
        self.seen.note("marked", outcome == Outcome::Marked);
        if dropped && !self.set.offered {
            self.qv = qv_before;
            self.b[i] = bi_before;
        }
        if !dropped {
            self.queue.push_back(pkt);
        }
        outcome
    }

    fn deque(&mut self, _: u64, _: Option<u32>) -> Option<u32> {
        self.queue.pop_front().map(|pkt| pkt.id)
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        // Rounding of a long sum relative to the sizes that went into it.
        let size = self.set.cap.max(self.net.buffer(self.set.bytes)).max(length(&self.queue, self.set.bytes)).max(1.0);
        vec![("p", self.p, 1.0), ("qv", self.qv, size), ("bv", self.b[self.class], size)]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> usize {
        self.queue.len()
    }
}
