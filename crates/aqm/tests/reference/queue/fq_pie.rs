//! FQ-PIE: Linux's `sch_fq_pie.c` (enqueue, dequeue, timer), with the PIE of `pie.rs` for each flow, set up as in
//! Linux, or with that of `pie/linux.rs` in integers.
//!
//! Every timer updates all flows, in the order of their numbers.

use std::collections::VecDeque;

use crate::reference::aqm::pie::{BRANCHES, Low, Pie, Settings, linux};
use crate::reference::harness::*;
use crate::reference::queue::fq_codel::Classes;

/// The PIE of a flow.
enum Vars {
    Float(Pie),
    Linux(linux::Pie),
}

impl Vars {
    fn listing(&mut self) -> &mut dyn Listing {
        match self {
            Self::Float(pie) => pie,
            Self::Linux(pie) => pie,
        }
    }

    fn buffer(&self) -> &Buffer {
        match self {
            Self::Float(pie) => &pie.buffer,
            Self::Linux(pie) => &pie.buffer,
        }
    }

    fn seen(&mut self) -> &mut Seen {
        match self {
            Self::Float(pie) => &mut pie.seen,
            Self::Linux(pie) => &mut pie.seen,
        }
    }

    fn calculate_probability(&mut self, now: u64) {
        match self {
            Self::Float(pie) => pie.calculate_drop_prob(now),
            Self::Linux(pie) => pie.calculate_probability(),
        }
    }
}

pub(crate) struct FqPie {
    net: Net,
    t_update: u64,
    classes: Classes,
    quantum: i64,
    flows: Vec<(Vars, i64)>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    timer: u64,
    latest: usize,
    seen: Seen,
}

impl FqPie {
    /// Adds the branches that a flow has taken, except those with a count of 0: with `linux_burst` PIE never reaches
    /// "saved by the allowance".
    fn collect(&mut self, idx: usize) {
        for (what, times) in std::mem::take(&mut self.flows[idx].0.seen().0).into_iter().filter(|(_, times)| *times > 0)
        {
            *self.seen.0.entry(what).or_default() += times;
        }
    }
}

impl Listing for FqPie {
    usual!(seen, next_timer = timer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let idx = self.classes.classify(&pkt, uniform);
        self.latest = idx;
        if self.net.full(self.backlog(), &pkt) {
            self.seen.note("overlimit", true);
            match &mut self.flows[idx].0 {
                Vars::Float(pie) => {
                    uniform();
                    pie.accu_prob_ = 0.0;
                }
                Vars::Linux(pie) => pie.accu_prob = 0,
            }
            return Outcome::Overflow;
        }
        let (sel_flow, deficit) = &mut self.flows[idx];
        let outcome = sel_flow.listing().enque(pkt, now, uniform);
        let active = self.new_flows.contains(&idx) || self.old_flows.contains(&idx);
        if matches!(outcome, Outcome::Queued | Outcome::Marked) && !active {
            self.new_flows.push_back(idx);
            *deficit = self.quantum;
        }
        self.collect(idx);
        outcome
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        loop {
            let from_new = !self.new_flows.is_empty();
            let head = if from_new { &mut self.new_flows } else { &mut self.old_flows };
            let Some(&idx) = head.front() else { return Departure::default() };
            let (flow, deficit) = &mut self.flows[idx];
            if *deficit <= 0 {
                *deficit += self.quantum;
                head.pop_front();
                self.old_flows.push_back(idx);
                self.seen.note("a new flow used up its credits", from_new);
                continue;
            }
            let Some(skb) = flow.buffer().q.front().copied() else {
                head.pop_front();
                let stays = from_new && !self.old_flows.is_empty();
                if stays {
                    self.old_flows.push_back(idx);
                }
                self.seen.note("an empty new flow waits with the old ones", stays);
                self.seen.note("an empty new flow leaves", from_new && !stays);
                continue;
            };
            *deficit -= i64::from(skb.size);
            let departure = flow.listing().deque(now, uniform);
            self.collect(idx);
            return departure;
        }
    }

    fn timer(&mut self) {
        for idx in 0..self.flows.len() {
            self.flows[idx].0.calculate_probability(self.timer);
            self.collect(idx);
        }
        self.timer += self.t_update;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let latest = match &self.flows[self.latest].0 {
            Vars::Float(pie) => pie.shown(),
            Vars::Linux(pie) => pie.shown(),
        };
        let of = |name| *latest.iter().find(|(shown, ..)| *shown == name).expect("PIE shows it");
        let (new, old) = (self.new_flows.len() as f64, self.old_flows.len() as f64);
        vec![of("p"), of("delay"), ("old", old, 0.0), ("new", new, 0.0)]
    }

