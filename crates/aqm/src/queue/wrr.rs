//! WRR: a queue per class, served round robin by weight, each with its own RED (MSVB paper, section 4.6).
//!
//! The paper compares MSVB with WRR. Separate queues enforce the shares: a class with a larger weight has less delay.
//! Turns are counted in bytes (deficit round robin) or in packets.

use alloc::string::String;
use alloc::vec::Vec;

use crate::aqm::backlog::red::{self, Red};
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Order, Preset, Probes};
use crate::base::discipline::{Aqm, Discipline};
use crate::base::packet::Packet;
use crate::base::params::{Auto, PerClass};
use crate::base::port::{ListId, Port};
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::round_robin::RoundRobin;
use crate::{choice, params, probes};

choice! {
    /// Unit of a turn.
    pub enum Turns {
        /// Bytes: a class may send quantum times its weight, and keeps the rest for its next turn.
        Drr = "drr",
        /// Packets: each costs one quantum.
        Wrr = "wrr",
    }
}

params! {
    /// Parameters of WRR.
    pub struct Params {
        /// Weight: one number, or one per class.
        weights: PerClass = PerClass::all(1.0), in 1e-3 ..= 1e3, "w_i", "Table 2 has 1 to 4";
        /// Number of classes; packets of class i go to queue i mod classes.
        classes: u32 = 10, in 1.0 ..= 32.0, "", "section 4.1";
        /// Buffer of each class, within the link's buffer.
        class_limit: Depth = Depth::Packets(10.0), in 1.0 ..= 1e9, "", "section 4.6";
        /// Unit of a turn.
        scheduler: Turns = Turns::Drr, in 0.0 ..= 1.0, "", "the same for packets of equal length, as in the paper";
        /// Bytes per turn for weight 1; auto: the scenario's packet size.
        quantum: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "", "ours: w_i packets of equal length";
        /// Average queue of a class below which its packets are not signalled.
        min_th: Depth = Depth::Packets(2.0), in 0.0 ..= 1e9, "min_th", "section 4.6";
        /// Average of a class at which the probability is max_p.
        max_th: Depth = Depth::Packets(8.0), in 0.0 ..= 1e9, "max_th", "section 4.6";
        /// Probability at max_th.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "section 4.6";
        /// Weight of a new queue sample in the average; auto: as ns-2 computes it for the full link rate.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_ = -1; not printed";
        /// Above max_th the probability rises to 1 at 2 max_th; off: it jumps to 1.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "ns-2.35 default; not printed";
        /// After a drop, at least 1/p packets pass before the next drop.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default; not printed";
    }
}

/// Computes how much a packet reduces the deficit of its class, in bytes: its length with `Turns::Drr`, `quantum` with
/// `Turns::Wrr`.
#[derive(Clone, Copy)]
struct Price {
    turns: Turns,
    /// Bytes per turn for weight 1.
    quantum: u64,
}

impl Price {
    const fn of(self, len: u32) -> u64 {
        match self.turns {
            Turns::Drr => len as u64,
            Turns::Wrr => self.quantum,
        }
    }
}

/// State of WRR.
pub struct Wrr {
    class_limit: Depth,
    price: Price,
    turns: RoundRobin,
    classes: Vec<Red>,
    /// Bit i: class i may be empty and its RED not yet notified.
    maybe_idle: u32,
    /// The class of the latest arrival.
    latest: usize,
}

/// RED's parameters for each class.
fn red(params: &Params) -> red::Params {
    let &Params { min_th, max_th, max_p, w_q, gentle, wait, .. } = params;
    let (min_th, max_th) = (Auto::Given(min_th), Auto::Given(max_th));
    red::Params { min_th, max_th, max_p, w_q, gentle, wait, ..red::Params::default() }
}

const fn list(class: usize) -> ListId {
    ListId(class as u16)
}

impl Wrr {
    fn class(&self, packet: &Packet) -> usize {
        usize::from(packet.class) % self.classes.len()
    }

    /// Called when the link is ready to send. Calls `emptied` of the RED of each empty class whose bit in
    /// `maybe_idle` is set, and clears all bits.
    fn note_idle(&mut self, port: &Port, cx: &mut Cx) {
        while self.maybe_idle != 0 {
            let class = self.maybe_idle.trailing_zeros() as usize;
            self.maybe_idle &= self.maybe_idle - 1;
            if port.is_empty(list(class)) {
                self.classes[class].emptied(cx);
            }
        }
    }
}

