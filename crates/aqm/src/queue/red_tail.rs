//! RED+Tail: queue 1 is drop-tail, for UDP and short TCP connections; queue 2 is Adaptive RED, for long ones.
//!
//! Both queues share one buffer. Drops slow short connections without reducing the load. Therefore the rate of queue 1
//! is proportional to its length. At the length max_th1 it would be the link rate C, so the delay of queue 1 is near
//! max_th1/C. Long connections get the rest of the link. Their RTT grows, which slows them before packets are dropped.
//! The thresholds of queue 2 can be dynamic: they move with its average drop probability.

use alloc::format;
use alloc::string::{String, ToString};

use crate::aqm::backlog::ared::{ALPHA, BETA, INTERVAL, MAX_P};
use crate::aqm::backlog::droptail::DropTail;
use crate::aqm::backlog::dynamic_red::{self, Averaged, DynamicRed, GAMMA, Pace, W_P};
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Order, Preset};
use crate::base::discipline::{Aqm, Discipline};
use crate::base::packet::{Packet, Proto};
use crate::base::params::Auto;
use crate::base::port::{ListId, Port};
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::pair_table::PairTable;
use crate::parts::share::Share;
use crate::parts::split::{Scheduler, Split};
use crate::{choice, params, probes};

choice! {
    /// What decides the queue of a packet.
    pub enum Criterion {
        /// The number of packets of its pair: TCP packets after the first n go to queue 2.
        Count = "count",
        /// Its class: class 0 goes to queue 2.
        Class = "class",
    }
}

choice! {
    /// Which packets are counted together to find long connections.
    pub enum Key {
        /// Packets of a source-destination pair.
        Pair = "pair",
        /// Packets of a flow (5-tuple).
        Flow = "flow",
    }
}

params! {
    /// Parameters of RED+Tail.
    pub struct Params {
        /// What decides the queue of a packet. count: the packets of its pair; class: class 0 uses queue 2, others 1.
        split: Criterion = Criterion::Count, in 0.0 ..= 1.0, "", "section III; class: abstract and caption of Fig. 4";
        /// split=count: the first n packets of a pair enter queue 1, the others queue 2.
        n: u32 = 64, in 0.0 ..= 4294967295.0, "N", "not printed; 64 keeps false alarms below 0.02 (section III)";
        /// Idle time after which a pair counts as new again.
        t: Span = Span::from_millis(5000), in 0.0 ..= 1e6, "T", "not printed; above an RTO, below the think time";
        /// Rate of queue 1 while its length is below min_th1; auto: C min_th1/max_th1, so that the rate is continuous.
        c1_min: Share = Share::Auto, in 0.0 ..= 1.0, "C1_min", "not printed; 0 in section VI";
        /// Largest rate of queue 1; auto: 0.75 C.
        c1_max: Share = Share::Auto, in 0.0 ..= 1.0, "C1_max", "not printed; the delays of Table III fit 0.6 to 0.9 C";
        /// Length of queue 1 from which its rate is proportional to its length.
        min_th1: Depth = Depth::Bytes(2_000.0), in 0.0 ..= 1e9, "minth_1", "Table II";
        /// Length of queue 1 at which the proportional rate is C.
        max_th1: Depth = Depth::Bytes(30_000.0), in 1.0 ..= 1e9, "maxth_1", "Table II";
        /// Below this average of queue 2 nothing is signalled.
        min_th2: Depth = Depth::Bytes(20_000.0), in 0.0 ..= 1e9, "minth_2", "Table II";
        /// Average of queue 2 at which the probability is max_p.
        max_th2: Depth = Depth::Bytes(80_000.0), in 1.0 ..= 1e9, "maxth_2", "Table II";
        /// Dynamic thresholds fall while the average drop probability is below this.
        p_l: f64 = 0.0, in 0.0 ..= 1.0, "P_L", "section V; 0.005 there";
        /// Dynamic thresholds rise while the average drop probability is above this; 0: fixed thresholds.
        p_u: f64 = 0.0, in 0.0 ..= 1.0, "P_U", "section V; 0.010 there";
        /// Dynamic thresholds: relative step of min_th2.
        gamma: f64 = GAMMA, in 0.0 ..= 1.0, "gamma", "section V";
        /// Dynamic thresholds: weight of an arrival in the average drop probability.
        w_p: f64 = W_P, in 1e-9 ..= 1.0, "", "ours: not printed";
        /// Dynamic thresholds: what is averaged. base: RED's base probability p_b; applied: p_a, after the spacing of
        /// drops, 1 for a forced drop.
        p_of: Averaged = Averaged::Base, in 0.0 ..= 1.0, "", "ours; Fig. 11: 'EWMA average of Inst. P'";
        /// Time between steps of max_p and of the thresholds.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "not printed; Floyd, Gummadi, Shenker 2001";
        /// Weight of a new sample in the average of queue 2; auto: 1 - exp(-1/C), with the link rate C in packets/s.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "not printed; Floyd, Gummadi, Shenker 2001";
        /// Initial probability at max_th2.
        max_p: f64 = MAX_P, in 0.0 ..= 1.0, "P_max", "not printed; ns-2.35 1/linterm_";
        /// An increase of max_p adds min(alpha, max_p/4).
        alpha: f64 = ALPHA, in 0.0 ..= 1.0, "alpha", "Table II";
        /// A decrease of max_p multiplies it by beta.
        beta: f64 = BETA, in 0.0 ..= 1.0, "beta", "Table II";
        /// How the rates of the two queues, C1 and C2, are enforced.
        scheduler: Scheduler = Scheduler::Clocks, in 0.0 ..= 1.0, "", "ours: the paper does not say";
        /// Which packets are counted together to find long connections.
        key: Key = Key::Pair, in 0.0 ..= 1.0, "", "section III: source-destination pair";
        /// Capacity of the table of pairs.
        pairs: u32 = 65_536, in 1.0 ..= 1048576.0, "", "ours: a router's memory is finite";
    }
}

