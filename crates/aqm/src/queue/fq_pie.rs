//! FQ-PIE: a queue per flow, served round robin, each under PIE (Linux sch_fq_pie).
//!
//! The flow queueing is FQ-CoDel's. Linux's PIE decides at arrival, by the delay and backlog of the flow.

use alloc::vec::Vec;

use crate::aqm::delay::pie::{self, Burst, CONTROLLER, Controller, Latency, Rule, Rules, SWITCHES, Spare};
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset};
use crate::base::discipline::{Aqm, Discipline};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{Level, ListId, Port};
use crate::base::tc::{ECN, FLOWS, Form, LIMIT, Tail, Tc, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::buckets::{Buckets, Hash, Key};
use crate::parts::flow_queues::{Chain, FlowQueues, Links};
use crate::{params, probes};

params! {
    /// Parameters of FQ-PIE.
    pub struct Params {
        /// Target queuing delay of each flow.
        target: Span = Span::from_millis(15), in 1e-9 ..= 1e3, "target", "Linux fq_pie";
        /// Time between updates of the flows' probabilities.
        tupdate: Span = Span::from_millis(15), in 1e-6 ..= 1e3, "tupdate", "Linux fq_pie";
        /// Integral gain in Hz.
        alpha: f64 = 0.125, in 0.0 ..= 1e6, "alpha", "Linux fq_pie: 2/16";
        /// Proportional gain in Hz, on the growth of the delay.
        beta: f64 = 1.25, in 0.0 ..= 1e6, "beta", "Linux fq_pie: 20/16";
        /// Number of queues that flows are hashed to.
        flows: u32 = 1024, in 1.0 ..= 65536.0, "flows", "Linux fq_pie";
        /// Bytes that a queue may send per round.
        quantum: Bytes = Bytes(1514), in 256.0 ..= 1048576.0, "quantum", "Linux fq_pie: an MTU; ours: no less than 256";
        /// Burst allowance of each flow.
        max_burst: Span = Span::from_millis(150), in 0.0 ..= 1e3, "burst_time", "Linux pie_vars_init";
        /// From this signal probability of a flow on, its ECT packets are dropped instead of marked.
        ecn_cut: f64 = 0.1, in 0.0 ..= 1.0, "ecn_prob", "Linux fq_pie: 10 %";
        /// rules=rfc8033: no early drop while the flow's backlog is at most this; auto: 2 mtu - 1 byte.
        min_backlog: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "2 mtu", "Linux pie_drop_early";
        /// How a flow's queuing delay is estimated.
        latency: Latency = Latency::Timestamp, in 0.0 ..= 1.0, "dq_rate_estimator", "Linux fq_pie";
        /// Scales p by packet length for packets shorter than mtu.
        bytes: bool = false, in 0.0 ..= 1.0, "bytemode", "Linux fq_pie";
        /// Largest packet; used by min_backlog and bytes. rules=linux: no early drop below two of it.
        mtu: Bytes = Bytes(1514), in 1.0 ..= 65536.0, "psched_mtu", "Linux pie_drop_early, on Ethernet";
        /// Fields that are hashed.
        key: Key = Key::Flow, in 0.0 ..= 1.0, "", "Linux skb_get_hash: the 5-tuple";
        /// How a packet's queue is selected.
        hash: Hash = Hash::Salted, in 0.0 ..= 1.0, "", "Linux fq_pie_hash";
        /// Salt of the hash; auto: drawn at the first packet.
        salt: Auto<u32> = Auto::Auto, in 0.0 ..= 4294967295.0, "", "Linux skb_get_hash";
        /// Arithmetic of PIE: floating point with exact times (rfc8033), or Linux's integers (linux).
        rules: Rules = Rules::Rfc, in 0.0 ..= 1.0, "", "ours; Linux 6.12 sch_fq_pie.c";
    }
}

/// PIE's state for one flow.
#[derive(Clone)]
struct Flow {
    pie: Controller,
    /// Whether the flow is in the chain of flows to update.
    stirred: bool,
}

/// State of FQ-PIE.
pub struct FqPie {
    buckets: Buckets,
    queues: FlowQueues,
    rule: Rule,
    flows: Vec<Flow>,
    links: Links,
    /// Flows that the next update visits; an update could not change the state of any other flow.
    stirred: Chain,
    due: Instant,
    latest: ListId,
}

/// Adapter: passes a departure from one flow's queue to its PIE.
struct Leaving<'a>(&'a Rule, &'a mut Controller);

impl Aqm for Leaving<'_> {
    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.1.departure(self.0, packet, level, cx.now);
        Verdict::Accept
    }
}

/// The AQM that the port notifies of each packet's fate. It ignores the fate, because PIE does not use it.
struct Deaf;
impl Aqm for Deaf {}

