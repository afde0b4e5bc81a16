//! MSVB: one virtual buffer for the link, one threshold per class (multi-class SVB, section 3.2 of the MSVB paper).
//!
//! Q_v fills with the traffic and drains at the link rate C. The threshold B_i of class i rises at alpha_i phi_i C and
//! falls by alpha_i times the traffic of the class. In equilibrium every signalled class therefore sends its share
//! phi_i C, at any RTT. Between the bounds of B_i, Q_v plus the sum of B_i/alpha_i is constant if the shares sum to 1.
//! The equilibrium then depends on the initial and the largest B_i; both are parameters.

use alloc::string::String;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset, Share, Shares};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::{Auto, MAX_CLASSES, PerClass};
use crate::base::port::Level;
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::depths::{Depths, Given};
use crate::parts::virtual_buffer::{Bounds, Odds, RateBasis, Threshold, VirtualBuffer};
use crate::{params, probes};

params! {
    /// Parameters of MSVB.
    pub struct Params {
        /// Gain of a threshold: dB_i/dt = alpha_i (phi_i C - rate of class i); one number, or one per class.
        alpha: PerClass = PerClass::all(0.5), in 0.0 ..= 100.0, "alpha_i", "ours: Lemma 3.1 bounds it, no number is printed";
        /// Largest threshold: one for all classes, or one per class; its unit is that of Q_v; auto: half the buffer.
        b_cap: Auto<Depths> = Auto::Auto, in 0.0 ..= 1e9, "", "ours: the paper leaves B unbounded";
        /// Initial threshold; auto: b_cap.
        b_init: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "B_v(0)", "ours: not in the paper";
        /// Smallest threshold; auto: a tenth of b_cap.
        b_floor: Auto<Depth> = Auto::Given(Depth::Packets(0.0)), in 0.0 ..= 1e9, "", "eq. (2) has 0";
        /// Share of the link: one number, or one per class. The shares of the classes in use should sum to 1.
        phi: PerClass = PerClass::all(0.1), in 0.0 ..= 1.0, "phi_i", "section 4: ten classes of 0.1";
        /// Which packets count in Q_v and B.
        rate_basis: RateBasis = RateBasis::Accepted, in 0.0 ..= 1.0, "", "ours: with drops, offered starves every class";
    }
}

/// State of MSVB.
pub struct Msvb {
    rate_basis: RateBasis,
    buffer: VirtualBuffer,
    classes: [Threshold; MAX_CLASSES],
    latest: usize,
    odds: Odds,
}

/// Index of the packet's class, modulo [`MAX_CLASSES`].
fn slot(packet: &Packet) -> usize {
    usize::from(packet.class) % MAX_CLASSES
}

fn bounds(params: &Params) -> Bounds<'_> {
    Bounds { cap: params.b_cap.given(), init: params.b_init, floor: params.b_floor, target: Auto::Auto }
}

impl Msvb {
    const fn threshold(&self, class: usize) -> f64 {
        self.classes[class].value()
    }
}

