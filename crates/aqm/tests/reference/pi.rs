//! PI, as ns-2.35 has it: `calculate_p` by a timer, `drop_early` at arrivals.

use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, Seen, Unit};

pub(crate) struct Pi {
    pub(crate) net: Net,
    pub(crate) qref: f64,
    pub(crate) qib: Unit,
    pub(crate) a: f64,
    pub(crate) b: f64,
    /// Nanoseconds between two calculations.
    pub(crate) interval: u64,
    pub(crate) buffer: Buffer,
    pub(crate) seen: Seen,
    pub(crate) v_prob: f64,
    pub(crate) qold: f64,
    pub(crate) next: u64,
}

impl Listing for Pi {
    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        self.buffer.finish(&self.net, pkt, u < self.v_prob)
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        self.buffer.plain_deque()
    }

    fn next_timer(&self) -> Option<u64> {
        Some(self.next)
    }

    fn timer(&mut self) {
        self.next += self.interval;
        let qlen = self.buffer.length(self.qib);
        let mut p = self.a * (qlen - self.qref) - self.b * (self.qold - self.qref) + self.v_prob;
        self.seen.note("p below 0", p < 0.0);
        self.seen.note("p above 1", p > 1.0);
        if p < 0.0 {
            p = 0.0;
        }
        if p > 1.0 {
            p = 1.0;
        }
        self.v_prob = p;
        self.qold = qlen;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.v_prob, 0.01)]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> (u64, u64) {
        (self.buffer.q.len() as u64, self.buffer.bytes())
    }
}
