//! PI, as in ns-2.35: `calculate_p` by a timer, `drop_early` at arrivals; and the gains of Hollot et al.,
//! section V.

use crate::reference::harness::*;

pub(crate) struct Pi {
    net: Net,
    /// In packets, even if the queue is measured in bytes.
    qref: f64,
    qib: Unit,
    a: f64,
    b: f64,
    /// Nanoseconds between two calculations.
    interval: u64,
    buffer: Buffer,
    seen: Seen,
    v_prob: f64,
    qold: f64,
    next: u64,
}

impl Listing for Pi {
    usual!(seen, backlog = buffer, deque = buffer, next_timer = next);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let mut p = self.v_prob;
        if self.qib == Unit::Bytes {
            p = p * f64::from(pkt.size) / self.net.mean_pktsize as f64;
            self.seen.note("p by size above 1", p > 1.0);
        }
        self.buffer.finish(&self.net, pkt, u < p)
    }

    fn timer(&mut self) {
        self.next += self.interval;
        let qlen = self.buffer.length(self.qib);
        let mut p;
        if self.qib == Unit::Bytes {
            let mean = self.net.mean_pktsize as f64;
            p = self.a * (qlen * 1.0 / mean - self.qref) - self.b * (self.qold * 1.0 / mean - self.qref) + self.v_prob;
        } else {
            p = self.a * (qlen - self.qref) - self.b * (self.qold - self.qref) + self.v_prob;
        }
        self.seen.note("p below 0", p < 0.0);
        self.seen.note("p above 1", p > 1.0);
        if p < 0.0 {
            p = 0.0;
        }
        if p > 1.0 {
            p = 1.0;
        }
        self.v_prob = p;
        self.qold = qlen;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.v_prob, 0.01)]
    }
}

/// `PI(s) = K (s/z + 1)/s` by the bilinear transform, K for a crossover at w_g of the loop
/// `C^2/2N exp(-sR)/((s + z)(s + 1/R))`.
fn design(n: f64, r: f64, c: f64, w_g: f64, f_s: f64) -> (f64, f64) {
    let z = 2.0 * n / (r * r * c);
    // |s + 1/R| at s = j w_g, over the plant's gain and the integrator's 1/w_g.
    let k = w_g * (w_g * w_g + 1.0 / (r * r)).sqrt() * z * 2.0 * n / (c * c);
    (k / z + k / (2.0 * f_s), k / z - k / (2.0 * f_s))
}

/// Random gains: their text, a and b.
fn gains(dice: &mut Dice, net: &Net, w: f64) -> (String, f64, f64) {
    if dice.odds(0.6) {
        let a = dice.scale(1e-5, 1e-2);
        let b = a * dice.between(0.5, 1.0);
        return (format!("a={a} b={b}"), a, b);
    }
    let (n, ms, c) = (dice.upto(1, 300), dice.upto(10, 500), net.capacity(Unit::Pkts));
    let r = ms as f64 / 1000.0;
    let z = 2.0 * n as f64 / (r * r * c);
    let (w_g, word) = match dice.odds(0.3) {
        true => (1.0, "1".to_string()),
        false if z < 0.5 / r => (z, "auto".into()),
        false => (0.5 / r, "auto".into()),
    };
    let (a, b) = design(n as f64, r, c, w_g, w);
    (format!("preset=tuned n={n} rtt={ms}ms w_g={word}"), a, b)
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace, qib: Unit) -> (String, Box<dyn Listing>) {
    let w: f64 = if trace.grid { dice.pick(&[100.0, 200.0, 1000.0]) } else { dice.scale(1.0, 500.0) };
    let (gains, a, b) = gains(dice, &trace.net, w);
    let qref = dice.between(1.0, 60.0);
    let in_unit = if qib == Unit::Pkts { qref } else { qref * trace.net.mean_pktsize as f64 };
    let words = format!("{gains} q_ref={} w={w}", depth(in_unit, qib));
    let interval = (SECOND / w).round() as u64;
    let (buffer, seen, v_prob, qold) = Default::default();
    let net = trace.net;
    (words, Box::new(Pi { net, qref, qib, a, b, interval, buffer, seen, v_prob, qold, next: interval }))
}

#[test]
fn pi_counting_packets_handles_packets_as_ns2() {
    differ("pi", |dice, trace| case(dice, trace, Unit::Pkts), &["p below 0", "p above 1"]);
}

#[test]
fn pi_counting_bytes_handles_packets_as_ns2() {
    let branches = ["p below 0", "p above 1", "p by size above 1"];
    differ("pi", |dice, trace| case(dice, trace, Unit::Bytes), &branches);
}
