//! AAQM: the three events of section 4 of its paper with their counters, reconstructed from the text: the paper's
//! formulas are unreadable.

use crate::reference::harness::*;

#[derive(Default)]
pub(crate) struct Aaqm {
    net: Net,
    /// Nanoseconds.
    dt: u64,
    p1: f64,
    p2: f64,
    u_when_no_departure: f64,
    buffer: Buffer,
    seen: Seen,
    n_arr: u64,
    n_dep: u64,
    u: f64,
    p: f64,
    next: u64,
}

impl Listing for Aaqm {
    usual!(seen, backlog = buffer, next_timer = next);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let discarded = uniform() < self.p;
        let outcome = self.buffer.finish(&self.net, pkt, discarded);
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            self.n_arr += 1;
        }
        outcome
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_some() {
            self.n_dep += 1;
        }
        departure
    }

    fn timer(&mut self) {
        self.next += self.dt;
        self.seen.note("no load", self.n_arr == 0 && self.n_dep == 0);
        self.seen.note("arrivals alone", self.n_arr > 0 && self.n_dep == 0);
        self.seen.note("departures alone", self.n_arr == 0 && self.n_dep > 0);
        if self.n_dep > 0 {
            self.u = self.n_arr as f64 / self.n_dep as f64;
        } else if self.n_arr > 0 {
            self.u = self.u_when_no_departure;
        } else {
            self.u = 0.0;
        }
        self.seen.note("as many in as out", self.u == 1.0);
        self.seen.note("up", self.u > 1.0);
        if self.u > 1.0 {
            self.p += self.p1;
            self.seen.note("above 1", self.p > 1.0);
            if self.p > 1.0 {
                self.p = 1.0;
            }
        } else {
            self.p -= self.p2;
            self.seen.note("below 0", self.p < 0.0);
            if self.p < 0.0 {
                self.p = 0.0;
            }
        }
        self.n_arr = 0;
        self.n_dep = 0;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.p, 0.01), ("u", self.u, 0.0)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let dt = if trace.grid { dice.pick(&[1, 10, 50]) * MS } else { dice.scale(1e6, 3e8) as u64 };
    let aaqm = Aaqm {
        net: trace.net,
        dt,
        p1: dice.pick(&[0.001, 0.002, 0.05, 0.4]),
        p2: dice.pick(&[0.001, 0.02, 0.3]),
        u_when_no_departure: dice.pick(&[1.0, 0.0, 2.0]),
        next: dt,
        ..Aaqm::default()
    };
    let Aaqm { p1, p2, u_when_no_departure, .. } = aaqm;
    let words = format!("dt={dt}ns p1={p1} p2={p2} u_when_no_departure={u_when_no_departure}");
    (words, Box::new(aaqm))
}

#[test]
fn aaqm_handles_packets_as_its_paper() {
    let branches = ["no load", "arrivals alone", "departures alone", "as many in as out", "up", "above 1", "below 0"];
    differ("aaqm", case, &branches);
}
