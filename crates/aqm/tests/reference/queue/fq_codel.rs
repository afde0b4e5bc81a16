//! FQ-CoDel: Linux's `sch_fq_codel.c` (enqueue, drop, dequeue), which RFC 8290 calls canonical; with `rfc`, sections
//! 4.1 and 4.2 of the RFC instead. CoDel on each flow is that of `codel.rs`.
//!
//! Added to the listing: an overflow of a buffer in bytes drops until the backlog is within the limit.

use std::collections::VecDeque;

use crate::reference::aqm::codel::{BRANCHES, Codel, Settings, Vars};
use crate::reference::harness::*;

#[derive(Clone, Default)]
struct Flow {
    q: VecDeque<Pkt>,
    deficit: i64,
    cvars: Vars,
}

impl Flow {
    fn backlog(&self) -> u64 {
        self.q.iter().map(|pkt| u64::from(pkt.size)).sum()
    }
}

/// How packets are assigned to flows.
#[derive(Clone, Copy)]
pub(crate) struct Classes {
    pub(crate) flows_cnt: u32,
    by_pair: bool,
    exact: bool,
    /// None: drawn at the first packet, as by net_get_random_once.
    perturbation: Option<u32>,
}

impl Classes {
    /// The output function of SplitMix64 of (perturbation, key); its upper half is scaled to the number of flows.
    pub(crate) fn classify(&mut self, pkt: &Pkt, uniform: &mut dyn FnMut() -> f64) -> usize {
        let key = if self.by_pair { pkt.pair } else { pkt.flow };
        if self.exact {
            return (key % self.flows_cnt) as usize;
        }
        let perturbation = *self.perturbation.get_or_insert_with(|| (uniform() * 4_294_967_296.0) as u32);
        // The protocol is hashed with the addresses: it is part of the perturbation.
        let perturbation = perturbation.wrapping_add(u32::from(self.by_pair && pkt.udp));
        let mut z = (u64::from(perturbation) << 32) + u64::from(key);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (((z >> 32) * u64::from(self.flows_cnt)) >> 32) as usize
    }

    /// Random settings with their text. `name` is the parameter for the number of flows, which is drawn from `counts`.
    pub(crate) fn random(dice: &mut Dice, name: &str, counts: &[u32]) -> (Self, String) {
        let flows_cnt = dice.pick(counts);
        let (by_pair, exact, fixed) = (dice.odds(0.3), dice.odds(0.3), dice.odds(0.5));
        let perturbation = fixed.then(|| dice.upto(0, u64::from(u32::MAX)) as u32);
        let salt = perturbation.map_or("auto".to_string(), |salt| salt.to_string());
        let (key, hash) = (if by_pair { "pair" } else { "flow" }, if exact { "exact" } else { "salted" });
        let words = format!("{name}={flows_cnt} key={key} hash={hash} salt={salt}");
        (Self { flows_cnt, by_pair, exact, perturbation }, words)
    }
}

pub(crate) struct FqCodel {
    net: Net,
    codel: Settings,
    classes: Classes,
    quantum: i64,
    drop_batch_size: usize,
    memory_limit: Option<u64>,
    rfc: bool,
    flows: Vec<Flow>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    maxpacket: u64,
    seen: Seen,
    dropped: Vec<u32>,
}

impl FqCodel {
    fn over_limit(&self) -> bool {
        let (pkts, bytes) = self.backlog();
        match self.net.limit_in {
            Unit::Pkts => pkts > self.net.limit,
            Unit::Bytes => bytes > self.net.limit,
        }
    }

    /// Drops from the flow with the largest backlog.
    fn fq_codel_drop(&mut self) {
        let (mut maxbacklog, mut idx) = (0, 0);
        for (i, flow) in self.flows.iter().enumerate() {
            if flow.backlog() > maxbacklog {
                maxbacklog = flow.backlog();
                idx = i;
            }
        }
        let ties = self.flows.iter().filter(|flow| flow.backlog() == maxbacklog).count();
        self.seen.note("two fattest flows", ties > 1);
        let flow = &mut self.flows[idx];
        let mut i = 0;
        if self.rfc {
            let half = (flow.q.len() / 2).min(self.drop_batch_size).max(1);
            while i < half {
                self.dropped.extend(flow.q.pop_front().map(|pkt| pkt.id));
                i += 1;
            }
        } else {
            let threshold = maxbacklog >> 1;
            let mut len = 0;
            while let Some(pkt) = flow.q.pop_front() {
                len += u64::from(pkt.size);
                self.dropped.push(pkt.id);
                i += 1;
                if !(i < self.drop_batch_size && len < threshold) {
                    break;
                }
            }
            flow.cvars.count = flow.cvars.count.wrapping_add(i as u32);
        }
        self.seen.note("several dropped by an overflow", i > 1);
        self.seen.note("as many as an overflow may drop", i == self.drop_batch_size && i > 1);
        self.seen.note("a flow emptied by an overflow", flow.q.is_empty());
    }
}

