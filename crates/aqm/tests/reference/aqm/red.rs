//! RED, as in ns-2.35: `enque` with `estimator`, `calculate_p`, `modify_p` and `drop_early`, and its two
//! adaptations of max_p. The listings of the paper and the kernel are in `red/paper.rs` and `red/kernel.rs`; `red/linux.rs` has
//! the kernel's in floating point, for Adaptive RED.
//!
//! Deliberate differences from ns-2:
//! - One uniform number u is drawn at every arrival, and u < p signals; ns-2 draws it where needed and tests u <= p.
//! - An automatic min_th is at most max_th/3; an automatic max_th is at least min_th plus one packet.
//! - Idle time may be ignored.
//! - max_p may be adapted at other times. It then stays within its bounds, and the gentle slope follows it.

mod kernel;
mod linux;
mod paper;

use crate::reference::harness::*;
use crate::reference::shared::spacing::spaced;

pub(crate) use linux::{Linux, settings as linux_settings};

/// How max_p is adapted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Adaptation {
    No,
    Floyd(Floyd),
    Feng { alpha: f64, beta: f64, bottom: f64, top: f64, quirk: bool },
}

/// Adaptive RED.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Floyd {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) bottom: f64,
    pub(crate) top: f64,
    /// Nanoseconds.
    pub(crate) interval: u64,
    pub(crate) clock: Clock,
    /// The gentle slope does not follow max_p, and there is no step exactly at bottom and top.
    pub(crate) quirk: bool,
}

/// When max_p may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    Timer,
    Step,
    Change,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Above,
    Below,
    Between,
}

/// Settings of a run; 0 is automatic, as in ns-2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) qib: Unit,
    pub(crate) mean_pktsize: u64,
    /// Seconds.
    pub(crate) targetdelay: f64,
    pub(crate) delay: f64,
    pub(crate) idle: bool,
    pub(crate) adaptation: Adaptation,
    /// In the unit of the queue.
    pub(crate) th_min: f64,
    pub(crate) th_max: f64,
    pub(crate) max_p_inv: f64,
    /// 0, -1 and -2 are automatic.
    pub(crate) q_w: f64,
    pub(crate) gentle: bool,
    pub(crate) wait: bool,
    pub(crate) bytes: bool,
    pub(crate) use_mark_p: bool,
    pub(crate) mark_p: f64,
}

#[derive(PartialEq)]
enum DropType {
    None,
    Forced,
    Unforced,
}

pub(crate) struct Red {
    net: Net,
    edp: Settings,
    buffer: Buffer,
    seen: Seen,
    ptc: f64,
    cur_max_p: f64,
    v_ave: f64,
    v_prob1: f64,
    v_a: f64,
    v_b: f64,
    v_c: f64,
    v_d: f64,
    count: u64,
    count_bytes: u64,
    old: bool,
    idle: bool,
    idletime: u64,
    lastset: u64,
    status: Status,
}

impl Red {
    /// `reset` and `initialize_params`.
    pub(crate) fn new(net: Net, mut edp: Settings) -> Self {
        let mean_pktsize = edp.mean_pktsize as f64;
        let ptc = net.bandwidth as f64 / 8.0 / mean_pktsize;
        if edp.q_w == 0.0 {
            edp.q_w = 1.0 - (-1.0 / ptc).exp();
        } else if edp.q_w == -1.0 {
            let mut rtt = 3.0 * (edp.delay + 1.0 / ptc);
            if rtt < 0.1 {
                rtt = 0.1;
            }
            edp.q_w = 1.0 - (-1.0 / (10.0 * rtt * ptc)).exp();
        } else if edp.q_w == -2.0 {
            edp.q_w = 1.0 - (-10.0 / ptc).exp();
        }
        if edp.th_min == 0.0 {
            edp.th_min = 5.0;
            let targetqueue = edp.targetdelay * ptc;
            if edp.th_min < targetqueue / 2.0 {
                edp.th_min = targetqueue / 2.0;
            }
            if edp.qib == Unit::Bytes {
                edp.th_min *= mean_pktsize;
            }
            if edp.th_max != 0.0 && edp.th_min > edp.th_max / 3.0 {
                edp.th_min = edp.th_max / 3.0;
            }
        }
        if edp.th_max == 0.0 {
            edp.th_max = 3.0 * edp.th_min;
            let packet = if edp.qib == Unit::Bytes { mean_pktsize } else { 1.0 };
            if edp.th_max < edp.th_min + packet {
                edp.th_max = edp.th_min + packet;
            }
        }
        let mut th_diff = edp.th_max - edp.th_min;
        if th_diff == 0.0 {
            th_diff = 1.0;
        }
        let cur_max_p = 1.0 / edp.max_p_inv;
        Self {
            net,
            edp,
            buffer: Buffer::default(),
            seen: Seen::default(),
            ptc,
            cur_max_p,
            v_ave: 0.0,
            v_prob1: 0.0,
            v_a: 1.0 / th_diff,
            v_b: -edp.th_min / th_diff,
            v_c: (1.0 - cur_max_p) / edp.th_max,
            v_d: 2.0 * cur_max_p - 1.0,
            count: 0,
            count_bytes: 0,
            old: false,
            idle: true,
            idletime: 0,
            lastset: 0,
            status: match edp.adaptation {
                Adaptation::Feng { quirk: true, .. } => Status::Above,
                _ => Status::Below,
            },
        }
    }