impl Design for Msvb {
    type Params = Params;
    const ABOUT: About = About {
        summary: "virtual buffer with a threshold per class: weighted shares from one FIFO",
        source: "multi-class stabilized virtual buffer (MSVB), eq. (2), after SVB",
        rule: "arrival of class i:  Q_v = max(0, Q_v - C dt) + size\n\
               \u{20}                    B_i = max(b_floor, min(b_cap, B_i + alpha_i phi_i C dt_i) - alpha_i size)\n\
               \u{20}                    p = max(0, (Q_v - B_i)/Q_v);  if u < p: mark or drop\n\
               \u{20}                    on a drop (rate_basis=accepted): size is taken back from Q_v and B_i",
        deviations: &[
            "integration differs from the paper: the differential equations are integrated exactly for impulse \
             arrivals; the paper updates from 'the current rate'",
            "b_cap, b_init and b_floor are ours: the paper gives neither an initial value nor bounds; Q_v + sum \
             B_i/alpha_i is constant between them",
            "b_cap is ours: half the buffer for every class by default, not scaled by phi; it may exceed the buffer",
            "rate_basis differs from the paper: accepted by default; with drops the literal rule (offered) drives \
             offered, not accepted, traffic to phi C",
            "the number of classes is limited: class i uses the threshold of class i mod 32",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off alpha=0.5 b_cap=auto b_init=auto b_floor=0 phi=0.1 rate_basis=accepted",
            source: "section 4, ten equal classes; alpha and the bounds are ours",
        },
        Preset {
            name: "weighted",
            settings: "ecn=off phi=0.04/0.08/0.12/0.16/0.04/0.08/0.12/0.16/0.08/0.12",
            source: "section 4, Table 2: ten classes in four weights",
        },
        Preset {
            name: "literal",
            settings: "b_floor=0 rate_basis=offered",
            source: "eq. (2) as printed, for ECN-capable senders",
        },
        Preset { name: "robust", settings: "b_floor=auto", source: "ours: no class is ever marked completely" },
    ];

    fn check(params: &Params) -> Result<(), String> {
        bounds(params).check()
    }

    fn build(params: &Params, link: &Link) -> Self {
        let bounds = bounds(params);
        let buffer = VirtualBuffer::new(bounds.unit(link), link);
        let classes = core::array::from_fn(|i| {
            let (alpha, phi) = (params.alpha.of(i as u8), params.phi.of(i as u8));
            Threshold::new(alpha, phi, buffer.capacity(), bounds.of(i, link))
        });
        Self { rate_basis: params.rate_basis, buffer, classes, latest: 0, odds: Odds::default() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let classes = core::array::from_fn(|i| fresh.classes[i].after(&self.classes[i]));
        Some(Self { buffer: fresh.buffer.after(&self.buffer)?, classes, latest: self.latest, odds: self.odds, ..fresh })
    }

    fn shares(params: &Params, link: &Link) -> Option<Shares> {
        let bounds = bounds(params);
        let pkts = |b: f64| match bounds.unit(link) {
            Depth::Packets(_) => b,
            Depth::Bytes(_) => b / link.mean_packet.0 as f64,
        };
        let share = |class: usize| {
            let range = bounds.of(class, link);
            let (phi, alpha) = (params.phi.of(class as u8), params.alpha.of(class as u8));
            Share { phi, alpha, threshold_pkts: pkts(range.init), bounds_pkts: [range.floor, range.cap].map(pkts) }
        };
        Some(Shares { of: (0..MAX_CLASSES).map(share).collect(), offered: params.rate_basis == RateBasis::Offered })
    }
}

impl Aqm for Msvb {
    #[inline]
    fn arrival(&mut self, packet: &Packet, _: &Level, cx: &mut Cx) -> Verdict {
        self.latest = slot(packet);
        self.odds = self.buffer.arrival(&mut self.classes[self.latest], packet, cx.now);
        if self.odds.signal(cx.rng.uniform()) { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        if self.rate_basis.counts(fate) {
            self.buffer.count(&mut self.classes[slot(packet)], packet);
        }
    }
}

probes! { Msvb {
    /// Signal probability of the latest arrival.
    p ["1"] probability = |s| s.odds.p();
    /// Virtual queue after the latest arrival.
    qv ["packets|bytes"] = |s| s.buffer.value();
    /// Threshold of the latest arrival's class.
    bv ["packets|bytes"] = |s| s.threshold(s.latest);
    /// Threshold of class 0 at its latest arrival.
    bv_0 ["packets|bytes"] = |s| s.threshold(0);
    /// Threshold of class 1 at its latest arrival.
    bv_1 ["packets|bytes"] = |s| s.threshold(1);
    /// Threshold of class 2 at its latest arrival.
    bv_2 ["packets|bytes"] = |s| s.threshold(2);
    /// Threshold of class 3 at its latest arrival.
    bv_3 ["packets|bytes"] = |s| s.threshold(3);
    /// Threshold of class 4 at its latest arrival.
    bv_4 ["packets|bytes"] = |s| s.threshold(4);
    /// Threshold of class 5 at its latest arrival.
    bv_5 ["packets|bytes"] = |s| s.threshold(5);
    /// Threshold of class 6 at its latest arrival.
    bv_6 ["packets|bytes"] = |s| s.threshold(6);
    /// Threshold of class 7 at its latest arrival.
    bv_7 ["packets|bytes"] = |s| s.threshold(7);
    /// Threshold of class 8 at its latest arrival.
    bv_8 ["packets|bytes"] = |s| s.threshold(8);
    /// Threshold of class 9 at its latest arrival.
    bv_9 ["packets|bytes"] = |s| s.threshold(9);
} }

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::time::{Instant, Span};
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand;

