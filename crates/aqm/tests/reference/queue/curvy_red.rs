//! Curvy RED: RFC 9332 Figures 9 and 10; with `overload`, the overload handling of Appendix A.2, as described in
//! Appendix B: p_C is the classic probability, and p_Cmax by default its value where the coupled probability becomes 1.
//!
//! Difference from the text: lq.time() and cq.time() are the times of the packet that is dequeued. 2U random numbers
//! are drawn for every packet, and the L queue uses the first U.

use crate::reference::harness::*;
use crate::reference::shared::dual::{Dual, Sharing};

/// Settings of a run; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    g_c: u32,
    min_th: u64,
    range_c: u64,
    k: f64,
    cu: u32,
    t: u64,
    t_range: u64,
    overload: bool,
    p_cmax: f64,
    protected: bool,
}

pub(crate) struct CurvyRed {
    set: Settings,
    dual: Dual,
    seen: Seen,
    /// Seconds.
    q_c: f64,
    p_l: f64,
}

fn maxrand(rand: &[f64]) -> f64 {
    let mut maxr = 0.0;
    for r in rand {
        if *r > maxr {
            maxr = *r;
        }
    }
    maxr
}

impl CurvyRed {
    fn sqrt_p_c(&self) -> f64 {
        let sqrt_p_c = (self.q_c - self.set.min_th as f64 / SECOND) / (self.set.range_c as f64 / SECOND);
        if sqrt_p_c < 0.0 {
            0.0
        } else if sqrt_p_c > 1.0 {
            1.0
        } else {
            sqrt_p_c
        }
    }

    fn ewma(&mut self, time: u64) {
        let gamma = 0.5_f64.powi(self.set.g_c as i32);
        self.q_c = gamma * (time as f64 / SECOND) + (1.0 - gamma) * self.q_c;
    }

    fn native(&mut self, lq_time: u64) -> f64 {
        let Settings { t, t_range, .. } = self.set;
        if lq_time <= t {
            return 0.0;
        }
        self.seen.note("on the ramp", lq_time < t + t_range);
        self.seen.note("above T", lq_time >= t + t_range);
        if lq_time >= t + t_range { 1.0 } else { ((lq_time - t) as f64 / SECOND) / (t_range as f64 / SECOND) }
    }

    /// Lines 5a to 6, and 8b to 8j of Figure 7.
    fn scalable(&mut self, p_l: f64, rand: &[f64]) -> Fate {
        let p_cl = self.set.k * self.sqrt_p_c();
        if self.set.overload && p_cl >= 1.0 && self.sqrt_p_c() > maxrand(rand) {
            self.seen.note("L4S dropped in overload", true);
            return Fate::Drop;
        }
        let r = maxrand(&rand[..self.set.cu as usize]);
        self.seen.note("marked by the coupling", p_cl > r && p_l <= r);
        if p_l > r || p_cl > r { Fate::Mark } else { Fate::Pass }
    }

    /// Lines 10b to 16, and 12b of Figure 7. In the L queue its probability is at least (p_L/k)^(2U).
    fn classic(&mut self, p_l: f64, ect: bool, rand: &[f64]) -> Fate {
        let sqrt_p_c = self.sqrt_p_c();
        if sqrt_p_c <= maxrand(rand) && p_l / self.set.k <= maxrand(rand) {
            return Fate::Pass;
        }
        let mut p_c = 1.0;
        for _ in 0..2 * self.set.cu {
            p_c *= sqrt_p_c;
        }
        let overload = self.set.overload && p_c >= self.set.p_cmax;
        self.seen.note("the curve spares ECT", ect && !overload && sqrt_p_c * sqrt_p_c >= self.set.p_cmax);
        self.seen.note("ECT dropped in overload", ect && overload);
        self.seen.note("classic marked", ect && !overload);
        self.seen.note("classic dropped", !ect);
        if ect && !overload { Fate::Mark } else { Fate::Drop }
    }

