//! DRR: ns-2.35's `queue/drr.cc` (enque, deque, getMaxflow, activate, idle), whose rule is section 3 of the paper.
//!
//! Left out: `turn` of a flow that an overflow emptied stays 1 in ns-2. Added: a buffer in packets. `drr/linux.rs` is
//! the listing of Linux.

mod linux;

use std::collections::VecDeque;

use crate::reference::harness::*;
use crate::reference::queue::fq_codel::Classes;

#[derive(Clone, Default)]
struct PacketDrr {
    q: VecDeque<Pkt>,
    deficit_counter: u64,
    turn: bool,
}

impl PacketDrr {
    fn bcount(&self) -> u64 {
        self.q.iter().map(|pkt| u64::from(pkt.size)).sum()
    }
}

pub(crate) struct Drr {
    net: Net,
    classes: Classes,
    /// ns-2's hash of an address (here the pair) instead of `classes`.
    ns2: bool,
    quantum: u64,
    drr: Vec<PacketDrr>,
    /// Active flows, starting at `curr`.
    ring: VecDeque<usize>,
    seen: Seen,
    dropped: Vec<u32>,
}

impl Drr {
    fn hash(pkt: &Pkt) -> i32 {
        let i = pkt.pair as i32;
        ((i + (i >> 8) + !(i >> 4)) % ((2 << 23) - 1)) + 1
    }

    fn get_maxflow(&self) -> usize {
        let mut maxflow = self.ring[0];
        for &tmp in &self.ring {
            if self.drr[maxflow].bcount() < self.drr[tmp].bcount() {
                maxflow = tmp;
            }
        }
        maxflow
    }

    fn over_limit(&self) -> bool {
        let (pktcnt, bytecnt) = self.backlog();
        match self.net.limit_in {
            Unit::Pkts => pktcnt > self.net.limit,
            Unit::Bytes => bytecnt > self.net.limit,
        }
    }
}

impl Listing for Drr {
    usual!(seen, victims = dropped);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        self.dropped.clear();
        let which = match self.ns2 {
            true => (Self::hash(&pkt) % self.drr.len() as i32) as usize,
            false => self.classes.classify(&pkt, uniform),
        };
        let collides = self.drr[which].q.iter().any(|other| other.flow != pkt.flow);
        self.seen.note("flows collide", collides);
        self.drr[which].q.push_back(pkt);
        if self.drr[which].q.len() == 1 {
            self.ring.push_back(which);
            self.drr[which].deficit_counter = 0;
        }
        while self.over_limit() {
            let remq = self.get_maxflow();
            let ties = self.ring.iter().filter(|&&flow| self.drr[flow].bcount() == self.drr[remq].bcount()).count();
            self.seen.note("two longest flows", ties > 1);
            self.dropped.extend(self.drr[remq].q.pop_front().map(|pkt| pkt.id));
            if self.drr[remq].q.is_empty() {
                self.seen.note("a flow emptied by an overflow in its turn", self.drr[remq].turn);
                self.seen.note("another flow emptied by an overflow", remq != which);
                self.drr[remq].turn = false;
                self.ring.retain(|&flow| flow != remq);
            }
        }
        self.seen.note("several dropped for one arrival", self.dropped.len() > 1);
        let own = self.dropped.contains(&pkt.id);
        self.dropped.retain(|id| *id != pkt.id);
        self.seen.note("the arrival itself dropped", own);
        self.seen.note("dropped for an arrival that stays", !own && !self.dropped.is_empty());
        if own { Outcome::Overflow } else { Outcome::Queued }
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        while let Some(&at) = self.ring.front() {
            let curr = &mut self.drr[at];
            if !curr.turn {
                curr.deficit_counter += self.quantum;
                curr.turn = true;
            }
            let size = u64::from(curr.q[0].size);
            self.seen.note("exactly the deficit", curr.deficit_counter == size);
            if curr.deficit_counter >= size {
                curr.deficit_counter -= size;
                let pkt = curr.q.pop_front();
                if curr.q.is_empty() {
                    self.seen.note("an idle flow forgets its deficit", curr.deficit_counter > 0);
                    curr.turn = false;
                    curr.deficit_counter = 0;
                    self.ring.pop_front();
                }
                return Departure { dropped: vec![], sent: pkt.map(|pkt| (pkt.id, false)) };
            }
            self.seen.note("a deficit is kept for the next turn", curr.deficit_counter > 0);
            curr.turn = false;
            self.ring.rotate_left(1);
        }
        Departure::default()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let deficit = self.ring.front().map_or(0, |&curr| self.drr[curr].deficit_counter);
        vec![("active", self.ring.len() as f64, 0.0), ("deficit", deficit as f64, 0.0)]
    }

    fn backlog(&self) -> (u64, u64) {
        let pkts = self.drr.iter().map(|flow| flow.q.len() as u64).sum();
        (pkts, self.drr.iter().map(PacketDrr::bcount).sum())
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (classes, mut words) = Classes::random(dice, "buckets", &[1, 2, 5, 16, 1024]);
    let ns2 = dice.odds(0.3);
    if ns2 {
        words = format!("buckets={} key=pair hash=ns2", classes.flows_cnt);
    }
    let quantum = dice.pick(&[64, 250, 500, 1000, 1500, 4000]);
    let drr = vec![PacketDrr::default(); classes.flows_cnt as usize];
    let (ring, seen, dropped) = Default::default();
    (
        format!("{words} quantum={quantum}b"),
        Box::new(Drr { net: trace.net, classes, ns2, quantum, drr, ring, seen, dropped }),
    )
}

#[test]
fn drr_handles_packets_as_ns2() {
    let branches = [
        "flows collide",
        "two longest flows",
        "a flow emptied by an overflow in its turn",
        "another flow emptied by an overflow",
        "several dropped for one arrival",
        "the arrival itself dropped",
        "dropped for an arrival that stays",
        "exactly the deficit",
        "an idle flow forgets its deficit",
        "a deficit is kept for the next turn",
    ];
    differ("drr", case, &branches);
}