    /// 10 Mb/s of 1000-byte packets: C = 1250 packets a second, a buffer of 100.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Msvb>> {
        by_hand::fifo(settings, LINK, false)
    }

    fn packet(class: u8) -> Packet {
        Packet { len: 1000, class, ..Packet::default() }
    }

    fn msvb(queue: &Queue<Fifo<Msvb>>) -> &Msvb {
        queue.discipline().aqm()
    }

    /// Offers Poisson traffic of `rates[i]` packets per second in class i for `secs` seconds. Returns the number of
    /// delivered packets of each class.
    fn poisson(queue: &mut Queue<Fifo<Msvb>>, rates: &[f64], secs: f64) -> Vec<u64> {
        let mut rng = Rng::stream(2, "traffic");
        let total: f64 = rates.iter().sum();
        let service = LINK.rate.time_for(1000);
        let mut delivered = alloc::vec![0; rates.len()];
        let (mut arrives, mut departs) = (Instant::ZERO, Instant::ZERO + service);
        while arrives.secs() < secs {
            if departs <= arrives {
                if let Some(packet) = queue.depart(departs) {
                    delivered[usize::from(packet.class)] += 1;
                }
                departs += service;
                continue;
            }
            let mut pick = rng.uniform() * total;
            let class = rates.iter().position(|rate| {
                pick -= rate;
                pick < 0.0
            });
            queue.arrive(packet(class.unwrap_or(0) as u8), arrives);
            queue.port.discarded().clear();
            arrives += Span::from_secs(rng.exponential(1.0 / total));
        }
        delivered
    }

    #[test]
    fn ten_equal_classes_share_equally_at_double_load() {
        let mut queue = queue("alpha=0.5 b_cap=50 phi=0.1");
        let delivered = poisson(&mut queue, &[250.0; 10], 200.0);
        for (class, n) in delivered.iter().enumerate() {
            let share = *n as f64 / (0.1 * 1250.0 * 200.0);
            assert!((0.98..=1.001).contains(&share), "class {class} has {share} of its share");
        }
    }

    /// The specification of this project (section A.6; it is not in this repository) says that with a b_cap of 5
    /// packets a class sends 0.88 to 0.89 of its share of the link. We do not reproduce that: here a b_cap of 5 packets
    /// costs less than 2 %, and one of 2 about 10 %.
    #[test]
    fn small_b_cap_costs_throughput() {
        for (cap, shares) in [("2", 0.88..=0.92), ("5", 0.98..=1.001)] {
            let mut queue = queue(&alloc::format!("alpha=0.5 b_cap={cap} phi=0.1"));
            for n in poisson(&mut queue, &[250.0; 10], 200.0) {
                let share = n as f64 / (0.1 * 1250.0 * 200.0);
                assert!(shares.contains(&share), "{cap}: {share}");
            }
        }
    }

