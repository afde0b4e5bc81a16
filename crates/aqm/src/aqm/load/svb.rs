//! SVB: a virtual queue and a threshold that moves against the load (stabilized virtual buffer, section 3.1 of the MSVB
//! paper).
//!
//! The virtual queue Q_v fills with the traffic and drains at the link rate C. The threshold B falls while the traffic
//! exceeds C and rises otherwise. Arrivals are signalled in proportion to the excess of Q_v over B. Between the bounds
//! of B, B + alpha Q_v is constant, so the equilibrium depends on the largest and the initial B, or on a leak, which
//! returns B to a target.

use alloc::boxed::Box;
use alloc::string::String;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Aqm, BareLaw, Fluid, Sample};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::depths::Given;
use crate::parts::virtual_buffer::{Bounds, Odds, RateBasis, Threshold, VirtualBuffer};
use crate::{params, probes};

params! {
    /// Parameters of SVB.
    pub struct Params {
        /// Gain of the threshold: dB/dt = alpha (phi C - traffic rate).
        alpha: f64 = 0.5, in 0.0 ..= 100.0, "alpha", "ours: Lemma 3.1 bounds it, no number is printed";
        /// Largest threshold; its unit is that of Q_v; auto: half the buffer.
        b_cap: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "", "ours: the paper leaves B unbounded";
        /// Initial threshold; auto: b_cap.
        b_init: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "B_v(0)", "ours: not in the paper";
        /// Smallest threshold; auto: a tenth of b_cap.
        b_floor: Auto<Depth> = Auto::Given(Depth::Packets(0.0)), in 0.0 ..= 1e9, "", "eq. (1) has 0";
        /// Target share of the link.
        phi: f64 = 1.0, in 0.0 ..= 1.0, "phi", "eq. (1): the whole link; MSVB's phi_i";
        /// Which packets count in Q_v and B.
        rate_basis: RateBasis = RateBasis::Accepted, in 0.0 ..= 1.0, "", "ours: with drops, offered empties the real queue";
        /// Rate in 1/s at which B returns to b_target: adds leak (b_target - B) to dB/dt; 0: no leak.
        leak: f64 = 0.0, in 0.0 ..= 1e3, "kappa", "ours: not in the paper; 0.1 gives one equilibrium for any history";
        /// Target of the leak; auto: b_init.
        b_target: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "B_target", "ours: not in the paper";
    }
}

/// State of SVB.
pub struct Svb {
    rate_basis: RateBasis,
    buffer: VirtualBuffer,
    threshold: Threshold,
    odds: Odds,
}

fn bounds(params: &Params) -> Bounds<'_> {
    Bounds { cap: params.b_cap.given(), init: params.b_init, floor: params.b_floor, target: params.b_target }
}

impl Design for Svb {
    type Params = Params;
    const ABOUT: About = About {
        summary: "virtual queue and a threshold on it that moves against the load",
        source: "stabilized virtual buffer (SVB), eq. (1), as reviewed in section 3.1 of the MSVB paper",
        rule: "arrival:  Q_v = max(0, Q_v - C dt) + size\n\
               \u{20}         B = max(b_floor, min(b_cap, B + alpha phi C dt) - alpha size)\n\
               \u{20}         p = max(0, (Q_v - B)/Q_v);  if u < p: mark or drop\n\
               \u{20}         on a drop (rate_basis=accepted): size is taken back from Q_v and B\n\
               leak:     B' = alpha (phi C - lambda) + leak (b_target - B)",
        deviations: &[
            "the equation for Q_v is reconstructed: its symbols are unreadable; the lemma's algebra follows only from \
             this form",
            "integration differs from the paper: the differential equations are integrated exactly for impulse \
             arrivals; the paper updates from 'the current rate'",
            "Q_v differs from the paper: it is bounded by 0; the paper's analysis assumes it positive",
            "b_cap, b_init and b_floor are ours: the paper gives neither an initial value nor bounds; they determine \
             the equilibrium, because B + alpha Q_v is constant between them",
            "rate_basis differs from the paper: accepted by default; with drops the literal rule (offered) drives \
             offered, not accepted, traffic to C",
            "leak and b_target are ours; off by default",
            "phi is ours; 1 by default",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off alpha=0.5 b_cap=auto b_init=auto b_floor=0 phi=1 rate_basis=accepted leak=0",
            source: "section 3.1; alpha, the bounds and rate_basis are ours",
        },
        Preset {
            name: "literal",
            settings: "b_floor=0 phi=1 rate_basis=offered leak=0",
            source: "eq. (1) as printed, for ECN-capable senders",
        },
        Preset { name: "robust", settings: "b_floor=auto", source: "ours: not every packet is signalled" },
        Preset { name: "leaky", settings: "leak=0.1", source: "ours: the queue settles near b_target/(1 - p)" },
    ];