/// Queue 1, drop-tail: short TCP and UDP.
const SHORT: ListId = ListId(0);
/// Queue 2, Adaptive RED: long TCP.
const LONG: ListId = ListId(1);
/// split=class: the class that goes to queue 2. The number is our choice: FTP is class 0 in the scenarios of the paper.
const LONG_CLASS: u8 = 0;
/// Automatic c1_max (largest rate of queue 1) as a fraction of C: our choice.
const C1_MAX: f64 = 0.75;

/// Section III: the rate of queue 1 at length `q1`, for `bounds` (C1_min, C1_max) and `thresholds` (min_th1, max_th1).
pub fn c1(q1: f64, capacity: f64, bounds: (f64, f64), thresholds: (f64, f64)) -> f64 {
    if q1 <= 0.0 {
        0.0
    } else if q1 < thresholds.0 {
        bounds.0
    } else {
        (capacity * q1 / thresholds.1).min(bounds.1)
    }
}

/// State of RED+Tail.
pub struct RedTail {
    params: Params,
    pairs: PairTable,
    red: DynamicRed,
    split: Split,
    /// C in bytes per second.
    capacity: f64,
    /// C1_min and C1_max in bytes per second.
    bounds: (f64, f64),
    q1: f64,
    q2: f64,
    /// Number of new source-destination pairs.
    met: u64,
    /// Number of source-destination pairs that exceeded n packets. With split=class their packets do not move to
    /// queue 2.
    moved: u64,
}

impl Params {
    /// The parameters of queue 2's Adaptive RED.
    fn red(&self) -> dynamic_red::Params {
        let &Self { min_th2, max_th2, p_l, p_u, gamma, w_p, p_of, interval, w_q, max_p, alpha, beta, .. } = self;
        let (min_th, max_th, clock) = (min_th2, max_th2, Pace::Arrival);
        dynamic_red::Params { min_th, max_th, p_l, p_u, gamma, w_p, p_of, interval, clock, alpha, beta, max_p, w_q }
    }
}