impl Design for Wrr {
    type Params = Params;
    const ABOUT: About = About {
        summary: "a queue per class, served round robin by weight, each with its own RED",
        source: "weighted round robin with RED for each class, as in section 4.6 of the MSVB paper; deficit round \
                 robin by Shreedhar and Varghese, SIGCOMM 1995; RED of ns-2.35",
        rule: "arrival of class i:  RED(min_th, max_th, max_p) on queue i;  drop if queue i holds class_limit\n\
               departure:           a class at its turn gets quantum w_i and sends while that covers its head\n\
               \u{20}                    (drr: its bytes, wrr: one quantum);  the rest is kept unless the class is empty\n\
               \u{20}                    classes without packets are skipped",
        deviations: &[
            "turns differ from the paper: they are counted in bytes by default; the result is the same for the paper's \
             packets of equal length",
            "quantum w_i is rounded to whole bytes, at least one",
            "the class buffers share the link's buffer: if it is smaller than classes x class_limit, an arrival can be \
             dropped although its class has room",
            "drops: a full class counts as early, a full link buffer as overflow",
            "RED's weight and idle time use the full link rate; a class is idle from the time at which the link could \
             send and the class is empty",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off classes=10 weights=1/2/3/4/1/2/3/4/2/3 class_limit=10 scheduler=drr min_th=2 max_th=8 \
                       max_p=0.1",
            source: "section 4.6 and Table 2; class i of the paper is i - 1 here",
        },
        Preset {
            name: "equal",
            settings: "ecn=off classes=10 weights=1 class_limit=10 min_th=2 max_th=8 max_p=0.1",
            source: "section 4.6 with one weight",
        },
    ];
    const ORDER: Order = Order::PerFlow;

    fn check(params: &Params) -> Result<(), String> {
        Red::check(&red(params))
    }

    fn build(params: &Params, link: &Link) -> Self {
        let quantum = params.quantum.or(link.mean_packet).0;
        let share = |class| libm::round(params.weights.of(class as u8) * quantum as f64) as u64;
        let red = red(params);
        Self {
            class_limit: params.class_limit,
            price: Price { turns: params.scheduler, quantum },
            turns: RoundRobin::new((0..params.classes).map(share)),
            classes: (0..params.classes).map(|_| Red::build(&red, link)).collect(),
            maybe_idle: 0,
            latest: 0,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let red = red(params);
        let classes: Option<Vec<Red>> = self.classes.iter().map(|class| class.retuned(&red, link)).collect();
        let mut turns = fresh.turns.clone().after(&self.turns);
        if fresh.price.turns == Turns::Wrr {
            // Here a deficit counts packets: convert it to the new packet cost.
            turns = turns.in_units(fresh.price.quantum, self.price.quantum);
        }
        let classes = classes?;
        let same = classes.len() == fresh.classes.len();
        let Self { maybe_idle, latest, .. } = *self;
        same.then_some(Self { turns, classes, maybe_idle, latest, ..fresh })
    }
}

impl Discipline for Wrr {
    fn lists(&self) -> usize {
        self.classes.len()
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let class = self.class(&packet);
        self.latest = class;
        let full = self.class_limit.is_passed(&port.level(list(class)), &packet);
        let red = &mut self.classes[class];
        let opinion = red.arrival(&packet, &port.level(list(class)), cx);
        let verdict = if full { Verdict::Drop } else { opinion };
        match port.admit(list(class), packet, verdict, red, cx) {
            Fate::Queued { .. } => self.turns.joined(class),
            fate => {
                if full && fate == Fate::Dropped(Reason::Early) {
                    // For the class's RED its class limit is a full buffer.
                    red.settled(&packet, Fate::Dropped(Reason::Overflow), cx);
                }
                // An arrival ends the idle time of its class, also one that does not get in.
                self.maybe_idle |= 1 << class;
            }
        }
    }

    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.note_idle(port, cx);
        let price = self.price;
        let (class, cost) = self.turns.pick(|class| port.head(list(class)).map_or(0, |head| price.of(head.len)))?;
        let packet = port.pop_judged(list(class), &mut self.classes[class], cx)?;
        let more = !port.is_empty(list(class));
        self.turns.sent(class, cost, more);
        self.maybe_idle |= u32::from(!more) << class;
        Some(packet)
    }
}

/// The internal variable (probe) `name` of the RED of the latest arrival's class.
fn of_red(wrr: &Wrr, name: &str) -> f64 {
    let index = Red::PROBES.iter().position(|probe| probe.name == name);
    index.map_or(f64::NAN, |index| wrr.classes[wrr.latest].probe(index))
}

