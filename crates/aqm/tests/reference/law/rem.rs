//! REM, as in ns-2.35: `run_updaterule` by a timer, drops in `enque`, marks in `deque`.
//!
//! Deliberate differences from ns-2: the buffer holds its limit, not one packet less; packets that cannot be
//! marked are dropped on arrival where others are marked.

use crate::reference::harness::*;

pub(crate) struct Rem {
    net: Net,
    /// Target queue in packets.
    p_bo: f64,
    p_gamma: f64,
    p_phi: f64,
    alpha: f64,
    /// Nanoseconds between two updates.
    p_updtime: u64,
    p_pktsize: f64,
    /// The queue is measured in bytes, and the probability is scaled by the packet length.
    qib: bool,
    buffer: Buffer,
    seen: Seen,
    v_count: f64,
    v_pl: f64,
    v_prob: f64,
    next: u64,
}

impl Rem {
    fn prob_of(&self, pkt: &Pkt) -> f64 {
        if self.qib { (self.v_prob * f64::from(pkt.size) / self.p_pktsize).clamp(0.0, 1.0) } else { self.v_prob }
    }
}

impl Listing for Rem {
    usual!(seen, backlog = buffer, next_timer = next);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        if self.qib {
            self.v_count += f64::from(pkt.size);
        } else {
            self.v_count += 1.0;
        }
        let u = uniform();
        let markpkts = self.net.setbit && pkt.ect;
        self.buffer.finish(&self.net, pkt, !markpkts && u < self.prob_of(&pkt))
    }

    fn deque(&mut self, _: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let sent = self.buffer.q.pop_front().map(|pkt| {
            let markpkts = self.net.setbit && pkt.ect;
            (pkt.id, markpkts && uniform() < self.prob_of(&pkt))
        });
        self.seen.note("marked at departure", matches!(sent, Some((_, true))));
        Departure { dropped: vec![], sent }
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
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace, qib: bool) -> (String, Box<dyn Listing>) {
    let own_mean = !qib && dice.odds(0.3);
    let pktsize = if own_mean { dice.pick(&[500, 1000]) } else { trace.net.mean_pktsize };
    let b_in = dice.pick(&UNITS);
    let p_bo = dice.between(1.0, 60.0);
    let b = if b_in == Unit::Pkts { p_bo } else { p_bo * pktsize as f64 };
    let rem = Rem {
        net: trace.net,
        p_bo,
        p_gamma: dice.scale(1e-3, 1.0),
        p_phi: dice.pick(&[1.001, 1.01, 1.1]),
        alpha: dice.pick(&[0.1, 0.1, 0.5]),
        p_updtime: if trace.grid { dice.pick(&[2, 5, 10]) * MS } else { dice.scale(2e6, 1e8) as u64 },
        p_pktsize: pktsize as f64,
        qib,
        buffer: Default::default(),
        seen: Default::default(),
        v_count: 0.0,
        v_pl: 0.0,
        v_prob: 0.0,
        next: 0,
    };
    let words = format!(
        "b={} gamma={} phi={} alpha={} interval={}ns mean_packet={} bytes={}",
        depth(b, b_in),
        rem.p_gamma,
        rem.p_phi,
        rem.alpha,
        rem.p_updtime,
        if own_mean { pktsize.to_string() } else { "auto".into() },
        on(qib),
    );
    (words, Box::new(Rem { next: rem.p_updtime, ..rem }))
}

#[test]
fn rem_counting_packets_handles_packets_as_ns2() {
    let branches = ["price below 0", "marked at departure"];
    differ("rem", |dice, trace| case(dice, trace, false), &branches);
}

#[test]
fn rem_counting_bytes_handles_packets_as_ns2() {
    let branches = ["price below 0", "marked at departure"];
    differ("rem", |dice, trace| case(dice, trace, true), &branches);
}