impl RedTail {
    /// The queue of `packet`: by its service class, or by the number of TCP packets of its source-destination pair so
    /// far (parameter `split`). The packets of pairs are counted in both cases, for the internal variables (probes)
    /// `met`, the number of new pairs, and `moved`, the number of pairs that exceeded n packets.
    fn classify(&mut self, packet: &Packet, now: Instant) -> ListId {
        let by_count = self.count(packet, now);
        match self.params.split {
            Criterion::Count => by_count,
            Criterion::Class if packet.class == LONG_CLASS => LONG,
            Criterion::Class => SHORT,
        }
    }

    /// Counts `packet`. Returns its queue by section III: queue 2 for TCP packets after the first n of a
    /// source-destination pair, else queue 1.
    fn count(&mut self, packet: &Packet, now: Instant) -> ListId {
        let key = match self.params.key {
            Key::Pair => packet.pair,
            Key::Flow => packet.flow,
        };
        if packet.proto != Proto::Tcp {
            return SHORT;
        }
        let count = self.pairs.count(key, now);
        let n = self.params.n;
        if count.saturating_sub(1) > n {
            return LONG;
        }
        self.met += u64::from(count == 1);
        self.moved += u64::from(count.checked_sub(1) == Some(n));
        if count > n { LONG } else { SHORT }
    }

    /// Updates the length of `list`. For queue 1 also sets the rates C1 and C2 = C - C1.
    #[inline]
    fn share(&mut self, list: ListId, port: &Port) {
        let &Params { min_th1, max_th1, max_th2, .. } = &self.params;
        if list == LONG {
            self.q2 = max_th2.measure(&port.level(LONG));
            return;
        }
        self.q1 = max_th1.measure(&port.level(SHORT));
        let c1 = c1(self.q1, self.capacity, self.bounds, (min_th1.value(), max_th1.value()));
        self.split.set_rates([c1, self.capacity - c1]);
    }
}

impl Design for RedTail {
    type Params = Params;
    const ABOUT: About = About {
        summary: "short TCP and UDP in drop-tail, long TCP under Adaptive RED; the short queue's length sets the rates",
        source: "RED+Tail: parallel virtual queues with drop-tail and Adaptive RED, section III",
        rule: "classifier:  a pair's first n packets, and UDP, to queue 1; the rest to queue 2, until idle for t\n\
               split=class: class 0 to queue 2; the other classes to queue 1\n\
               C1:          0 if q1 = 0;  c1_min if q1 < min_th1;  else min(C q1/max_th1, c1_max);  C2 = C - C1\n\
               queue 1:     drop only when the shared buffer is full\n\
               queue 2:     Adaptive RED, gentle; every interval: max_p += min(alpha, max_p/4) or *= beta\n\
               p_u > 0:     every interval: min_th2 *= 1 + gamma if P > p_u, 1 - gamma if P < p_l; max_th2 follows\n\
               departure:   the head that finishes first at its rate; if one queue is empty, the other",
        deviations: &[
            "n, t, c1_min, c1_max and the scheduler are not printed: ours",
            "w_q, max_p and interval of queue 2 are not printed: Adaptive RED's",
            "c1_min above c1_max counts as c1_max; it is rejected only if both are rates, or both fractions of the \
             link",
            "a pair that moves to queue 2 leaves its packets in queue 1, so a flow can be reordered once per move",
            "UDP stays in queue 1 at any length; the paper's classifier only counts packets",
            "split=class sends class 0 to queue 2 and the other classes to queue 1, without a classifier: by the \
             abstract and the caption of Fig. 4 the kind of traffic decides, FTP to queue 2, web and CBR to queue 1. \
             Pairs are still counted, so the probes met and moved show what section III's counter would do",
            "the pair table is ours: if full it evicts the longest idle of eight pairs; the probe evicted counts them",
            "RED, as in ns-2.35, counts packets, not bytes, and adapts at the first arrival after an interval",
            "the interval differs from ns-2: it starts at the last step; in ns-2 at the last change of max_p",
            "the gentle part differs from ns-2: it follows max_p; in ns-2 it keeps its initial slope",
            "while queue 2 is empty its average decays as if the link were idle",
            "dynamic thresholds: the average of p with weight w_p per arrival is ours; the paper does not say whether \
             p is RED's base probability (p_of=base) or the applied one (p_of=applied)",
            "dynamic thresholds: the bounds are ours: min_th2 at least 5 packets, max_th2 at most the buffer",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off min_th1=2000b max_th1=30000b min_th2=20000b max_th2=80000b p_l=0 p_u=0 \
                       alpha=0.01 beta=0.9",
            source: "Table II; use a buffer of 160000b",
        },
        Preset { name: "dynamic", settings: "ecn=off p_l=0.005 p_u=0.010 gamma=0.05", source: "section V, Table IV" },
    ];
    const ORDER: Order = Order::Lists(2);

    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn check(params: &Params) -> Result<(), String> {
        let pairs = [("1", params.min_th1, params.max_th1), ("2", params.min_th2, params.max_th2)];
        for (i, min, max) in pairs {
            if min.with(0.0) != max.with(0.0) {
                return Err(format!("min_th{i} and max_th{i} in the same unit, packets or bytes"));
            }
            if min >= max {
                return Err(format!("min_th{i} below max_th{i}"));
            }
        }
        let crossed = match (params.c1_min, params.c1_max) {
            (Share::Fraction(least), Share::Fraction(most)) => least > most,
            (Share::Rate(least), Share::Rate(most)) => least > most,
            _ => false,
        };
        if crossed {
            return Err("c1_min at most c1_max".to_string());
        }
        params.red().check_band()
    }