    fn backlog(&self) -> (u64, u64) {
        self.flows.iter().fold((0, 0), |(pkts, bytes), (flow, _)| {
            let (more_pkts, more_bytes) = flow.buffer().backlog();
            (pkts + more_pkts, bytes + more_bytes)
        })
    }
}

/// Linux's PIE. Parameters that the library does not have are as in `include/net/pie.h`.
fn settings(dice: &mut Dice, trace: &Trace) -> Settings {
    let grid = trace.grid;
    Settings {
        qdelay_ref: if grid { dice.pick(&[2, 5, 15]) * MS } else { dice.scale(1e6, 5e7) as u64 },
        t_update: if grid { dice.pick(&[5, 15]) * MS } else { dice.scale(5e6, 5e7) as u64 },
        alpha: dice.scale(0.03, 30.0),
        beta: dice.scale(0.3, 100.0),
        max_burst: if dice.odds(0.2) { 0 } else { dice.pick(&[15, 40, 150]) * MS },
        max_ecnth: dice.pick(&[0.1, 0.1, 0.02, 0.5, 1.0, 0.0]),
        few: (dice.pick(&[0.0, 999.0, 3027.0]), Unit::Bytes),
        rate: dice.odds(0.3),
        bytemode: dice.odds(0.2),
        mtu: Some(dice.pick(&[1514, 400, 4000])),
        autotune: true,
        decay: Low::Zero,
        decay_to: 63.0 / 64.0,
        linux_spare: Some(true),
        linux_burst: true,
        dq_threshold: 16_384,
        empty_is_zero: true,
        sleep: Low::Never,
        wake_at: 1.0 / 3.0,
        derandomise: true,
        cap: true,
        boost: true,
    }
}

/// FQ-PIE with random numbers of flows, and its text.
fn listing(
    dice: &mut Dice,
    net: Net,
    (first, t_update): (u64, u64),
    vars: impl Fn() -> Vars,
) -> (String, Box<dyn Listing>) {
    let (classes, class_words) = Classes::random(dice, "flows", &[1, 2, 5, 16, 50]);
    let quantum = dice.pick(&[256, 500, 1000, 1514, 4000]);
    let flows = (0..classes.flows_cnt).map(|_| (vars(), 0)).collect();
    let (new_flows, old_flows, seen) = Default::default();
    let listing = FqPie { net, t_update, classes, quantum, flows, new_flows, old_flows, timer: first, latest: 0, seen };
    (format!("{class_words} quantum={quantum}b"), Box::new(listing))
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let set = settings(dice, trace);
    let times = (set.t_update, set.t_update);
    let (own_words, listing) = listing(dice, net, times, || Vars::Float(Pie::new(net, set)));
    let words = format!(
        "target={}ns tupdate={}ns alpha={} beta={} max_burst={}ns ecn_cut={} min_backlog={}b latency={} bytes={} mtu={}b \
         {own_words}",
        set.qdelay_ref,
        set.t_update,
        set.alpha,
        set.beta,
        set.max_burst,
        set.max_ecnth,
        set.few.0,
        if set.rate { "rate" } else { "timestamp" },
        on(set.bytemode),
        set.mtu.unwrap_or(1514),
    );
    (words, listing)
}

fn linux_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (set, pie_words) = linux::Settings::random(dice, trace, true);
    let times = (500 * MS, set.tupdate);
    let (own_words, listing) = listing(dice, net, times, || Vars::Linux(linux::Pie::new(net, set)));
    (format!("{pie_words} {own_words}"), listing)
}

const OWN: [&str; 4] = [
    "overlimit",
    "a new flow used up its credits",
    "an empty new flow waits with the old ones",
    "an empty new flow leaves",
];

#[test]
fn fq_pie_handles_packets_as_linux_in_floating_point() {
    differ("fq_pie", case, &[&OWN[..], &BRANCHES[..]].concat());
}

#[test]
fn fq_pie_handles_packets_as_linux_in_integers() {
    differ("fq_pie", linux_case, &[&OWN[..], &linux::BRANCHES[..]].concat());
}
