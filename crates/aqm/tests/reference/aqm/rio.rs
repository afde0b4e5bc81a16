//! RIO, as in ns-2.35: `enque` with its two halves, `drop_in_early` and `drop_out_early`.
//!
//! Deliberate differences from ns-2: one uniform number u is drawn at every arrival, and u < p signals. Unless `quirk`,
//! an OUT arrival updates the average too, a forced drop of an OUT packet resets its count, and idle time begins at the
//! first poll of the empty queue.

use crate::reference::harness::*;
use crate::reference::shared::spacing::spaced;

/// `edp_in_` and `edp_out_`, in the unit of the queue.
#[derive(Clone, Copy)]
struct Edp {
    th_min: f64,
    th_max: f64,
    max_p: f64,
}

/// `edv_in_` and `edv_out_`.
#[derive(Default)]
struct Edv {
    count: u64,
    count_bytes: u64,
    old: bool,
}

struct Rio {
    net: Net,
    qib: Unit,
    edp: [Edp; 2],
    q_w: f64,
    mean_pktsize: u64,
    gentle: bool,
    wait: bool,
    bytes: bool,
    quirk: bool,
    buffer: Buffer,
    seen: Seen,
    ptc: f64,
    v_ave: f64,
    in_v_ave: f64,
    edv: [Edv; 2],
    in_len: u64,
    in_bcount: u64,
    idle: bool,
    in_idle: bool,
    idletime: u64,
    in_idletime: u64,
    prob1: f64,
}

#[derive(PartialEq)]
enum DropType {
    None,
    Forced,
    Unforced,
}

impl Rio {
    fn estimator(&self, nqueued: f64, m: u64, ave: f64) -> f64 {
        let mut new_ave = ave;
        for _ in 0..m {
            new_ave *= 1.0 - self.q_w;
        }
        new_ave + self.q_w * nqueued
    }

    /// Updates the average of all packets at an arrival, and ends `idle`.
    fn average_all(&mut self, now: u64) {
        let mut m = 0;
        if self.idle {
            self.idle = false;
            m = (self.ptc * ((now - self.idletime) as f64 / SECOND)) as u64;
        }
        self.v_ave = self.estimator(self.buffer.length(self.qib), m + 1, self.v_ave);
    }

    fn average_in(&mut self, now: u64) {
        let mut m_in = 0;
        if self.in_idle {
            self.in_idle = false;
            m_in = (self.ptc * ((now - self.in_idletime) as f64 / SECOND)) as u64;
            self.seen.note("IN packets idle", m_in > 0);
        }
        self.in_v_ave = self.estimator(self.in_queue(), m_in + 1, self.in_v_ave);
    }

    fn in_queue(&self) -> f64 {
        if self.qib == Unit::Bytes { self.in_bcount as f64 } else { self.in_len as f64 }
    }

    fn calculate_p(&self, ave: f64, edp: &Edp) -> f64 {
        let mut p;
        if self.gentle && ave >= edp.th_max {
            p = (1.0 - edp.max_p) / edp.th_max * ave + 2.0 * edp.max_p - 1.0;
        } else if !self.gentle && ave >= edp.th_max {
            p = 1.0;
        } else {
            p = (ave - edp.th_min) / (edp.th_max - edp.th_min) * edp.max_p;
        }
        if p > 1.0 {
            p = 1.0;
        }
        p
    }

    fn modify_p(&self, mut p: f64, edv: &Edv, size: u32) -> f64 {
        let mut count1 = edv.count as f64;
        if self.bytes {
            count1 = (edv.count_bytes / self.mean_pktsize) as f64;
        }
        p = spaced(p, count1, self.wait);
        if self.bytes && p < 1.0 {
            p = (p * f64::from(size)) / self.mean_pktsize as f64;
        }
        if p > 1.0 { 1.0 } else { p }
    }

    /// The drop decision for an arrival of colour `i` at a queue of length `qlen` and average `qavg`; a mark sets `ce`.
    fn drop_logic(&mut self, i: usize, pkt: &Pkt, (qavg, qlen): (f64, f64), u: f64, ce: &mut bool) -> DropType {
        let edp = self.edp[i];
        self.edv[i].count += 1;
        self.edv[i].count_bytes += u64::from(pkt.size);
        self.prob1 = 0.0;
        if !(qavg >= edp.th_min && qlen > 1.0) {
            self.seen.note("short queue saves a packet", qavg >= edp.th_min);
            self.edv[i].old = false;
            return DropType::None;
        }
        self.prob1 = self.calculate_p(qavg, &edp);
        if (!self.gentle && qavg >= edp.th_max) || (self.gentle && qavg >= 2.0 * edp.th_max) {
            self.seen.note(["IN forced", "OUT forced"][i], true);
            return DropType::Forced;
        }
        if !self.edv[i].old {
            self.edv[i] = Edv { count: 1, count_bytes: u64::from(pkt.size), old: true };
            return DropType::None;
        }
        let v_prob = self.modify_p(self.prob1, &self.edv[i], pkt.size);
        if u < v_prob {
            self.seen.note(["IN by chance", "OUT by chance"][i], true);
            self.edv[i].count = 0;
            self.edv[i].count_bytes = 0;
            self.seen.note("too high to be marked", self.net.setbit && pkt.ect && qavg >= edp.th_max);
            if self.net.setbit && pkt.ect && qavg < edp.th_max {
                *ce = true;
                return DropType::None;
            }
            return DropType::Unforced;
        }
        DropType::None
    }
}

