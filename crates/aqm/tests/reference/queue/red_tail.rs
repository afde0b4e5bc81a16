//! RED+Tail: the classifier of section III, or that of the caption of Fig. 4, the rates of section III, and the two
//! schedulers that enforce the rates; its Adaptive RED is in `shared/adaptive_red.rs`.
//!
//! The clocks are in bytes of service: the clock S_i of queue i advances at C_i, and its head is due when S_i reaches
//! the finish tag of the head.

use std::collections::BTreeMap;

use crate::reference::harness::*;
use crate::reference::shared::adaptive_red::{Adaptive, BRANCHES, Settings};

struct Connection {
    packets: u32,
    last_seen: u64,
}

pub(crate) struct RedTail {
    net: Net,
    n: u32,
    /// Nanoseconds.
    t: u64,
    /// Bytes per second.
    c1_min: f64,
    c1_max: f64,
    unit1: Unit,
    minth1: f64,
    maxth1: f64,
    drr: bool,
    by_flow: bool,
    by_class: bool,
    seen: Seen,
    connections: BTreeMap<u32, Connection>,
    q: [Buffer; 2],
    red: Adaptive,
    c: [f64; 2],
    /// Clocks S_i, and the finish tag of each head.
    s: [f64; 2],
    tag: [f64; 2],
    last: u64,
    /// The packet sent by the library; decides between heads that are due at the same time.
    tie: Option<u32>,
    /// Deficit round robin.
    deficit: [f64; 2],
    turn: usize,
}

impl RedTail {
    /// 0 for queue 1, 1 for queue 2.
    fn classify(&mut self, pkt: &Pkt, now: u64) -> usize {
        if self.by_class {
            // "10 FTPs ... go to virtual queue 2, and 800 WEBs + 1 CBR ... go to virtual queue 1".
            self.seen.note("FTP by class", pkt.class == 0);
            self.seen.note("WEB or CBR by class", pkt.class != 0);
            return usize::from(pkt.class == 0);
        }
        if pkt.udp {
            return 0;
        }
        let key = if self.by_flow { pkt.flow } else { pkt.pair };
        // Remove the counter if there was no packet in the last T seconds.
        let t = self.t;
        let silent = self.connections.get(&key).is_some_and(|connection| now - connection.last_seen >= t);
        if silent {
            self.connections.remove(&key);
        }
        let connection = self.connections.entry(key).or_insert(Connection { packets: 0, last_seen: now });
        connection.packets += 1;
        connection.last_seen = now;
        let long = connection.packets > self.n;
        self.seen.note("forgotten", silent);
        self.seen.note("the first of a pair for queue 2", connection.packets == self.n.saturating_add(1));
        usize::from(long)
    }

    fn advance(&mut self, now: u64) {
        let dt = (now - self.last) as f64 / SECOND;
        self.last = now;
        for i in 0..2 {
            self.s[i] += self.c[i] * dt;
        }
    }

    fn rates(&mut self) {
        let c = self.net.capacity(Unit::Bytes);
        let q1 = self.q[0].length(self.unit1);
        let mut c1;
        if q1 == 0.0 {
            c1 = 0.0;
        } else if q1 < self.minth1 {
            c1 = self.c1_min;
        } else {
            c1 = c * q1 / self.maxth1;
            if c1 > self.c1_max {
                c1 = self.c1_max;
            }
        }
        self.seen.note("C1 = C1min", q1 > 0.0 && q1 < self.minth1);
        self.seen.note("C1 in between", q1 >= self.minth1 && c1 < self.c1_max);
        self.seen.note("C1 = C1max", q1 >= self.minth1 && c1 == self.c1_max);
        self.c = [c1, c - c1];
    }

    fn pick_by_clock(&mut self) -> usize {
        let mut time = [f64::INFINITY; 2];
        for (i, time) in time.iter_mut().enumerate() {
            if self.c[i] > 0.0 {
                *time = (self.tag[i] - self.s[i]) / self.c[i];
            }
        }
        self.seen.note("a queue without rate waits", self.c.contains(&0.0));
        let tie = (time[1] - time[0]).abs() < 1e-9;
        if tie {
            // Rounding decides the order in the library; the paper does not define it.
            return usize::from(self.q[1].q.front().map(|head| head.id) == self.tie);
        }
        if time[1] < time[0] { 1 } else { 0 }
    }