impl Listing for FqCodel {
    usual!(seen, victims = dropped);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        self.dropped.clear();
        let idx = self.classes.classify(&pkt, uniform);
        let others = self.flows[idx].q.iter().any(|other| other.flow != pkt.flow);
        self.seen.note("flows collide", others);
        self.flows[idx].q.push_back(Pkt { tstamp: now, ..pkt });
        if !self.new_flows.contains(&idx) && !self.old_flows.contains(&idx) {
            self.new_flows.push_back(idx);
            self.flows[idx].deficit = self.quantum;
        }
        let memory_limited = self.memory_limit.is_some_and(|limit| self.backlog().1 > limit);
        let mut outcome = Outcome::Queued;
        let mut again = memory_limited;
        while again || self.over_limit() {
            let full = self.over_limit();
            self.seen.note("over memory_limit alone", !full);
            self.fq_codel_drop();
            if self.dropped.contains(&pkt.id) && outcome == Outcome::Queued {
                outcome = if full { Outcome::Overflow } else { Outcome::Early };
            }
            again = false;
        }
        self.seen.note("the arrival itself dropped", outcome != Outcome::Queued);
        self.dropped.retain(|id| *id != pkt.id);
        self.seen.note("dropped for an arrival that stays", outcome == Outcome::Queued && !self.dropped.is_empty());
        self.seen.note("dropped with the arrival", outcome != Outcome::Queued && !self.dropped.is_empty());
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        loop {
            let from_new = !self.new_flows.is_empty();
            let head = if from_new { &mut self.new_flows } else { &mut self.old_flows };
            let Some(&idx) = head.front() else { return Departure { dropped, sent: None } };
            if self.flows[idx].deficit <= 0 {
                self.seen.note("credits of exactly 0", self.flows[idx].deficit == 0);
                self.flows[idx].deficit += self.quantum;
                head.pop_front();
                self.old_flows.push_back(idx);
                self.seen.note("a new flow used up its credits", from_new);
                continue;
            }
            let total = self.backlog().1;
            let flow = &mut self.flows[idx];
            let elsewhere = total - flow.backlog();
            let (net, set, maxpacket, seen) = (&self.net, &self.codel, &mut self.maxpacket, &mut self.seen);
            let mut codel = Codel { net, set, vars: &mut flow.cvars, q: &mut flow.q, elsewhere, maxpacket, seen };
            let before = dropped.len();
            let sent = codel.dequeue(now, &mut dropped);
            let Some((pkt, marked)) = sent else {
                self.seen.note("CoDel drops the last packet of a flow", dropped.len() > before);
                let head = if from_new { &mut self.new_flows } else { &mut self.old_flows };
                head.pop_front();
                let stays = from_new && (self.rfc || !self.old_flows.is_empty());
                if stays {
                    self.old_flows.push_back(idx);
                }
                self.seen.note("an empty new flow waits with the old ones", stays);
                self.seen.note("an empty new flow leaves", from_new && !stays);
                self.seen.note("an empty old flow leaves", !from_new);
                continue;
            };
            self.flows[idx].deficit -= i64::from(pkt.size);
            return Departure { dropped, sent: Some((pkt.id, marked)) };
        }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("new", self.new_flows.len() as f64, 0.0), ("old", self.old_flows.len() as f64, 0.0)]
    }

    fn backlog(&self) -> (u64, u64) {
        let pkts = self.flows.iter().map(|flow| flow.q.len() as u64).sum();
        (pkts, self.flows.iter().map(Flow::backlog).sum())
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (mut codel, codel_words) = Settings::random(dice, trace);
    let (classes, class_words) = Classes::random(dice, "flows", &[1, 2, 5, 16, 1024]);
    let quantum = dice.pick(&[256, 500, 1000, 1514, 4000]);
    let drop_batch_size = dice.pick(&[1, 3, 64]);
    let memory_limit = dice.odds(0.3).then(|| dice.upto(1, 60) * net.mean_pktsize);
    let rfc = dice.odds(0.5);
    codel.linux = !rfc;
    let words = format!(
        "{codel_words} {class_words} quantum={quantum}b drop_batch={drop_batch_size} memory_limit={} rules={}",
        memory_limit.map_or("off".to_string(), |bytes| format!("{bytes}b")),
        if rfc { "rfc8290" } else { "linux" },
    );
    let flows = vec![Flow::default(); classes.flows_cnt as usize];
    let (new_flows, old_flows, maxpacket, seen, dropped) = Default::default();
    let listing = FqCodel {
        net,
        codel,
        classes,
        quantum,
        drop_batch_size,
        memory_limit,
        rfc,
        flows,
        new_flows,
        old_flows,
        maxpacket,
        seen,
        dropped,
    };
    (words, Box::new(listing))
}

#[test]
fn fq_codel_handles_packets_as_linux_and_rfc8290() {
    let own = [
        "flows collide",
        "two fattest flows",
        "several dropped by an overflow",
        "as many as an overflow may drop",
        "a flow emptied by an overflow",
        "over memory_limit alone",
        "the arrival itself dropped",
        "dropped for an arrival that stays",
        "dropped with the arrival",
        "credits of exactly 0",
        "a new flow used up its credits",
        "CoDel drops the last packet of a flow",
        "an empty new flow waits with the old ones",
        "an empty new flow leaves",
        "an empty old flow leaves",
    ];
    differ("fq_codel", case, &[&BRANCHES[..], &own].concat());
}
