//! Drop-tail.

use crate::differ;

use super::traffic::{Dice, Trace};
use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, Seen};

struct DropTail {
    net: Net,
    buffer: Buffer,
    seen: Seen,
}

impl Listing for DropTail {
    fn enque(&mut self, pkt: Pkt, _: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        let full = self.buffer.full(&self.net, &pkt);
        self.seen.note("full", full);
        if full {
            return Outcome::Overflow;
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

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> (u64, u64) {
        self.buffer.backlog()
    }
}

/// Drop-tail has no settings.
pub(crate) fn case(_: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    (String::new(), Box::new(DropTail { net: trace.net, buffer: Buffer::default(), seen: Seen::default() }))
}

#[test]
fn agrees() {
    differ("droptail", case, &["full", "empty"]);
}
