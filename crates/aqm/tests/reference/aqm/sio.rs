//! SIO, eq. (4) of the MSVB paper, as an update at each arrival; B_out as in the text of section 3.3.

use crate::reference::harness::*;

#[derive(Default)]
pub(crate) struct Sio {
    net: Net,
    alpha: f64,
    /// Unit of Q_in, B_in and its bounds.
    unit: Unit,
    cap: f64,
    floor: f64,
    offered: bool,
    /// Unit of B_out.
    out_in: Unit,
    b_out_first: f64,
    b_out_floor: f64,
    /// Nanoseconds.
    hold: u64,
    recover: bool,
    buffer: Buffer,
    seen: Seen,
    /// Time of the last IN arrival.
    last: u64,
    q_in: f64,
    b_in: f64,
    b_out: f64,
    last_halving: Option<u64>,
    /// One second after the last loss of an IN packet, or after the last step of the recovery of B_out.
    next_step: u64,
    p: f64,
}

impl Sio {
    /// Increases B_out by one packet per second without a loss of an IN packet.
    fn recovery(&mut self, now: u64) {
        while self.recover && self.next_step <= now {
            self.next_step += SECOND as u64;
            self.b_out += if self.out_in == Unit::Bytes { self.net.mean_pktsize as f64 } else { 1.0 };
            self.seen.note("wholly recovered", self.b_out > self.b_out_first);
            if self.b_out > self.b_out_first {
                self.b_out = self.b_out_first;
            }
        }
    }

    fn in_lost(&mut self, now: u64) {
        self.recovery(now);
        self.next_step = now + SECOND as u64;
        if let Some(last) = self.last_halving
            && now - last < self.hold
        {
            self.seen.note("held", true);
            return;
        }
        self.last_halving = Some(now);
        self.b_out /= 2.0;
        self.seen.note("b_out at its floor", self.b_out < self.b_out_floor);
        if self.b_out < self.b_out_floor {
            self.b_out = self.b_out_floor;
        }
    }

    /// Counts an IN packet at `now`. Returns the state to restore if it is dropped.
    fn in_arrival(&mut self, size: f64, now: u64) -> (f64, f64) {
        let c = self.net.capacity(self.unit);
        let dt = (now - self.last) as f64 / SECOND;
        self.last = now;
        self.q_in -= c * dt;
        if self.q_in < 0.0 {
            self.q_in = 0.0;
        }
        self.b_in += self.alpha * 1.0 * c * dt;
        if self.b_in > self.cap {
            self.b_in = self.cap;
        }
        let before = (self.q_in, self.b_in);
        self.q_in += size;
        self.b_in -= self.alpha * size;
        if self.b_in < self.floor {
            self.b_in = self.floor;
        }
        self.p = 0.0;
        if self.q_in > self.b_in {
            self.p = (self.q_in - self.b_in) / self.q_in;
        }
        self.seen.note("IN neither sure nor impossible", self.p > 0.0 && self.p < 1.0);
        before
    }

    fn out_arrival(&mut self, now: u64) {
        self.recovery(now);
        let q = self.buffer.length(self.out_in);
        self.p = 0.0;
        if q > self.b_out {
            self.p = (q - self.b_out) / q;
        }
        self.seen.note("OUT neither sure nor impossible", self.p > 0.0 && self.p < 1.0);
    }
}

impl Listing for Sio {
    usual!(seen, backlog = buffer, deque = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let size = if self.unit == Unit::Bytes { f64::from(pkt.size) } else { 1.0 };
        let mut before = (0.0, 0.0);
        if pkt.out {
            self.out_arrival(now);
        } else {
            before = self.in_arrival(size, now);
        }
        let outcome = self.buffer.finish(&self.net, pkt, u < self.p);
        if pkt.out {
            return outcome;
        }
        if matches!(outcome, Outcome::Early | Outcome::Overflow) {
            if !self.offered {
                (self.q_in, self.b_in) = before;
            }
            self.seen.note("IN dropped early", outcome == Outcome::Early);
            self.seen.note("IN without room", outcome == Outcome::Overflow);
            self.in_lost(now);
        }
        self.seen.note("IN marked", outcome == Outcome::Marked);
        outcome
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        // Rounding is relative to the largest terms of the sum.
        let size = self.cap.max(self.net.room(self.unit)).max(1.0);
        vec![("p", self.p, 1.0), ("q_in", self.q_in, size), ("b_in", self.b_in, size), ("b_out", self.b_out, 1.0)]
    }

    fn rounding(&self) -> f64 {
        1e-10
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (cap_given, floor_given) = (dice.odds(0.7), dice.odds(0.3));
    let unit = if cap_given { dice.pick(&UNITS) } else { net.limit_in };
    let cap = if cap_given { dice.between(0.05, 1.5) } else { 0.5 } * net.room(unit);
    let out_in = dice.pick(&UNITS);
    let floor_auto = dice.odds(0.4);
    let b_out_first = threshold(dice, &net, out_in, 0.2, 40.0);
    let sio = Sio {
        net,
        alpha: dice.between(0.05, 1.5),
        unit,
        cap,
        floor: if floor_given { 0.1 * cap } else { 0.0 },
        offered: dice.odds(0.3),
        out_in,
        b_out_first,
        b_out_floor: match floor_auto {
            // One packet, or the initial B_out if that is less.
            true if out_in == Unit::Bytes => (net.mean_pktsize as f64).min(b_out_first),
            true => 1.0_f64.min(b_out_first),
            false => dice.pick(&[0.0, 0.1, 0.5]) * b_out_first,
        },
        hold: dice.pick(&[0, 0, 100, 1000]) * MS,
        recover: dice.odds(0.5),
        b_in: cap,
        b_out: b_out_first,
        next_step: SECOND as u64,
        ..Sio::default()
    };
    let words = format!(
        "alpha={} b_cap={} b_floor={} b_out={} b_out_floor={} hold={}ns recover={} rate_basis={}",
        sio.alpha,
        if cap_given { depth(cap, unit) } else { "auto".to_string() },
        if floor_given { "auto" } else { "0" },
        depth(b_out_first, out_in),
        if floor_auto { "auto".to_string() } else { depth(sio.b_out_floor, out_in) },
        sio.hold,
        on(sio.recover),
        if sio.offered { "offered" } else { "accepted" },
    );
    (words, Box::new(sio))
}

#[test]
fn sio_handles_packets_as_msvb_paper() {
    let branches = [
        "IN neither sure nor impossible",
        "OUT neither sure nor impossible",
        "IN dropped early",
        "IN without room",
        "IN marked",
        "held",
        "b_out at its floor",
        "wholly recovered",
    ];
    differ("sio", case, &branches);
}