    fn build(params: &Params, link: &Link) -> Self {
        let capacity = link.rate.bytes_per_sec();
        let most = params.c1_max.of(capacity, C1_MAX);
        let least = params.c1_min.of(capacity, params.min_th1.value() / params.max_th1.value());
        let mut split = Split::new(params.scheduler, link.mean_packet);
        split.set_rates([0.0, capacity]);
        Self {
            capacity,
            bounds: (least.min(most), most),
            pairs: PairTable::new(params.pairs, params.t),
            red: params.red().gateway(params.p_u > 0.0, link),
            split,
            q1: 0.0,
            q2: 0.0,
            met: 0,
            moved: 0,
            params: params.clone(),
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let kept = |params: &Params| (params.scheduler, params.key, params.pairs);
        if kept(params) != kept(&self.params) || !params.max_th1.is_like(self.params.max_th1) {
            return None;
        }
        let (pairs, red) = (self.pairs.remembering(params.t), fresh.red.after(&self.red)?);
        let c1 = c1(self.q1, fresh.capacity, fresh.bounds, (params.min_th1.value(), params.max_th1.value()));
        let mut split = self.split.clone();
        split.set_rates([c1, fresh.capacity - c1]);
        let Self { q1, q2, met, moved, .. } = *self;
        Some(Self { pairs, red, split, q1, q2, met, moved, ..fresh })
    }
}

impl Discipline for RedTail {
    fn lists(&self) -> usize {
        2
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.split.advance(cx.now);
        let list = self.classify(&packet, cx.now);
        let was_empty = port.is_empty(list);
        let fate = if list == LONG {
            let verdict = self.red.arrival(&packet, &port.level(LONG), cx);
            port.admit(LONG, packet, verdict, &mut self.red, cx)
        } else {
            // One random number per arrival, for either queue.
            cx.rng.uniform();
            port.admit(SHORT, packet, Verdict::Accept, &mut DropTail, cx)
        };
        if was_empty && matches!(fate, Fate::Queued { .. }) {
            self.split.begin(usize::from(list.0), packet.len);
        }
        self.share(list, port);
    }

    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.split.advance(cx.now);
        let head = |port: &Port, list| port.head(list).map(|packet| packet.len);
        let (list, contended) = match (port.is_empty(SHORT), port.is_empty(LONG)) {
            (false, false) => {
                let len = |i| head(port, [SHORT, LONG][i]).unwrap_or(0);
                ([SHORT, LONG][self.split.pick(len)], true)
            }
            (false, true) => (SHORT, false),
            (true, _) => (LONG, false),
        };
        if port.is_empty(LONG) {
            self.red.emptied(cx);
        }
        let packet = match list {
            LONG => port.pop_judged(LONG, &mut self.red, cx),
            _ => port.pop_judged(list, &mut DropTail, cx),
        };
        if let Some(packet) = &packet {
            self.split.served(usize::from(list.0), packet.len, head(port, list), contended);
        }
        self.share(list, port);
        packet
    }
}

