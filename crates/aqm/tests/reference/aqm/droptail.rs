//! Drop-tail, as in ns-2.35: `enque` with and without `drop_front_`.
//!
//! Deliberate differences from ns-2: the buffer holds its limit, not one packet less; drops at the front make enough
//! room for the arrival, and an arrival larger than the buffer is dropped alone.

use crate::reference::harness::*;

struct DropTail {
    net: Net,
    drop_front: bool,
    buffer: Buffer,
    victims: Vec<u32>,
    seen: Seen,
}

impl Listing for DropTail {
    usual!(seen, backlog = buffer, victims = victims);

    fn enque(&mut self, pkt: Pkt, _: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        let full = self.buffer.full(&self.net, &pkt);
        self.seen.note("full", full);
        if full {
            let too_long = self.net.limit_in == Unit::Bytes && u64::from(pkt.size) > self.net.limit;
            self.seen.note("longer than the buffer", too_long);
            if !self.drop_front || too_long {
                return Outcome::Overflow;
            }
            while self.buffer.full(&self.net, &pkt) {
                let pp = self.buffer.q.pop_front().expect("a packet in a full buffer");
                self.victims.push(pp.id);
            }
            self.seen.note("several from the front", self.victims.len() > 1);
        }
        self.buffer.q.push_back(pkt);
        Outcome::Queued
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        self.seen.note("empty", self.buffer.q.is_empty());
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (net, drop_front) = (trace.net, dice.odds(0.5));
    let (buffer, victims, seen) = Default::default();
    (format!("front={}", on(drop_front)), Box::new(DropTail { net, drop_front, buffer, victims, seen }))
}

#[test]
fn drop_tail_handles_packets_as_ns2() {
    differ("droptail", case, &["full", "longer than the buffer", "several from the front", "empty"]);
}