    fn check(params: &Params) -> Result<(), String> {
        bounds(params).check()
    }

    fn build(params: &Params, link: &Link) -> Self {
        let bounds = bounds(params);
        let buffer = VirtualBuffer::new(bounds.unit(link), link);
        let threshold = Threshold::new(params.alpha, params.phi, buffer.capacity(), bounds.of(0, link));
        Self { rate_basis: params.rate_basis, buffer, threshold: threshold.leaking(params.leak), odds: Odds::default() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (buffer, threshold) = (fresh.buffer.after(&self.buffer)?, fresh.threshold.after(&self.threshold));
        Some(Self { buffer, threshold, odds: self.odds, ..fresh })
    }

    fn fluid(params: &Params, link: &Link) -> Option<Box<dyn BareLaw>> {
        let Self { rate_basis, mut buffer, mut threshold, .. } = Self::build(params, link);
        let p = move |sample: &Sample| {
            let counted = match rate_basis {
                RateBasis::Accepted => sample.period.accepted,
                RateBasis::Offered => sample.period.offered,
            };
            buffer.flow(&mut threshold, counted.bytes, sample.link.mean_packet, sample.now).p()
        };
        Some(Box::new(Fluid::new(p)))
    }
}

impl Aqm for Svb {
    #[inline]
    fn arrival(&mut self, packet: &Packet, _: &Level, cx: &mut Cx) -> Verdict {
        self.odds = self.buffer.arrival(&mut self.threshold, packet, cx.now);
        if self.odds.signal(cx.rng.uniform()) { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        if self.rate_basis.counts(fate) {
            self.buffer.count(&mut self.threshold, packet);
        }
    }
}

probes! { Svb {
    /// Signal probability of the latest arrival.
    p ["1"] probability = |s| s.odds.p();
    /// Virtual queue after the latest arrival.
    qv ["packets|bytes"] = |s| s.buffer.value();
    /// Threshold after the latest arrival.
    bv ["packets|bytes"] = |s| s.threshold.value();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, params, us as at};
    use alloc::format;

    /// 10 Mb/s of 1000-byte packets: C = 1250 packets a second, a buffer of 100.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Svb>> {
        by_hand::fifo(settings, LINK, true)
    }

    fn state(queue: &Queue<Fifo<Svb>>) -> (f64, f64, f64) {
        let svb = queue.discipline().aqm();
        (svb.buffer.value(), svb.threshold.value(), svb.odds.p())
    }

    fn packet(ecn: Ecn) -> Packet {
        Packet { len: 1000, ecn, ..Packet::default() }
    }

    #[test]
    fn q_v_b_and_p_match_eq_1() {
        let mut queue = queue("alpha=0.5 b_cap=4p");
        // Three at once: Q_v 1, 2, 3 and B 3.5, 3, 2.5, so p = 0, 0, 0.5/3.
        queue.arrive(packet(Ecn::Ect0), at(0));
        assert_eq!(state(&queue), (1.0, 3.5, 0.0));
        queue.arrive(packet(Ecn::Ect0), at(0));
        assert_eq!(state(&queue), (2.0, 3.0, 0.0));
        queue.arrive(packet(Ecn::Ect0), at(0));
        assert_eq!(state(&queue), (3.0, 2.5, 0.5 / 3.0));
        // 1.6 ms at 1250 packets a second are two: Q_v 1 + 1, B 2.5 + 1 - 0.5.
        queue.arrive(packet(Ecn::Ect0), at(1600));
        assert_eq!(state(&queue), (2.0, 3.0, 0.0));
        // 80 ms are a hundred packets: Q_v is 0 again, B at its cap.
        queue.arrive(packet(Ecn::Ect0), at(81_600));
        assert_eq!(state(&queue), (1.0, 3.5, 0.0));
    }

