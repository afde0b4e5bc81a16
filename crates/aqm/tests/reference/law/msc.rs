//! MSC: the listing of section 3.3 of its paper. Arrivals run both updates, that of the queue before that of the rate.

use crate::reference::harness::*;

pub(crate) struct Msc {
    net: Net,
    qref: f64,
    qref_in: Unit,
    alpha: f64,
    gamma: f64,
    /// Nanoseconds.
    ts_s: u64,
    /// Nanoseconds.
    ts_l: u64,
    r_w: f64,
    p_floor: f64,
    smooth_switch: bool,
    buffer: Buffer,
    seen: Seen,
    /// A(t), bits per second.
    a: f64,
    rho: f64,
    p_a: f64,
    p_d: f64,
    smpl_bytes: u64,
    lastset_q: u64,
    lastset_r: u64,
}

impl Msc {
    fn queue_update(&mut self, arv_time: u64) {
        self.lastset_q = arv_time;
        let q = self.buffer.length(self.qref_in);
        let p_q = self.alpha * (q - self.qref) / self.qref;
        self.p_d = self.p_a + p_q;
        self.seen.note("p_d below 0", self.p_d < 0.0);
        self.seen.note("p_d above 1", self.p_d > 1.0);
        if self.p_d > 1.0 {
            self.p_d = 1.0;
        }
        if self.p_d < 0.0 {
            self.p_d = 0.0;
        }
    }

    fn rate_update(&mut self, arv_time: u64) {
        let elapsed = (arv_time - self.lastset_r) as f64 / SECOND;
        let r = 8.0 * self.smpl_bytes as f64 / elapsed;
        self.a = r * self.r_w + self.a * (1.0 - self.r_w);
        self.rho = self.a / self.net.bandwidth as f64;
        self.seen.note("load above gamma", self.rho > self.gamma);
        if self.rho <= self.gamma {
            self.p_a = self.p_floor;
        } else {
            self.p_a = 1.0 - self.gamma / self.rho;
            if self.smooth_switch && self.p_a < self.p_floor {
                self.p_a = self.p_floor;
            }
        }
        self.smpl_bytes = 0;
        self.lastset_r = arv_time;
    }
}

impl Listing for Msc {
    usual!(seen, backlog = buffer, deque = buffer);

    fn enque(&mut self, pkt: Pkt, arv_time: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let (short, long) = (arv_time - self.lastset_q >= self.ts_s, arv_time - self.lastset_r >= self.ts_l);
        self.seen.note("both at one arrival", short && long);
        if short {
            self.queue_update(arv_time);
        }
        if long {
            self.rate_update(arv_time);
        }
        self.smpl_bytes += u64::from(pkt.size);
        let u = uniform();
        self.buffer.finish(&self.net, pkt, u < self.p_d)
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.p_d, 0.01), ("p_a", self.p_a, 0.01), ("rho", self.rho, 0.0)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let qref_in = dice.pick(&UNITS);
    let msc = Msc {
        net: trace.net,
        qref: threshold(dice, &trace.net, qref_in, 1.0, 60.0).max(1.0),
        qref_in,
        alpha: dice.pick(&[0.02, 0.1, 0.3, 1.0]),
        gamma: dice.pick(&[1.0, 0.95, 0.8]),
        ts_s: if trace.grid { 10 * MS } else { dice.scale(1e6, 1e8) as u64 },
        ts_l: if trace.grid { dice.pick(&[10, 50, 200]) * MS } else { dice.scale(1e7, 1e9) as u64 },
        r_w: dice.pick(&[0.5, 0.1, 1.0]),
        p_floor: dice.pick(&[0.01, 0.0, 0.05]),
        smooth_switch: dice.odds(0.3),
        buffer: Default::default(),
        seen: Default::default(),
        a: trace.net.bandwidth as f64,
        rho: 1.0,
        p_a: 0.0,
        p_d: 0.0,
        smpl_bytes: 0,
        lastset_q: 0,
        lastset_r: 0,
    };
    let words = format!(
        "q_ref={} alpha={} gamma={} ts_s={}ns ts_l={}ns r_w={} p_floor={} smooth_switch={}",
        depth(msc.qref, qref_in),
        msc.alpha,
        msc.gamma,
        msc.ts_s,
        msc.ts_l,
        msc.r_w,
        msc.p_floor,
        on(msc.smooth_switch),
    );
    (words, Box::new(Msc { p_a: msc.p_floor, ..msc }))
}

#[test]
fn msc_handles_packets_as_its_paper() {
    let branches = ["p_d below 0", "p_d above 1", "load above gamma", "both at one arrival"];
    differ("msc", case, &branches);
}
