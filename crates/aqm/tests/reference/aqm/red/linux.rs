//! RED as in Linux, in floating point, for Adaptive RED: `red_enqueue` of sch_red.c, `red_action`, `red_calc_qavg` and `red_adaptative_algo` of red.h,
//! and the conversion of tc's arguments.
//!
//! Deliberate differences from the kernel: floating-point numbers instead of scaled integers; an idle average decays by
//! (1-W)^m instead of shifts from a table; a burst that tc refuses is replaced with qth_min.

use super::auto;
use crate::reference::harness::*;

/// The arguments of tc; 0 where none is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tc {
    unit: Unit,
    /// In the unit of the thresholds.
    limit: f64,
    min: f64,
    max: f64,
    /// The typical packet in the unit of the thresholds, and in bytes.
    avpkt: f64,
    mean: f64,
    burst: f64,
    probability: f64,
    harddrop: bool,
    nodrop: bool,
    adaptive: bool,
}

pub(crate) struct Linux {
    net: Net,
    tc: Tc,
    buffer: Buffer,
    seen: Seen,
    /// W.
    w: f64,
    max_p: f64,
    qavg: f64,
    qcount: i64,
    /// In units of 1/max_P.
    q_r: f64,
    qidlestart: Option<u64>,
    adapt_timer: u64,
    p: f64,
}

const HALF_A_SECOND: u64 = 500_000_000;

/// `tc_red_eval_ewma`.
fn eval_ewma(qmin: f64, burst: f64, avpkt: f64) -> Option<f64> {
    let a = burst + 1.0 - qmin / avpkt;
    let mut w = 0.5_f64;
    for _wlog in 1..32 {
        if a <= (1.0 - (1.0 - w).powf(burst)) / w {
            return Some(w);
        }
        w /= 2.0;
    }
    None
}

impl Linux {
    pub(crate) fn new(net: Net, mut tc: Tc) -> Self {
        let (no_min, no_max) = (tc.min == 0.0, tc.max == 0.0);
        if no_max {
            tc.max = if no_min { tc.limit / 4.0 } else { tc.min * 3.0 };
        }
        if no_min {
            tc.min = tc.max / 3.0;
        }
        if no_max && tc.max < tc.min + tc.avpkt {
            tc.max = tc.min + tc.avpkt;
        }
        let mut burst = tc.burst;
        if burst == 0.0 {
            burst = ((2.0 * tc.min + tc.max) / (3.0 * tc.avpkt)).floor();
        }
        let shortest = (tc.min / tc.avpkt).max(1.0).ceil();
        let qmin = tc.min.max(tc.avpkt);
        let w = eval_ewma(qmin, burst.max(shortest), tc.avpkt)
            .or_else(|| eval_ewma(qmin, shortest, tc.avpkt))
            .unwrap_or(0.5);
        Self {
            net,
            tc,
            buffer: Buffer::default(),
            seen: Seen::default(),
            w,
            max_p: tc.probability,
            qavg: 0.0,
            qcount: -1,
            q_r: 0.0,
            qidlestart: Some(0),
            adapt_timer: HALF_A_SECOND,
            p: 0.0,
        }
    }

    fn decayed(&self, qidlestart: u64, now: u64) -> f64 {
        let m = (now - qidlestart) as f64 / SECOND * self.net.bandwidth as f64 / 8.0 / self.tc.mean;
        self.qavg * (1.0 - self.w).powf(m)
    }

    fn mark_probability(&self) -> bool {
        let p_b = self.max_p * (self.qavg - self.tc.min) / (self.tc.max - self.tc.min);
        p_b * self.qcount as f64 >= self.q_r
    }

    /// None: no mark. Some(false): at random. Some(true): hard, at or above qth_max.
    fn action(&mut self, random: f64) -> Option<bool> {
        self.p = 0.0;
        if self.qavg < self.tc.min {
            self.qcount = -1;
            return None;
        }
        if self.qavg >= self.tc.max {
            self.seen.note("hard", true);
            self.qcount = -1;
            self.p = 1.0;
            return Some(true);
        }
        self.p = self.max_p * (self.qavg - self.tc.min) / (self.tc.max - self.tc.min);
        self.qcount += 1;
        if self.qcount == 0 {
            self.seen.note("a gap is drawn", true);
            self.q_r = random;
        } else if self.mark_probability() {
            self.seen.note("a gap ends", true);
            self.qcount = 0;
            self.q_r = random;
            return Some(false);
        }
        None
    }
}