    /// Adapts max_p at an arrival if it is due.
    fn adapt(&mut self, now: u64) {
        match self.edp.adaptation {
            Adaptation::No => (),
            Adaptation::Feng { .. } => self.update_max_p_feng(),
            Adaptation::Floyd(floyd) => {
                if floyd.clock != Clock::Timer && now > self.lastset + floyd.interval {
                    let changed = self.update_max_p(self.v_ave, floyd);
                    if changed || floyd.clock == Clock::Step {
                        self.lastset = now;
                    }
                }
            }
        }
    }

    /// `updateMaxP`. Returns whether max_p has changed.
    fn update_max_p(&mut self, new_ave: f64, floyd: Floyd) -> bool {
        let part = 0.4 * (self.edp.th_max - self.edp.th_min);
        let falls = self.cur_max_p > floyd.bottom || (self.cur_max_p == floyd.bottom && !floyd.quirk);
        let rises = self.cur_max_p < floyd.top || (self.cur_max_p == floyd.top && !floyd.quirk);
        if new_ave < self.edp.th_min + part && falls {
            self.cur_max_p *= floyd.beta;
            self.seen.note("max_p down", true);
        } else if new_ave > self.edp.th_max - part && rises {
            let mut alpha = floyd.alpha;
            self.seen.note("a quarter of max_p is less", alpha > 0.25 * self.cur_max_p);
            if alpha > 0.25 * self.cur_max_p {
                alpha = 0.25 * self.cur_max_p;
            }
            self.cur_max_p += alpha;
            if self.cur_max_p > 1.0 {
                self.cur_max_p = 1.0;
            }
            self.seen.note("max_p up", true);
        } else {
            return false;
        }
        if !floyd.quirk {
            self.v_c = (1.0 - self.cur_max_p) / self.edp.th_max;
            self.v_d = 2.0 * self.cur_max_p - 1.0;
        }
        true
    }

    fn update_max_p_feng(&mut self) {
        let Adaptation::Feng { alpha, beta, bottom, top, quirk } = self.edp.adaptation else { return };
        let (new_ave, before) = (self.v_ave, self.cur_max_p);
        if self.edp.th_min < new_ave && new_ave < self.edp.th_max {
            self.status = Status::Between;
        }
        if new_ave < self.edp.th_min && self.status != Status::Below {
            self.status = Status::Below;
            self.cur_max_p /= alpha;
            self.seen.note("max_p at its bottom", self.cur_max_p < bottom);
            if self.cur_max_p < bottom {
                self.cur_max_p = bottom;
            }
        }
        if new_ave > self.edp.th_max && self.status != Status::Above {
            self.status = Status::Above;
            self.cur_max_p *= beta;
            self.seen.note("max_p at its top", self.cur_max_p > top);
            if self.cur_max_p > top {
                self.cur_max_p = top;
            }
        }
        self.seen.note("max_p down", self.cur_max_p < before);
        self.seen.note("max_p up", self.cur_max_p > before);
        if !quirk {
            self.v_c = (1.0 - self.cur_max_p) / self.edp.th_max;
            self.v_d = 2.0 * self.cur_max_p - 1.0;
        }
    }

    fn estimator(&self, nqueued: f64, mut m: u64, ave: f64, q_w: f64) -> f64 {
        let mut new_ave = ave;
        m -= 1;
        while m >= 1 {
            new_ave *= 1.0 - q_w;
            m -= 1;
        }
        new_ave *= 1.0 - q_w;
        new_ave += q_w * nqueued;
        new_ave
    }

