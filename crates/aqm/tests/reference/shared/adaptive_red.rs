//! Adaptive RED as in ns-2 (0.5 s after the last step, or by a timer), and the dynamic thresholds of section V of the
//! RED+Tail paper. Used for queue 2 of RED+Tail, and as a separate discipline.

use crate::reference::aqm::red::Clock;
use crate::reference::harness::*;
use crate::reference::shared::spacing::spaced;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) unit: Unit,
    pub(crate) th_min: f64,
    pub(crate) th_max: f64,
    /// P_L and P_U of the dynamic thresholds; `p_u` = 0: fixed thresholds.
    pub(crate) p_l: f64,
    pub(crate) p_u: f64,
    pub(crate) gamma: f64,
    pub(crate) w_p: f64,
    /// The probability that was applied enters the average, not the base probability.
    pub(crate) applied: bool,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) max_p: f64,
    /// 0: automatic.
    pub(crate) w_q: f64,
    /// Nanoseconds.
    pub(crate) interval: u64,
    pub(crate) clock: Clock,
}

impl Settings {
    /// The constants of the papers, with these thresholds.
    pub(crate) fn usual(unit: Unit, (th_min, th_max): (f64, f64), (p_l, p_u): (f64, f64)) -> Self {
        let (gamma, w_p, alpha, beta, max_p, w_q) = (0.05, 0.02, 0.01, 0.9, 0.1, 0.0);
        let (interval, clock) = (500_000_000, Clock::Step);
        let applied = false;
        Self { unit, th_min, th_max, p_l, p_u, gamma, w_p, applied, alpha, beta, max_p, w_q, interval, clock }
    }
}

/// Branches that the traces must take.
pub(crate) const BRANCHES: [&str; 8] = [
    "max_p down",
    "max_p up",
    "thresholds up",
    "thresholds down",
    "queue 2 idle for packets",
    "gentle part",
    "a short queue saves a packet",
    "forced",
];

/// The variables of Adaptive RED, with their names in ns-2.
pub(crate) struct Adaptive {
    net: Net,
    set: Settings,
    q_w: f64,
    pub(crate) v_ave: f64,
    pub(crate) v_prob: f64,
    pub(crate) v_prob1: f64,
    pub(crate) cur_max_p: f64,
    pub(crate) count: u64,
    old: bool,
    idle: bool,
    idletime: u64,
    lastset: u64,
    pub(crate) th_min: f64,
    pub(crate) th_max: f64,
    pub(crate) p_bar: f64,
}

impl Adaptive {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        let q_w = if set.w_q == 0.0 { 1.0 - (-1.0 / net.capacity(Unit::Pkts)).exp() } else { set.w_q };
        Self {
            net,
            set,
            q_w,
            v_ave: 0.0,
            v_prob: 0.0,
            v_prob1: 0.0,
            cur_max_p: set.max_p,
            count: 0,
            old: false,
            idle: true,
            idletime: 0,
            lastset: 0,
            th_min: set.th_min,
            th_max: set.th_max,
            p_bar: 0.0,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        self.set.unit
    }

    pub(crate) fn next_timer(&self) -> Option<u64> {
        (self.set.clock == Clock::Timer).then_some(self.lastset + self.set.interval)
    }

    pub(crate) fn timer(&mut self, seen: &mut Seen) {
        self.lastset += self.set.interval;
        let (v_ave, mut now_ave) = (self.v_ave, self.v_ave);
        if self.idle {
            let m = self.net.capacity(Unit::Pkts) * ((self.lastset - self.idletime) as f64 / SECOND);
            now_ave *= (1.0 - self.q_w).powf(m);
        }
        self.v_ave = now_ave;
        self.step(seen);
        self.v_ave = v_ave;
    }

    /// The link polled the empty queue.
    pub(crate) fn emptied(&mut self, now: u64) {
        if !self.idle {
            self.idle = true;
            self.idletime = now;
        }
    }

