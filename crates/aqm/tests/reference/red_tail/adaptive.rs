//! RED+Tail's queue 2: Adaptive RED as ns-2 writes it (its 0.5 s counted from every step), and the
//! dynamic thresholds of section V.

use super::{Buffer, Net, SECOND, Seen, Unit};

/// Its variables, by their names in ns-2.
#[derive(Default)]
pub(super) struct Adaptive {
    net: Net,
    pub(super) unit: Unit,
    p_l: f64,
    p_u: f64,
    pub(super) v_ave: f64,
    pub(super) v_prob: f64,
    pub(super) cur_max_p: f64,
    pub(super) count: u64,
    old: bool,
    idle: bool,
    idletime: u64,
    lastset: u64,
    pub(super) th_min: f64,
    pub(super) th_max: f64,
    p_bar: f64,
}

impl Adaptive {
    /// Thresholds min and max in `unit`; dynamic between P_L and P_U unless that is 0.
    pub(super) fn new(net: Net, unit: Unit, (th_min, th_max): (f64, f64), (p_l, p_u): (f64, f64)) -> Self {
        Self { net, unit, p_l, p_u, th_min, th_max, cur_max_p: 0.1, idle: true, ..Self::default() }
    }

    /// The link found nothing in queue 2.
    pub(super) fn emptied(&mut self, now: u64) {
        if !self.idle {
            self.idle = true;
            self.idletime = now;
        }
    }

    fn update_max_p(&mut self, now: u64, seen: &mut Seen) {
        if now - self.lastset <= 500_000_000 {
            return;
        }
        self.lastset = now;
        let bottom = (80_000.0 / self.net.bandwidth as f64).min(0.01);
        let part = 0.4 * (self.th_max - self.th_min);
        if self.v_ave < self.th_min + part && self.cur_max_p > bottom {
            self.cur_max_p *= 0.9;
            seen.note("max_p down", true);
        } else if self.v_ave > self.th_max - part && self.cur_max_p < 0.5 {
            let mut alpha = 0.01;
            if alpha > 0.25 * self.cur_max_p {
                alpha = 0.25 * self.cur_max_p;
            }
            self.cur_max_p += alpha;
            seen.note("max_p up", true);
        }
        if self.p_u == 0.0 {
            return;
        }
        let d = self.th_max - self.th_min;
        let mean = if self.unit == Unit::Bytes { self.net.mean_pktsize as f64 } else { 1.0 };
        let (least, most) = (5.0 * mean, self.net.room(self.unit) - d);
        let before = self.th_min;
        if self.p_bar > self.p_u {
            self.th_min *= 1.0 + 0.05;
        } else if self.p_bar < self.p_l {
            self.th_min *= 1.0 - 0.05;
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

    /// None: not to be dropped; Some(false): may be marked instead; Some(true): may not.
    pub(super) fn verdict(&mut self, queue: &Buffer, now: u64, u: f64, seen: &mut Seen) -> Option<bool> {
        let w = 1.0 - (-1.0 / self.net.capacity(Unit::Pkts)).exp();
        let qlen = queue.length(self.unit);
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
        self.p_bar += 0.02 * (p - self.p_bar);

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
        let count = self.count as f64;
        if count * p < 1.0 {
            p = 0.0;
        } else if count * p < 2.0 {
            p /= 2.0 - count * p;
        } else {
            p = 1.0;
        }
        self.v_prob = p.min(1.0);
        (u < p).then_some(false)
    }
}
