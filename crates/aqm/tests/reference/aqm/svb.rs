//! SVB, eq. (1) of the review in the MSVB paper, as an update at each arrival; the state is saved before a packet is
//! counted, and restored if it is dropped.

use crate::reference::harness::*;
use crate::reference::shared::virtual_queue::{BRANCHES, probability, restored};

#[derive(Default)]
pub(crate) struct Svb {
    net: Net,
    alpha: f64,
    phi: f64,
    /// Unit of Q_v, B_v and its bounds.
    unit: Unit,
    cap: f64,
    floor: f64,
    /// Per second.
    kappa: f64,
    target: f64,
    offered: bool,
    buffer: Buffer,
    seen: Seen,
    last: u64,
    qv: f64,
    bv: f64,
    p: f64,
}

impl Svb {
    /// Q_v' = -C and B_v' = alpha phi C + kappa (B_target - B_v) between arrivals.
    fn pass(&mut self, dt: f64) {
        let c = self.net.capacity(self.unit);
        self.qv -= c * dt;
        self.seen.note("virtual queue empty", self.qv < 0.0);
        if self.qv < 0.0 {
            self.qv = 0.0;
        }
        if self.kappa == 0.0 {
            self.bv += self.alpha * self.phi * c * dt;
        } else {
            let rest = self.target + self.alpha * self.phi * c / self.kappa;
            self.bv = rest + (self.bv - rest) * (-self.kappa * dt).exp();
            self.seen.note("sinks by the leak", self.bv > rest && dt > 0.0);
        }
        self.seen.note("at the cap", self.bv >= self.cap);
        if self.bv > self.cap {
            self.bv = self.cap;
        }
    }
}

impl Listing for Svb {
    usual!(seen, backlog = buffer, deque = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let dt = (now - self.last) as f64 / SECOND;
        self.last = now;
        self.pass(dt);
        let (qv_before, bv_before) = (self.qv, self.bv);

        let size = if self.unit == Unit::Bytes { f64::from(pkt.size) } else { 1.0 };
        self.qv += size;
        self.bv -= self.alpha * size;
        self.seen.note("at the floor", self.bv < self.floor);
        if self.bv < self.floor {
            self.bv = self.floor;
        }
        self.p = probability(self.qv, self.bv, &mut self.seen);

        let outcome = self.buffer.finish(&self.net, pkt, u < self.p);
        if restored(outcome, self.offered, &mut self.seen) {
            self.qv = qv_before;
            self.bv = bv_before;
        }
        outcome
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        // Rounding is relative to the largest term of the sum, which may be the equilibrium under the leak.
        let rest = if self.kappa > 0.0 { self.alpha * self.net.capacity(self.unit) / self.kappa } else { 0.0 };
        let size = self.cap.max(self.net.room(self.unit)).max(rest).max(1.0);
        vec![("p", self.p, 1.0), ("qv", self.qv, size), ("bv", self.bv, size)]
    }

    fn rounding(&self) -> f64 {
        1e-10
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (alpha, phi) = (dice.between(0.05, 1.5), dice.pick(&[1.0, 1.0, 0.9, 0.5]));
    let [cap_given, init_given, target_given, floor_given] = [0.7, 0.5, 0.5, 0.3].map(|p| dice.odds(p));
    // The default is the unit of the buffer.
    let unit = if cap_given || init_given || target_given { dice.pick(&UNITS) } else { net.limit_in };
    let cap = if cap_given { dice.between(0.05, 1.5) } else { 0.5 } * net.room(unit);
    let floor = if floor_given { 0.1 * cap } else { 0.0 };
    let init = if init_given { dice.between(floor, cap) } else { cap };
    let target = if target_given { dice.between(floor, cap) } else { init };
    let svb = Svb {
        net,
        alpha,
        phi,
        unit,
        cap,
        floor,
        kappa: if dice.odds(0.5) { dice.scale(0.1, 1e3) } else { 0.0 },
        target,
        offered: dice.odds(0.3),
        bv: init,
        ..Svb::default()
    };
    let auto = |given, bound| if given { depth(bound, unit) } else { "auto".to_string() };
    let words = format!(
        "alpha={alpha} phi={phi} b_cap={} b_init={} b_floor={} rate_basis={} leak={} b_target={}",
        auto(cap_given, cap),
        auto(init_given, init),
        if floor_given { "auto" } else { "0" },
        if svb.offered { "offered" } else { "accepted" },
        svb.kappa,
        auto(target_given, target),
    );
    (words, Box::new(svb))
}

#[test]
fn svb_handles_packets_as_msvb_paper() {
    let leak = ["virtual queue empty", "sinks by the leak"];
    differ("svb", case, &[&leak[..], &BRANCHES[..]].concat());
}
