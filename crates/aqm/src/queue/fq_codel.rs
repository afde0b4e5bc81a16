//! FQ-CoDel: a queue for each flow, served in turn, each under CoDel (RFC 8290).
//!
//! Flows that build no queue are served before those that do, so that sparse traffic hardly waits; CoDel then acts on
//! the flows that keep a standing queue, and on no other. A full buffer takes from the flow that fills it most.

use alloc::vec::Vec;

use crate::aqm::backlog::droptail::DropTail;
use crate::aqm::delay::codel::{self, CE_THRESHOLD, Emptied, InverseSqrt, Rule, State, TIMES};
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset};
use crate::base::ladder::Discipline;
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
    /// Where the RFC and Linux differ.
    pub enum Rules {
        /// An overflow takes half of the packets; an emptied new queue always joins the old ones.
        Rfc = "rfc8290",
        /// An overflow takes half of the bytes and raises CoDel's count; an emptied new queue joins the old ones if
        /// there are any; a queue found empty remembers since when its delay was above target.
        Linux = "linux",
    }
}

params! {
    /// Parameters of FQ-CoDel.
    pub struct Params {
        /// Acceptable standing delay of a flow.
        target: Span = Span::from_millis(5), in 1e-9 ..= 1e3, "TARGET", "RFC 8290 section 5.2.2";
        /// Time within which a flow's delay must once have been below target: a long round trip.
        interval: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "INTERVAL", "RFC 8290 section 5.2.1";
        /// Queues that flows are hashed to.
        flows: u32 = 1024, in 1.0 ..= 65536.0, "flows", "RFC 8290 section 5.2.5";
        /// Bytes that a queue may send in a round.
        quantum: Bytes = Bytes(1514), in 256.0 ..= 1048576.0, "quantum", "RFC 8290 section 5.2.4; Linux takes no less than 256";
        /// Sojourn time above which ECT packets are marked, regardless of CoDel and `ecn`.
        ce_threshold: Off<Span> = Off::Off, in 0.0 ..= 1e3, "ce_threshold", "RFC 8290 section 5.2.7";
        /// Largest number of packets dropped by one overflow.
        drop_batch: u32 = 64, in 1.0 ..= 65535.0, "drop_batch", "RFC 8290 section 4.1";
        /// Largest backlog in bytes, in addition to the buffer's limit.
        memory_limit: Off<Bytes> = Off::Off, in 1.0 ..= 1e12, "memory_limit", "Linux";
        /// No drop while no more than this waits in all queues; auto is the largest packet seen.
        mtu: Auto<Bytes> = Auto::Auto, in 0.0 ..= 1e9, "maxpacket", "RFC 8289 section 5.6";
        /// The square root of CoDel's control law.
        inv_sqrt: InverseSqrt = InverseSqrt::Exact, in 0.0 ..= 1.0, "", "RFC 8289 section 5.6; Linux";
        /// Where the RFC and Linux differ.
        rules: Rules = Rules::Rfc, in 0.0 ..= 1.0, "", "RFC 8290 sections 4.1 and 4.2, RFC 8289 section 5.6; Linux";
        /// What is hashed.
        key: Key = Key::Flow, in 0.0 ..= 1.0, "", "RFC 8290 section 4.1: the 5-tuple";
        /// How a flow finds its queue.
        hash: Hash = Hash::Salted, in 0.0 ..= 1.0, "", "RFC 8290 section 4.1";
        /// Salt of the hash; auto is drawn at random at the first packet.
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
    /// No room for `len` more bytes?
    #[inline]
    fn is_over(&self, port: &Port, len: u32) -> bool {
        !port.fits(len) || port.bytes() + u64::from(len) > self.memory_limit
    }

    /// Drops from the head of the fattest queue, `packet` for `list` counted as its last; false if it is among them.
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
        // The buffer may have room where the memory limit has none: then it is a choice.
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
        summary: "flow queueing with CoDel: flows take turns, sparse ones first, each under CoDel",
        source: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: RFC 8290; Linux sch_fq_codel",
        rule: "arrival:    queue = hash(flow); idle: it becomes the last new queue, credit = quantum\n\
               \u{20}           buffer full: half of the packets of the queue with most bytes, at most drop_batch, from its head\n\
               departure:  first new queue, else first old one\n\
               \u{20}           credit <= 0:  credit += quantum; to the end of the old queues; again\n\
               \u{20}           CoDel (see codel) on it gives a packet:  credit -= its length; send\n\
               \u{20}           nothing left:  new: to the end of the old queues; old: idle; again",
        deviations: &[
            "room is made before the arrival is queued instead of after, from the same queue and by the same packets",
            "the hash is a finaliser of SplitMix64 instead of Jenkins', scaled as in Linux instead of modulo flows",
            "target stays as given on slow links: section 5.2.2 advises at least the time of an MTU, 12 ms at 1 Mb/s",
            "credit of 0 ends a turn, as in Linux and section 3; section 4.2 says negative",
            "of queues with equally many bytes the lowest number pays, as in Linux",
            "a buffer in bytes may need several overflows for one arrival; the RFC's limit is in packets",
            "memory_limit counts lengths on the wire, where Linux counts what its buffers take; what it drops while \
             the buffer has room counts as early; one overflow for an arrival, as in Linux",
            "ce_threshold marks whatever the traffic class",
            "preset=linux: CoDel without Linux's clock of 1.024 us; see codel",
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
                       memory_limit=33554432b mtu=1514b inv_sqrt=newton rules=linux key=flow hash=salted hard_limit=10240p",
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
                ("ce_threshold_selector", Tail::Refused("ce_threshold is for every ECN-capable packet here")),
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
        let emptied = if params.rules == Rules::Linux { Emptied::Remembers } else { Emptied::Forgets };
        let flows = params.flows as usize;
        Self {
            buckets: Buckets::new(params.flows, params.key, params.hash, params.salt),
            flows: FlowQueues::new(flows, params.quantum.0 as i32, params.rules == Rules::Rfc),
            codel: Rule::new(codel::Params { target, interval, mtu, inv_sqrt, ce_threshold }, emptied),
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
    /// Queues in the list of new ones.
    new ["1"] = |s| s.flows.lengths().0 as f64;
    /// Queues in the list of old ones, the empty ones among them included.
    old ["1"] = |s| s.flows.lengths().1 as f64;
    /// Time the last judged packet had waited.
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

    /// Offers packets of these flows and lengths, numbered as they come; what that cost, and why.
    fn dropped(queue: &mut Queue<FqCodel>, packets: &[(u32, u32)]) -> Vec<(u32, Reason)> {
        for &(flow, len) in packets {
            let slot = queue.port.tally().offered.pkts as u32;
            queue.arrive(Packet { slot, flow, len, ..Packet::default() }, Instant::ZERO);
        }
        queue.port.discarded().drain(..).map(|(packet, reason)| (packet.slot, reason)).collect()
    }

    const OVERFLOW: fn(u32) -> (u32, Reason) = |slot| (slot, Reason::Overflow);

    #[test]
    fn linux_drops_half_of_the_bytes_and_the_rfc_half_of_the_packets() {
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
    fn a_long_arrival_goes_with_the_short_packets_before_it() {
        // 40 of 1540 bytes are less than half: Linux drops on, up to the arrival.
        let mut linux = queue("rules=linux", Limit::Packets(2));
        assert_eq!(dropped(&mut linux, &[(1, 40), (2, 100), (1, 1500)]), [2, 0].map(OVERFLOW));
        assert_eq!(linux.discipline().states[1].count(), 2, "both count for CoDel");
        let mut rfc = queue("rules=rfc8290", Limit::Packets(2));
        assert_eq!(dropped(&mut rfc, &[(1, 40), (2, 100), (1, 1500)]), [0].map(OVERFLOW));
        assert_eq!(rfc.discipline().states[1].count(), 0);
    }

    #[test]
    fn an_arrival_that_alone_is_the_fattest_queue_is_dropped() {
        let mut queue = queue("", Limit::Packets(2));
        assert_eq!(dropped(&mut queue, &[(1, 100), (2, 100), (3, 101), (3, 100)]), [2, 0].map(OVERFLOW));
        assert_eq!(queue.discipline().flows.lengths(), (3, 0), "it has become active all the same");
    }

    #[test]
    fn an_emptied_queue_of_linux_remembers_since_when_it_was_above_target() {
        let ms = |t: u64| Instant::from_nanos(t * 1_000_000);
        let drops_the_first = |rules: &str| {
            // Flow 1 has one packet, which is above target at 10 ms with the others behind it, and then none.
            let mut queue = queue(&alloc::format!("{rules} quantum=1000b"), Limit::Packets(100));
            dropped(&mut queue, &[(1, 1000), (2, 1000), (2, 1000), (2, 1000), (2, 1000), (2, 1000), (2, 1000)]);
            (0..4).for_each(|_| assert!(queue.depart(ms(10)).is_some()));
            queue.arrive(Packet { flow: 1, slot: 99, len: 1000, ..Packet::default() }, ms(200));
            queue.arrive(Packet { flow: 1, slot: 100, len: 1000, ..Packet::default() }, ms(200));
            (0..2).for_each(|_| assert!(queue.depart(ms(206)).is_some()));
            queue.port.discarded().iter().any(|(packet, _)| packet.slot == 99)
        };
        assert!(!drops_the_first("rules=rfc8290"), "its interval begins at 206 ms");
        assert!(drops_the_first("rules=linux"), "it began at 10 ms");
    }

    #[test]
    fn what_the_memory_limit_drops_while_there_is_room_is_early() {
        let mut queue = queue("memory_limit=1000b", Limit::Packets(100));
        assert_eq!(dropped(&mut queue, &[(1, 400), (1, 400), (2, 200)]), []);
        assert_eq!(dropped(&mut queue, &[(2, 1)]), [(0, Reason::Early)]);
        assert_eq!(dropped(&mut queue, &[(3, 1001)]), [(4, Reason::Early)], "it is the fattest itself");
    }
}
