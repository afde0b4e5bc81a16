//! DualPI2: RFC 9332 Figures 2, 3, 5, 7 and 8; for `roll` and `min_backlog`, Linux's sch_dualpi2.c.
//!
//! Differences from the text: p_CL is at most 1 where `recur` adds it (Figure 7, line 8h), and lq.time() and lq.len()
//! are those of the packet that is dequeued. Added to Figure 7 (section 2.5.1.1): packets in the queue of the other
//! kind.

use crate::reference::harness::*;
use crate::reference::shared::dual::{Dual, Sharing};

/// Settings of a run; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    target: u64,
    tupdate: u64,
    alpha: f64,
    beta: f64,
    k: f64,
    min_th: u64,
    range: u64,
    th_len: u64,
    roll: bool,
    drop_overload: bool,
    p_cmax: f64,
    min_backlog: u64,
    protected: bool,
}

pub(crate) struct DualPi2 {
    set: Settings,
    dual: Dual,
    seen: Seen,
    timer: u64,
    /// p'.
    p: f64,
    prevq: f64,
    /// q.count of C and L.
    count: [f64; 2],
    /// p'_L.
    p_l: f64,
}

impl DualPi2 {
    fn recur(&mut self, lq: bool, likelihood: f64) -> bool {
        let count = &mut self.count[usize::from(lq)];
        *count += likelihood;
        if *count > 1.0 {
            *count -= 1.0;
            return true;
        }
        false
    }

    fn linear(&mut self, lq: bool, p: f64, u: [f64; 2]) -> bool {
        if self.set.roll { u[0] < p } else { self.recur(lq, p) }
    }

    fn squared(&mut self, lq: bool, root: f64, u: [f64; 2]) -> bool {
        if self.set.roll { u[0] < root && u[1] < root } else { self.recur(lq, root * root) }
    }

    fn laqm(&self, qdelay: u64) -> f64 {
        let max_th = self.set.min_th + self.set.range;
        if qdelay >= max_th {
            1.0
        } else if qdelay > self.set.min_th {
            ((qdelay - self.set.min_th) as f64 / SECOND) / (self.set.range as f64 / SECOND)
        } else {
            0.0
        }
    }

    /// An L4S packet in either queue: lines 4b to 8j.
    fn scalable(&mut self, lq: bool, p: f64, p_l: f64, u: [f64; 2]) -> Fate {
        let mut p_cl = self.set.k * p;
        if self.set.drop_overload && p_cl >= 1.0 {
            if self.squared(lq, p, u) {
                self.seen.note("L4S dropped in overload", true);
                return Fate::Drop;
            }
            self.seen.note("L4S marked in overload", true);
        }
        if p_cl > 1.0 {
            p_cl = 1.0;
        }
        self.seen.note("the ramp asks for more", p_l > p_cl && p_l < 1.0);
        self.seen.note("the coupling asks for more", p_cl > p_l);
        let likelihood = if p_l > p_cl { p_l } else { p_cl };
        if self.linear(lq, likelihood, u) { Fate::Mark } else { Fate::Pass }
    }

    /// A classic packet in either queue: lines 11 to 17. In the L queue its probability is at least (p_L/k)^2.
    fn classic(&mut self, lq: bool, p: f64, p_l: f64, ect: bool, u: [f64; 2]) -> Fate {
        let root = if p_l / self.set.k > p { p_l / self.set.k } else { p };
        if !self.squared(lq, root, u) {
            return Fate::Pass;
        }
        let overload = self.set.drop_overload && p * p >= self.set.p_cmax;
        self.seen.note("ECT dropped in overload", ect && overload);
        self.seen.note("classic marked", ect && !overload);
        self.seen.note("classic dropped", !ect);
        self.seen.note("classic in the L queue signalled", lq);
        if ect && !overload { Fate::Mark } else { Fate::Drop }
    }

    fn judge(&mut self, lq: bool, pkt: &Pkt, now: u64, u: [f64; 2]) -> Fate {
        let set = self.set;
        let mut p = self.p;
        if self.dual.backlog().1 < set.min_backlog {
            self.seen.note("few bytes left behind", p > 0.0);
            p = 0.0;
        }
        let (ecn, l4s) = (self.dual.ecn(pkt), self.dual.l4s(pkt));
        if !lq {
            return if l4s {
                self.seen.note("L4S in the C queue", p > 0.0);
                self.scalable(lq, p, 0.0, u)
            } else {
                self.classic(lq, p, 0.0, ecn, u)
            };
        }
        self.p_l = 0.0;
        if self.dual.lq.q.len() as u64 + 1 > set.th_len {
            self.p_l = self.laqm(now - pkt.tstamp);
        } else {
            self.seen.note("too few packets for the ramp", now - pkt.tstamp > set.min_th);
        }
        if l4s {
            return self.scalable(lq, p, self.p_l, u);
        }
        if !pkt.ect && set.protected {
            self.seen.note("protected", true);
            return Fate::Pass;
        }
        self.classic(lq, p, self.p_l, ecn, u)
    }
}

impl Listing for DualPi2 {
    usual!(seen, backlog = dual, next_timer = timer);