    fn update_max_p(&mut self, now: u64, seen: &mut Seen) {
        if self.set.clock == Clock::Timer || now - self.lastset <= self.set.interval {
            return;
        }
        self.lastset = now;
        self.step(seen);
    }

    fn step(&mut self, seen: &mut Seen) {
        let bottom = (80_000.0 / self.net.bandwidth as f64).min(0.01);
        let part = 0.4 * (self.th_max - self.th_min);
        if self.v_ave < self.th_min + part && self.cur_max_p > bottom {
            self.cur_max_p *= self.set.beta;
            seen.note("max_p down", true);
        } else if self.v_ave > self.th_max - part && self.cur_max_p < 0.5 {
            let mut alpha = self.set.alpha;
            if alpha > 0.25 * self.cur_max_p {
                alpha = 0.25 * self.cur_max_p;
            }
            self.cur_max_p += alpha;
            seen.note("max_p up", true);
        }
        if self.set.p_u == 0.0 {
            return;
        }
        let d = self.th_max - self.th_min;
        let mean = if self.set.unit == Unit::Bytes { self.net.mean_pktsize as f64 } else { 1.0 };
        let (least, most) = (5.0 * mean, self.net.room(self.set.unit) - d);
        let before = self.th_min;
        if self.p_bar > self.set.p_u {
            self.th_min *= 1.0 + self.set.gamma;
        } else if self.p_bar < self.set.p_l {
            self.th_min *= 1.0 - self.set.gamma;
        }
        seen.note("thresholds up", self.th_min > before);
        seen.note("thresholds down", self.th_min < before);
        if self.th_min != before {
            if self.th_min > most {
                self.th_min = most;
            }
            if self.th_min < least {
                self.th_min = least;
            }
        }
        self.th_max = self.th_min + d;
    }

    /// None: not dropped; Some(false): may be marked instead; Some(true): must be dropped. Also averages the
    /// probability, "Inst. P".
    pub(crate) fn verdict(&mut self, queue: &Buffer, now: u64, u: f64, seen: &mut Seen) -> Option<bool> {
        let verdict = self.judge(queue, now, u, seen);
        let inst_p = if self.set.applied { self.v_prob } else { self.v_prob1 };
        self.p_bar += self.set.w_p * (inst_p - self.p_bar);
        verdict
    }

    fn judge(&mut self, queue: &Buffer, now: u64, u: f64, seen: &mut Seen) -> Option<bool> {
        let w = self.q_w;
        let qlen = queue.length(self.set.unit);
        let mut m = 0;
        if self.idle {
            self.idle = false;
            m = (self.net.capacity(Unit::Pkts) * ((now - self.idletime) as f64 / SECOND)) as u64;
            seen.note("queue 2 idle for packets", m > 0);
        }
        for _ in 0..m {
            self.v_ave *= 1.0 - w;
        }
        self.v_ave = self.v_ave * (1.0 - w) + w * qlen;
        self.update_max_p(now, seen);

        let mut p = 0.0;
        if self.v_ave >= 2.0 * self.th_max {
            p = 1.0;
        } else if self.v_ave >= self.th_max {
            p = (1.0 - self.cur_max_p) / self.th_max * self.v_ave + 2.0 * self.cur_max_p - 1.0;
            seen.note("gentle part", true);
        } else if self.v_ave >= self.th_min {
            p = self.cur_max_p * (self.v_ave - self.th_min) / (self.th_max - self.th_min);
        }
        self.v_prob1 = p;

        self.count += 1;
        self.v_prob = 0.0;
        if self.v_ave < self.th_min || qlen <= 1.0 {
            seen.note("a short queue saves a packet", self.v_ave >= self.th_min);
            self.old = false;
            return None;
        }
        if self.v_ave >= 2.0 * self.th_max {
            seen.note("forced", true);
            self.v_prob = 1.0;
            return Some(true);
        }
        if !self.old {
            self.count = 1;
            self.old = true;
            return None;
        }
        p = spaced(p, self.count as f64, true);
        self.v_prob = p.min(1.0);
        (u < p).then_some(false)
    }
}
