//! PI2: the decisions of the authors' module sch_pi2 (`drop_early`), in floating point and with p' instead of k p', and
//! those of RFC 9332 Figures 4, 7 and 8 for one queue.
//!
//! The square is a comparison of two random numbers with p'. Difference from the text: in RFC 9332 `recur` may add a
//! k p' above 1.

use crate::reference::harness::*;
use crate::reference::shared::drain_time::DrainTime;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Nanoseconds.
    target: u64,
    /// Nanoseconds.
    tupdate: u64,
    alpha: f64,
    beta: f64,
    k: f64,
    /// ECT(1) and CE are scalable.
    l4s: bool,
    /// L4S is disabled (RFC 9331 section 5.1): no packet is scalable, and ECT(1) is treated as Not-ECT.
    disabled: bool,
    /// All ECT and CE packets are scalable.
    all: bool,
    recur: bool,
    at_dequeue: bool,
    /// None: the delay is the age of the head.
    dq_threshold: Option<u64>,
    min_backlog: u64,
    drop_overload: bool,
    p_cmax: f64,
}

pub(crate) struct Pi2 {
    net: Net,
    set: Settings,
    buffer: Buffer,
    seen: Seen,
    timer: u64,
    /// p'.
    p: f64,
    prevq: f64,
    count: f64,
    drain: DrainTime,
}

impl Pi2 {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        Self {
            net,
            set,
            buffer: Buffer::default(),
            seen: Seen::default(),
            timer: set.tupdate,
            p: 0.0,
            prevq: 0.0,
            count: 0.0,
            drain: DrainTime::default(),
        }
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }

    fn classic_roll(&mut self, u: [f64; 2]) -> bool {
        if self.set.recur {
            return self.recur(self.p * self.p);
        }
        u[0] < self.p && u[1] < self.p
    }

    fn scalable_roll(&mut self, u: [f64; 2]) -> bool {
        let mut p_cl = self.set.k * self.p;
        if p_cl > 1.0 {
            p_cl = 1.0;
        }
        if self.set.recur { self.recur(p_cl) } else { u[0] < p_cl }
    }

    fn decide(&mut self, pkt: &Pkt, u: [f64; 2]) -> Fate {
        let set = self.set;
        if self.buffer.bytes() < set.min_backlog {
            self.seen.note("spared by a short queue", self.p > 0.0);
            return Fate::Pass;
        }
        let ecn = self.net.setbit && pkt.ect && !(set.disabled && pkt.ect1);
        self.seen.note("ECT(1) with L4S disabled", set.disabled && pkt.ect1);
        if ecn && !set.disabled && (set.all || (set.l4s && pkt.l4s)) {
            self.seen.note("ECT(0) as scalable", !pkt.l4s);
            if set.drop_overload && set.k * self.p >= 1.0 && self.classic_roll(u) {
                self.seen.note("scalable dropped in overload", true);
                return Fate::Drop;
            }
            let mark = self.scalable_roll(u);
            self.seen.note("scalable marked", mark);
            return if mark { Fate::Mark } else { Fate::Pass };
        }
        if !self.classic_roll(u) {
            return Fate::Pass;
        }
        let overload = set.drop_overload && self.p * self.p >= set.p_cmax;
        self.seen.note("ECT dropped in overload", ecn && overload);
        self.seen.note("classic marked", ecn && !overload);
        self.seen.note("classic dropped", !ecn);
        if ecn && !overload { Fate::Mark } else { Fate::Drop }
    }
}

