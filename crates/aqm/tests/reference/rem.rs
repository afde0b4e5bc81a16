//! REM, as ns-2.35 has it: `run_updaterule` by a timer, drops in `enque`, marks in `deque`.
//!
//! Different from ns-2 on purpose: the buffer holds its limit, not one less; packets that cannot be
//! marked are dropped on arrival also where others are marked.

use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, SECOND, Seen};

pub(crate) struct Rem {
    pub(crate) net: Net,
    /// Target queue in packets.
    pub(crate) p_bo: f64,
    pub(crate) p_gamma: f64,
    pub(crate) p_phi: f64,
    pub(crate) alpha: f64,
    /// Nanoseconds between two updates.
    pub(crate) p_updtime: u64,
    pub(crate) p_pktsize: f64,
    /// Queue in bytes; the traces then have packets of p_pktsize bytes only.
    pub(crate) qib: bool,
    pub(crate) buffer: Buffer,
    pub(crate) seen: Seen,
    pub(crate) v_count: f64,
    pub(crate) v_pl: f64,
    pub(crate) v_prob: f64,
    pub(crate) next: u64,
}

impl Listing for Rem {
    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        if self.qib {
            self.v_count += f64::from(pkt.size);
        } else {
            self.v_count += 1.0;
        }
        let u = uniform();
        let markpkts = self.net.setbit && pkt.ect;
        self.buffer.finish(&self.net, pkt, !markpkts && u < self.v_prob)
    }

    fn deque(&mut self, _: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let sent = self.buffer.q.pop_front().map(|pkt| {
            let markpkts = self.net.setbit && pkt.ect;
            (pkt.id, markpkts && uniform() < self.v_prob)
        });
        self.seen.note("marked at departure", matches!(sent, Some((_, true))));
        Departure { dropped: vec![], sent }
    }

    fn next_timer(&self) -> Option<u64> {
        Some(self.next)
    }

    fn timer(&mut self) {
        self.next += self.p_updtime;
        let (r#in, nqueued) = if self.qib {
            (self.v_count / self.p_pktsize, self.buffer.bytes() as f64 / self.p_pktsize)
        } else {
            (self.v_count, self.buffer.q.len() as f64)
        };
        let p_ptc = self.net.bandwidth as f64 / (8.0 * self.p_pktsize);
        let c = self.p_updtime as f64 / SECOND * p_ptc;
        let mut pl = self.v_pl + self.p_gamma * (r#in + self.alpha * (nqueued - self.p_bo) - c);
        self.seen.note("price below 0", pl < 0.0);
        if pl < 0.0 {
            pl = 0.0;
        }
        self.v_count = 0.0;
        self.v_pl = pl;
        self.v_prob = 1.0 - self.p_phi.powf(-pl);
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.v_prob, 0.01), ("price", self.v_pl, 1.0)]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> (u64, u64) {
        (self.buffer.q.len() as u64, self.buffer.bytes())
    }
}
