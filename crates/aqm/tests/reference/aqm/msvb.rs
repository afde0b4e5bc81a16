//! MSVB, eq. (2) of its paper, as an update at each arrival: every arrival updates all classes; the state is
//! saved before a packet is counted, and restored if it is dropped.

use crate::reference::harness::*;
use crate::reference::shared::virtual_queue::{BRANCHES, probability, restored};

const CLASSES: usize = 32;

#[derive(Default)]
pub(crate) struct Msvb {
    net: Net,
    alpha: [f64; CLASSES],
    phi: [f64; CLASSES],
    /// Unit of Q_v, of every B, and of the bounds.
    unit: Unit,
    cap: [f64; CLASSES],
    floor: [f64; CLASSES],
    offered: bool,
    buffer: Buffer,
    seen: Seen,
    last: u64,
    qv: f64,
    b: [f64; CLASSES],
    p: f64,
    class: usize,
}

impl Listing for Msvb {
    usual!(seen, backlog = buffer, deque = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let c = self.net.capacity(self.unit);
        let dt = (now - self.last) as f64 / SECOND;
        self.last = now;
        let size = if self.unit == Unit::Bytes { f64::from(pkt.size) } else { 1.0 };
        let i = usize::from(pkt.class) % CLASSES;
        self.class = i;

        self.qv -= c * dt;
        if self.qv < 0.0 {
            self.qv = 0.0;
        }
        for j in 0..CLASSES {
            self.b[j] += self.alpha[j] * self.phi[j] * c * dt;
            if self.b[j] > self.cap[j] {
                self.b[j] = self.cap[j];
            }
        }
        self.seen.note("at the cap", self.b[i] == self.cap[i]);
        let (qv_before, bi_before) = (self.qv, self.b[i]);

        self.qv += size;
        self.b[i] -= self.alpha[i] * size;
        self.seen.note("at the floor", self.b[i] < self.floor[i]);
        if self.b[i] < self.floor[i] {
            self.b[i] = self.floor[i];
        }
        self.p = probability(self.qv, self.b[i], &mut self.seen);

        let outcome = self.buffer.finish(&self.net, pkt, u < self.p);
        if restored(outcome, self.offered, &mut self.seen) {
            self.qv = qv_before;
            self.b[i] = bi_before;
        }
        outcome
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        // Rounding is relative to the largest terms of the sum.
        let size = self.cap[self.class].max(self.net.room(self.unit)).max(self.buffer.length(self.unit)).max(1.0);
        vec![("p", self.p, 1.0), ("qv", self.qv, size), ("bv", self.b[self.class], size)]
    }

    /// The library updates a threshold in one step for the complete time since the last arrival of its class.
    fn rounding(&self) -> f64 {
        1e-10
    }
}

/// One number for all classes, or several that repeat: as text, and for each class.
fn per_class(dice: &mut Dice, lo: f64, hi: f64) -> (String, [f64; CLASSES]) {
    let given: Vec<f64> = (0..dice.pick(&[1, 1, 4, 10])).map(|_| dice.between(lo, hi)).collect();
    let text = given.iter().map(f64::to_string).collect::<Vec<_>>().join("/");
    (text, std::array::from_fn(|class| given[class % given.len()]))
}

/// Largest thresholds, one for all classes or several that repeat: 0.05 to 1.5 times `room`.
fn caps(dice: &mut Dice, room: f64, unit: Unit) -> (String, [f64; CLASSES]) {
    let given: Vec<f64> = (0..dice.pick(&[1, 1, 3])).map(|_| dice.between(0.05, 1.5) * room).collect();
    let text = given.iter().map(|cap| depth(*cap, unit)).collect::<Vec<_>>().join("/");
    (text, std::array::from_fn(|class| given[class % given.len()]))
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (alpha_text, alpha) = per_class(dice, 0.05, 1.5);
    let (phi_text, phi) = per_class(dice, 0.0, 0.4);
    let (offered, cap_given, init_given, floor_given) =
        (dice.odds(0.3), dice.odds(0.7), dice.odds(0.5), dice.odds(0.3));
    // The default is the unit of the buffer.
    let unit = if cap_given || init_given { dice.pick(&UNITS) } else { net.limit_in };
    let (caps_text, cap) = match cap_given {
        true => caps(dice, net.room(unit), unit),
        false => ("auto".to_string(), [0.5 * net.room(unit); CLASSES]),
    };
    let least = cap.into_iter().fold(f64::INFINITY, f64::min);
    let init = init_given.then(|| dice.between(0.0, least));
    let floor = if floor_given { cap.map(|cap| 0.1 * cap) } else { [0.0; CLASSES] };
    let words = format!(
        "alpha={alpha_text} phi={phi_text} b_cap={caps_text} b_init={} b_floor={} rate_basis={}",
        init.map_or("auto".to_string(), |init| depth(init, unit)),
        if floor_given { "auto" } else { "0" },
        if offered { "offered" } else { "accepted" },
    );
    let b = std::array::from_fn(|class| init.unwrap_or(cap[class]).max(floor[class]));
    (words, Box::new(Msvb { net, alpha, phi, unit, cap, floor, offered, b, ..Msvb::default() }))
}

#[test]
fn msvb_handles_packets_as_its_paper() {
    differ("msvb", case, &BRANCHES);
}
