//! FQ-CoDel: a queue per flow, served round robin, each under CoDel (RFC 8290).
//!
//! Flows that build no queue are served first, so that sparse traffic has a low delay. CoDel drops only from flows
//! with a standing queue. A full buffer drops from the longest queue.

use alloc::vec::Vec;

use crate::aqm::backlog::droptail::DropTail;
use crate::aqm::delay::codel::{self, CE_THRESHOLD, InverseSqrt, Rule, State, TIMES};
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset};
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::params::{Auto, Off};
use crate::base::port::{ListId, Port};
use crate::base::tc::{ECN, FLOWS, Form, LIMIT, Tail, Tc, sets};
use crate::base::time::Span;
use crate::base::units::{Bytes, Link};
use crate::base::verdict::{Reason, Verdict};
use crate::parts::buckets::{Buckets, Hash, Key};
use crate::parts::flow_queues::{FlowQueues, Tie, fattest};
use crate::{choice, params, probes};

choice! {
    /// Whose rules apply where RFC 8290 and Linux differ.
    pub enum Rules {
        /// An overflow drops half of the longest queue's packets; a new queue that becomes empty always joins the old
        /// queues.
        Rfc = "rfc8290",
        /// An overflow drops half of the longest queue's bytes and raises CoDel's count; a new queue that becomes empty
        /// joins the old queues if there are any; CoDel has Linux's clock and integers (codel rules=linux).
        Linux = "linux",
    }
}

params! {
    /// Parameters of FQ-CoDel.
    pub struct Params {
        /// Acceptable standing delay of a flow.
        target: Span = Span::from_millis(5), in 1e-9 ..= 1e3, "TARGET", "RFC 8290 section 5.2.2";
        /// Time within which a flow's delay must fall below target at least once; about the longest expected RTT.
        interval: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "INTERVAL", "RFC 8290 section 5.2.1";
        /// Number of queues that flows are hashed to.
        flows: u32 = 1024, in 1.0 ..= 65536.0, "flows", "RFC 8290 section 5.2.5";
        /// Bytes that a queue may send per round.
        quantum: Bytes = Bytes(1514), in 256.0 ..= 1048576.0, "quantum", "RFC 8290 section 5.2.4; Linux: at least 256";
        /// Marks ECT packets whose sojourn time exceeds this, independent of CoDel and of `ecn`.
        ce_threshold: Off<Span> = Off::Off, in 0.0 ..= 1e3, "ce_threshold", "RFC 8290 section 5.2.7";
        /// Largest number of packets dropped per overflow.
        drop_batch: u32 = 64, in 1.0 ..= 65535.0, "drop_batch", "RFC 8290 section 4.1";
        /// Limit of the backlog in bytes; the limit of the buffer applies too.
        memory_limit: Off<Bytes> = Off::Off, in 1.0 ..= 1e12, "memory_limit", "Linux";
        /// No drop while the backlog of all queues is at most this; auto: the largest packet seen.
        mtu: Auto<Bytes> = Auto::Auto, in 0.0 ..= 1e9, "maxpacket", "RFC 8289 section 5.6";
        /// How the square root of CoDel's control law is computed.
        inv_sqrt: InverseSqrt = InverseSqrt::Exact, in 0.0 ..= 1.0, "", "RFC 8289 section 5.6; Linux";
        /// Whose rules apply where RFC 8290 and Linux differ.
        rules: Rules = Rules::Rfc, in 0.0 ..= 1.0, "", "RFC 8290 sections 4.1 and 4.2; Linux 6.12";
        /// Fields that are hashed.
        key: Key = Key::Flow, in 0.0 ..= 1.0, "", "RFC 8290 section 4.1: the 5-tuple";
        /// How a packet's queue is selected.
        hash: Hash = Hash::Salted, in 0.0 ..= 1.0, "", "RFC 8290 section 4.1";
        /// Salt of the hash; auto: drawn at the first packet.
        salt: Auto<u32> = Auto::Auto, in 0.0 ..= 4294967295.0, "", "RFC 8290 section 4.1";
    }
}

