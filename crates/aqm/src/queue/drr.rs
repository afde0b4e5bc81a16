//! DRR: deficit round robin, a FIFO for each flow and equal bytes for all (Shreedhar and Varghese 1996).
//!
//! A flow's turn gives it a quantum of bytes; what it cannot use because its next packet is longer it keeps for the
//! next turn. No AQM: a full buffer takes from the flow that has most in it.

use alloc::vec::Vec;

use crate::aqm::backlog::droptail::DropTail;
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset};
use crate::base::ladder::Discipline;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{ListId, Port};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::buckets::{Buckets, Hash, Key};
use crate::parts::flow_queues::{Chain, Links, Tie, fattest};
use crate::{params, probes};

params! {
    /// Parameters of DRR.
    pub struct Params {
        /// Queues that flows are given to.
        buckets: u32 = 1024, in 1.0 ..= 65536.0, "n", "ours; ns-2.35: buckets_ 10";
        /// Bytes that a turn is worth; below the longest packet some turns pass without one.
        quantum: Bytes = Bytes(1500), in 64.0 ..= 1048576.0, "Quantum_i", "ours, an MTU; ns-2.35: quantum_ 250";
        /// Whose packets are one flow.
        key: Key = Key::Flow, in 0.0 ..= 1.0, "", "section 3: any packet classification";
        /// How a flow finds its queue.
        hash: Hash = Hash::Exact, in 0.0 ..= 1.0, "", "section 3: exact, or hashed as in stochastic fair queueing";
        /// Which flows collide, if they are hashed with salt; auto is drawn at the first packet.
        salt: Auto<u32> = Auto::Auto, in 0.0 ..= 4294967295.0, "", "ours";
    }
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// Bytes it may send before its next turn.
    deficit: u32,
    active: bool,
}

/// State of DRR.
pub struct Drr {
    buckets: Buckets,
    quantum: u32,
    flows: Vec<Flow>,
    links: Links,
    /// Flows with packets; the first one's turn it is.
    active: Chain,
    /// The first one has got its quantum for this turn.
    granted: bool,
}

impl Drr {
    /// `list` has a packet: if it had none it becomes the last one in the round, without a claim.
    #[inline]
    fn join(&mut self, list: ListId) {
        let flow = &mut self.flows[usize::from(list.0)];
        if !flow.active {
            *flow = Flow { deficit: 0, active: true };
            self.links.push(&mut self.active, list);
        }
    }

    /// `list` has nothing left.
    #[inline]
    fn leave(&mut self, list: ListId) {
        self.granted &= self.active.first() != Some(list);
        self.flows[usize::from(list.0)].active = false;
        self.links.remove(&mut self.active, list);
    }

    /// Drops the head of the fattest flow, `packet` for `list` counted as its last; false if that is the one.
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
        summary: "deficit round robin: a FIFO for each flow, as many bytes for each; drops from the longest",
        source: "Shreedhar, Varghese: Efficient fair queueing using deficit round robin, IEEE/ACM ToN 4(3), 1996; ns-2.35",
        rule: "arrival:    queue = class(flow); idle: it becomes the last active one, DC = 0\n\
               \u{20}           buffer full: drop the head of the queue with most bytes, until it fits\n\
               departure:  DC of the first active queue += quantum, once a turn\n\
               \u{20}           head <= DC:  DC -= its length; send; nothing left: idle\n\
               \u{20}           else:  to the end of the active queues; again",
        deviations: &[
            "the paper takes any packet of the longest queue; its head, as in ns-2",
            "of queues with equally many bytes the one whose turn is next pays, as in ns-2",
            "room is made before the arrival is queued; one that is the only packet of the longest queue is dropped itself",
            "ns-2 withholds the quantum of a flow that an overflow emptied during its turn when it is next active: not here",
            "preset=ns2 hashes the source-destination pair in place of the source address",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "ns2",
        settings: "ecn=off buckets=10 quantum=250b key=pair hash=ns2 hard_limit=25000b",
        source: "ns-2.35: buckets_ 10, quantum_ 250, blimit_ 25000, mask_ 0",
    }];
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
            flows: alloc::vec![Flow::default(); count],
            links: Links::new(count),
            active: Chain::EMPTY,
            granted: false,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (buckets, flows, links) = (fresh.buckets.after(&self.buckets)?, self.flows.clone(), self.links.clone());
        Some(Self { buckets, flows, links, active: self.active, granted: self.granted, quantum: fresh.quantum })
    }
}

impl Discipline for Drr {
    fn lists(&self) -> usize {
        self.buckets.count()
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let list = self.buckets.of(&packet, cx.rng);
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
    /// What the flow whose turn it is may still send; 0 without one.
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

    /// Offers packets of these flows and lengths, numbered as they come.
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
    fn example_of_the_paper() {
        // Figure 2 of the paper: quantum 500, queue 1 has 200, 750, 20: the first turn sends 200 and keeps 300, the
        // second has 800 and sends 750 and 20; queue 2 has 500 and 500.
        let mut queue = queue("quantum=500b", Limit::Packets(100));
        offer(&mut queue, &[(1, 200), (1, 750), (1, 20), (2, 500), (2, 500)]);
        assert_eq!(flows(&mut queue, 6), [1, 2, 1, 1, 2]);
    }

    #[test]
    fn a_flow_that_had_nothing_to_send_keeps_no_claim() {
        let mut queue = queue("quantum=1000b", Limit::Packets(100));
        offer(&mut queue, &[(1, 100), (2, 1000)]);
        assert_eq!(flows(&mut queue, 1), [1]);
        offer(&mut queue, &[(1, 1500), (2, 1000)]);
        // With the 900 left over 1500 would pass in the first turn.
        assert_eq!(flows(&mut queue, 3), [2, 2, 1]);
    }

    #[test]
    fn a_turn_goes_on_until_its_bytes_are_spent() {
        let mut queue = queue("quantum=1000b", Limit::Packets(100));
        offer(&mut queue, &[(1, 500), (1, 500), (1, 500), (2, 1000), (2, 1000)]);
        assert_eq!(flows(&mut queue, 5), [1, 1, 2, 1, 2]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_head_of_the_longest_queue() {
        let mut queue = queue("", Limit::Packets(4));
        offer(&mut queue, &[(1, 100), (2, 90), (2, 90), (1, 10), (3, 50)]);
        assert_eq!(dropped(&mut queue), [1], "180 bytes against 110");
        offer(&mut queue, &[(3, 70)]);
        assert_eq!(dropped(&mut queue), [4], "50 and 70 are the most");
        // 1 and 3 have 110 each then: of equals the one whose turn is next.
        offer(&mut queue, &[(3, 40)]);
        assert_eq!(dropped(&mut queue), [0]);
    }

    #[test]
    fn an_arrival_that_alone_is_the_longest_queue_is_dropped() {
        let mut queue = queue("", Limit::Packets(2));
        offer(&mut queue, &[(1, 100), (2, 100), (3, 101)]);
        assert_eq!(dropped(&mut queue), [2]);
        assert_eq!(flows(&mut queue, 3), [1, 2]);
    }

    #[test]
    fn room_in_bytes_may_take_several_packets_and_whole_queues() {
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