impl Listing for Pi2 {
    usual!(seen, backlog = buffer, next_timer = timer);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let mut fate = Fate::Pass;
        if !self.set.at_dequeue {
            let u = [uniform(), uniform()];
            fate = self.decide(&pkt, u);
        }
        if self.buffer.full(&self.net, &pkt) {
            return Outcome::Overflow;
        }
        if fate == Fate::Drop {
            return Outcome::Early;
        }
        self.buffer.q.push_back(pkt);
        if fate == Fate::Mark { Outcome::Marked } else { Outcome::Queued }
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        while let Some(pkt) = self.buffer.q.pop_front() {
            let mut fate = Fate::Pass;
            if self.set.at_dequeue {
                let u = [uniform(), uniform()];
                fate = self.decide(&pkt, u);
            }
            if fate == Fate::Drop {
                dropped.push(pkt.id);
                continue;
            }
            if let Some(dq_threshold) = self.set.dq_threshold {
                self.drain.process(pkt.size, self.buffer.bytes(), dq_threshold, now, &mut self.seen);
            }
            self.seen.note("sent behind a drop", !dropped.is_empty());
            return Departure { dropped, sent: Some((pkt.id, fate == Fate::Mark)) };
        }
        self.seen.note("all dropped", !dropped.is_empty());
        Departure { dropped, sent: None }
    }

    fn timer(&mut self) {
        let (set, now) = (self.set, self.timer);
        let curq = match set.dq_threshold {
            None => self.buffer.q.front().map_or(0, |head| now - head.tstamp) as f64 / SECOND,
            Some(dq_threshold) => self.drain.delay(self.buffer.bytes(), dq_threshold),
        };
        self.p += set.alpha * (curq - set.target as f64 / SECOND) + set.beta * (curq - self.prevq);
        if self.p < 0.0 {
            self.p = 0.0;
        }
        let most = if !set.drop_overload && set.k > 1.0 { 1.0 / set.k } else { 1.0 };
        self.seen.note("p' at its cap", self.p > most);
        if self.p > most {
            self.p = most;
        }
        self.prevq = curq;
        self.timer = now + set.tupdate;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.p, 0.01), ("delay", self.prevq, 1e-3), ("count", self.count, 0.1)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let k = dice.pick(&[2.0, 2.0, 1.0, 4.0, 0.5]);
    let scalable = dice.pick(&["off", "l4s", "l4s", "ect"]);
    let auto_cmax = dice.odds(0.6);
    let set = Settings {
        target: if trace.grid { 5 * MS } else { dice.scale(1e6, 5e7) as u64 },
        tupdate: if trace.grid { dice.pick(&[5, 16]) * MS } else { dice.scale(2e6, 5e7) as u64 },
        alpha: dice.scale(0.03, 3.0),
        beta: dice.scale(0.3, 10.0),
        k,
        l4s: scalable == "l4s",
        disabled: dice.odds(0.15),
        all: scalable == "ect",
        recur: dice.odds(0.5),
        at_dequeue: dice.odds(0.5),
        dq_threshold: dice.odds(0.4).then(|| dice.pick(&[10_000, 1000, 65_536])),
        min_backlog: dice.pick(&[0, 0, 3028]),
        drop_overload: dice.odds(0.6),
        p_cmax: if auto_cmax { (1.0 / (k * k)).min(1.0) } else { dice.pick(&[0.05, 0.25, 1.0]) },
    };
    let words = format!(
        "target={}ns tupdate={}ns alpha={} beta={} k={k} scalable={scalable} l4s={} toss={} at={} latency={} dq_threshold={} \
         min_backlog={}b overload={} p_cmax={}",
        set.target,
        set.tupdate,
        set.alpha,
        set.beta,
        on(!set.disabled),
        if set.recur { "accumulate" } else { "random" },
        if set.at_dequeue { "departure" } else { "arrival" },
        if set.dq_threshold.is_some() { "rate" } else { "head" },
        set.dq_threshold.unwrap_or(16_384),
        set.min_backlog,
        if set.drop_overload { "drop" } else { "delay" },
        if auto_cmax { "auto".to_string() } else { set.p_cmax.to_string() },
    );
    (words, Box::new(Pi2::new(trace.net, set)))
}

#[test]
fn pi2_handles_packets_as_sch_pi2_and_rfc9332() {
    let branches = [
        "departure rate averaged",
        "spared by a short queue",
        "ECT(0) as scalable",
        "scalable dropped in overload",
        "scalable marked",
        "ECT dropped in overload",
        "classic marked",
        "classic dropped",
        "sent behind a drop",
        "all dropped",
        "p' at its cap",
        "ECT(1) with L4S disabled",
    ];
    differ("pi2", case, &branches);
}