impl Listing for Linux {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let random = uniform();
        match self.qidlestart.take() {
            None => self.qavg += self.w * (self.buffer.length(self.tc.unit) - self.qavg),
            Some(start) => {
                self.qavg = self.decayed(start, now);
                self.seen.note("idle", self.qavg > 0.0);
            }
        }
        let action = self.action(random);
        // Linux checks its child FIFO last. Here a full buffer is checked first, and counts as overflow.
        if self.buffer.full(&self.net, &pkt) {
            self.seen.note("full", true);
            return Outcome::Overflow;
        }
        let ecn = self.net.setbit;
        let outcome = match action {
            None => Outcome::Queued,
            Some(hard) if !ecn || (hard && self.tc.harddrop) => Outcome::Early,
            Some(_) if pkt.ect => Outcome::Marked,
            Some(_) if !self.tc.nodrop => Outcome::Early,
            Some(_) => {
                self.seen.note("queued although not ECT", true);
                Outcome::Queued
            }
        };
        if outcome != Outcome::Early {
            self.buffer.q.push_back(pkt);
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_none() && self.qidlestart.is_none() {
            self.qidlestart = Some(now);
        }
        departure
    }

    fn next_timer(&self) -> Option<u64> {
        self.tc.adaptive.then_some(self.adapt_timer)
    }

    fn timer(&mut self) {
        let now = self.adapt_timer;
        self.adapt_timer += HALF_A_SECOND;
        let qavg = match self.qidlestart {
            Some(start) => self.decayed(start, now),
            None => self.qavg,
        };
        let fifth = (self.tc.max - self.tc.min) / 5.0;
        let (target_min, target_max) = (self.tc.min + 2.0 * fifth, self.tc.min + 3.0 * fifth);
        if qavg > target_max && self.max_p <= 0.5 {
            self.max_p += if 0.01 < self.max_p / 4.0 { 0.01 } else { self.max_p / 4.0 };
            self.seen.note("max_p up", true);
        } else if qavg < target_min && self.max_p >= 0.01 {
            self.max_p *= 0.9;
            self.seen.note("max_p down", true);
        }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let mut shown = vec![("avg", self.qavg, self.tc.min), ("p", self.p, 0.01), ("count", self.qcount as f64, 0.0)];
        if self.tc.adaptive {
            shown.push(("max_p", self.max_p, 0.0));
        }
        shown
    }
}

/// Random arguments of tc, as text for the library and as settings of the listing.
pub(crate) fn settings(dice: &mut Dice, net: &Net, adaptive: bool) -> (String, Tc) {
    let (min_auto, max_auto, mean_auto) = (dice.odds(0.3), dice.odds(0.3), dice.odds(0.7));
    let unit = if min_auto && max_auto { Unit::Bytes } else { dice.pick(&UNITS) };
    let mean = if mean_auto { net.mean_pktsize as f64 } else { 800.0 };
    let avpkt = if unit == Unit::Bytes { mean } else { 1.0 };
    let min = threshold(dice, net, unit, 1.0, 20.0);
    let max = min * dice.between(1.1, 4.0);
    let burst = if dice.odds(0.6) { 0 } else { dice.upto(1, 100) };
    let tc = Tc {
        unit,
        limit: net.room(unit),
        min: if min_auto { 0.0 } else { min },
        max: if max_auto { 0.0 } else { max },
        avpkt,
        mean,
        burst: burst as f64,
        probability: dice.pick(&[0.02, 0.1, 0.5]),
        harddrop: dice.odds(0.4),
        nodrop: dice.odds(0.4),
        adaptive,
    };
    let words = format!(
        "preset=linux min_th={} max_th={} max_p={} burst={} mean_packet={} harddrop={} nodrop={}",
        auto(min_auto, depth(min, unit)),
        auto(max_auto, depth(max, unit)),
        tc.probability,
        auto(burst == 0, burst.to_string()),
        auto(mean_auto, "800b".to_string()),
        on(tc.harddrop),
        on(tc.nodrop),
    );
    (words, tc)
}