/// State of FQ-CoDel.
pub struct FqCodel {
    buckets: Buckets,
    flows: FlowQueues,
    codel: Rule,
    states: Vec<State>,
    drop_batch: u32,
    memory_limit: u64,
    rules: Rules,
}

impl FqCodel {
    /// Whether `len` more bytes exceed the buffer or the memory limit.
    #[inline]
    fn is_over(&self, port: &Port, len: u32) -> bool {
        !port.fits(len) || port.bytes() + u64::from(len) > self.memory_limit
    }

    /// Drops packets from the head of the longest queue. The length of `list` includes the arriving `packet`. Returns
    /// false if `packet` itself is dropped.
    #[inline(never)]
    fn relieve(&mut self, packet: Packet, list: ListId, port: &mut Port, cx: &mut Cx) -> bool {
        let fat = fattest(self.flows.active(), port, (list, packet.len), Tie::Lowest);
        let level = port.level(fat);
        let (own, pkts) = (fat == list, level.pkts());
        let counted = level.bytes() + if own { u64::from(packet.len) } else { 0 };
        let (most, enough) = match self.rules {
            Rules::Rfc => (((pkts + u32::from(own)) / 2).clamp(1, self.drop_batch), u64::MAX),
            Rules::Linux => (self.drop_batch, (counted / 2).max(1)),
        };
        let refused = own && (pkts == 0 || (pkts < most && level.bytes() < enough));
        // If only the memory limit is exceeded, the buffer has room: the drop counts as early.
        let reason = if port.fits(packet.len) { Reason::Early } else { Reason::Overflow };
        if refused {
            port.admit(list, packet, Verdict::Drop, &mut DropTail, cx);
        }
        let (mut drops, mut bytes) = (0, 0);
        while drops < most.min(pkts) && bytes < enough {
            bytes += port.drop_head(fat, reason, &mut DropTail, cx).map_or(0, |packet| u64::from(packet.len));
            drops += 1;
        }
        if self.rules == Rules::Linux {
            self.states[usize::from(fat.0)].count_drops(drops + u32::from(refused));
        }
        !refused
    }
}

impl Design for FqCodel {
    type Params = Params;
    const ABOUT: About = About {
        summary: "flow queueing with CoDel: a queue per flow, sparse flows first, each under CoDel",
        source: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: RFC 8290; Linux sch_fq_codel",
        rule: "arrival:    queue = hash(flow); idle: it becomes the last new queue, credit = quantum\n\
               \u{20}           buffer full: half of the packets of the queue with most bytes, at most drop_batch, from its head\n\
               departure:  first new queue, else first old one\n\
               \u{20}           credit <= 0:  credit += quantum; to the end of the old queues; again\n\
               \u{20}           CoDel (see codel) on it gives a packet:  credit -= its length; send\n\
               \u{20}           queue empty:  new: to the end of the old queues; old: idle; again",
        deviations: &[
            "an overflow differs from the RFC: it drops before the arrival is queued, not after; the same packets of \
             the same queue are dropped",
            "the hash differs from the RFC: a SplitMix64 finaliser, not Jenkins', and scaled as in Linux, not modulo \
             flows",
            "target on slow links differs from the RFC: it is used as given; section 5.2.2 recommends at least the \
             transmission time of an MTU, 12 ms at 1 Mb/s",
            "the end of a turn differs from section 4.2 (negative credit): a credit of 0 ends it, as in Linux and \
             section 3",
            "among queues with equally many bytes an overflow drops from the lowest number, as in Linux",
            "a buffer in bytes is ours: one arrival may need several overflows; the RFC's limit is in packets",
            "memory_limit differs from Linux: it counts packet lengths; Linux counts the memory of its buffers",
            "memory_limit: drops while the buffer has room count as early; one overflow per arrival, as in Linux",
            "ce_threshold differs from Linux: it applies to all packets; Linux's selector for traffic classes is not \
             implemented",
            "rules=linux: as Linux 6.12 packet by packet if no two flows share a queue and memory_limit is not reached; \
             no random numbers are drawn with hash=exact",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc8290",
            settings: "ecn=on target=5ms interval=100ms flows=1024 quantum=1514b drop_batch=64 ce_threshold=off \
                       memory_limit=off mtu=auto inv_sqrt=exact rules=rfc8290 key=flow hash=salted",
            source: "RFC 8290 sections 4 and 5.2; the limit is the link's buffer",
        },
        Preset {
            name: "linux",
            settings: "ecn=on target=5ms interval=100ms flows=1024 quantum=1514b drop_batch=64 ce_threshold=off \
                       memory_limit=33554432b mtu=1514b inv_sqrt=newton rules=linux key=flow hash=salted \
                       hard_limit=10240p",
            source: "Linux fq_codel on Ethernet: tc's defaults",
        },
    ];
    const TC: Option<Tc> = Some(Tc::new(
        "preset=linux",
        &[
            LIMIT,
            FLOWS,
            TIMES,
            &[("quantum", sets(Form::Bytes, "quantum").raised_to(256).but_zero())],
            CE_THRESHOLD,
            &[
                ("ce_threshold_selector", Tail::Refused("ce_threshold applies to every ECN-capable packet here")),
                ("memory_limit", sets(Form::Size, "memory_limit").tail()),
                ("drop_batch", sets(Form::Count, "drop_batch").but_zero()),
            ],
            ECN,
        ],
    ));
    const ORDER: Order = Order::PerFlow;
    const COST: Cost = Cost::Heavy;

