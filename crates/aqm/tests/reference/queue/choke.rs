//! CHOKe with the equations of RED, as in the CHOKe paper (Pan, Prabhakar, Psounis 2000). `choke/linux.rs` is the
//! listing of Linux.
//!
//! Two uniform numbers are drawn at every arrival.

mod linux;

use crate::reference::harness::*;

struct Choke {
    net: Net,
    unit: Unit,
    qth_min: f64,
    qth_max: f64,
    max_p: f64,
    w: f64,
    buffer: Buffer,
    victims: Vec<u32>,
    seen: Seen,
    qavg: f64,
    qidlestart: Option<u64>,
    qcount: i64,
    p_b: f64,
    matched: u64,
}

impl Choke {
    /// `red_calc_qavg`: after idle time the average only decays.
    fn calc_qavg(&mut self, now: u64) {
        let Some(start) = self.qidlestart.take() else {
            self.qavg = self.qavg * (1.0 - self.w) + self.buffer.length(self.unit) * self.w;
            return;
        };
        let m = self.net.capacity(Unit::Pkts) * ((now - start) as f64 / SECOND);
        self.seen.note("idle for packets", m > 1.0);
        self.qavg *= (1.0 - self.w).powf(m);
    }

    /// `++qcount`, then the equations of RED.
    fn marks(&mut self, u: f64) -> bool {
        self.p_b = self.max_p * (self.qavg - self.qth_min) / (self.qth_max - self.qth_min);
        self.qcount += 1;
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
    usual!(seen, backlog = buffer, victims = victims);

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
                self.qcount = 0;
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

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        if self.buffer.q.is_empty() && self.qidlestart.is_none() {
            self.qidlestart = Some(now);
        }
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("avg", self.qavg, self.qth_min.max(0.1)), ("p", self.p_b, 0.01), ("matched", self.matched as f64, 1.0)]
    }
}

/// `tc_red_eval_ewma`, for a minimum and a burst in packets. A burst that tc refuses is replaced with qmin.
fn eval_ewma(qmin: f64, burst: f64) -> f64 {
    let qmin = if qmin < 1.0 { 1.0 } else { qmin };
    for burst in [burst, qmin.ceil()] {
        if burst < qmin.ceil() {
            continue;
        }
        let a = burst + 1.0 - qmin;
        let mut w: f64 = 0.5;
        for _wlog in 1..32 {
            if a <= (1.0 - (1.0 - w).powf(burst)) / w {
                return w;
            }
            w /= 2.0;
        }
    }
    0.5
}

/// Random thresholds: their text, unit and values.
fn thresholds(dice: &mut Dice, net: &Net) -> (String, Unit, f64, f64) {
    let unit = dice.pick(&UNITS);
    let min = threshold(dice, net, unit, 0.1, 20.0);
    let max = min * dice.between(1.1, 4.0);
    let quarter = net.room(unit) / 4.0;
    match dice.upto(0, 9) {
        0 => {
            let max = net.room(Unit::Pkts) / 4.0;
            ("min_th=auto max_th=auto".into(), Unit::Pkts, max / 3.0, max)
        }
        1 => (format!("max_th={}", depth(max, unit)), unit, max / 3.0, max),
        2 => (format!("min_th={}", depth(min, unit)), unit, min, if quarter > min { quarter } else { 3.0 * min }),
        _ => (format!("min_th={} max_th={}", depth(min, unit), depth(max, unit)), unit, min, max),
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (thresholds, unit, qth_min, qth_max) = thresholds(dice, &net);
    let packet = if unit == Unit::Pkts { 1.0 } else { net.mean_pktsize as f64 };
    let (min, max) = (qth_min / packet, qth_max / packet);
    let burst = dice.upto(1, 100);
    let (w, word) = match dice.upto(0, 5) {
        0 => (eval_ewma(min, (2.0 * min + max) / 3.0), "auto".to_string()),
        1 => (eval_ewma(min, burst as f64), format!("auto burst={burst}")),
        _ => {
            let w = dice.scale(1e-3, 1.0);
            (w, w.to_string())
        }
    };
    let max_p = dice.pick(&[0.02, 0.1, 0.5, 1.0]);
    let words = format!("{thresholds} max_p={max_p} w_q={word} spacing=each");
    let (buffer, victims, seen, qavg, p_b, matched) = Default::default();
    let choke = Choke {
        net,
        unit,
        qth_min,
        qth_max,
        max_p,
        w,
        buffer,
        victims,
        seen,
        qavg,
        qidlestart: Some(0),
        qcount: -1,
        p_b,
        matched,
    };
    (words, Box::new(choke))
}

#[test]
fn choke_handles_packets_as_its_paper() {
    let branches = ["idle for packets", "matched", "above max_th", "by chance", "certain by count", "overflow"];
    differ("choke", case, &branches);
}
