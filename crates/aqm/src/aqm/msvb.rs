//! MSVB: one virtual buffer for the link, one threshold per class (multi-class SVB, section 3.2).
//!
//! Q_v fills with the traffic and drains at C; the threshold B_i of class i fills at its share
//! phi_i C and drains with its traffic. In equilibrium every signalled class therefore sends phi_i C,
//! whatever its RTT. Off the clamps Q_v plus the sum of B_i/alpha_i never changes, so where the queue
//! settles depends on the initial and the largest B: both are parameters here.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::{Auto, MAX_CLASSES, PerClass};
use crate::base::port::Level;
use crate::base::time::Instant;
use crate::base::units::{Depth, Limit, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::{choice, params, probes};

choice! {
    /// Which packets fill Q_v and drain B.
    pub enum RateBasis {
        /// Those that enter the buffer: Q_v is then the real backlog, but for its fluid drain.
        Accepted = "accepted",
        /// Every arrival: the paper's wording; for senders that are marked, not dropped.
        Offered = "offered",
    }
}

params! {
    /// Knobs of MSVB.
    pub struct Params {
        /// How fast a threshold moves, one number or one per class.
        alpha: PerClass = PerClass::all(0.5), in 0.0 ..= 100.0, "alpha_i", "ours: Lemma 3.1 bounds it, no number is printed";
        /// Largest threshold of each class; its unit is that of Q_v. Auto is half the buffer.
        b_cap: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "", "ours: the paper leaves B unbounded";
        /// Threshold at the start; auto is b_cap.
        b_init: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "B_v(0)", "ours: not in the paper";
        /// Smallest threshold; auto is a tenth of b_cap.
        b_floor: Auto<Depth> = Auto::Given(Depth::Packets(0.0)), in 0.0 ..= 1e9, "", "eq. (2) has 0";
        /// Share of the link, one number or one per class; they should sum to 1 over the classes in use.
        phi: PerClass = PerClass::all(0.1), in 0.0 ..= 1.0, "phi_i", "section 4: ten classes of 0.1";
        /// Which packets fill Q_v and drain B.
        rate_basis: RateBasis = RateBasis::Accepted, in 0.0 ..= 1.0, "", "ours: with drops, offered starves every class";
    }
}

/// Default b_cap as a fraction of the buffer. Ours.
const CAP_OF_BUFFER: f64 = 0.5;
/// Automatic b_floor as a fraction of b_cap. Ours.
const FLOOR_OF_CAP: f64 = 0.1;

/// Q_v' = -C between arrivals, projected at 0.
fn drained(q_v: f64, capacity: f64, dt: f64) -> f64 {
    (q_v - capacity * dt).max(0.0)
}

/// B_i' = alpha_i phi_i C between arrivals, up to the cap.
fn filled(b: f64, gain: f64, capacity: f64, dt: f64, cap: f64) -> f64 {
    (b + gain * capacity * dt).min(cap)
}

/// B_i after traffic of `size` in class i.
fn charged(b: f64, alpha: f64, size: f64, floor: f64) -> f64 {
    (b - alpha * size).max(floor)
}

/// Eq. (2), last line: max(0, (Q_v - B_i)/Q_v).
fn probability(q_v: f64, b: f64) -> f64 {
    if q_v > b { (q_v - b) / q_v } else { 0.0 }
}

/// One class: its threshold as of its latest arrival.
#[derive(Clone, Copy)]
struct Class {
    alpha: f64,
    /// alpha phi, the part of C at which b fills.
    gain: f64,
    b: f64,
    at: Instant,
}

/// State of MSVB, in the unit of `unit`.
pub struct Msvb {
    rate_basis: RateBasis,
    unit: Depth,
    capacity: f64,
    cap: f64,
    floor: f64,
    q_v: f64,
    q_v_at: Instant,
    classes: [Class; MAX_CLASSES],
    latest: usize,
    p: f64,
}

/// Classes beyond [`MAX_CLASSES`] share the thresholds of the first ones.
fn slot(packet: &Packet) -> usize {
    usize::from(packet.class) % MAX_CLASSES
}

impl Msvb {
    /// Lets time pass for Q_v and for the one threshold that is needed.
    fn advance(&mut self, class: usize, now: Instant) {
        let capacity = self.capacity;
        self.q_v = drained(self.q_v, capacity, now.since(self.q_v_at).secs());
        self.q_v_at = now;
        let class = &mut self.classes[class];
        class.b = filled(class.b, class.gain, capacity, now.since(class.at).secs(), self.cap);
        class.at = now;
    }

    /// Q_v and B_i as they would stand if `packet` were counted.
    fn tentative(&self, packet: &Packet) -> (f64, f64) {
        let (class, size) = (&self.classes[slot(packet)], self.unit.weigh(packet));
        (self.q_v + size, charged(class.b, class.alpha, size, self.floor))
    }

    fn threshold(&self, class: usize) -> f64 {
        self.classes[class].b
    }
}

/// The bounds that are given and not 0, which has no unit, from the lowest up.
fn depths(params: &Params) -> Vec<(&'static str, Depth)> {
    let all = [("b_floor", params.b_floor), ("b_init", params.b_init), ("b_cap", params.b_cap)];
    let given = |(name, depth): (_, Auto<Depth>)| match depth {
        Auto::Given(depth) if depth.value() > 0.0 => Some((name, depth)),
        _ => None,
    };
    all.into_iter().filter_map(given).collect()
}

/// The unit of the bounds that are given; the buffer's own if none is.
fn unit(params: &Params, link: &Link) -> Depth {
    match (depths(params).first(), link.limit) {
        (Some((_, depth)), _) => depth.with(0.0),
        (None, Limit::Packets(_)) => Depth::Packets(0.0),
        (None, Limit::Bytes(_)) => Depth::Bytes(0.0),
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
            "the differential equations are integrated exactly for impulse arrivals; the paper updates from 'the current rate'",
            "b_cap, b_init and b_floor are ours: the paper gives neither an initial value nor bounds, and Q_v + sum B_i/alpha_i is invariant off them",
            "b_cap is the same for every class, not scaled by phi, and may exceed the buffer",
            "rate_basis=accepted by default: with drops the literal rule (offered) drives offered, not admitted, traffic to phi C",
            "classes 32 and above share the thresholds of class mod 32",
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
            source: "eq. (2) as printed, for senders that respond to ECN",
        },
        Preset { name: "robust", settings: "b_floor=auto", source: "ours: no class is ever marked outright" },
    ];

    fn check(params: &Params) -> Result<(), String> {
        let within = |values: &PerClass, top| values.values().iter().all(|v| (0.0..=top).contains(v));
        if !within(&params.alpha, 100.0) {
            return Err("every alpha from 0 to 100".to_string());
        }
        if !within(&params.phi, 1.0) {
            return Err("every phi from 0 to 1".to_string());
        }
        for pair in depths(params).windows(2) {
            let [(lower, least), (upper, most)] = [pair[0], pair[1]];
            if least.with(0.0) != most.with(0.0) {
                return Err(format!("{lower} and {upper} in the same unit, packets or bytes"));
            }
            if least > most {
                return Err(format!("{lower} at most {upper}"));
            }
        }
        Ok(())
    }

    fn build(params: &Params, link: &Link) -> Self {
        let unit = unit(params, link);
        let buffer = match unit {
            Depth::Packets(_) => link.limit_pkts(),
            Depth::Bytes(_) => link.limit_bytes(),
        };
        let cap = params.b_cap.or(unit.with(CAP_OF_BUFFER * buffer)).value();
        let floor = params.b_floor.or(unit.with(FLOOR_OF_CAP * cap)).value().min(cap);
        let b = params.b_init.or(unit.with(cap)).value().clamp(floor, cap);
        let classes = core::array::from_fn(|i| {
            let (alpha, phi) = (params.alpha.of(i as u8), params.phi.of(i as u8));
            Class { alpha, gain: alpha * phi, b, at: Instant::ZERO }
        });
        let capacity = unit.per_sec(link.rate, link.mean_packet);
        let (q_v, q_v_at) = (0.0, Instant::ZERO);
        Self { rate_basis: params.rate_basis, unit, capacity, cap, floor, q_v, q_v_at, classes, latest: 0, p: 0.0 }
    }
}

