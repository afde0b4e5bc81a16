//! RED+Tail: the classifier and the rates of section III, Adaptive RED as ns-2 writes it (its 0.5 s
//! counted from every step), dynamic thresholds of section V, and the two ways to keep the rates.
//!
//! The clocks are kept here as work done: each queue's clock S_i advances at C_i, and its head is due
//! when S_i reaches the head's finish tag.

use std::collections::{HashMap, VecDeque};

use super::{Net, Outcome, Pkt, Rule, Seen, length};

/// What a run is configured with; rates in bytes per second, thresholds in bytes or packets.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) n: u32,
    /// Nanoseconds.
    pub(crate) t: u64,
    pub(crate) c1_min: f64,
    pub(crate) c1_max: f64,
    pub(crate) bytes1: bool,
    pub(crate) minth1: f64,
    pub(crate) maxth1: f64,
    pub(crate) bytes2: bool,
    pub(crate) minth2: f64,
    pub(crate) maxth2: f64,
    pub(crate) p_l: f64,
    pub(crate) p_u: f64,
    pub(crate) drr: bool,
    pub(crate) by_flow: bool,
}

struct Connection {
    packets: u32,
    last_seen: u64,
}

/// Adaptive RED's variables, by their names in ns-2.
struct Edv {
    v_ave: f64,
    v_prob: f64,
    cur_max_p: f64,
    count: u64,
    old: bool,
    idle: bool,
    idletime: u64,
    lastset: u64,
    th_min: f64,
    th_max: f64,
    p_bar: f64,
}

pub(crate) struct RedTail {
    net: Net,
    set: Settings,
    seen: Seen,
    connections: HashMap<u32, Connection>,
    q: [VecDeque<Pkt>; 2],
    edv: Edv,
    c: [f64; 2],
    /// Clocks: S_i, and the finish tag of each head.
    s: [f64; 2],
    tag: [f64; 2],
    last: u64,
    /// Deficit round robin.
    deficit: [f64; 2],
    turn: usize,
}

