//! CHOKe as in Linux 6.12, in integers: sch_choke.c in our own words, with `shared/kernel_red.rs`.
//!
//! The array of the queue has no end here: its index only grows.

use super::thresholds;
use crate::reference::harness::*;
use crate::reference::shared::kernel_red::{Red, Tc, below};

struct Choke {
    net: Net,
    unit: Unit,
    red: Red,
    /// The array, with holes.
    tab: Vec<Option<Pkt>>,
    head: usize,
    victims: Vec<u32>,
    seen: Seen,
    matched: u64,
    p: f64,
}

impl Choke {
    fn skip_holes(&mut self) {
        while self.head < self.tab.len() && self.tab[self.head].is_none() {
            self.head += 1;
        }
    }

    fn peek_random(&mut self, uniform: &mut dyn FnMut() -> f64) -> usize {
        for attempt in 0..3 {
            let idx = self.head + below((self.tab.len() - self.head) as u64, uniform) as usize;
            if self.tab[idx].is_some() {
                self.seen.note("past a hole", attempt > 0);
                return idx;
            }
        }
        self.seen.note("three holes", true);
        self.head
    }

    /// Whether a random packet has the flow of `pkt`; it is dropped.
    fn match_random(&mut self, pkt: &Pkt, uniform: &mut dyn FnMut() -> f64) -> bool {
        if self.head == self.tab.len() {
            return false;
        }
        let idx = self.peek_random(uniform);
        let Some(drawn) = self.tab[idx].filter(|drawn| drawn.flow == pkt.flow) else { return false };
        self.matched += 1;
        self.victims.push(drawn.id);
        self.seen.note("matched", true);
        self.seen.note("matched at the head", idx == self.head);
        self.tab[idx] = None;
        self.skip_holes();
        true
    }
}

impl Listing for Choke {
    usual!(seen, victims = victims);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let (pkts, bytes) = self.backlog();
        self.red.calc_qavg(if self.unit == Unit::Pkts { pkts } else { bytes }, now, &mut self.seen);
        let mut signal = false;
        self.p = 0.0;
        if self.red.against(self.red.min()).is_le() {
            self.red.qcount = -1;
        } else if self.match_random(&pkt, uniform) {
            self.p = f64::NAN;
            return if self.net.full(self.backlog(), &pkt) { Outcome::Overflow } else { Outcome::Early };
        } else if self.red.against(self.red.max()).is_gt() {
            self.red.qcount = -1;
            self.seen.note("above max_th", true);
            (signal, self.p) = (true, 1.0);
        } else {
            self.p = self.red.p();
            signal = self.red.counts_to_mark(uniform, &mut self.seen);
        }
        let outcome = if self.net.full(self.backlog(), &pkt) {
            self.seen.note("overflow", true);
            Outcome::Overflow
        } else if !signal {
            Outcome::Queued
        } else if self.net.setbit && pkt.ect {
            Outcome::Marked
        } else {
            Outcome::Early
        };
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            self.tab.push(Some(pkt));
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        if self.head == self.tab.len() {
            self.red.poll_empty(now);
            return Departure::default();
        }
        let sent = self.tab[self.head].take().map(|pkt| (pkt.id, false));
        self.skip_holes();
        Departure { dropped: vec![], sent }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let mut shown = vec![("avg", self.red.avg(), 0.0), ("matched", self.matched as f64, 0.0)];
        // A match leaves the probability of an earlier arrival.
        shown.extend((!self.p.is_nan()).then_some(("p", self.p, 0.0)));
        shown
    }

    fn backlog(&self) -> (u64, u64) {
        let waiting = || self.tab[self.head..].iter().flatten();
        (waiting().count() as u64, waiting().map(|pkt| u64::from(pkt.size)).sum())
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (words, unit, min, max) = thresholds(dice, &net);
    let mean = net.mean_pktsize;
    let avpkt = if unit == Unit::Pkts { 1 } else { mean };
    let burst = if dice.odds(0.5) { 0 } else { dice.upto(1, 100) };
    let wlog = dice.odds(0.5).then(|| dice.upto(0, 9) as u32);
    let probability = dice.pick(&[0.02, 0.1, 0.5]);
    let tc = Tc { min: min as u64, max: max as u64, avpkt, mean, burst, wlog, probability };
    let words = format!(
        "{words} max_p={probability} burst={} w_q={} spacing=once",
        if burst == 0 { "auto".to_string() } else { burst.to_string() },
        wlog.map_or("auto".to_string(), |wlog| 0.5_f64.powi(wlog as i32).to_string()),
    );
    let (tab, victims, seen) = Default::default();
    let red = Red::new(&tc, net.bandwidth);
    (words, Box::new(Choke { net, unit, red, tab, head: 0, victims, seen, matched: 0, p: 0.0 }))
}

#[test]
fn choke_handles_packets_as_linux() {
    let branches = [
        "idle, shifted",
        "idle, linear",
        "past a hole",
        "three holes",
        "matched",
        "matched at the head",
        "above max_th",
        "a gap is drawn",
        "a gap ends",
        "overflow",
    ];
    differ("choke", case, &branches);
}