impl Aqm for Msvb {
    #[inline]
    fn arrival(&mut self, packet: &Packet, _: &Level, cx: &mut Cx) -> Verdict {
        self.latest = slot(packet);
        self.advance(self.latest, cx.now);
        let (q_v, b) = self.tentative(packet);
        self.p = probability(q_v, b);
        if cx.rng.uniform() < self.p { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        let counts = match fate {
            Fate::Queued { .. } => true,
            Fate::Dropped(_) => self.rate_basis == RateBasis::Offered,
            Fate::Delivered { .. } => false,
        };
        if counts {
            (self.q_v, self.classes[slot(packet)].b) = self.tentative(packet);
        }
    }
}

probes! { Msvb {
    /// Signal probability of the latest arrival.
    p ["1"] = |s| s.p;
    /// Virtual queue after the latest arrival.
    qv ["packets|bytes"] = |s| s.q_v;
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
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::time::Span;
    use crate::base::units::{Bytes, Rate};

    /// 10 Mb/s of 1000-byte packets: C = 1250 packets a second, a buffer of 100.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Msvb>> {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        Msvb::check(&params).unwrap();
        Queue::new(Fifo::new(Msvb::build(&params, &LINK)), LINK, false, Rng::stream(1, "queue"))
    }

    fn packet(class: u8) -> Packet {
        Packet { len: 1000, class, ..Packet::default() }
    }

    fn msvb(queue: &Queue<Fifo<Msvb>>) -> &Msvb {
        queue.discipline().aqm()
    }

    /// Offers Poisson traffic of `rates[i]` packets a second in class i for `secs`; delivered packets by class.
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
    fn equations_by_hand() {
        assert_eq!(drained(10.0, 1250.0, 0.004), 5.0);
        assert_eq!(drained(1.0, 1250.0, 0.004), 0.0);
        // alpha phi C dt = 0.5 x 0.1 x 1250 x 0.02 = 1.25.
        assert_eq!(filled(20.0, 0.5 * 0.1, 1250.0, 0.02, 50.0), 21.25);
        assert_eq!(filled(49.0, 0.5 * 0.1, 1250.0, 0.02, 50.0), 50.0);
        assert_eq!(charged(20.0, 0.5, 1.0, 0.0), 19.5);
        assert_eq!(charged(0.25, 0.5, 1.0, 0.0), 0.0);
        assert_eq!(probability(80.0, 60.0), 0.25);
        assert_eq!(probability(60.0, 80.0), 0.0);
        assert_eq!(probability(0.0, 0.0), 0.0);
    }

    #[test]
    fn ten_equal_classes_share_equally_under_twice_the_load() {
        let mut queue = queue("alpha=0.5 b_cap=50 phi=0.1");
        let delivered = poisson(&mut queue, &[250.0; 10], 200.0);
        for (class, n) in delivered.iter().enumerate() {
            let share = *n as f64 / (0.1 * 1250.0 * 200.0);
            assert!((0.98..=1.001).contains(&share), "class {class} has {share} of its share");
        }
    }

    #[test]
    fn a_cap_of_two_packets_costs_a_tenth() {
        let mut queue = queue("alpha=0.5 b_cap=2 phi=0.1");
        for n in poisson(&mut queue, &[250.0; 10], 200.0) {
            let share = n as f64 / (0.1 * 1250.0 * 200.0);
            assert!((0.88..=0.92).contains(&share), "{share}");
        }
    }

    #[test]
    fn offered_basis_with_drops_starves_every_class() {
        let mut queue = queue("alpha=0.5 b_cap=50 phi=0.1 rate_basis=offered");
        let delivered = poisson(&mut queue, &[250.0; 10], 200.0);
        assert!(msvb(&queue).q_v > 120_000.0, "Q_v is {}", msvb(&queue).q_v);
        assert!(delivered.iter().sum::<u64>() < 2_500, "{delivered:?} of 25000 each");
    }

    #[test]
    fn b_plus_alpha_q_v_is_invariant_off_the_clamps() {
        let mut queue = queue("alpha=0.5 b_cap=1000 b_init=40 phi=1");
        let mut now = Instant::ZERO;
        // 80 back to back, then 20 more at half the link's rate: Q_v stays above 0, B between its bounds.
        for n in 0..100 {
            now += if n < 80 { Span::ZERO } else { Span::from_millis(1) };
            queue.arrive(packet(0), now);
            let m = msvb(&queue);
            assert!(m.q_v > 0.0 && m.threshold(0) > 0.0);
            let invariant = m.threshold(0) + 0.5 * m.q_v;
            assert!((invariant - 40.0).abs() < 1e-9, "packet {n}: {invariant}");
        }
    }

    #[test]
    fn a_drop_takes_its_size_back() {
        let mut queue = queue("alpha=1.5 b_cap=2.5 phi=0");
        let state = |queue: &Queue<_>| (msvb(queue).q_v, msvb(queue).threshold(0), msvb(queue).p);
        // The first leaves Q_v 1, B 1; the second would make them 2 and 0, so p = (2 - 0)/2.
        queue.arrive(packet(0), Instant::ZERO);
        assert_eq!(state(&queue), (1.0, 1.0, 0.0));
        queue.arrive(packet(0), Instant::ZERO);
        assert_eq!(state(&queue), (1.0, 1.0, 1.0));
        assert_eq!(queue.port.discarded().len(), 1);
    }

    #[test]
    fn unit_and_bounds_follow_what_is_given() {
        let state = |settings| {
            let queue = queue(settings);
            let m = msvb(&queue);
            (m.unit, m.floor, m.threshold(7), m.cap)
        };
        let (p, b) = (Depth::Packets(0.0), Depth::Bytes(0.0));
        assert_eq!(state(""), (p, 0.0, 50.0, 50.0));
        assert_eq!(state("b_cap=20"), (p, 0.0, 20.0, 20.0));
        assert_eq!(state("b_init=30000b"), (b, 0.0, 30_000.0, 50_000.0));
        assert_eq!(state("b_floor=auto b_cap=80kb"), (b, 8192.0, 81_920.0, 81_920.0));
        let refused = |settings: &str| {
            let mut params = Params::default();
            for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
                params.set(key, value).unwrap().unwrap();
            }
            Msvb::check(&params).is_err()
        };
        assert!(refused("b_cap=50 b_init=1000b") && refused("b_floor=60 b_cap=50") && refused("phi=0.5/1.5"));
        assert!(refused("alpha=-1") && !refused("b_cap=50 b_floor=0b"));
    }
}