    fn pick_by_deficit(&mut self) -> usize {
        loop {
            let i = self.turn;
            if self.deficit[i] >= f64::from(self.q[i].q[0].size) {
                return i;
            }
            self.turn = 1 - i;
            self.deficit[1 - i] += 2.0 * self.net.mean_pktsize as f64 * self.c[1 - i] / (self.c[0] + self.c[1]);
        }
    }
}

impl Listing for RedTail {
    usual!(seen);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        self.advance(now);
        let i = self.classify(&pkt, now);
        let verdict = if i == 1 { self.red.verdict(&self.q[1], now, u, &mut self.seen) } else { None };
        let outcome = if self.net.full(self.backlog(), &pkt) {
            self.seen.note("overflow of queue 1", i == 0);
            self.seen.note("overflow of queue 2", i == 1);
            Outcome::Overflow
        } else {
            match verdict {
                None => Outcome::Queued,
                Some(false) if self.net.setbit && pkt.ect => Outcome::Marked,
                Some(_) => Outcome::Early,
            }
        };
        self.seen.note("early", outcome == Outcome::Early);
        self.seen.note("marked", outcome == Outcome::Marked);
        if i == 1 && outcome != Outcome::Queued {
            self.red.count = 0;
        }
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            if self.q[i].q.is_empty() {
                self.tag[i] = self.s[i] + f64::from(pkt.size);
                self.deficit[i] = 0.0;
            }
            self.q[i].q.push_back(pkt);
        }
        self.rates();
        outcome
    }

    fn break_tie(&mut self, sent: Option<u32>) {
        self.tie = sent;
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        self.advance(now);
        if self.q[1].q.is_empty() {
            self.red.emptied(now);
        }
        let both = self.q.iter().all(|queue| !queue.q.is_empty());
        let i = match both {
            true if self.drr => self.pick_by_deficit(),
            true => self.pick_by_clock(),
            false => usize::from(self.q[0].q.is_empty()),
        };
        self.seen.note("both wait, queue 1 is served", both && i == 0);
        self.seen.note("both wait, queue 2 is served", both && i == 1);
        let sent = self.q[i].q.pop_front();
        if let Some(sent) = sent {
            // A queue that is served alone has no deficit.
            let from = if both { self.tag[i] } else { self.s[i] };
            self.deficit[i] = if both { self.deficit[i] - f64::from(sent.size) } else { 0.0 };
            match self.q[i].q.front() {
                Some(next) => self.tag[i] = from + f64::from(next.size),
                None => self.deficit[i] = 0.0,
            }
        }
        self.rates();
        Departure { dropped: vec![], sent: sent.map(|pkt| (pkt.id, false)) }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("p", self.red.v_prob, 1.0),
            ("q1", self.q[0].length(self.unit1), 1.0),
            ("q2", self.q[1].length(self.red.unit()), 1.0),
            ("c1", self.c[0] * 8.0, 1.0),
            ("avg", self.red.v_ave, self.red.th_max),
            ("max_p", self.red.cur_max_p, 1.0),
            ("min_th2", self.red.th_min, self.red.th_max),
            ("evicted", 0.0, 1.0),
        ]
    }

    fn backlog(&self) -> (u64, u64) {
        let [(pkts1, bytes1), (pkts2, bytes2)] = [self.q[0].backlog(), self.q[1].backlog()];
        (pkts1 + pkts2, bytes1 + bytes2)
    }
}

/// Random rates C1_min and C1_max of queue 1 in bytes per second, and their text.
fn bounds(dice: &mut Dice, net: &Net, auto_min: f64) -> (f64, f64, String) {
    let c = net.capacity(Unit::Bytes);
    let (c1_max, max_word) = match dice.upto(0, 2) {
        0 => (0.75 * c, "auto".to_string()),
        1 => {
            let fraction = dice.pick(&[0.3, 0.6, 1.0]);
            (fraction * c, fraction.to_string())
        }
        _ => {
            let rate = (dice.between(0.1, 1.5) * net.bandwidth as f64) as u64;
            ((rate as f64 / 8.0).min(c), format!("{rate}bit"))
        }
    };
    let fraction = dice.odds(0.5).then(|| dice.pick(&[0.0, 0.1, 0.3]));
    let c1_min = fraction.unwrap_or(auto_min) * c;
    let min_word = fraction.map_or("auto".to_string(), |fraction| fraction.to_string());
    (c1_min.min(c1_max), c1_max, format!("c1_min={min_word} c1_max={max_word}"))
}