    fn marks_without_ecn(params: &Params) -> bool {
        params.ce_threshold != Off::Off
    }

    fn build(params: &Params, _: &Link) -> Self {
        let Params { target, interval, mtu, inv_sqrt, ce_threshold, .. } = *params;
        let rules = if params.rules == Rules::Linux { codel::Rules::Linux } else { codel::Rules::Rfc };
        let flows = params.flows as usize;
        Self {
            buckets: Buckets::new(params.flows, params.key, params.hash, params.salt),
            flows: FlowQueues::new(flows, params.quantum.0 as i32, params.rules == Rules::Rfc),
            codel: Rule::new(codel::Params { target, interval, mtu, inv_sqrt, ce_threshold, rules }),
            states: alloc::vec![State::default(); flows],
            drop_batch: params.drop_batch,
            memory_limit: match params.memory_limit {
                Off::Off => u64::MAX,
                Off::At(limit) => limit.0,
            },
            rules: params.rules,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (buckets, flows) = (fresh.buckets.after(&self.buckets)?, fresh.flows.after(&self.flows));
        let (codel, states) = (fresh.codel.after(&self.codel), self.states.clone());
        Some(Self { buckets, flows, codel, states, ..fresh })
    }
}

impl Discipline for FqCodel {
    fn lists(&self) -> usize {
        self.buckets.count()
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let list = self.buckets.of(&packet, cx.rng);
        self.flows.activate(list);
        if self.is_over(port, packet.len) {
            if !self.relieve(packet, list, port, cx) {
                return;
            }
            while !port.fits(packet.len) {
                if !self.relieve(packet, list, port, cx) {
                    return;
                }
            }
        }
        port.admit(list, packet, Verdict::Accept, &mut DropTail, cx);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        while let Some(list) = self.flows.turn() {
            let state = &mut self.states[usize::from(list.0)];
            let Some(packet) = self.codel.deque(state, list, port, cx) else {
                self.flows.empty(list);
                continue;
            };
            self.flows.sent(list, packet.len);
            return Some(packet);
        }
        None
    }
}

probes! { FqCodel {
    /// Queues in the list of new queues.
    new ["1"] = |s| s.flows.lengths().0 as f64;
    /// Queues in the list of old queues, including empty ones.
    old ["1"] = |s| s.flows.lengths().1 as f64;
    /// Sojourn time of the packet dequeued last.
    sojourn ["s"] = |s| s.codel.sojourn().secs();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::params;

    fn queue(settings: &str, limit: Limit) -> Queue<FqCodel> {
        let params = Params { hash: Hash::Exact, ..params(settings) };
        let link = Link { rate: Rate(1_000_000), limit, mean_packet: Bytes(1000) };
        Queue::new(FqCodel::build(&params, &link), link, false, Rng::stream(1, "fq_codel"))
    }

    /// Offers packets of these flows and lengths, numbered in order of arrival. Returns the number and the reason of
    /// each drop.
    fn dropped(queue: &mut Queue<FqCodel>, packets: &[(u32, u32)]) -> Vec<(u32, Reason)> {
        for &(flow, len) in packets {
            let slot = queue.port.tally().offered.pkts as u32;
            queue.arrive(Packet { slot, flow, len, ..Packet::default() }, Instant::ZERO);
        }
        queue.port.discarded().drain(..).map(|(packet, reason)| (packet.slot, reason)).collect()
    }

    const OVERFLOW: fn(u32) -> (u32, Reason) = |slot| (slot, Reason::Overflow);

    #[test]
    fn at_overflow_linux_halves_bytes_rfc_halves_packets() {
        // 100 + 300 + 100 and the arrival's 100: 100 is not yet half of 600, 400 is.
        let full = [(1, 100), (1, 300), (1, 100), (2, 100), (1, 100)];
        assert_eq!(dropped(&mut queue("rules=linux", Limit::Packets(4)), &full), [0, 1].map(OVERFLOW));
        assert_eq!(dropped(&mut queue("rules=rfc8290", Limit::Packets(4)), &full), [0, 1].map(OVERFLOW));
        let steep = [(1, 300), (1, 100), (1, 100), (2, 100), (1, 100)];
        assert_eq!(dropped(&mut queue("rules=linux", Limit::Packets(4)), &steep), [0].map(OVERFLOW));
        assert_eq!(dropped(&mut queue("rules=rfc8290", Limit::Packets(4)), &steep), [0, 1].map(OVERFLOW));
        assert_eq!(dropped(&mut queue("rules=linux drop_batch=1", Limit::Packets(4)), &full), [0].map(OVERFLOW));
    }

    #[test]
    fn linux_overflow_can_also_drop_the_arrival() {
        // 40 of 1540 bytes are less than half: Linux also drops the arrival.
        let mut linux = queue("rules=linux", Limit::Packets(2));
        assert_eq!(dropped(&mut linux, &[(1, 40), (2, 100), (1, 1500)]), [2, 0].map(OVERFLOW));
        assert_eq!(linux.discipline().states[1].count(), 2, "both count for CoDel");
        let mut rfc = queue("rules=rfc8290", Limit::Packets(2));
        assert_eq!(dropped(&mut rfc, &[(1, 40), (2, 100), (1, 1500)]), [0].map(OVERFLOW));
        assert_eq!(rfc.discipline().states[1].count(), 0);
    }

    #[test]
    fn arrival_forming_the_longest_queue_is_dropped() {
        let mut queue = queue("", Limit::Packets(2));
        assert_eq!(dropped(&mut queue, &[(1, 100), (2, 100), (3, 101), (3, 100)]), [2, 0].map(OVERFLOW));
        assert_eq!(queue.discipline().flows.lengths(), (3, 0), "it is active nevertheless");
    }

    #[test]
    fn memory_limit_drops_count_as_early() {
        let mut queue = queue("memory_limit=1000b", Limit::Packets(100));
        assert_eq!(dropped(&mut queue, &[(1, 400), (1, 400), (2, 200)]), []);
        assert_eq!(dropped(&mut queue, &[(2, 1)]), [(0, Reason::Early)]);
        assert_eq!(dropped(&mut queue, &[(3, 1001)]), [(4, Reason::Early)], "it is the longest queue itself");
    }
}
