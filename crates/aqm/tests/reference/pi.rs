//! PI, as ns-2.35 has it: `calculate_p` by a timer, `drop_early` at arrivals.

use crate::differ;

use super::traffic::{Dice, Trace, depth, threshold};
use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, SECOND, Seen, Unit};

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
        let mut p = self.v_prob;
        if self.qib == Unit::Bytes {
            p = p * f64::from(pkt.size) / self.net.mean_pktsize as f64;
            self.seen.note("p by size above 1", p > 1.0);
        }
        self.buffer.finish(&self.net, pkt, u < p)
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
        self.buffer.backlog()
    }
}

/// Random settings: the words that the library reads, and the listing set up the same way.
pub(crate) fn case(dice: &mut Dice, trace: &Trace, qib: Unit) -> (String, Box<dyn Listing>) {
    let qref = threshold(dice, &trace.net, qib, 1.0, 60.0);
    let unit = if qib == Unit::Pkts { 1.0 } else { trace.net.mean_pktsize as f64 };
    let a = dice.scale(1e-5, 1e-2) / unit;
    let b = a * dice.between(0.5, 1.0);
    let w: f64 = if trace.grid { dice.pick(&[100.0, 200.0, 1000.0]) } else { dice.scale(1.0, 500.0) };
    let words = format!("q_ref={} a={a} b={b} w={w}", depth(qref, qib));
    let interval = (SECOND / w).round() as u64;
    let (buffer, seen, v_prob, qold) = Default::default();
    let net = trace.net;
    (words, Box::new(Pi { net, qref, qib, a, b, interval, buffer, seen, v_prob, qold, next: interval }))
}

#[test]
fn agrees() {
    differ("pi", |dice, trace| case(dice, trace, Unit::Pkts), &["p below 0", "p above 1"]);
}

#[test]
fn agrees_in_bytes() {
    let branches = ["p below 0", "p above 1", "p by size above 1"];
    differ("pi", |dice, trace| case(dice, trace, Unit::Bytes), &branches);
}