/// Two random thresholds: the lower one at `lo..mid` of the buffer, the upper one above it.
fn band(dice: &mut Dice, room: f64, lo: f64, mid: f64) -> (f64, f64) {
    (dice.between(lo, mid) * room, (dice.between(mid + 0.01, 0.6) * room).max(1.0))
}

/// Random settings of Adaptive RED, with their text.
fn red(dice: &mut Dice, unit: Unit, thresholds: (f64, f64), (p_l, p_u): (f64, f64)) -> (Settings, String) {
    let usual = Settings::usual(unit, thresholds, (p_l, p_u));
    if dice.odds(0.4) {
        return (usual, format!("p_l={p_l} p_u={p_u}"));
    }
    let set = Settings {
        gamma: dice.pick(&[0.05, 0.2]),
        w_p: dice.scale(0.005, 1.0),
        applied: dice.odds(0.5),
        alpha: dice.pick(&[0.01, 0.1]),
        beta: dice.pick(&[0.9, 0.5]),
        max_p: dice.pick(&[0.1, 0.4]),
        w_q: dice.scale(1e-3, 1.0),
        interval: dice.pick(&[50, 500]) * MS + 12_345,
        ..usual
    };
    let Settings { gamma, w_p, applied, alpha, beta, max_p, w_q, interval, .. } = set;
    let p_of = if applied { "applied" } else { "base" };
    let words = format!(
        "gamma={gamma} w_p={w_p} p_of={p_of} interval={interval}ns w_q={w_q} max_p={max_p} alpha={alpha} beta={beta}"
    );
    (set, format!("p_l={p_l} p_u={p_u} {words}"))
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let units = [Unit::Bytes, Unit::Bytes, Unit::Pkts];
    let (unit1, unit2) = (dice.pick(&units), dice.pick(&units));
    let (minth1, maxth1) = band(dice, net.room(unit1), 0.0, 0.1);
    let (minth2, maxth2) = band(dice, net.room(unit2), 0.02, 0.2);
    let n = dice.pick(&[0, 1, 5, 20, 64]);
    let t = if trace.grid { dice.pick(&[10, 100, 1000]) * MS } else { dice.scale(1e7, 1e10) as u64 };
    let (c1_min, c1_max, bounds) = bounds(dice, &net, minth1 / maxth1);
    let (p_l, p_u) = if dice.odds(0.5) { (dice.scale(1e-4, 0.01), dice.scale(0.01, 0.1)) } else { (0.0, 0.0) };
    let (drr, by_flow) = (dice.odds(0.3), dice.odds(0.3));
    let by_class = dice.odds(0.3);
    let (set, red_words) = red(dice, unit2, (minth2, maxth2), (p_l, p_u));
    let words = format!(
        "n={n} t={t}ns {bounds} min_th1={} max_th1={} min_th2={} max_th2={} {red_words} scheduler={} key={} split={}",
        depth(minth1, unit1),
        depth(maxth1, unit1),
        depth(minth2, unit2),
        depth(maxth2, unit2),
        if drr { "drr" } else { "clocks" },
        if by_flow { "flow" } else { "pair" },
        if by_class { "class" } else { "count" },
    );
    let red_tail = RedTail {
        net,
        n,
        t,
        c1_min,
        c1_max,
        unit1,
        minth1,
        maxth1,
        drr,
        by_flow,
        by_class,
        seen: Seen::default(),
        connections: BTreeMap::new(),
        q: Default::default(),
        red: Adaptive::new(net, set),
        c: [0.0, net.capacity(Unit::Bytes)],
        s: [0.0; 2],
        tag: [0.0; 2],
        last: 0,
        tie: None,
        deficit: [0.0; 2],
        turn: 0,
    };
    (words, Box::new(red_tail))
}

#[test]
fn red_tail_handles_packets_as_its_paper() {
    let branches = [
        "forgotten",
        "FTP by class",
        "WEB or CBR by class",
        "the first of a pair for queue 2",
        "C1 = C1min",
        "C1 in between",
        "C1 = C1max",
        "overflow of queue 1",
        "overflow of queue 2",
        "early",
        "marked",
        "a queue without rate waits",
        "both wait, queue 1 is served",
        "both wait, queue 2 is served",
    ];
    differ("red_tail", case, &[&branches[..], &BRANCHES[..]].concat());
}
