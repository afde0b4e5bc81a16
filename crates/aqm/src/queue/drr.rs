//! DRR: deficit round robin. Each flow has a FIFO, and all flows send equal bytes (Shreedhar and Varghese 1996).
//!
//! At its turn a flow may send a quantum of bytes. If its next packet is longer than the rest of the quantum, the flow
//! keeps the rest for its next turn. There is no AQM: a full buffer drops from the flow with most bytes.

use alloc::vec::Vec;

use crate::aqm::backlog::droptail::DropTail;
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset};
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::params::{Auto, Off};
use crate::base::port::{ListId, Port};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::buckets::{Buckets, Hash, Key};
use crate::parts::flow_queues::{Chain, Links, Tie, fattest};
use crate::{params, probes};

params! {
    /// Parameters of DRR.
    pub struct Params {
        /// Number of queues.
        buckets: u32 = 1024, in 1.0 ..= 65536.0, "n", "ours; ns-2.35: buckets_ 10";
        /// Bytes per turn; below the largest packet some turns send nothing.
        quantum: Bytes = Bytes(1500), in 64.0 ..= 1048576.0, "Quantum_i", "ours, an MTU; ns-2.35: quantum_ 250";
        /// Fields that identify a flow.
        key: Key = Key::Flow, in 0.0 ..= 1.0, "", "section 3: any packet classification";
        /// How a packet's queue is selected.
        hash: Hash = Hash::Exact, in 0.0 ..= 1.0, "", "section 3: exact, or hashed as in stochastic fair queueing";
        /// hash=salted: salt of the hash, which decides which flows collide; auto: drawn at the first packet.
        salt: Auto<u32> = Auto::Auto, in 0.0 ..= 4294967295.0, "", "ours";
        /// Largest number of packets in a queue; an arrival at a queue that holds this many is dropped, which counts as
        /// an early drop while the buffer has room.
        limit: Off<u32> = Off::Off, in 1.0 ..= 4294967295.0, "", "Linux sch_drr: the limit of a class's pfifo";
    }
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// Bytes that the flow may send before its next turn.
    deficit: u32,
    active: bool,
}

/// State of DRR.
pub struct Drr {
    buckets: Buckets,
    quantum: u32,
    /// Largest number of packets in a queue.
    limit: u32,
    flows: Vec<Flow>,
    links: Links,
    /// Flows with packets; the first has the turn.
    active: Chain,
    /// Whether the first flow has received its quantum for this turn.
    granted: bool,
}

impl Drr {
    /// Appends `list` to the round with deficit 0, unless it is active.
    #[inline]
    fn join(&mut self, list: ListId) {
        let flow = &mut self.flows[usize::from(list.0)];
        if !flow.active {
            *flow = Flow { deficit: 0, active: true };
            self.links.push(&mut self.active, list);
        }
    }

    /// Removes the empty `list` from the round.
    #[inline]
    fn leave(&mut self, list: ListId) {
        self.granted &= self.active.first() != Some(list);
        self.flows[usize::from(list.0)].active = false;
        self.links.remove(&mut self.active, list);
    }

    /// Drops the head of the longest queue. The length of `list` includes the arriving `packet`. Returns false if
    /// `packet` itself is dropped.
    #[inline(never)]
    fn relieve(&mut self, packet: Packet, list: ListId, port: &mut Port, cx: &mut Cx) -> bool {
        let fat = fattest(self.links.walk(self.active), port, (list, packet.len), Tie::First);
        if port.drop_head(fat, Reason::Overflow, &mut DropTail, cx).is_none() {
            port.admit(list, packet, Verdict::Accept, &mut DropTail, cx);
            self.leave(list);
            return false;
        }
        if fat != list && port.head(fat).is_none() {
            self.leave(fat);
        }
        true
    }
}