    fn calculate_p(&self) -> f64 {
        let edp = &self.edp;
        let mut p;
        if edp.gentle && self.v_ave >= edp.th_max {
            p = self.v_c * self.v_ave + self.v_d;
        } else if !edp.gentle && self.v_ave >= edp.th_max {
            p = 1.0;
        } else {
            p = self.v_a * self.v_ave + self.v_b;
            p *= self.cur_max_p;
        }
        if p > 1.0 {
            p = 1.0;
        }
        p
    }

    fn modify_p(&mut self, mut p: f64, size: u32) -> f64 {
        let mut count1 = self.count as f64;
        if self.edp.bytes {
            count1 = (self.count_bytes / self.edp.mean_pktsize) as f64;
        }
        p = spaced(p, count1, self.edp.wait);
        self.seen.note("certain by count", p == 1.0);
        if self.edp.bytes && p < 1.0 {
            p = (p * f64::from(size)) / self.edp.mean_pktsize as f64;
        }
        if p > 1.0 {
            p = 1.0;
        }
        p
    }

    /// Returns whether to drop. A mark sets `ce` and is not a drop.
    fn drop_early(&mut self, pkt: &Pkt, u: f64, ce: &mut bool) -> bool {
        self.v_prob1 = self.calculate_p();
        let v_prob = self.modify_p(self.v_prob1, pkt.size);
        if u < v_prob {
            self.count = 0;
            self.count_bytes = 0;
            let edp = &self.edp;
            self.seen.note("too high to be marked", edp.use_mark_p && self.v_prob1 >= edp.mark_p);
            if self.net.setbit && pkt.ect && (!edp.use_mark_p || self.v_prob1 < edp.mark_p) {
                *ce = true;
                return false;
            }
            return true;
        }
        false
    }

    /// The drop decision for an arrival at a queue of length `qlen`; a mark sets `ce`.
    fn drop_logic(&mut self, pkt: &Pkt, qlen: f64, u: f64, ce: &mut bool) -> DropType {
        let qavg = self.v_ave;
        let edp = self.edp;
        if !(qavg >= edp.th_min && qlen > 1.0) {
            self.seen.note("short queue saves a packet", qavg >= edp.th_min);
            self.v_prob1 = 0.0;
            self.old = false;
            return DropType::None;
        }
        let high = (!edp.gentle && qavg >= edp.th_max) || (edp.gentle && qavg >= 2.0 * edp.th_max);
        self.seen.note("high average forces nothing", high && edp.use_mark_p);
        if !edp.use_mark_p && high {
            self.seen.note("forced by the average", true);
            self.v_prob1 = 1.0;
            return DropType::Forced;
        }
        if !self.old {
            self.seen.note("first above min_th", true);
            self.v_prob1 = self.calculate_p();
            self.count = 1;
            self.count_bytes = u64::from(pkt.size);
            self.old = true;
            return DropType::None;
        }
        self.seen.note("gentle part", edp.gentle && qavg >= edp.th_max);
        if self.drop_early(pkt, u, ce) { DropType::Unforced } else { DropType::None }
    }
}

impl Red {
    /// `enque` for one of several queues that share a buffer; `full`: the shared buffer has no room.
    pub(crate) fn offer(&mut self, pkt: Pkt, now: u64, full: bool, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let mut m = 0;
        if self.idle {
            self.idle = false;
            m = (self.ptc * ((now - self.idletime) as f64 / SECOND)) as u64;
            self.seen.note("idle for packets", m > 0);
        }
        let qlen = self.buffer.length(self.edp.qib);
        self.v_ave = self.estimator(qlen, m + 1, self.v_ave, self.edp.q_w);
        self.adapt(now);
        self.count += 1;
        self.count_bytes += u64::from(pkt.size);

        let mut ce = false;
        let mut droptype = self.drop_logic(&pkt, qlen, u, &mut ce);
        if full {
            droptype = DropType::Forced;
        }
        if droptype == DropType::Forced {
            self.count = 0;
            self.count_bytes = 0;
        }
        if droptype != DropType::None {
            return if full { Outcome::Overflow } else { Outcome::Early };
        }
        self.buffer.q.push_back(pkt);
        if ce { Outcome::Marked } else { Outcome::Queued }
    }

    /// The queued packets.
    pub(crate) fn waiting(&self) -> &Buffer {
        &self.buffer
    }

    /// Whether the link has polled the empty queue since its last packet.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }
}

