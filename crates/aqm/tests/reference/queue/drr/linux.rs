//! DRR as in Linux 6.12: sch_drr.c in our own words, with a class for each flow and a FIFO of `limit` packets in it.
//!
//! The total buffer has room for all queues.

use std::collections::VecDeque;

use crate::reference::harness::*;

#[derive(Clone, Default)]
struct Class {
    fifo: VecDeque<Pkt>,
    deficit: u32,
}

struct Drr {
    quantum: u32,
    limit: usize,
    classes: Vec<Class>,
    active: VecDeque<usize>,
    seen: Seen,
}

impl Listing for Drr {
    usual!(seen);

    fn enque(&mut self, pkt: Pkt, _: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        let id = pkt.flow as usize;
        let class = &mut self.classes[id];
        if class.fifo.len() == self.limit {
            self.seen.note("a full class", true);
            return Outcome::Early;
        }
        class.fifo.push_back(pkt);
        if !self.active.contains(&id) {
            self.active.push_back(id);
            class.deficit = self.quantum;
        }
        Outcome::Queued
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        while let Some(&id) = self.active.front() {
            let class = &mut self.classes[id];
            let len = class.fifo.front().map_or(0, |pkt| pkt.size);
            self.seen.note("exactly the deficit", len == class.deficit);
            if len <= class.deficit {
                class.deficit -= len;
                let pkt = class.fifo.pop_front();
                if class.fifo.is_empty() {
                    self.seen.note("an idle class forgets its deficit", class.deficit > 0);
                    self.active.pop_front();
                }
                return Departure { dropped: vec![], sent: pkt.map(|pkt| (pkt.id, false)) };
            }
            self.seen.note("a deficit is kept for the next turn", class.deficit > 0);
            class.deficit += self.quantum;
            self.active.rotate_left(1);
        }
        Departure::default()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("active", self.active.len() as f64, 0.0)]
    }

    fn backlog(&self) -> (u64, u64) {
        let waiting = || self.classes.iter().flat_map(|class| &class.fifo);
        (waiting().count() as u64, waiting().map(|pkt| u64::from(pkt.size)).sum())
    }
}

fn case(dice: &mut Dice, _: &Trace) -> (String, Box<dyn Listing>) {
    let (quantum, limit) = (dice.pick(&[256, 500, 1000, 1514, 4000]), dice.upto(1, 60) as usize);
    let words = format!("preset=linux quantum={quantum}b limit={limit}");
    let (active, seen) = Default::default();
    (words, Box::new(Drr { quantum, limit, classes: vec![Class::default(); 64], active, seen }))
}

#[test]
fn drr_handles_packets_as_linux() {
    let branches = [
        "a full class",
        "exactly the deficit",
        "an idle class forgets its deficit",
        "a deficit is kept for the next turn",
    ];
    differ("drr", case, &branches);
}