probes! { RedTail {
    /// Signal probability of the latest arrival at queue 2.
    p ["1"] probability = |s| s.red.p_a();
    /// Length of queue 1.
    q1 ["packets|bytes"] = |s| s.q1;
    /// Length of queue 2.
    q2 ["packets|bytes"] = |s| s.q2;
    /// Rate of queue 1.
    c1 ["bit/s"] = |s| s.split.rates()[0] * 8.0;
    /// Average of queue 2.
    avg ["packets|bytes"] = |s| s.red.average();
    /// Probability at max_th2.
    max_p ["1"] probability = |s| s.red.curve().max_p;
    /// Lower threshold of queue 2.
    min_th2 ["packets|bytes"] = |s| s.red.curve().min_th;
    /// Source-destination pairs evicted because their table was full.
    evicted ["1"] = |s| s.pairs.evicted() as f64;
    /// Average drop probability of queue 2, with which dynamic thresholds move.
    p_avg ["1"] probability = |s| s.red.steering().p_avg();
    /// New source-destination pairs so far; a forgotten pair counts again.
    met ["1"] = |s| s.met as f64;
    /// Source-destination pairs above n packets so far; with split=count they are in queue 2.
    moved ["1"] = |s| s.moved as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, ms as at, params};

    /// The paper's bottleneck: 3 Mb/s, 1000-byte packets, 160 KB.
    const LINK: Link = Link { rate: Rate(3_000_000), limit: Limit::Bytes(160_000), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<RedTail> {
        by_hand::queue(settings, LINK, false)
    }

    fn tcp(pair: u32) -> Packet {
        Packet { len: 1000, pair, ..Packet::default() }
    }

    fn lengths(queue: &Queue<RedTail>) -> (u32, u32) {
        (queue.port.level(SHORT).pkts(), queue.port.level(LONG).pkts())
    }

    /// Section III: the rate of queue 1 is 0 if the queue is empty, and C1_min at a length below min_th1. From there on
    /// it is C q1/max_th1, at most C1_max.
    #[test]
    fn queue_1_rate_is_piecewise_linear_in_length() {
        let c1 = |q1| c1(q1, 3e6, (2e5, 2.25e6), (2_000.0, 30_000.0));
        assert_eq!(c1(0.0), 0.0);
        assert_eq!(c1(1_999.0), 2e5);
        assert_eq!(c1(2_000.0), 2e5, "continuous: C min_th1/max_th1 = c1_min");
        assert_eq!(super::c1(2_000.0, 3e6, (0.0, 3e6), (2_000.0, 30_000.0)), 2e5, "min_th1 itself is above");
        assert_eq!(c1(15_000.0), 1.5e6);
        assert_eq!(c1(22_500.0), 2.25e6);
        assert_eq!(c1(160_000.0), 2.25e6);
    }

    /// By default the smallest rate of queue 1 is C min_th1/max_th1, and the largest 0.75 C, with the link rate C.
    #[test]
    fn queue_1_rate_bounds_follow_thresholds_and_link() {
        let mut queue = queue("");
        let rates = |queue: &Queue<RedTail>| queue.discipline().split.rates().map(|rate| rate * 8.0);
        queue.arrive(tcp(1), at(0));
        assert_eq!(rates(&queue), [2e5, 2.8e6]);
        (0..30).for_each(|_| queue.arrive(tcp(1), at(0)));
        assert_eq!(rates(&queue), [2.25e6, 0.75e6]);
        while queue.depart(at(1)).is_some() {}
        assert_eq!(rates(&queue), [0.0, 3e6]);
    }

    /// Of the TCP packets of a source-destination pair the first n enter queue 1, the others queue 2.
    #[test]
    fn pair_packets_after_first_n_enter_queue_2() {
        let mut queue = queue("n=64");
        (0..64).for_each(|_| queue.arrive(tcp(7), at(0)));
        assert_eq!(lengths(&queue), (64, 0));
        queue.arrive(tcp(7), at(0));
        assert_eq!(lengths(&queue), (64, 1));
        queue.arrive(tcp(8), at(0));
        assert_eq!(lengths(&queue), (65, 1), "another pair starts from zero");
        queue.arrive(tcp(7), at(0));
        assert_eq!((queue.discipline().met, queue.discipline().moved), (2, 1), "each counts once");
    }

    #[test]
    fn udp_stays_in_queue_1_uncounted() {
        let mut queue = queue("n=3");
        (0..50).for_each(|_| queue.arrive(Packet { proto: Proto::Udp, ..tcp(7) }, at(0)));
        assert_eq!(lengths(&queue), (50, 0));
        (0..3).for_each(|_| queue.arrive(tcp(7), at(0)));
        assert_eq!(lengths(&queue), (53, 0));
    }

    #[test]
    fn class_split_sends_class_0_to_queue_2() {
        let arrive = |queue: &mut Queue<RedTail>, class, proto, packets| {
            (0..packets).for_each(|_| queue.arrive(Packet { class, proto, ..tcp(u32::from(class)) }, at(0)));
            lengths(queue)
        };
        let mut by_class = queue("split=class n=3");
        assert_eq!(arrive(&mut by_class, 0, Proto::Tcp, 2), (0, 2), "from the first packet on");
        assert_eq!(arrive(&mut by_class, 1, Proto::Tcp, 9), (9, 2), "also after the first n");
        assert_eq!(arrive(&mut by_class, 2, Proto::Udp, 4), (13, 2));
        assert_eq!(arrive(&mut by_class, 0, Proto::Udp, 5), (13, 7), "the protocol does not matter");
        assert_eq!((by_class.discipline().met, by_class.discipline().moved), (2, 1), "pairs are counted all the same");
        let mut by_count = queue("split=count n=3");
        assert_eq!(arrive(&mut by_count, 0, Proto::Tcp, 2), (2, 0));
        assert_eq!(arrive(&mut by_count, 1, Proto::Tcp, 9), (5, 6));
    }

    #[test]
    fn pair_idle_for_time_t_counts_as_new() {
        let mut queue = queue("n=1 t=5s");
        [0, 1, 5000, 10_000].into_iter().for_each(|ms| queue.arrive(tcp(7), at(ms)));
        assert_eq!(lengths(&queue), (2, 2), "after 4999 ms still known, after 5000 ms not");
    }

    #[test]
    fn flow_moving_to_queue_2_is_reordered_once() {
        let mut queue = queue("n=10 c1_min=0 c1_max=0");
        (0..20).for_each(|slot| queue.arrive(Packet { slot, ..tcp(1) }, at(0)));
        let order: alloc::vec::Vec<u32> = core::iter::from_fn(|| queue.depart(at(1))).map(|p| p.slot).collect();
        // Queue 1 has rate 0 and waits for queue 2: the ten newer packets overtake.
        assert_eq!(order, (10..20).chain(0..10).collect::<alloc::vec::Vec<_>>());
    }

    #[test]
    fn single_backlogged_queue_gets_the_full_link() {
        let mut queue = queue("n=10 c1_max=0.1");
        (0..5).for_each(|_| queue.arrive(tcp(1), at(0)));
        let served = (0..5).filter(|_| queue.depart(at(0)).is_some()).count();
        assert_eq!((served, queue.depart(at(0))), (5, None));
    }

    #[test]
    fn queues_share_one_buffer() {
        let udp = |_| Packet { proto: Proto::Udp, ..tcp(7) };
        let mut first = queue("n=0");
        (0..200).map(udp).for_each(|packet| first.arrive(packet, at(0)));
        first.arrive(tcp(8), at(0));
        let tally = first.port.tally();
        assert_eq!((lengths(&first), tally.dropped_early.pkts), ((160, 0), 0), "160 KB, whatever its max_th1");
        assert_eq!(tally.dropped_overflow.pkts, 41, "and none is left for queue 2");
        // With the queues exchanged; thresholds beyond the buffer disable RED.
        let mut second = queue("n=0 min_th2=200000b max_th2=300000b");
        (0..200).for_each(|_| second.arrive(tcp(8), at(0)));
        second.arrive(udp(0), at(0));
        assert_eq!((lengths(&second), second.port.tally().dropped_overflow.pkts), ((0, 160), 41));
    }

    #[test]
    fn dynamic_thresholds_follow_drop_probability() {
        let min_th2 = |settings: &str, most: u32| {
            let mut queue = queue(&format!("n=0 {settings}"));
            // `most` packets for 5 s, one arrival per ms: with 100 the average exceeds 80 KB and p 0.1; with 10 p is 0.
            for ms in 0..5_000 {
                queue.arrive(tcp(1), at(ms));
                if queue.port.pkts() > most {
                    queue.depart(at(ms));
                }
            }
            queue.discipline().red.curve().min_th
        };
        let band = "p_l=0.005 p_u=0.010";
        assert_eq!(min_th2("", 100), 20_000.0);
        assert!(min_th2(band, 100) > 20_000.0 && min_th2(band, 10) < 20_000.0);
        assert!(min_th2(&format!("{band} gamma=0.2"), 100) > min_th2(band, 100));
    }

    /// The dynamic thresholds follow the average of a probability. With `p_of=base` it is RED's base probability p_b;
    /// with `p_of=applied` it is p_a, which RED computes from p_b and the number of arrivals since the last drop.
    #[test]
    fn parameter_p_of_selects_the_averaged_probability() {
        // Arrival 43 sees 42 packets, so p_b = 0.12 x 22/60 = 22/500. It is arrival 23 since the average reached
        // min_th2, so the count is 23 and p_a = p_b/(2 - 23 p_b) = 22/(1000 - 23 x 22).
        let p_avg = |p_of: &str, arrivals: u32| {
            let band = "min_th2=20p max_th2=80p max_p=0.12 w_q=1 w_p=1 p_l=0.01 p_u=0.02";
            let mut queue = queue(&format!("n=0 {band} p_of={p_of}"));
            (0..arrivals).for_each(|_| queue.arrive(tcp(1), at(0)));
            queue.discipline().red.steering().p_avg()
        };
        by_hand::near(p_avg("base", 43), 22.0 / 500.0);
        by_hand::near(p_avg("applied", 43), 22.0 / (1000.0 - 23.0 * 22.0));
        assert_eq!(p_avg("applied", 42), 0.0, "22 x 21/500 < 1: the gap since the last drop is too short");
    }

    #[test]
    fn contradictory_parameters_are_rejected() {
        let refused = |settings| RedTail::check(&params(settings)).is_err();
        assert!(refused("min_th1=5p") && refused("min_th2=80000b") && refused("p_l=0.1"));
        assert!(refused("p_u=0.1") && !refused("p_u=0.1 max_p=0.2") && !refused("p_u=0 max_p=0"));
        assert!(refused("c1_min=0.5 c1_max=0.4") && refused("c1_min=2mbit c1_max=1mbit"));
        assert!(!refused("c1_min=0.9 c1_max=1mbit") && !refused("min_th1=2p max_th1=30p"));
    }
}