impl Listing for Red {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let full = self.buffer.full(&self.net, &pkt);
        self.offer(pkt, now, full, uniform)
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_some() {
            self.idle = false;
        } else {
            self.idle = self.edp.idle;
            self.idletime = now;
        }
        departure
    }

    fn next_timer(&self) -> Option<u64> {
        match self.edp.adaptation {
            Adaptation::Floyd(Floyd { clock: Clock::Timer, interval, .. }) => Some(self.lastset + interval),
            _ => None,
        }
    }

    fn timer(&mut self) {
        let Adaptation::Floyd(floyd) = self.edp.adaptation else { return };
        self.lastset += floyd.interval;
        let mut ave = self.v_ave;
        if self.idle {
            let packets = self.ptc * ((self.lastset - self.idletime) as f64 / SECOND);
            ave *= (1.0 - self.edp.q_w).powf(packets);
            self.seen.note("a step on a decayed average", packets > 1.0);
        }
        self.update_max_p(ave, floyd);
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let mut shown =
            vec![("avg", self.v_ave, self.edp.th_min), ("p", self.v_prob1, 0.01), ("count", self.count as f64, 0.0)];
        if self.edp.adaptation != Adaptation::No {
            shown.push(("max_p", self.cur_max_p, 0.01));
        }
        shown
    }
}

/// `text`, or `auto`.
pub(crate) fn auto(is_auto: bool, text: String) -> String {
    if is_auto { "auto".to_string() } else { text }
}

/// Random settings shared by RED and its adaptive variants, as text for the library and as settings of the listing.
pub(crate) fn settings(dice: &mut Dice, trace: &Trace) -> (String, Settings) {
    let (min_auto, max_auto, bytes) = (dice.odds(0.2), dice.odds(0.3), dice.odds(0.4));
    // With two automatic thresholds, byte mode also selects the unit of the queue.
    let qib = match (min_auto && max_auto, bytes) {
        (true, true) => Unit::Bytes,
        (true, false) => Unit::Pkts,
        _ => dice.pick(&UNITS),
    };
    let th_min = threshold(dice, &trace.net, qib, 0.1, 20.0);
    let th_max = th_min * dice.between(1.1, 4.0);
    let mean_auto = dice.odds(0.7);
    let q_w = if dice.odds(0.3) { dice.pick(&[0.0, -1.0, -2.0]) } else { dice.scale(1e-3, 1.0) };
    let delay = dice.upto(0, 100);
    let set = Settings {
        qib,
        mean_pktsize: if mean_auto { trace.net.mean_pktsize } else { 500 },
        targetdelay: 0.005,
        delay: delay as f64 / 1e3,
        idle: true,
        adaptation: Adaptation::No,
        th_min: if min_auto { 0.0 } else { th_min },
        th_max: if max_auto { 0.0 } else { th_max },
        max_p_inv: dice.pick(&[10.0, 50.0, 2.0, 1.0]),
        q_w,
        gentle: dice.odds(0.6),
        wait: dice.odds(0.5),
        bytes,
        use_mark_p: dice.odds(0.3),
        mark_p: dice.pick(&[0.1, 0.5]),
    };
    let auto_w = if q_w == 0.0 {
        "second"
    } else if q_w == -2.0 {
        "tenth"
    } else {
        "rtts"
    };
    let words = format!(
        "min_th={} max_th={} max_p={} w_q={} auto_w={auto_w} delay={delay}ms mean_packet={} gentle={} wait={} bytes={} \
         use_mark_p={} mark_p={}",
        auto(min_auto, depth(th_min, qib)),
        auto(max_auto, depth(th_max, qib)),
        1.0 / set.max_p_inv,
        auto(q_w <= 0.0, q_w.to_string()),
        auto(mean_auto, "500b".to_string()),
        on(set.gentle),
        on(set.wait),
        on(bytes),
        on(set.use_mark_p),
        set.mark_p,
    );
    (words, set)
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (words, set) = settings(dice, trace);
    let idle = dice.odds(0.9);
    (format!("{words} idle={}", on(idle)), Box::new(Red::new(trace.net, Settings { idle, ..set })))
}

/// Branches that the tests of RED and of its adaptive variants must take.
pub(crate) const BRANCHES: [&str; 8] = [
    "idle for packets",
    "short queue saves a packet",
    "forced by the average",
    "first above min_th",
    "gentle part",
    "certain by count",
    "high average forces nothing",
    "too high to be marked",
];

#[test]
fn red_handles_packets_as_ns2() {
    differ("red", case, &BRANCHES);
}