impl RedTail {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        let edv = Edv {
            v_ave: 0.0,
            v_prob: 0.0,
            cur_max_p: 0.1,
            count: 0,
            old: false,
            idle: true,
            idletime: 0,
            lastset: 0,
            th_min: set.minth2,
            th_max: set.maxth2,
            p_bar: 0.0,
        };
        Self {
            net,
            set,
            seen: Seen::default(),
            connections: HashMap::new(),
            q: [VecDeque::new(), VecDeque::new()],
            edv,
            c: [0.0, net.capacity(true)],
            s: [0.0; 2],
            tag: [0.0; 2],
            last: 0,
            deficit: [0.0; 2],
            turn: 0,
        }
    }

    /// 0 for queue 1, 1 for queue 2.
    fn classify(&mut self, pkt: &Pkt, now: u64) -> usize {
        if pkt.udp {
            return 0;
        }
        let key = if self.set.by_flow { pkt.flow } else { pkt.pair };
        // Remove the counter if there was no packet in the last T seconds.
        let t = self.set.t;
        let silent = self.connections.get(&key).is_some_and(|connection| now - connection.last_seen >= t);
        if silent {
            self.connections.remove(&key);
        }
        let connection = self.connections.entry(key).or_insert(Connection { packets: 0, last_seen: now });
        connection.packets += 1;
        connection.last_seen = now;
        let long = connection.packets > self.set.n;
        self.seen.note("forgotten", silent);
        self.seen.note("the first of a pair for queue 2", connection.packets == self.set.n.saturating_add(1));
        usize::from(long)
    }

    fn advance(&mut self, now: u64) {
        let dt = (now - self.last) as f64 / 1e9;
        self.last = now;
        for i in 0..2 {
            self.s[i] += self.c[i] * dt;
        }
    }

    fn rates(&mut self) {
        let set = &self.set;
        let c = self.net.capacity(true);
        let q1 = length(&self.q[0], set.bytes1);
        let mut c1;
        if q1 == 0.0 {
            c1 = 0.0;
        } else if q1 < set.minth1 {
            c1 = set.c1_min;
        } else {
            c1 = c * q1 / set.maxth1;
            if c1 > set.c1_max {
                c1 = set.c1_max;
            }
        }
        self.seen.note("C1 = C1min", q1 > 0.0 && q1 < set.minth1);
        self.seen.note("C1 in between", q1 >= set.minth1 && c1 < set.c1_max);
        self.seen.note("C1 = C1max", q1 >= set.minth1 && c1 == set.c1_max);
        self.c = [c1, c - c1];
    }

    fn update_max_p(&mut self, now: u64) {
        let edv = &mut self.edv;
        if now - edv.lastset <= 500_000_000 {
            return;
        }
        edv.lastset = now;
        let bottom = (80_000.0 / self.net.bandwidth as f64).min(0.01);
        let part = 0.4 * (edv.th_max - edv.th_min);
        if edv.v_ave < edv.th_min + part && edv.cur_max_p > bottom {
            edv.cur_max_p *= 0.9;
            self.seen.note("max_p down", true);
        } else if edv.v_ave > edv.th_max - part && edv.cur_max_p < 0.5 {
            let mut alpha = 0.01;
            if alpha > 0.25 * edv.cur_max_p {
                alpha = 0.25 * edv.cur_max_p;
            }
            edv.cur_max_p += alpha;
            self.seen.note("max_p up", true);
        }
        if self.set.p_u == 0.0 {
            return;
        }
        let d = edv.th_max - edv.th_min;
        let mean = if self.set.bytes2 { self.net.mean_pktsize as f64 } else { 1.0 };
        let (least, most) = (5.0 * mean, self.net.buffer(self.set.bytes2) - d);
        let before = edv.th_min;
        if edv.p_bar > self.set.p_u {
            edv.th_min *= 1.0 + 0.05;
        } else if edv.p_bar < self.set.p_l {
            edv.th_min *= 1.0 - 0.05;
        }
        self.seen.note("thresholds up", edv.th_min > before);
        self.seen.note("thresholds down", edv.th_min < before);
        if edv.th_min != before {
            if edv.th_min > most {
                edv.th_min = most;
            }
            if edv.th_min < least {
                edv.th_min = least;
            }
        }
        edv.th_max = edv.th_min + d;
    }

    /// None: not to be dropped; Some(false): may be marked instead; Some(true): may not.
    fn red(&mut self, now: u64, u: f64) -> Option<bool> {
        let w = 1.0 - (-1.0 / self.net.capacity(false)).exp();
        let qlen = length(&self.q[1], self.set.bytes2);
        let mut m = 0;
        if self.edv.idle {
            self.edv.idle = false;
            m = (self.net.capacity(false) * ((now - self.edv.idletime) as f64 / 1e9)) as u64;
            self.seen.note("queue 2 idle for packets", m > 0);
        }
        for _ in 0..m {
            self.edv.v_ave *= 1.0 - w;
        }
        self.edv.v_ave = self.edv.v_ave * (1.0 - w) + w * qlen;
        self.update_max_p(now);
        let edv = &mut self.edv;

        let mut p = 0.0;
        if edv.v_ave >= 2.0 * edv.th_max {
            p = 1.0;
        } else if edv.v_ave >= edv.th_max {
            p = (1.0 - edv.cur_max_p) / edv.th_max * edv.v_ave + 2.0 * edv.cur_max_p - 1.0;
            self.seen.note("gentle part", true);
        } else if edv.v_ave >= edv.th_min {
            p = edv.cur_max_p * (edv.v_ave - edv.th_min) / (edv.th_max - edv.th_min);
        }
        edv.p_bar += 0.02 * (p - edv.p_bar);

        edv.count += 1;
        edv.v_prob = 0.0;
        if edv.v_ave < edv.th_min || qlen <= 1.0 {
            self.seen.note("a short queue saves a packet", edv.v_ave >= edv.th_min);
            edv.old = false;
            return None;
        }
        if edv.v_ave >= 2.0 * edv.th_max {
            self.seen.note("forced", true);
            edv.v_prob = 1.0;
            return Some(true);
        }
        if !edv.old {
            edv.count = 1;
            edv.old = true;
            return None;
        }
        let count = edv.count as f64;
        if count * p < 1.0 {
            p = 0.0;
        } else if count * p < 2.0 {
            p /= 2.0 - count * p;
        } else {
            p = 1.0;
        }
        edv.v_prob = p.min(1.0);
        (u < p).then_some(false)
    }

    fn pick_by_clock(&mut self, sent: Option<u32>) -> usize {
        let mut time = [f64::INFINITY; 2];
        for (i, time) in time.iter_mut().enumerate() {
            if self.c[i] > 0.0 {
                *time = (self.tag[i] - self.s[i]) / self.c[i];
            }
        }
        self.seen.note("a queue without rate waits", self.c.contains(&0.0));
        let tie = (time[1] - time[0]).abs() < 1e-9;
        if tie {
            return usize::from(self.q[1].front().map(|head| head.id) == sent);
        }
        if time[1] < time[0] { 1 } else { 0 }
    }

    fn pick_by_deficit(&mut self) -> usize {
        loop {
            let i = self.turn;
            if self.deficit[i] >= f64::from(self.q[i][0].size) {
                return i;
            }
            self.turn = 1 - i;
            self.deficit[1 - i] += 2.0 * self.net.mean_pktsize as f64 * self.c[1 - i] / (self.c[0] + self.c[1]);
        }
    }
}

