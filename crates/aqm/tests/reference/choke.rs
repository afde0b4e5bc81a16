//! CHOKe, as Linux has it (`choke_enqueue`, `red_calc_qavg`, `red_mark_probability`) in floating point, and with the
//! equations of RED in its place, as the paper says.
//!
//! Different from Linux on purpose: no holes, so that any waiting packet is drawn with the same probability; idle time
//! as Floyd and Jacobson have it; avg - min_th is not cut to whole packets; two uniforms at every arrival.

use crate::differ;

use super::traffic::{Dice, Trace, UNITS, depth, threshold};
use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, SECOND, Seen, Unit};

struct Choke {
    net: Net,
    unit: Unit,
    qth_min: f64,
    qth_max: f64,
    max_p: f64,
    w: f64,
    /// Linux: one random number for each gap.
    cached: bool,
    buffer: Buffer,
    victims: Vec<u32>,
    seen: Seen,
    qavg: f64,
    qidlestart: Option<u64>,
    qcount: i64,
    /// Uniform on 0..1; Linux scales it by (qth_max - qth_min)/max_P.
    qr: f64,
    p_b: f64,
    matched: u64,
}

impl Choke {
    fn calc_qavg(&mut self, now: u64) {
        let ptc = self.net.capacity(Unit::Pkts);
        if let Some(start) = self.qidlestart.take() {
            let m = (ptc * ((now - start) as f64 / SECOND)).floor();
            self.seen.note("idle for packets", m > 0.0);
            self.qavg *= (1.0 - self.w).powf(m);
        }
        self.qavg = (1.0 - self.w) * self.qavg + self.w * self.buffer.length(self.unit);
    }

    /// `++qcount`, then `red_mark_probability` or the equations.
    fn marks(&mut self, u: f64) -> bool {
        self.p_b = self.max_p * (self.qavg - self.qth_min) / (self.qth_max - self.qth_min);
        self.qcount += 1;
        if self.cached {
            if self.qcount == 0 {
                self.seen.note("the first above min_th", true);
                self.qr = u;
                return false;
            }
            let mark = self.qcount as f64 * self.p_b >= self.qr;
            if mark {
                self.qcount = 0;
                self.qr = u;
            }
            return mark;
        }
        let below = 1.0 - self.qcount as f64 * self.p_b;
        self.seen.note("certain by count", below <= 0.0);
        let p_a = if below > 0.0 { self.p_b / below } else { 1.0 };
        let mark = u < p_a;
        if mark {
            self.qcount = 0;
        }
        mark
    }

    fn drop_or_mark(&self, pkt: &Pkt) -> Outcome {
        if self.net.setbit && pkt.ect { Outcome::Marked } else { Outcome::Early }
    }
}

impl Listing for Choke {
    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let (u, v) = (uniform(), uniform());
        self.calc_qavg(now);
        let mut outcome = Outcome::Queued;
        if self.qavg <= self.qth_min {
            self.qcount = -1;
            self.p_b = 0.0;
        } else {
            let idx = (v * self.buffer.q.len() as f64) as usize;
            if let Some(drawn) = self.buffer.q.get(idx)
                && drawn.flow == pkt.flow
            {
                self.seen.note("matched", true);
                self.matched += 1;
                self.victims.push(drawn.id);
                self.buffer.q.remove(idx);
                return if self.buffer.full(&self.net, &pkt) { Outcome::Overflow } else { Outcome::Early };
            }
            if self.qavg > self.qth_max {
                self.seen.note("above max_th", true);
                self.qcount = if self.cached { -1 } else { 0 };
                self.qr = u;
                self.p_b = 1.0;
                outcome = self.drop_or_mark(&pkt);
            } else if self.marks(u) {
                self.seen.note("by chance", true);
                outcome = self.drop_or_mark(&pkt);
            }
        }
        if self.buffer.full(&self.net, &pkt) {
            self.seen.note("overflow", true);
            return Outcome::Overflow;
        }
        if outcome != Outcome::Early {
            self.buffer.q.push_back(pkt);
        }
        outcome
    }

    fn victims(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.victims)
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        if self.buffer.q.is_empty() && self.qidlestart.is_none() {
            self.qidlestart = Some(now);
        }
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("avg", self.qavg, self.qth_min.max(0.1)), ("p", self.p_b, 0.01), ("matched", self.matched as f64, 1.0)]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> (u64, u64) {
        self.buffer.backlog()
    }
}

/// `tc_red_eval_ewma`, for a minimum and a burst in packets.
fn eval_ewma(qmin: f64, burst: f64) -> f64 {
    let a = burst + 1.0 - qmin;
    let mut w: f64 = 0.5;
    for _wlog in 1..32 {
        if a <= (1.0 - (1.0 - w).powf(burst)) / w {
            return w;
        }
        w /= 2.0;
    }
    0.002
}

/// Random settings: the words that the library reads, and the listing set up the same way.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (auto, cached) = (dice.odds(0.2), dice.odds(0.5));
    let unit = if auto { Unit::Pkts } else { dice.pick(&UNITS) };
    let (qth_min, qth_max, thresholds) = if auto {
        let max = net.room(Unit::Pkts) / 4.0;
        (max / 3.0, max, "min_th=auto max_th=auto".to_string())
    } else {
        let min = threshold(dice, &net, unit, 0.1, 20.0);
        let max = min * dice.between(1.1, 4.0);
        (min, max, format!("min_th={} max_th={}", depth(min, unit), depth(max, unit)))
    };
    let packet = if unit == Unit::Pkts { 1.0 } else { net.mean_pktsize as f64 };
    let auto_w = dice.odds(0.3);
    let w = match auto_w {
        true => eval_ewma(qth_min / packet, (2.0 * qth_min + qth_max) / packet / 3.0),
        false => dice.scale(1e-3, 1.0),
    };
    let max_p = dice.pick(&[0.02, 0.1, 0.5, 1.0]);
    let words = format!(
        "{thresholds} max_p={max_p} w_q={} spacing={}",
        if auto_w { "auto".to_string() } else { w.to_string() },
        if cached { "once" } else { "each" },
    );
    let (buffer, victims, seen, qavg, qr, p_b, matched) = Default::default();
    let choke = Choke {
        net,
        unit,
        qth_min,
        qth_max,
        max_p,
        w,
        cached,
        buffer,
        victims,
        seen,
        qavg,
        qidlestart: Some(0),
        qcount: -1,
        qr,
        p_b,
        matched,
    };
    (words, Box::new(choke))
}

#[test]
fn agrees() {
    let branches = [
        "idle for packets",
        "matched",
        "above max_th",
        "by chance",
        "the first above min_th",
        "certain by count",
        "overflow",
    ];
    differ("choke", case, &branches);
}
