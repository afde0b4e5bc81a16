//! BLUE, as in its authors' code for ns: `enque`, `deque`, `increment_pmark` and `decrement_pmark`; optionally with the
//! single freeze time and the queue length L of the paper.
//!
//! Deliberate differences from that code: u < p instead of u <= p; a full buffer is checked before p; the buffer holds
//! its limit, not one packet less.

use crate::reference::harness::*;

struct Blue {
    net: Net,
    increment: f64,
    decrement: f64,
    holdtime: u64,
    /// The two freeze times of the code, or the single one of the paper.
    two: bool,
    /// L and its unit.
    l: Option<(f64, Unit)>,
    buffer: Buffer,
    seen: Seen,
    pmark: f64,
    ifreezetime: u64,
    dfreezetime: u64,
}

impl Blue {
    fn increment_pmark(&mut self, now: u64) {
        self.seen.note("frozen", now - self.ifreezetime <= self.holdtime);
        if now - self.ifreezetime > self.holdtime {
            self.ifreezetime = now;
            if !self.two {
                self.dfreezetime = now;
            }
            self.pmark += self.increment;
            self.seen.note("p above 1", self.pmark > 1.0);
            if self.pmark > 1.0 {
                self.pmark = 1.0;
            }
        }
    }

    fn decrement_pmark(&mut self, now: u64) {
        if now - self.dfreezetime > self.holdtime {
            self.dfreezetime = now;
            if !self.two {
                self.ifreezetime = now;
            }
            self.pmark -= self.decrement;
            self.seen.note("p below 0", self.pmark < 0.0);
            if self.pmark < 0.0 {
                self.pmark = 0.0;
            }
        }
    }
}

impl Listing for Blue {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let signal = u < self.pmark;
        if let Some((l, unit)) = self.l {
            let long = self.buffer.length(unit) > l;
            self.seen.note("longer than L", long);
            if long {
                self.increment_pmark(now);
            }
        }
        let outcome = self.buffer.finish(&self.net, pkt, signal);
        self.seen.note("overflow", outcome == Outcome::Overflow);
        self.seen.note("early", outcome == Outcome::Early);
        self.seen.note("marked", outcome == Outcome::Marked);
        if outcome == Outcome::Overflow {
            self.increment_pmark(now);
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_none() {
            self.decrement_pmark(now);
        }
        departure
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.pmark, 0.01)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (increment, two) = (dice.scale(1e-3, 0.5), dice.odds(0.5));
    let decrement = increment * dice.scale(0.05, 2.0);
    let decrement = if decrement > 1.0 { 1.0 } else { decrement };
    let holdtime = if trace.grid { dice.pick(&[0, 1, 5, 100]) * MS } else { dice.scale(1e5, 2e8) as u64 };
    let unit = dice.pick(&UNITS);
    let l = dice.odds(0.4).then(|| (threshold(dice, &trace.net, unit, 0.0, 60.0), unit));
    let words = format!(
        "d1={increment} d2={decrement} freeze={holdtime}ns l={} apart={}",
        l.map_or("auto".to_string(), |(l, unit)| depth(l, unit)),
        on(two),
    );
    let (buffer, seen, pmark, ifreezetime, dfreezetime) = Default::default();
    let net = trace.net;
    let blue = Blue { net, increment, decrement, holdtime, two, l, buffer, seen, pmark, ifreezetime, dfreezetime };
    (words, Box::new(blue))
}

#[test]
fn blue_handles_packets_as_authors_code_and_paper() {
    let branches = ["frozen", "p above 1", "p below 0", "longer than L", "overflow", "early", "marked"];
    differ("blue", case, &branches);
}
