//! RED in the integers of Linux 6.12, for sch_red and sch_choke: net/red.h, and tc's conversion of its arguments, in our
//! own words.

use crate::reference::harness::*;

/// tc's arguments. Thresholds are whole packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tc {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The typical packet in the unit of the thresholds, and in bytes.
    pub(crate) avpkt: u64,
    pub(crate) mean: u64,
    /// 0: none given.
    pub(crate) burst: u64,
    /// Wlog, if it is given.
    pub(crate) wlog: Option<u32>,
    pub(crate) probability: f64,
}

/// Parameters and variables of RED.
pub(crate) struct Red {
    min: u64,
    max: u64,
    wlog: u32,
    max_p: u64,
    scell_log: u32,
    stab: Vec<u32>,
    /// Fixed point with wlog bits.
    pub(crate) qavg: u64,
    pub(crate) qcount: i64,
    qr: u64,
    qidlestart: Option<u64>,
}

/// A random number of 32 bits.
fn bits(uniform: &mut dyn FnMut() -> f64) -> u64 {
    (uniform() * 4_294_967_296.0) as u64
}

/// A random number below `ceil`, a whole number of 32 bits, without bias; draws until one is taken.
pub(crate) fn below(ceil: u64, uniform: &mut dyn FnMut() -> f64) -> u64 {
    loop {
        let product = ceil * bits(uniform);
        if product % (1 << 32) >= (1 << 32) % ceil {
            return product >> 32;
        }
    }
}

fn wlog(qmin: f64, burst: f64) -> Option<u32> {
    let a = burst + 1.0 - qmin;
    if a < 1.0 {
        return None;
    }
    for wlog in 1..32 {
        let w = 0.5_f64.powi(wlog);
        if a <= (1.0 - (1.0 - w).powf(burst)) / w {
            return Some(wlog as u32);
        }
    }
    None
}

impl Red {
    pub(crate) fn new(tc: &Tc, bandwidth: u64) -> Self {
        let mut burst = tc.burst;
        if burst == 0 {
            burst = (2 * tc.min + tc.max) / (3 * tc.avpkt);
        }
        let qmin = tc.min as f64 / tc.avpkt as f64;
        let usual = || wlog(qmin, burst as f64).or_else(|| wlog(qmin, qmin.ceil())).unwrap_or(1);
        let wlog = tc.wlog.unwrap_or_else(usual);
        let us = (1e6 * (tc.mean as f64 / (bandwidth / 8) as f64)).floor();
        let xmit_time = (us * 15.625).floor();
        let lw = -(1.0 - 0.5_f64.powi(wlog as i32)).ln() / xmit_time;
        let mut scell_log = 0;
        // tc refuses cells of 2^32.
        while scell_log < 31 && 31.0 / lw / f64::from(1_u32 << scell_log) >= 512.0 {
            scell_log += 1;
        }
        let shift = |cell: i64| match cell {
            0 => 0,
            255 => 31,
            // From cells of 2^24 on an int overflows in tc, and the result is stored in a byte.
            _ => u32::from(((f64::from((cell << scell_log) as i32) * lw) as i64 as u8).min(31)),
        };
        Self {
            min: tc.min,
            max: tc.max,
            wlog,
            max_p: (tc.probability * 4_294_967_296.0) as u64,
            scell_log,
            stab: (0..256).map(shift).collect(),
            qavg: 0,
            qcount: -1,
            qr: 0,
            qidlestart: Some(0),
        }
    }

    /// The average at an arrival that finds `backlog`.
    pub(crate) fn calc_qavg(&mut self, backlog: u64, now: u64, seen: &mut Seen) {
        let one = 1_u64 << self.wlog;
        let Some(start) = self.qidlestart.take() else {
            self.qavg = self.qavg + backlog - self.qavg / one;
            return;
        };
        let us = ((now - start) / 1000).min((255 << self.scell_log) % (1 << 32));
        let shift = self.stab[(us >> self.scell_log) as usize];
        seen.note("idle, shifted", shift > 0 && self.qavg > 0);
        seen.note("idle, linear", shift == 0 && self.qavg > 0);
        self.qavg = if shift > 0 {
            self.qavg >> shift
        } else {
            let fall = ((u128::from(self.qavg) * u128::from(us)) >> self.scell_log) as u64;
            if fall < self.qavg / 2 { self.qavg - fall } else { self.qavg / 2 }
        };
    }

    /// qavg compared with a threshold.
    pub(crate) fn against(&self, threshold: u64) -> std::cmp::Ordering {
        self.qavg.cmp(&(threshold << self.wlog))
    }

    pub(crate) fn min(&self) -> u64 {
        self.min
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// `++qcount` between the thresholds: whether to mark.
    pub(crate) fn counts_to_mark(&mut self, uniform: &mut dyn FnMut() -> f64, seen: &mut Seen) -> bool {
        self.qcount += 1;
        let excess = (self.qavg - (self.min << self.wlog)) >> self.wlog;
        let mark = self.qcount > 0 && excess * self.qcount as u64 >= self.qr;
        if self.qcount == 0 || mark {
            let delta = self.max.saturating_sub(self.min).max(1);
            self.qr = bits(uniform) / (self.max_p / delta).max(1);
            self.qcount = 0;
        }
        seen.note("a gap ends", mark);
        seen.note("a gap is drawn", self.qcount == 0 && !mark);
        mark
    }

    pub(crate) fn poll_empty(&mut self, now: u64) {
        if self.qidlestart.is_none() {
            self.qidlestart = Some(now);
        }
    }

    pub(crate) fn avg(&self) -> f64 {
        self.qavg as f64 / (1_u64 << self.wlog) as f64
    }

    /// max_P (qavg - min)/(max - min), 0 below and 1 from max on.
    pub(crate) fn p(&self) -> f64 {
        if self.against(self.min).is_lt() {
            0.0
        } else if self.against(self.max).is_lt() {
            let (excess, delta) = (self.avg() - self.min as f64, (self.max - self.min) as f64);
            self.max_p as f64 / 4_294_967_296.0 * excess / delta
        } else {
            1.0
        }
    }
}
