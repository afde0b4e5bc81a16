//! WRR: deficit round robin, visit by visit as in the listing of Shreedhar and Varghese, over one queue with RED per
//! class.

use crate::reference::aqm::red::{Adaptation, Red, Settings};
use crate::reference::harness::*;

struct Queue {
    red: Red,
    /// Bytes.
    quantum: u64,
    deficit: u64,
}

pub(crate) struct Wrr {
    net: Net,
    limit: f64,
    limit_in: Unit,
    /// Cost of every packet; None: its length in bytes.
    flat: Option<u64>,
    queues: Vec<Queue>,
    seen: Seen,
    turn: usize,
    latest: usize,
}

impl Wrr {
    fn cost(&self, pkt: &Pkt) -> u64 {
        self.flat.unwrap_or(u64::from(pkt.size))
    }
}

impl Listing for Wrr {
    usual!(seen);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let no_room = self.net.full(self.backlog(), &pkt);
        self.latest = usize::from(pkt.class) % self.queues.len();
        let queue = &mut self.queues[self.latest];
        let size = if self.limit_in == Unit::Bytes { f64::from(pkt.size) } else { 1.0 };
        let class_full = queue.red.waiting().length(self.limit_in) + size > self.limit;
        self.seen.note("class full, link not", class_full && !no_room);
        self.seen.note("link full, class not", no_room && !class_full);
        let outcome = queue.red.offer(pkt, now, no_room || class_full, uniform);
        self.seen.note("marked", outcome == Outcome::Marked);
        self.seen.note("dropped by its RED", outcome == Outcome::Early);
        if outcome == Outcome::Overflow && !no_room { Outcome::Early } else { outcome }
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        for queue in &mut self.queues {
            if queue.red.waiting().q.is_empty() && !queue.red.is_idle() {
                queue.red.deque(now, uniform);
            }
        }
        if self.backlog().0 == 0 {
            return Departure::default();
        }
        let mut visits = 0;
        loop {
            let turn = self.turn;
            let head = self.queues[turn].red.waiting().q.front().copied();
            if let Some(head) = head {
                let cost = self.cost(&head);
                if cost <= self.queues[turn].deficit {
                    self.seen.note("sent in the same turn", visits == 0);
                    let queue = &mut self.queues[turn];
                    queue.deficit -= cost;
                    let departure = queue.red.deque(now, uniform);
                    if queue.red.waiting().q.is_empty() {
                        self.seen.note("ran empty with something left", queue.deficit > 0);
                        queue.deficit = 0;
                    }
                    return departure;
                }
            }
            self.turn = (turn + 1) % self.queues.len();
            visits += 1;
            let queue = &mut self.queues[self.turn];
            if !queue.red.waiting().q.is_empty() {
                queue.deficit += queue.quantum;
            }
            let rounds = visits / self.queues.len();
            self.seen.note("nobody could pay for a round", rounds == 2);
        }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let red = self.queues[self.latest].red.shown();
        let mut out: Vec<_> = red.into_iter().filter(|(name, ..)| *name != "count").collect();
        out.push(("class", self.latest as f64, 0.0));
        out
    }

    fn backlog(&self) -> (u64, u64) {
        let backlogs = self.queues.iter().map(|queue| queue.red.backlog());
        backlogs.fold((0, 0), |(pkts, bytes), (p, b)| (pkts + p, bytes + b))
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let classes = dice.pick(&[1, 2, 3, 10, 32]);
    let quantum = dice.pick(&[net.mean_pktsize, net.mean_pktsize, 40, 3000]);
    let weights: Vec<f64> = (0..dice.pick(&[1, 2, 4, 10])).map(|_| dice.pick(&[1.0, 2.0, 3.0, 0.37, 0.05])).collect();
    let [qib, limit_in] = [(); 2].map(|()| dice.pick(&UNITS));
    let limit = threshold(dice, &net, limit_in, 1.0, 40.0);
    let th_min = threshold(dice, &net, qib, 0.1, 10.0);
    let set = Settings {
        qib,
        mean_pktsize: net.mean_pktsize,
        targetdelay: 0.005,
        delay: 0.0,
        idle: true,
        adaptation: Adaptation::No,
        th_min,
        th_max: th_min * dice.between(1.1, 4.0),
        max_p_inv: dice.pick(&[10.0, 50.0, 2.0]),
        q_w: if dice.odds(0.2) { 0.0 } else { dice.scale(1e-2, 1.0) },
        gentle: dice.odds(0.6),
        wait: dice.odds(0.5),
        bytes: false,
        use_mark_p: false,
        mark_p: 0.1,
    };
    let flat = dice.odds(0.3).then_some(quantum);
    let words = format!(
        "weights={} classes={classes} class_limit={} scheduler={} quantum={quantum}b min_th={} max_th={} max_p={} \
         w_q={} gentle={} wait={}",
        weights.iter().map(f64::to_string).collect::<Vec<_>>().join("/"),
        depth(limit, limit_in),
        if flat.is_some() { "wrr" } else { "drr" },
        depth(set.th_min, qib),
        depth(set.th_max, qib),
        1.0 / set.max_p_inv,
        if set.q_w == 0.0 { "auto".to_string() } else { set.q_w.to_string() },
        on(set.gentle),
        on(set.wait),
    );
    let queue = |class: usize| {
        let quantum = (weights[class % weights.len()] * quantum as f64).round().max(1.0) as u64;
        Queue { red: Red::new(net, set), quantum, deficit: 0 }
    };
    let queues: Vec<Queue> = (0..classes).map(queue).collect();
    // The first visit is to queue 0.
    let turn = classes - 1;
    (words, Box::new(Wrr { net, limit, limit_in, flat, queues, seen: Seen::default(), turn, latest: 0 }))
}

#[test]
fn wrr_handles_packets_as_listing_in_paper() {
    let branches = [
        "class full, link not",
        "link full, class not",
        "marked",
        "dropped by its RED",
        "sent in the same turn",
        "ran empty with something left",
        "nobody could pay for a round",
    ];
    differ("wrr", case, &branches);
}