impl Params {
    fn rule(&self, link: &Link) -> Rule {
        // Linux never drops early if fewer bytes than two MTUs are queued.
        let few = Depth::Bytes(2.0 * self.mtu.0 as f64 - 1.0);
        let linux = pie::Params {
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            ecn_cut: self.ecn_cut,
            min_backlog: Auto::Given(self.min_backlog.or(few)),
            latency: self.latency,
            bytes: self.bytes,
            mtu: Auto::Given(self.mtu),
            // Linux: include/net/pie.h and pie_calculate_probability.
            burst: Burst::Departure,
            spare: Spare::Latest,
            decay_to: 1.0 - 1.0 / 64.0,
            derandomise: true,
            cap: true,
            boost: true,
            rules: self.rules,
            ..pie::Params::default()
        };
        Rule::of_flow(&linux, link)
    }
}

impl FqPie {
    /// Adds `list` to the flows to update. An update removes a flow if its queue is empty and a further update could
    /// not change its state.
    #[inline]
    fn stir(&mut self, list: ListId) {
        let flow = &mut self.flows[usize::from(list.0)];
        if !flow.stirred {
            flow.stirred = true;
            self.links.push(&mut self.stirred, list);
        }
    }
}

impl Design for FqPie {
    type Params = Params;
    const ABOUT: About = About {
        summary: "flow queueing with PIE: a queue per flow, sparse flows first, each under PIE",
        source: "Linux net/sched/sch_fq_pie.c and sch_pie.c (Tahiliani et al. 2020)",
        rule: "arrival:    queue = hash(flow);  buffer full: drop\n\
               \u{20}           PIE (see pie) of the flow, by its delay and its backlog:  mark if p < ecn_cut, else drop\n\
               \u{20}           queued in an idle queue: it becomes the last new queue, credit = quantum\n\
               departure:  first new queue, else first old one\n\
               \u{20}           credit <= 0:  credit += quantum; to the end of the old queues; again\n\
               \u{20}           a packet:  credit -= its length; send\n\
               \u{20}           none:  new: to the end of the old queues, if there are any; else idle; again\n\
               every tupdate:  p of each flow",
        deviations: &[
            "memory_limit is not implemented: Linux only counts packets that exceed it, and accepts them",
            "updates differ from Linux: all flows at once; Linux updates 2048 flows per jiffy, and its timer rounds \
             tupdate up to jiffies",
            "the first update comes after one period, with rules=linux after 0.5 s as in Linux",
            "a flow whose state an update cannot change is not updated",
            "the hash differs from Linux: a SplitMix64 finaliser; it is scaled as in Linux",
            "rules=rfc8033 differs from Linux: PIE is in floating point, decays at two delays of 0 even if there is a \
             backlog, averages times per byte instead of rates, does not count the departure that starts a \
             measurement, and at p = ecn_cut exactly drops ECT packets",
            "rules=linux: as Linux 6.12 packet by packet if no two flows share a queue; random numbers as in pie \
             rules=linux, with hash=exact none for the hash",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "linux",
        settings: "ecn=off hard_limit=10240p flows=1024 quantum=1514b target=15ms tupdate=15ms alpha=0.125 beta=1.25 \
                   max_burst=150ms ecn_cut=0.1 latency=timestamp bytes=off mtu=1514b key=flow hash=salted rules=linux",
        source: "Linux fq_pie on Ethernet: tc's defaults",
    }];
    const TC: Option<Tc> = Some(Tc::new(
        "preset=linux",
        &[
            LIMIT,
            FLOWS,
            CONTROLLER,
            &[
                ("quantum", sets(Form::Size, "quantum").but_zero()),
                ("memory_limit", Tail::Ignored(Form::Size, "packets take their length in memory")),
                ("ecn_prob", sets(Form::Count, "ecn_cut").up_to(99).over(100).but_zero()),
            ],
            ECN,
            SWITCHES,
        ],
    ));
    const ORDER: Order = Order::PerFlow;
    const COST: Cost = Cost::Heavy;

    fn build(params: &Params, link: &Link) -> Self {
        let rule = params.rule(link);
        let count = params.flows as usize;
        let flow = || Flow { pie: Controller::new(&rule), stirred: false };
        Self {
            buckets: Buckets::new(params.flows, params.key, params.hash, params.salt),
            queues: FlowQueues::new(count, params.quantum.0 as i32, false),
            flows: core::iter::repeat_with(flow).take(count).collect(),
            links: Links::new(count),
            stirred: Chain::EMPTY,
            due: Instant::ZERO + rule.first_update(),
            latest: ListId(0),
            rule,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        if params.rules != self.rule.params.rules {
            return None;
        }
        let (buckets, queues) = (fresh.buckets.after(&self.buckets)?, fresh.queues.after(&self.queues));
        let (mut flows, links) = (self.flows.clone(), self.links.clone());
        if fresh.rule.params.max_burst != self.rule.params.max_burst {
            // Flows at rest have the full allowance, which has changed.
            let resting = flows.iter_mut().filter(|flow| !flow.stirred);
            resting.for_each(|flow| flow.pie = Controller::new(&fresh.rule));
        }
        let Self { stirred, due, latest, .. } = *self;
        Some(Self { buckets, queues, flows, links, stirred, due, latest, rule: fresh.rule })
    }
}

impl Discipline for FqPie {
    fn lists(&self) -> usize {
        self.buckets.count()
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let list = self.buckets.of(&packet, cx.rng);
        self.latest = list;
        self.stir(list);
        let pie = &mut self.flows[usize::from(list.0)].pie;
        let verdict = pie.arrival(&self.rule, &packet, &port.level(list), cx);
        if let Fate::Queued { .. } = port.admit(list, packet, verdict, &mut Deaf, cx) {
            self.queues.activate(list);
        }
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        while let Some(list) = self.queues.turn() {
            let pie = &mut self.flows[usize::from(list.0)].pie;
            if let Some(packet) = port.pop_judged(list, &mut Leaving(&self.rule, pie), cx) {
                self.queues.sent(list, packet.len);
                return Some(packet);
            }
            self.queues.empty(list);
        }
        None
    }