    fn judge(&mut self, lq: bool, pkt: &Pkt, now: u64, rand: &[f64]) -> Fate {
        let time = now - pkt.tstamp;
        let (ecn, l4s) = (self.dual.ecn(pkt), self.dual.l4s(pkt));
        if !lq {
            let other = self.dual.lq.q.front().map_or(0, |head| now - head.tstamp);
            self.seen.note("L waits longer", self.set.overload && other > time);
            self.ewma(if self.set.overload && other > time { other } else { time });
            return if l4s { self.scalable(0.0, rand) } else { self.classic(0.0, ecn, rand) };
        }
        if self.set.overload && self.dual.cq.q.is_empty() {
            self.ewma(time);
        }
        self.p_l = self.native(time);
        if l4s {
            return self.scalable(self.p_l, rand);
        }
        if !pkt.ect && self.set.protected {
            self.seen.note("protected", true);
            return Fate::Pass;
        }
        self.classic(self.p_l, ecn, rand)
    }
}

impl Listing for CurvyRed {
    usual!(seen, backlog = dual);

    fn enque(&mut self, pkt: Pkt, _: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        self.dual.enqueue(pkt, &mut self.seen)
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        while let Some(lq) = self.dual.scheduler(now, &mut self.seen) {
            let pkt = self.dual.dequeue(lq);
            let rand: Vec<f64> = (0..2 * self.set.cu).map(|_| uniform()).collect();
            let fate = self.judge(lq, &pkt, now, &rand);
            if fate == Fate::Drop {
                dropped.push(pkt.id);
                continue;
            }
            self.dual.sent(lq, pkt.size);
            return Departure { dropped, sent: Some((pkt.id, fate == Fate::Mark)) };
        }
        Departure { dropped, sent: None }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("p", self.sqrt_p_c(), 0.01),
            ("average", self.q_c, 1e-3),
            ("p_l", self.p_l, 0.1),
            ("credit", self.dual.credit, 1.0),
        ]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let wrr = dice.odds(0.3);
    let (sharing, shared) = Sharing::random(dice, wrr);
    let k = dice.pick(&[2.0, 2.0, 1.0, 4.0, 0.5]);
    let auto_cmax = dice.odds(0.6);
    let cu = dice.pick(&[1, 1, 2, 3]);
    let t = dice.pick(&[None, Some(1_000_000), Some(500_000), Some(20_000_000)]);
    let five_mtu = 5.0 * trace.net.mean_pktsize as f64 / (trace.net.bandwidth as f64 / 8.0);
    let mut k_2u = 1.0;
    for _ in 0..2 * cu {
        k_2u *= k;
    }
    let set = Settings {
        g_c: dice.pick(&[5, 5, 2, 0]),
        min_th: dice.pick(&[500_000, 0, 5_000_000]),
        range_c: dice.pick(&[500_000_000, 50_000_000, 5_000_000]),
        k,
        cu,
        t: t.unwrap_or((five_mtu * SECOND).round() as u64),
        t_range: dice.pick(&[0, 0, 2_000_000, 100_000_000]),
        overload: dice.odds(0.7),
        p_cmax: if auto_cmax { (1.0_f64 / k_2u).min(1.0) } else { dice.pick(&[0.05, 0.25, 1.0]) },
        protected: dice.odds(0.3),
    };
    let words = format!(
        "g={} min_th={}ns range={}ns k={k} u={} t={} t_range={}ns overload={} p_cmax={} protected={} {shared}",
        set.g_c,
        set.min_th,
        set.range_c,
        set.cu,
        t.map_or("auto".to_string(), |t| format!("{t}ns")),
        set.t_range,
        on(set.overload),
        if auto_cmax { "auto".to_string() } else { set.p_cmax.to_string() },
        on(set.protected),
    );
    let dual = Dual::new(trace.net, sharing);
    (words, Box::new(CurvyRed { set, dual, seen: Seen::default(), q_c: 0.0, p_l: 0.0 }))
}

#[test]
fn curvy_red_handles_packets_as_rfc9332() {
    let branches = [
        "steered to the L queue",
        "steered to the C queue",
        "both wait, L is served",
        "both wait, C is served",
        "on the ramp",
        "above T",
        "L4S dropped in overload",
        "marked by the coupling",
        "ECT dropped in overload",
        "the curve spares ECT",
        "classic marked",
        "classic dropped",
        "L waits longer",
        "protected",
        "L4S disabled",
    ];
    differ("curvy_red", case, &branches);
}