impl Listing for Rio {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let i = usize::from(pkt.out);
        let mut ce = false;
        let mut droptype = if pkt.out {
            if !self.quirk {
                self.average_all(now);
            }
            let met = (self.v_ave, self.buffer.length(self.qib));
            self.drop_logic(1, &pkt, met, u, &mut ce)
        } else {
            self.average_all(now);
            self.average_in(now);
            let met = (self.in_v_ave, self.in_queue());
            self.drop_logic(0, &pkt, met, u, &mut ce)
        };
        let full = self.buffer.full(&self.net, &pkt);
        if full {
            droptype = DropType::Forced;
        }
        if droptype == DropType::Forced && !(pkt.out && self.quirk) {
            self.edv[i].count = 0;
            self.edv[i].count_bytes = 0;
        }
        if droptype != DropType::None {
            return if full { Outcome::Overflow } else { Outcome::Early };
        }
        if !pkt.out {
            self.in_len += 1;
            self.in_bcount += u64::from(pkt.size);
        }
        self.buffer.q.push_back(pkt);
        if ce { Outcome::Marked } else { Outcome::Queued }
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let head = self.buffer.q.front().copied();
        let departure = self.buffer.plain_deque();
        match head {
            Some(pkt) => {
                self.seen.note("an OUT arrival ends no idle time", self.quirk && self.idle);
                self.idle = false;
                if !pkt.out {
                    self.in_idle = false;
                    self.in_bcount -= u64::from(pkt.size);
                    self.in_len -= 1;
                }
            }
            None => {
                if self.quirk || !self.idle {
                    self.idletime = now;
                }
                if self.quirk || !self.in_idle {
                    self.in_idletime = now;
                }
                self.idle = true;
                self.in_idle = true;
            }
        }
        departure
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("avg", self.v_ave, self.edp[1].th_min),
            ("avg_in", self.in_v_ave, self.edp[0].th_min),
            ("p", self.prob1, 0.01),
            ("count_in", self.edv[0].count as f64, 0.0),
            ("count_out", self.edv[1].count as f64, 0.0),
        ]
    }
}

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (net, qib) = (trace.net, dice.pick(&UNITS));
    let mut band = |lo, hi| {
        let th_min = threshold(dice, &net, qib, lo, hi);
        let edp = Edp { th_min, th_max: th_min * dice.between(1.1, 4.0), max_p: dice.pick(&[0.02, 0.1, 0.5, 1.0]) };
        (edp, format!("{}/{}/{}", depth(edp.th_min, qib), depth(edp.th_max, qib), edp.max_p))
    };
    let ((edp_in, in_words), (edp_out, out_words)) = (band(0.5, 20.0), band(0.1, 20.0));
    let mean_auto = dice.odds(0.7);
    let mean_pktsize = if mean_auto { net.mean_pktsize } else { 500 };
    let rio = Rio {
        net,
        qib,
        edp: [edp_in, edp_out],
        q_w: dice.scale(1e-3, 1.0),
        mean_pktsize,
        gentle: dice.odds(0.5),
        wait: dice.odds(0.5),
        bytes: dice.odds(0.3),
        quirk: dice.odds(0.5),
        buffer: Buffer::default(),
        seen: Seen::default(),
        ptc: net.bandwidth as f64 / 8.0 / mean_pktsize as f64,
        v_ave: 0.0,
        in_v_ave: 0.0,
        edv: Default::default(),
        in_len: 0,
        in_bcount: 0,
        idle: true,
        in_idle: true,
        idletime: 0,
        in_idletime: 0,
        prob1: 0.0,
    };
    let words = format!(
        "in={in_words} out={out_words} w_q={} mean_packet={} gentle={} wait={} bytes={} quirk={}",
        rio.q_w,
        if mean_auto { "auto" } else { "500b" },
        on(rio.gentle),
        on(rio.wait),
        on(rio.bytes),
        on(rio.quirk),
    );
    (words, Box::new(rio))
}

#[test]
fn rio_handles_packets_as_ns2() {
    let branches = [
        "IN packets idle",
        "short queue saves a packet",
        "IN forced",
        "OUT forced",
        "IN by chance",
        "OUT by chance",
        "too high to be marked",
        "an OUT arrival ends no idle time",
    ];
    differ("rio", case, &branches);
}