    fn next_tick(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn tick(&mut self, port: &mut Port, cx: &mut Cx) {
        let mut before = core::mem::replace(&mut self.stirred, Chain::EMPTY);
        while let Some(list) = self.links.pop(&mut before) {
            let flow = &mut self.flows[usize::from(list.0)];
            let backlog = port.level(list).bytes();
            flow.pie.update(&self.rule, backlog, cx.now);
            flow.stirred = backlog > 0 || !flow.pie.is_at_rest(&self.rule);
            if flow.stirred {
                self.links.push(&mut self.stirred, list);
            }
        }
        self.due = cx.now + self.rule.params.tupdate;
    }
}

probes! { FqPie {
    /// Signal probability of the flow that offered the latest packet.
    p ["1"] probability = |s| s.flows[usize::from(s.latest.0)].pie.p();
    /// Latest estimate of the queuing delay of the flow that offered the latest packet.
    delay ["s"] = |s| s.flows[usize::from(s.latest.0)].pie.delay();
    /// Queues in the list of old queues, including empty ones.
    old ["1"] = |s| s.queues.lengths().1 as f64;
    /// Queues in the list of new queues.
    new ["1"] = |s| s.queues.lengths().0 as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::ms;

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(60), mean_packet: Bytes(1000) };

    fn queue(params: Params) -> Queue<FqPie> {
        Queue::new(FqPie::build(&params, &LINK), LINK, false, Rng::stream(1, "fq_pie"))
    }

    fn packet(flow: u32) -> Packet {
        Packet { flow, len: 1000, ecn: Ecn::NotEct, ..Packet::default() }
    }

    /// Runs 3 s with one departure per ms. Flow 1 keeps 40 packets queued, flow 2 sends a packet every 10 ms. Returns
    /// the drops by flow.
    fn one_fat_one_thin(queue: &mut Queue<FqPie>) -> [u64; 3] {
        let mut dropped = [0; 3];
        for t in 0..3000 {
            while let Some(due) = queue.next_tick().filter(|due| *due <= ms(t)) {
                queue.tick(due);
            }
            if t % 10 == 0 {
                queue.arrive(packet(2), ms(t));
            }
            while queue.port.level(ListId(1)).pkts() < 40 && queue.port.discarded().is_empty() {
                queue.arrive(packet(1), ms(t));
            }
            queue.depart(ms(t));
            queue.port.discarded().drain(..).for_each(|(packet, _)| dropped[packet.flow as usize] += 1);
        }
        dropped
    }

    #[test]
    fn only_the_backlogged_flow_is_dropped() {
        let mut queue = queue(Params { hash: Hash::Exact, ..Params::default() });
        let dropped = one_fat_one_thin(&mut queue);
        assert!(dropped[1] > 30 && dropped[2] == 0, "{dropped:?}");
        let p = |flow: usize| queue.discipline().flows[flow].pie.p();
        assert!(p(1) > 0.01 && p(2) == 0.0, "{} {}", p(1), p(2));
    }

    #[test]
    fn empty_flows_with_zero_delay_are_not_updated() {
        let mut queue = queue(Params { hash: Hash::Exact, ..Params::default() });
        (0..30).for_each(|flow| queue.arrive(packet(flow), ms(0)));
        while queue.depart(ms(1)).is_some() {}
        let stirred = |queue: &Queue<FqPie>| queue.discipline().links.walk(queue.discipline().stirred).count();
        assert_eq!(stirred(&queue), 30);
        queue.tick(ms(15));
        assert_eq!(stirred(&queue), 0, "empty, without delay, allowance renewed");
        queue.arrive(packet(5), ms(16));
        queue.tick(ms(30));
        assert_eq!(stirred(&queue), 1, "a packet waits");
    }

    #[test]
    fn full_buffer_drops_the_arrival() {
        let mut queue = queue(Params { hash: Hash::Exact, ..Params::default() });
        (0..60).for_each(|_| queue.arrive(packet(1), ms(0)));
        queue.arrive(packet(2), ms(0));
        let dropped: Vec<u32> = queue.port.discarded().drain(..).map(|(packet, _)| packet.flow).collect();
        assert_eq!((dropped, queue.discipline().queues.lengths()), (alloc::vec![2], (1, 0)), "and activates nothing");
    }
}