    #[test]
    fn weighted_sum_is_constant_between_bounds() {
        let mut queue = queue("alpha=0.5 b_cap=1000 b_init=60 rate_basis=offered");
        // 80 back to back, then 20 more at half the link's rate.
        for n in 0..100u64 {
            queue.arrive(packet(Ecn::Ect0), at(1600 * n.saturating_sub(79)));
            let (q_v, b, _) = state(&queue);
            assert!(q_v > 0.0 && b > 0.0 && (b + 0.5 * q_v - 60.0).abs() < 1e-9, "packet {n}: {b} {q_v}");
        }
    }

    /// Simulates 100 s with senders whose rate depends on p: lambda = C (1 - p)/(1 - p_star), which is C at p = p_star.
    /// Returns the mean Q_v of the last 50 s.
    fn settled(settings: &str, p_star: f64) -> f64 {
        let mut queue = queue(settings);
        let (mut now, mut rng, mut debt) = (0.0, Rng::stream(7, "senders"), 0.0);
        let (mut sum, mut n) = (0.0, 0.0);
        while now < 100.0 {
            debt += 1.0 - state(&queue).2;
            while debt >= 1.0 {
                queue.arrive(packet(Ecn::Ect0), at((now * 1e6) as u64));
                while queue.depart(at((now * 1e6) as u64)).is_some() {}
                debt -= 1.0;
            }
            now += (1.0 - p_star) / 1250.0 * rng.exponential(1.0);
            (sum, n) = if now > 50.0 { (sum + state(&queue).0, n + 1.0) } else { (sum, n) };
        }
        sum / n
    }

    #[test]
    fn threshold_cap_sets_the_equilibrium_of_q_v() {
        // Q_v* = K/(1 - p* + alpha) with K = b_cap, because congestion starts with Q_v = 0 and B at its cap:
        // the worked example, b_cap = 72.5 for 50 packets at p* = 0.05.
        let q_v = settled("alpha=0.5 b_cap=72.5p rate_basis=offered", 0.05);
        assert!((q_v / 50.0 - 1.0).abs() < 0.1, "{q_v}");
    }

    #[test]
    fn equilibrium_of_leaking_threshold_ignores_its_start() {
        // B* = b_target, Q_v* = 50/(1 - 0.5) = 100, for any initial value.
        for init in [2, 700] {
            let q_v = settled(&format!("b_cap=1000p b_init={init}p b_target=50p leak=0.5 rate_basis=offered"), 0.5);
            assert!((q_v / 100.0 - 1.0).abs() < 0.1, "from {init}: {q_v}");
        }
    }

    #[test]
    fn drops_count_only_with_rate_basis_offered() {
        for (basis, after) in [("accepted", (1.0, 1.0, 1.0)), ("offered", (2.0, 0.0, 1.0))] {
            let mut queue = queue(&format!("alpha=1.5 b_cap=2.5p phi=0 rate_basis={basis}"));
            // The first leaves Q_v 1, B 1; the second would make them 2 and 0, so p = (2 - 0)/2.
            (0..2).for_each(|_| queue.arrive(packet(Ecn::NotEct), at(0)));
            assert_eq!((state(&queue), queue.port.discarded().len()), (after, 1), "{basis}");
        }
    }

    #[test]
    fn contradictory_parameters_are_rejected() {
        let refused = |settings| Svb::check(&params(settings)).is_err();
        assert!(refused("b_cap=50 b_init=1000b") && refused("b_floor=60 b_cap=50") && refused("b_target=60 b_cap=50"));
        assert!(!refused("b_cap=50 b_target=20 b_init=0") && !refused("b_target=1000b"));
    }
}