probes! { Wrr {
    /// Base probability of the latest arrival's class.
    p ["1"] probability = |s| of_red(s, "p");
    /// Average queue of the latest arrival's class.
    avg ["packets|bytes"] = |s| of_red(s, "avg");
    /// The latest arrival's class.
    class ["1"] = |s| s.latest as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::{self, params, us as at};

    /// 10 Mb/s of 1000-byte packets: one takes 0.8 ms.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Wrr> {
        by_hand::queue(settings, LINK, false)
    }

    fn packet(class: u8, len: u32) -> Packet {
        Packet { len, class, ..Packet::default() }
    }

    /// The classes of all departures, in order.
    fn order(queue: &mut Queue<Wrr>) -> Vec<u8> {
        core::iter::from_fn(|| queue.depart(at(0))).map(|packet| packet.class).collect()
    }

    #[test]
    fn weights_are_packets_per_round() {
        let mut queue = queue("weights=1/2/3 classes=3");
        for class in [2, 1, 0] {
            (0..6).for_each(|_| queue.arrive(packet(class, 1000), at(0)));
        }
        assert_eq!(order(&mut queue), [0, 1, 1, 2, 2, 2, 0, 1, 1, 2, 2, 2, 0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn turns_count_bytes_or_packets() {
        let served = |scheduler: &str| {
            let mut queue = queue(&alloc::format!("classes=2 scheduler={scheduler}"));
            (0..4).for_each(|_| queue.arrive(packet(0, 500), at(0)));
            (0..4).for_each(|_| queue.arrive(packet(1, 1000), at(0)));
            order(&mut queue)
        };
        assert_eq!(served("drr"), [0, 0, 1, 0, 0, 1, 1, 1]);
        assert_eq!(served("wrr"), [0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn full_class_drops_only_its_own_packets() {
        let mut queue = queue("min_th=50 max_th=60");
        (0..12).for_each(|_| queue.arrive(packet(3, 1000), at(0)));
        (0..2).for_each(|_| queue.arrive(packet(13, 1000), at(0)));
        queue.arrive(packet(4, 1000), at(0));
        let tally = queue.port.tally();
        assert_eq!((tally.accepted.pkts, tally.dropped_early.pkts, tally.dropped_overflow.pkts), (11, 4, 0));
        assert_eq!((queue.port.level(ListId(3)).pkts(), queue.port.level(ListId(4)).pkts()), (10, 1));
        // In bytes: 2500 hold two packets of 1000.
        let mut queue = self::queue("class_limit=2500b min_th=50 max_th=60");
        (0..3).for_each(|_| queue.arrive(packet(0, 1000), at(0)));
        queue.arrive(packet(0, 500), at(0));
        assert_eq!((queue.port.pkts(), queue.port.bytes()), (3, 2500));
    }

    #[test]
    fn each_class_has_its_own_red() {
        let mut queue = queue("w_q=1 min_th=2 max_th=8 wait=off max_p=1 gentle=off");
        let avg = |queue: &Queue<Wrr>| of_red(queue.discipline(), "avg");
        // The average is the queue at an arrival: 0, 1, 2, ...; the first at 2 or more starts the count and is
        // accepted.
        (0..3).for_each(|_| queue.arrive(packet(0, 1000), at(0)));
        assert_eq!((avg(&queue), queue.port.pkts()), (2.0, 3));
        queue.arrive(packet(1, 1000), at(0));
        assert_eq!((avg(&queue), queue.port.pkts()), (0.0, 4));
        // Class 0 has 3 packets: p_b = 1/6, p_a = 1/6/(1 - 2/6) and so on, certain by the sixth at the latest.
        (0..5).for_each(|_| queue.arrive(packet(0, 1000), at(0)));
        assert!(queue.port.tally().dropped_early.pkts > 0);
    }

    #[test]
    fn class_is_idle_once_dequeue_finds_it_empty() {
        let mut queue = queue("w_q=0.5 min_th=50 max_th=60");
        let avg = |queue: &Queue<Wrr>| of_red(queue.discipline(), "avg");
        (0..3).for_each(|_| queue.arrive(packet(0, 1000), at(0)));
        assert_eq!(avg(&queue), 0.5 * 0.5 + 0.5 * 2.0);
        (0..8).for_each(|_| queue.arrive(packet(1, 1000), at(0)));
        // Class 0 sends at 0, 1.6 and 3.2 ms; it is idle from the dequeue at 4 ms: two packet times until 5.6 ms.
        let sent: Vec<u8> = (0..7).filter_map(|n| queue.depart(at(800 * n))).map(|packet| packet.class).collect();
        assert_eq!(sent, [0, 1, 0, 1, 0, 1, 1]);
        queue.arrive(packet(0, 1000), at(5600));
        assert_eq!(avg(&queue), 1.25 * 0.5 * 0.5 * 0.5);
    }

    #[test]
    fn thirty_two_classes_get_their_weights() {
        let weights: Vec<_> = (0..32).map(|i| alloc::format!("{}", 1 + i % 4)).collect();
        let mut queue = queue(&alloc::format!("classes=32 min_th=50 max_th=60 weights={}", weights.join("/")));
        let mut sent = [0; 32];
        for n in 0..8000 {
            while let Some(class) = (0..32).find(|&class| queue.port.level(ListId(class)).pkts() < 3) {
                queue.arrive(packet(class as u8, 1000), at(n));
            }
            sent[usize::from(queue.depart(at(n)).unwrap().class)] += 1;
        }
        for (class, sent) in sent.into_iter().enumerate() {
            assert_eq!(sent, 100 * (1 + class % 4), "class {class}");
        }
    }

    #[test]
    fn contradictory_parameters_are_rejected() {
        let refused = |settings| Wrr::check(&params(settings)).is_err();
        let mut weights = Params::default();
        let mut of = |value| weights.set("weights", value).is_some_and(|set| set.is_err());
        assert!(of("1/0") && of("1/2000") && !of("1/1000"));
        assert!(
            refused("min_th=8 max_th=2") && refused("min_th=2kb") && !refused("min_th=2kb max_th=8kb weights=0.5/1")
        );
    }
}
