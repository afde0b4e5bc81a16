//! RED of Floyd and Jacobson 1993, Fig. 2, with the byte mode of section IV (relative to the mean packet, not to the
//! largest one).
//!
//! At or above max_th ECN-capable packets are marked too. Added: ns-2's options gentle and wait.

use super::auto;
use crate::reference::harness::*;

struct Paper {
    net: Net,
    unit: Unit,
    w_q: f64,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    gentle: bool,
    wait: bool,
    bytes: bool,
    harddrop: bool,
    buffer: Buffer,
    seen: Seen,
    avg: f64,
    /// The start of the idle time.
    q_time: Option<u64>,
    count: i64,
    p_b: f64,
}

impl Paper {
    fn p_a(&mut self, mut p_b: f64, pkt: &Pkt) -> f64 {
        if self.bytes {
            p_b = p_b * f64::from(pkt.size) / self.net.mean_pktsize as f64;
        }
        let count = self.count as f64;
        let (full, left) = if self.wait { (2.0, 1.0) } else { (1.0, 0.0) };
        if count * p_b < left {
            return 0.0;
        }
        self.seen.note("certain by count", count * p_b >= full);
        if count * p_b >= full { 1.0 } else { p_b / (full - count * p_b) }
    }

    /// None: neither marked nor dropped. Some(true): dropped, even if ECN-capable.
    fn verdict(&mut self, pkt: &Pkt, u: f64) -> Option<bool> {
        let end = if self.gentle { 2.0 * self.max_th } else { self.max_th };
        self.p_b = 0.0;
        if self.min_th <= self.avg && self.avg < end {
            self.count += 1;
            self.p_b = if self.avg < self.max_th {
                self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
            } else {
                self.seen.note("gentle part", true);
                self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
            };
            self.seen.note("the first above min_th", self.count == 0);
            let p_a = self.p_a(self.p_b, pkt);
            return (u < p_a).then_some(false);
        }
        if self.avg >= end {
            self.seen.note("at or above max_th", true);
            self.p_b = 1.0;
            return Some(self.harddrop);
        }
        self.count = -1;
        None
    }
}

impl Listing for Paper {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        match self.q_time.take() {
            None => self.avg = (1.0 - self.w_q) * self.avg + self.w_q * self.buffer.length(self.unit),
            Some(q_time) => {
                let m = (now - q_time) as f64 / SECOND * self.net.capacity(Unit::Pkts);
                self.avg *= (1.0 - self.w_q).powf(m);
                self.seen.note("idle for packets", m > 1.0);
            }
        }
        let verdict = self.verdict(&pkt, u);
        let outcome = match verdict {
            Some(true) if !self.buffer.full(&self.net, &pkt) => Outcome::Early,
            _ => self.buffer.finish(&self.net, pkt, verdict.is_some()),
        };
        if verdict.is_some() || outcome == Outcome::Overflow {
            self.count = 0;
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_none() {
            self.q_time = self.q_time.or(Some(now));
        }
        departure
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("avg", self.avg, self.min_th), ("p", self.p_b, 0.01), ("count", self.count as f64, 0.0)]
    }
}

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (all_auto, unit) = (dice.odds(0.2), dice.pick(&UNITS));
    let bytes = dice.odds(0.3);
    let unit = if all_auto { [Unit::Pkts, Unit::Bytes][usize::from(bytes)] } else { unit };
    let (min_th, max_th) = match (all_auto, unit) {
        (true, Unit::Pkts) => (5.0, 15.0),
        (true, Unit::Bytes) => (5.0 * net.mean_pktsize as f64, 15.0 * net.mean_pktsize as f64),
        _ => {
            let min_th = threshold(dice, &net, unit, 0.1, 20.0);
            (min_th, min_th * dice.between(1.1, 4.0))
        }
    };
    let auto_w = dice.odds(0.2);
    let paper = Paper {
        net,
        unit,
        w_q: if auto_w { 0.002 } else { dice.scale(1e-3, 1.0) },
        min_th,
        max_th,
        max_p: dice.pick(&[0.02, 0.1, 0.5, 1.0]),
        gentle: dice.odds(0.4),
        wait: dice.odds(0.3),
        bytes,
        harddrop: dice.odds(0.3),
        buffer: Buffer::default(),
        seen: Seen::default(),
        avg: 0.0,
        q_time: Some(0),
        count: -1,
        p_b: 0.0,
    };
    let words = format!(
        "rule=paper min_th={} max_th={} max_p={} w_q={} gentle={} wait={} bytes={} harddrop={}",
        auto(all_auto, depth(min_th, unit)),
        auto(all_auto, depth(max_th, unit)),
        paper.max_p,
        auto(auto_w, paper.w_q.to_string()),
        on(paper.gentle),
        on(paper.wait),
        on(bytes),
        on(paper.harddrop),
    );
    (words, Box::new(paper))
}

#[test]
fn red_handles_packets_as_paper_of_1993() {
    let branches =
        ["idle for packets", "the first above min_th", "gentle part", "certain by count", "at or above max_th"];
    differ("red", case, &branches);
}