impl Rule for RedTail {
    fn enque(&mut self, pkt: Pkt, now: u64, u: f64) -> Outcome {
        self.advance(now);
        let i = self.classify(&pkt, now);
        let verdict = if i == 1 { self.red(now, u) } else { None };
        let outcome = if self.net.full(&[&self.q[0], &self.q[1]], &pkt) {
            self.seen.note("overflow of queue 1", i == 0);
            self.seen.note("overflow of queue 2", i == 1);
            Outcome::Overflow
        } else {
            match verdict {
                None => Outcome::Queued,
                Some(false) if self.net.ecn && pkt.ect => Outcome::Marked,
                Some(_) => Outcome::Early,
            }
        };
        self.seen.note("early", outcome == Outcome::Early);
        self.seen.note("marked", outcome == Outcome::Marked);
        if i == 1 && outcome != Outcome::Queued {
            self.edv.count = 0;
        }
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            if self.q[i].is_empty() {
                self.tag[i] = self.s[i] + f64::from(pkt.size);
                self.deficit[i] = 0.0;
            }
            self.q[i].push_back(pkt);
        }
        self.rates();
        outcome
    }

    fn deque(&mut self, now: u64, sent: Option<u32>) -> Option<u32> {
        self.advance(now);
        if self.q[1].is_empty() && !self.edv.idle {
            self.edv.idle = true;
            self.edv.idletime = now;
        }
        let both = !self.q[0].is_empty() && !self.q[1].is_empty();
        let i = match both {
            true if self.set.drr => self.pick_by_deficit(),
            true => self.pick_by_clock(sent),
            false => usize::from(self.q[0].is_empty()),
        };
        self.seen.note("both wait, queue 1 is served", both && i == 0);
        self.seen.note("both wait, queue 2 is served", both && i == 1);
        let sent = self.q[i].pop_front();
        if let Some(sent) = sent {
            // Alone on the link, a queue neither earns nor owes.
            let from = if both { self.tag[i] } else { self.s[i] };
            self.deficit[i] = if both { self.deficit[i] - f64::from(sent.size) } else { 0.0 };
            match self.q[i].front() {
                Some(next) => self.tag[i] = from + f64::from(next.size),
                None => self.deficit[i] = 0.0,
            }
        }
        self.rates();
        sent.map(|pkt| pkt.id)
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let scale = self.set.maxth2;
        vec![
            ("p", self.edv.v_prob, 1.0),
            ("q1", length(&self.q[0], self.set.bytes1), 1.0),
            ("q2", length(&self.q[1], self.set.bytes2), 1.0),
            ("c1", self.c[0] * 8.0, 1.0),
            ("avg", self.edv.v_ave, scale),
            ("max_p", self.edv.cur_max_p, 1.0),
            ("min_th2", self.edv.th_min, scale),
            ("evicted", 0.0, 1.0),
        ]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> usize {
        self.q[0].len() + self.q[1].len()
    }
}