    fn enque(&mut self, pkt: Pkt, _: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        self.dual.enqueue(pkt, &mut self.seen)
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        while let Some(lq) = self.dual.scheduler(now, &mut self.seen) {
            let pkt = self.dual.dequeue(lq);
            let u = [uniform(), uniform()];
            let fate = self.judge(lq, &pkt, now, u);
            if fate == Fate::Drop {
                dropped.push(pkt.id);
                continue;
            }
            self.dual.sent(lq, pkt.size);
            return Departure { dropped, sent: Some((pkt.id, fate == Fate::Mark)) };
        }
        Departure { dropped, sent: None }
    }

    fn timer(&mut self) {
        let (set, now) = (self.set, self.timer);
        let (cq, lq) = (Dual::time(&self.dual.cq, now), Dual::time(&self.dual.lq, now));
        self.seen.note("driven by the L queue", lq > cq);
        let curq = if lq > cq { lq } else { cq };
        self.p += set.alpha * (curq - set.target as f64 / SECOND) + set.beta * (curq - self.prevq);
        if self.p < 0.0 {
            self.p = 0.0;
        }
        let most = if !set.drop_overload && set.k > 1.0 { 1.0 / set.k } else { 1.0 };
        if self.p > most {
            self.p = most;
        }
        self.prevq = curq;
        self.timer = now + set.tupdate;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("p", self.p, 0.01),
            ("delay", self.prevq, 1e-3),
            ("p_l", self.p_l, 0.1),
            ("credit", self.dual.credit, 1.0),
            ("count_c", self.count[0], 0.1),
            ("count_l", self.count[1], 0.1),
        ]
    }
}

/// Random parameters of PI: derived from RTT_max as in Figure 2, or given.
fn pi(dice: &mut Dice, grid: bool, target: u64) -> (u64, f64, f64, String) {
    if dice.odds(0.3) {
        let rtt_max = dice.pick(&[100, 30, 9]) * MS;
        let (rtt, third) = (rtt_max as f64 / SECOND, rtt_max / 3);
        let tupdate = if target < third { target } else { third };
        let words = format!("rtt_max={rtt_max}ns");
        return (tupdate, 0.1 * (tupdate as f64 / SECOND) / (rtt * rtt), 0.3 / rtt, words);
    }
    let tupdate = if grid { dice.pick(&[5, 16]) * MS } else { dice.scale(2e6, 5e7) as u64 };
    let (alpha, beta) = (dice.scale(0.03, 3.0), dice.scale(0.3, 10.0));
    (tupdate, alpha, beta, format!("tupdate={tupdate}ns alpha={alpha} beta={beta}"))
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let target = if trace.grid { 5 * MS } else { dice.scale(1e6, 5e7) as u64 };
    let (tupdate, alpha, beta, pi) = pi(dice, trace.grid, target);
    let wrr = dice.odds(0.7);
    let (sharing, shared) = Sharing::random(dice, wrr);
    let k = dice.pick(&[2.0, 2.0, 1.0, 4.0, 0.5]);
    let auto_cmax = dice.odds(0.6);
    let set = Settings {
        target,
        tupdate,
        alpha,
        beta,
        k,
        min_th: dice.pick(&[800_000, 1_000_000, 0, 50_000_000]),
        range: dice.pick(&[400_000, 0, 10_000_000, 300_000_000]),
        th_len: dice.pick(&[1, 1, 0, 5]),
        roll: dice.odds(0.4),
        drop_overload: dice.odds(0.7),
        p_cmax: if auto_cmax { (1.0 / (k * k)).min(1.0) } else { dice.pick(&[0.05, 0.25, 1.0]) },
        min_backlog: dice.pick(&[0, 0, 3028]),
        protected: dice.odds(0.3),
    };
    let words = format!(
        "target={target}ns {pi} k={k} min_th={}ns range={}ns th_len={} toss={} overload={} p_cmax={} min_backlog={}b \
         protected={} {shared}",
        set.min_th,
        set.range,
        set.th_len,
        if set.roll { "random" } else { "accumulate" },
        if set.drop_overload { "drop" } else { "delay" },
        if auto_cmax { "auto".to_string() } else { set.p_cmax.to_string() },
        set.min_backlog,
        on(set.protected),
    );
    let listing = DualPi2 {
        set,
        dual: Dual::new(trace.net, sharing),
        seen: Seen::default(),
        timer: tupdate,
        p: 0.0,
        prevq: 0.0,
        count: [0.0; 2],
        p_l: 0.0,
    };
    (words, Box::new(listing))
}

#[test]
fn dualpi2_handles_packets_as_rfc9332_and_linux() {
    let branches = [
        "steered to the L queue",
        "steered to the C queue",
        "both wait, L is served",
        "both wait, C is served",
        "L4S dropped in overload",
        "L4S marked in overload",
        "the ramp asks for more",
        "the coupling asks for more",
        "ECT dropped in overload",
        "classic marked",
        "classic dropped",
        "classic in the L queue signalled",
        "few bytes left behind",
        "L4S in the C queue",
        "too few packets for the ramp",
        "protected",
        "L4S disabled",
        "driven by the L queue",
    ];
    differ("dualpi2", case, &branches);
}