impl Design for Drr {
    type Params = Params;
    const ABOUT: About = About {
        summary: "deficit round robin: a FIFO per flow, equal bytes for each; overflow drops from the longest",
        source: "Shreedhar, Varghese: Efficient fair queueing using deficit round robin, IEEE/ACM ToN 4(3), 1996; \
                 ns-2.35",
        rule: "arrival:    queue = class(flow); idle: it becomes the last active one, DC = 0\n\
               \u{20}           buffer full: drop the head of the queue with most bytes, until it fits\n\
               departure:  DC of the first active queue += quantum, once per turn\n\
               \u{20}           head <= DC:  DC -= its length; send; queue empty: idle\n\
               \u{20}           else:  to the end of the active queues; again",
        deviations: &[
            "an overflow differs from the paper: it drops the head of the longest queue, as in ns-2; the paper drops \
             any of its packets",
            "among queues with equally many bytes an overflow drops from the one whose turn is next, as in ns-2",
            "an overflow drops before the arrival is queued; an arrival that is the only packet of the longest queue \
             is dropped itself",
            "the quantum differs from ns-2: a flow that an overflow empties during its turn gets a quantum when it is \
             next active; in ns-2 it does not",
            "preset=linux: as Linux 6.12 packet by packet if each flow is a class of its own, with tc's default queue of 1000 \
             packets; no random numbers are drawn",
            "preset=ns2 differs from ns-2: it hashes the source-destination pair, not the source address",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "ecn=off buckets=10 quantum=250b key=pair hash=ns2 hard_limit=25000b",
            source: "ns-2.35: buckets_ 10, quantum_ 250, blimit_ 25000, mask_ 0",
        },
        Preset {
            name: "linux",
            settings: "ecn=off buckets=1024 quantum=1514b key=flow hash=exact limit=1000 hard_limit=1024000p",
            source: "Linux drr on Ethernet: a class for each flow, quantum an MTU, queues of txqueuelen packets",
        },
    ];
    const ORDER: Order = Order::PerFlow;
    const COST: Cost = Cost::Heavy;

    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn build(params: &Params, _: &Link) -> Self {
        let count = params.buckets as usize;
        Self {
            buckets: Buckets::new(params.buckets, params.key, params.hash, params.salt),
            quantum: params.quantum.0 as u32,
            limit: if let Off::At(packets) = params.limit { packets } else { u32::MAX },
            flows: alloc::vec![Flow::default(); count],
            links: Links::new(count),
            active: Chain::EMPTY,
            granted: false,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (buckets, flows, links) = (fresh.buckets.after(&self.buckets)?, self.flows.clone(), self.links.clone());
        Some(Self { buckets, flows, links, active: self.active, granted: self.granted, ..fresh })
    }
}

impl Discipline for Drr {
    fn lists(&self) -> usize {
        self.buckets.count()
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let list = self.buckets.of(&packet, cx.rng);
        if port.level(list).pkts() >= self.limit {
            port.admit(list, packet, Verdict::Drop, &mut DropTail, cx);
            return;
        }
        self.join(list);
        while !port.fits(packet.len) {
            if !self.relieve(packet, list, port, cx) {
                return;
            }
        }
        let fate = port.admit(list, packet, Verdict::Accept, &mut DropTail, cx);
        // A threshold marker may have refused it.
        if matches!(fate, Fate::Dropped(_)) && port.head(list).is_none() {
            self.leave(list);
        }
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        loop {
            let list = self.active.first()?;
            let flow = &mut self.flows[usize::from(list.0)];
            if !self.granted {
                flow.deficit = flow.deficit.saturating_add(self.quantum);
                self.granted = true;
            }
            let len = port.head(list).map_or(0, |packet| packet.len);
            if len <= flow.deficit {
                flow.deficit -= len;
                let packet = port.pop_judged(list, &mut DropTail, cx);
                if port.head(list).is_none() {
                    self.leave(list);
                }
                return packet;
            }
            self.granted = false;
            self.links.pop(&mut self.active);
            self.links.push(&mut self.active, list);
        }
    }
}

probes! { Drr {
    /// Flows with packets.
    active ["1"] = |s| s.links.walk(s.active).count() as f64;
    /// Bytes that the flow at its turn may still send; 0 if there is none.
    deficit ["bytes"] signed = |s| s.active.first().map_or(0.0, |list| f64::from(s.flows[usize::from(list.0)].deficit));
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::params;

    fn queue(settings: &str, limit: Limit) -> Queue<Drr> {
        let params: Params = params(settings);
        let link = Link { rate: Rate(1_000_000), limit, mean_packet: Bytes(1000) };
        Queue::new(Drr::build(&params, &link), link, false, Rng::stream(1, "drr"))
    }

    /// Offers packets of these flows and lengths, numbered in order.
    fn offer(queue: &mut Queue<Drr>, packets: &[(u32, u32)]) {
        for &(flow, len) in packets {
            let slot = queue.port.tally().offered.pkts as u32;
            queue.arrive(Packet { slot, flow, len, ..Packet::default() }, Instant::ZERO);
        }
    }

    /// Flows of the next packets sent.
    fn flows(queue: &mut Queue<Drr>, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| queue.depart(Instant::ZERO)).map(|packet| packet.flow).collect()
    }

    fn dropped(queue: &mut Queue<Drr>) -> Vec<u32> {
        queue.port.discarded().drain(..).map(|(packet, _)| packet.slot).collect()
    }

    #[test]
    fn departure_order_matches_figure_2_of_the_paper() {
        // Figure 2 of the paper: quantum 500, queue 1 has 200, 750, 20: the first turn sends 200 and keeps 300, the
        // second has 800 and sends 750 and 20; queue 2 has 500 and 500.
        let mut queue = queue("quantum=500b", Limit::Packets(100));
        offer(&mut queue, &[(1, 200), (1, 750), (1, 20), (2, 500), (2, 500)]);
        assert_eq!(flows(&mut queue, 6), [1, 2, 1, 1, 2]);
    }

    #[test]
    fn idle_flow_loses_its_deficit() {
        let mut queue = queue("quantum=1000b", Limit::Packets(100));
        offer(&mut queue, &[(1, 100), (2, 1000)]);
        assert_eq!(flows(&mut queue, 1), [1]);
        offer(&mut queue, &[(1, 1500), (2, 1000)]);
        // With the remaining 900 bytes the packet of 1500 would be sent in the first turn.
        assert_eq!(flows(&mut queue, 3), [2, 2, 1]);
    }

    #[test]
    fn turn_lasts_until_its_bytes_are_spent() {
        let mut queue = queue("quantum=1000b", Limit::Packets(100));
        offer(&mut queue, &[(1, 500), (1, 500), (1, 500), (2, 1000), (2, 1000)]);
        assert_eq!(flows(&mut queue, 5), [1, 1, 2, 1, 2]);
    }

    #[test]
    fn full_buffer_drops_head_of_longest_queue() {
        let mut queue = queue("", Limit::Packets(4));
        offer(&mut queue, &[(1, 100), (2, 90), (2, 90), (1, 10), (3, 50)]);
        assert_eq!(dropped(&mut queue), [1], "180 bytes against 110");
        offer(&mut queue, &[(3, 70)]);
        assert_eq!(dropped(&mut queue), [4], "50 and 70 are the most");
        // Then 1 and 3 have 110 each: the one whose turn is next.
        offer(&mut queue, &[(3, 40)]);
        assert_eq!(dropped(&mut queue), [0]);
    }

    #[test]
    fn arrival_forming_the_longest_queue_is_dropped() {
        let mut queue = queue("", Limit::Packets(2));
        offer(&mut queue, &[(1, 100), (2, 100), (3, 101)]);
        assert_eq!(dropped(&mut queue), [2]);
        assert_eq!(flows(&mut queue, 3), [1, 2]);
    }

    #[test]
    fn full_queue_of_a_flow_drops_its_arrivals() {
        let mut queue = queue("limit=2", Limit::Packets(100));
        offer(&mut queue, &[(1, 100), (1, 100), (1, 100), (2, 100)]);
        assert_eq!(dropped(&mut queue), [2]);
        assert_eq!(flows(&mut queue, 4), [1, 1, 2]);
    }

    #[test]
    fn byte_buffer_may_drop_several_packets() {
        let mut queue = queue("", Limit::Bytes(1000));
        offer(&mut queue, &[(1, 300), (2, 350), (3, 350), (4, 340)]);
        assert_eq!(dropped(&mut queue), [1], "350 is the most, the first of two");
        offer(&mut queue, &[(1, 340)]);
        assert_eq!(dropped(&mut queue), [0, 2], "640 bytes of flow 1 first, then 350");
        assert_eq!(flows(&mut queue, 4), [1, 4]);
        offer(&mut queue, &[(1, 300), (2, 350), (1, 1000)]);
        assert_eq!(dropped(&mut queue), [5, 7], "and the arrival, when it alone is the most");
    }
}