    #[test]
    fn counting_dropped_packets_starves_every_class() {
        let mut queue = queue("alpha=0.5 b_cap=50 phi=0.1 rate_basis=offered");
        let delivered = poisson(&mut queue, &[250.0; 10], 200.0);
        assert!(msvb(&queue).buffer.value() > 120_000.0, "Q_v is {}", msvb(&queue).buffer.value());
        assert!(delivered.iter().sum::<u64>() < 2_500, "{delivered:?} of 25000 each");
    }

    #[test]
    fn weighted_sum_is_constant_between_bounds() {
        let mut queue = queue("alpha=0.5 b_cap=1000 b_init=40 phi=1");
        let mut now = Instant::ZERO;
        // 80 back to back, then 20 more at half the link's rate: Q_v stays above 0, B between its bounds.
        for n in 0..100 {
            now += if n < 80 { Span::ZERO } else { Span::from_millis(1) };
            queue.arrive(packet(0), now);
            let m = msvb(&queue);
            let q_v = m.buffer.value();
            assert!(q_v > 0.0 && m.threshold(0) > 0.0);
            let invariant = m.threshold(0) + 0.5 * q_v;
            assert!((invariant - 40.0).abs() < 1e-9, "packet {n}: {invariant}");
        }
    }

    #[test]
    fn dropped_packet_does_not_change_virtual_buffer() {
        let mut queue = queue("alpha=1.5 b_cap=2.5 phi=0");
        let state = |queue: &Queue<_>| (msvb(queue).buffer.value(), msvb(queue).threshold(0), msvb(queue).odds.p());
        // The first leaves Q_v 1, B 1; the second would make them 2 and 0, so p = (2 - 0)/2.
        queue.arrive(packet(0), Instant::ZERO);
        assert_eq!(state(&queue), (1.0, 1.0, 0.0));
        queue.arrive(packet(0), Instant::ZERO);
        assert_eq!(state(&queue), (1.0, 1.0, 1.0));
        assert_eq!(queue.port.discarded().len(), 1);
    }

    #[test]
    fn each_class_has_own_alpha_phi_and_cap() {
        let mut queue = queue("alpha=0.5/2 phi=0.4/0.1 b_cap=20p/10p b_init=4p b_floor=auto rate_basis=offered");
        let state = |queue: &Queue<_>| [0, 1, 34].map(|class| msvb(queue).threshold(class % MAX_CLASSES));
        assert_eq!(state(&queue), [4.0; 3]);
        // 8 ms at 1250 packets a second are 10: alpha phi of it are 2 and 2; a packet then takes 0.5 and 2.
        let now = Instant::ZERO + Span::from_millis(8);
        [0, 1, 34].into_iter().for_each(|class| queue.arrive(packet(class), now));
        assert_eq!(state(&queue), [5.5, 4.0, 5.5], "class 34 is class 2 and has the gain of class 0");
        // Finally each threshold is at its own cap, less one packet.
        let now = Instant::ZERO + Span::from_millis(100_000);
        [0, 1].into_iter().for_each(|class| queue.arrive(packet(class), now));
        assert_eq!(state(&queue)[..2], [19.5, 8.0]);
        // After many packets it is never below a tenth of the cap.
        (0..80).for_each(|n| queue.arrive(packet(n % 2), now));
        assert_eq!(state(&queue)[..2], [2.0, 1.0]);
    }

    #[test]
    fn contradictory_parameters_are_rejected() {
        let refused = |settings: &str| {
            let mut params = Params::default();
            let words = settings.split_whitespace().filter_map(|word| word.split_once('='));
            let mut set = words.map(|(key, value)| params.set(key, value).unwrap());
            set.any(|set| set.is_err()) || Msvb::check(&params).is_err()
        };
        assert!(refused("b_cap=50 b_init=1000b") && refused("b_floor=60 b_cap=50") && refused("phi=0.5/1.5"));
        assert!(refused("alpha=-1") && refused("b_cap=50/20 b_init=30") && !refused("b_cap=50 b_floor=0b"));
    }
}
