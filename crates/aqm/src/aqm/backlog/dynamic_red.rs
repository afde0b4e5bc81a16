//! Adaptive RED with dynamic thresholds: they move until the drop probability is in a given band (RED+Tail, section V).
//!
//! RED reacts to more load with more drops, which cost TCP retransmissions. Raising both thresholds instead lengthens
//! the queue and the RTT: the same throughput with fewer drops and more delay.

use alloc::string::{String, ToString};

use crate::aqm::backlog::ared::{self, ALPHA, Aimd, BETA, Clock, INTERVAL, MAX_P};
use crate::aqm::backlog::red::{self, AutoWeight, Curve, Gateway, Spacing, Steer, TARGET_DELAY};
use crate::base::design::{About, Design, Preset};
use crate::base::params::Auto;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::{choice, params, probes};

choice! {
    /// When max_p and the thresholds move.
    pub enum Pace {
        /// By a timer. While the link is idle the average decays.
        Timer = "timer",
        /// At the first arrival more than an interval after the last step.
        Arrival = "arrival",
    }
}

choice! {
    /// Which probability of an arrival enters the average drop probability.
    pub enum Averaged {
        /// RED's base probability p_b, from the average queue alone.
        Base = "base",
        /// The probability that RED applied: p_a, after the spacing of drops.
        Applied = "applied",
    }
}

params! {
    /// Parameters of Adaptive RED with dynamic thresholds.
    pub struct Params {
        /// Initial lower threshold of the average queue.
        min_th: Depth = Depth::Bytes(20_000.0), in 0.0 ..= 1e9, "minth_2", "RED+Tail, Table II";
        /// Initial upper threshold; its distance from the lower one is constant.
        max_th: Depth = Depth::Bytes(80_000.0), in 1.0 ..= 1e9, "maxth_2", "RED+Tail, Table II";
        /// The thresholds fall while the average drop probability is below this.
        p_l: f64 = 0.01, in 0.0 ..= 1.0, "P_L", "RED+Tail, section V";
        /// The thresholds rise while the average drop probability is above this.
        p_u: f64 = 0.02, in 0.0 ..= 1.0, "P_U", "RED+Tail, section V";
        /// Relative step of the lower threshold.
        gamma: f64 = GAMMA, in 0.0 ..= 1.0, "gamma", "RED+Tail, section V";
        /// Weight of an arrival in the average drop probability.
        w_p: f64 = W_P, in 1e-9 ..= 1.0, "", "ours: not printed";
        /// What is averaged. base: RED's base probability p_b; applied: p_a, after the spacing of drops, 1 for a forced
        /// drop.
        p_of: Averaged = Averaged::Base, in 0.0 ..= 1.0, "", "ours; Fig. 11: 'EWMA average of Inst. P'";
        /// Time between steps of max_p and of the thresholds.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "ours: Adaptive RED's";
        /// When max_p and the thresholds move.
        clock: Pace = Pace::Arrival, in 0.0 ..= 1.0, "", "ours: as in red_tail";
        /// Largest increase of max_p per step; at most max_p/4.
        alpha: f64 = ALPHA, in 0.0 ..= 1.0, "alpha", "RED+Tail, Table II";
        /// Factor of max_p per decrease.
        beta: f64 = BETA, in 0.0 ..= 1.0, "beta", "RED+Tail, Table II";
        /// Initial probability at max_th.
        max_p: f64 = MAX_P, in 0.0 ..= 1.0, "P_max", "ns-2.35 1/linterm_";
        /// Weight of a new queue sample in the average; auto: 1 - exp(-1/C), with the link rate C in packets/s.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "Floyd, Gummadi, Shenker 2001, section 5.1";
    }
}

/// Relative step of dynamic thresholds: RED+Tail, section V.
pub const GAMMA: f64 = 0.05;
/// Weight of an arrival in the average drop probability: our choice.
pub const W_P: f64 = 0.02;
/// Smallest min_th of dynamic thresholds, in packets: our choice.
const SMALLEST_MIN_TH: f64 = 5.0;

/// Dynamic thresholds: both move with the average drop probability. Their distance is constant.
#[derive(Clone, Copy, Debug)]
struct Floating {
    /// P_L: below it the thresholds fall.
    p_l: f64,
    /// P_U: above it the thresholds rise.
    p_u: f64,
    gamma: f64,
    w_p: f64,
    p_of: Averaged,
    /// `least` and `most` bound min_th. If `least` is above `most`, `least` applies.
    least: f64,
    most: f64,
    p_avg: f64,
}

impl Floating {
    /// Dynamic thresholds that begin at the thresholds of `curve`.
    fn new(params: &Params, curve: &Curve, link: &Link) -> Self {
        let &Params { p_l, p_u, gamma, w_p, p_of, .. } = params;
        let (packet, buffer) = match params.min_th {
            Depth::Packets(_) => (1.0, link.limit_pkts()),
            Depth::Bytes(_) => (link.mean_packet.0 as f64, link.limit_bytes()),
        };
        let most = buffer - (curve.max_th - curve.min_th);
        Self { p_l, p_u, gamma, w_p, p_of, least: SMALLEST_MIN_TH * packet, most, p_avg: 0.0 }
    }

    /// The lower threshold after one step.
    fn moved(&self, min_th: f64) -> f64 {
        let factor = match self.p_avg {
            p if p > self.p_u => 1.0 + self.gamma,
            p if p < self.p_l => 1.0 - self.gamma,
            _ => return min_th,
        };
        (min_th * factor).min(self.most).max(self.least)
    }
}

/// Moves max_p as Adaptive RED does, then the thresholds if they are dynamic.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    aimd: Aimd,
    floating: Option<Floating>,
}

impl Dynamic {
    /// The average drop probability that moves the thresholds; 0 if they are fixed.
    pub fn p_avg(&self) -> f64 {
        self.floating.map_or(0.0, |floating| floating.p_avg)
    }

    fn float(&self, curve: &mut Curve) {
        if let Some(floating) = &self.floating {
            let distance = curve.max_th - curve.min_th;
            curve.min_th = floating.moved(curve.min_th);
            curve.max_th = curve.min_th + distance;
        }
    }
}

impl Steer for Dynamic {
    #[inline]
    fn steer(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        if self.aimd.is_due(now) {
            self.aimd.step(curve, avg, now);
            self.float(curve);
        }
    }

    #[inline]
    fn judged(&mut self, p_b: f64, spacing: &Spacing) {
        if let Some(floating) = &mut self.floating {
            let p = match floating.p_of {
                Averaged::Base => p_b,
                Averaged::Applied => spacing.p(),
            };
            floating.p_avg += floating.w_p * (p - floating.p_avg);
        }
    }

    #[inline]
    fn due(&self) -> Option<Instant> {
        self.aimd.due()
    }

    fn tick(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        self.aimd.tick(curve, avg, now);
        self.float(curve);
    }

    fn resume(&mut self, before: &Self, curve: &mut Curve, steered: &Curve) {
        self.aimd.resume(&before.aimd, curve, steered);
        if before.floating.is_some() {
            *curve = *steered;
        }
        if let Some(floating) = &mut self.floating {
            floating.p_avg = before.p_avg();
        }
    }
}

/// State of Adaptive RED with dynamic thresholds.
pub type DynamicRed = Gateway<Dynamic>;

impl Params {
    /// Checks p_l <= p_u < max_p (section V: P_U < P_max). The discipline `red_tail` calls this too.
    pub fn check_band(&self) -> Result<(), String> {
        let &Self { p_l, p_u, max_p, .. } = self;
        if p_l > p_u {
            return Err("p_l at most p_u".to_string());
        }
        if p_u > 0.0 && p_u >= max_p { Err("p_u below max_p".to_string()) } else { Ok(()) }
    }

    /// ns-2's RED with `gentle` and `wait`, without byte mode; an automatic w_q averages over 1 s. Every `interval`
    /// max_p adapts; if `floats`, the thresholds move too.
    pub fn gateway(&self, floats: bool, link: &Link) -> DynamicRed {
        let &Self { min_th, max_th, max_p, w_q, alpha, beta, interval, .. } = self;
        let (given, auto_w) = (Auto::Given, AutoWeight::Second);
        let red =
            red::Params { min_th: given(min_th), max_th: given(max_th), max_p, w_q, auto_w, ..Default::default() };
        let clock = match self.clock {
            Pace::Timer => Clock::Timer,
            Pace::Arrival => Clock::Arrival,
        };
        // No step of max_p at exactly its bounds, as in ns-2; the gentle part follows max_p.
        let steps = ared::Params { alpha, beta, interval, clock, quirk: true, ..Default::default() };
        let curve = Curve::new(min_th.value(), max_th.value(), max_p, true);
        let floating = floats.then(|| Floating::new(self, &curve, link));
        Gateway::new(&red, TARGET_DELAY, Dynamic { aimd: Aimd::new(&steps, link), floating }, link)
    }
}

impl Design for DynamicRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "Adaptive RED whose thresholds rise and fall until the drop probability is in a given band",
        source: "RED+Tail: parallel virtual queues with drop-tail and Adaptive RED, section V",
        rule: "arrival:         ared's;  P += w_p (p_b - P);  p_of=applied: P += w_p (p_a - P)\n\
               every interval:  max_p as ared;  P > p_u: min_th *= 1 + gamma;  P < p_l: min_th *= 1 - gamma;\n\
               \u{20}                max_th = min_th + D, D as at the start",
        deviations: &[
            "P is not defined in the paper: we average RED's base probability p_b at every arrival, before spacing, 0 \
             below min_th; p_of=applied averages the probability after spacing, 1 for a forced drop, 0 for a packet \
             that RED spares",
            "w_p and the interval are not printed: ours",
            "bounds of the thresholds are ours: min_th at least 5 packets, max_th at most the buffer; without them the \
             thresholds exceed the buffer, or shrink to 0, from which a factor cannot recover",
            "max_p is adapted at the same time, as in the paper's ns-2 simulations: two control loops",
            "RED is gentle, waits and counts packets, as in ns-2.35; it is queue 2 of red_tail",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off min_th=20000b max_th=80000b p_l=0.01 p_u=0.02 gamma=0.05 alpha=0.01 beta=0.9",
            source: "RED+Tail, Fig. 11 and Table II: 6 Mb/s; use a buffer of 160000b",
        },
        Preset {
            name: "tail",
            settings: "ecn=off min_th=20000b max_th=80000b p_l=0.005 p_u=0.010 gamma=0.05 alpha=0.01 beta=0.9",
            source: "RED+Tail, Table IV: the band used in RED+Tail",
        },
    ];
    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn check(params: &Params) -> Result<(), String> {
        let &Params { min_th, max_th, .. } = params;
        if min_th.with(0.0) != max_th.with(0.0) {
            return Err("min_th and max_th both in packets, or both in bytes".to_string());
        }
        if min_th >= max_th {
            return Err("min_th below max_th".to_string());
        }
        params.check_band()
    }

    fn build(params: &Params, link: &Link) -> Self {
        params.gateway(true, link)
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Self::build(params, link).after(self)
    }
}

probes! { DynamicRed {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.average();
    /// Average drop probability, which moves the thresholds.
    p ["1"] probability = |s| s.steering().p_avg();
    /// Lower threshold.
    min_th ["packets|bytes"] = |s| s.curve().min_th;
    /// Probability at max_th.
    max_p ["1"] probability = |s| s.curve().max_p;
    /// Base probability of the latest arrival.
    p_b ["1"] probability = |s| s.p_b();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{ms, packet, params};

    const LINK: Link = Link { rate: Rate(6_000_000), limit: Limit::Packets(160), mean_packet: Bytes(1000) };

    /// Lower threshold and average probability after `steps` timer steps at a queue of `q` packets; thresholds 20 and
    /// 80, both weights 1.
    fn after(q: u32, settings: &str, steps: u64) -> (f64, f64) {
        let params = params(&alloc::format!("min_th=20p max_th=80p w_q=1 w_p=1 clock=timer {settings}"));
        DynamicRed::check(&params).unwrap();
        let red = Fifo::new(DynamicRed::build(&params, &LINK));
        let mut queue = Queue::new(red, LINK, false, Rng::stream(1, "dynamic"));
        while queue.port.pkts() <= q {
            queue.arrive(packet(), Instant::ZERO);
        }
        (1..=steps).for_each(|n| queue.tick(Instant::ZERO + INTERVAL * n));
        let red = queue.discipline().aqm();
        (red.curve().min_th, red.steering().p_avg())
    }

    /// Asserts that lower threshold and average probability are near `want`.
    fn near((min_th, p): (f64, f64), want: (f64, f64)) {
        assert!((min_th - want.0).abs() < 1e-9 && (p - want.1).abs() < 1e-12, "{min_th} {p}, not {want:?}");
    }

    #[test]
    fn thresholds_follow_the_drop_probability() {
        // At 35 of 20 to 80 packets p_b = 0.1/4 is above 0.02; at 29, 0.015 is within; at 23, 0.005 is below.
        near(after(35, "", 1), (21.0, 0.025));
        near(after(29, "", 1), (20.0, 0.015));
        near(after(23, "", 1), (19.0, 0.005));
        near(after(35, "", 3), (20.0 * 1.05 * 1.05 * 1.05, 0.025));
        near(after(35, "gamma=0.5", 1), (30.0, 0.025));
        near(after(10, "", 3), (20.0 * 0.95 * 0.95 * 0.95, 0.0));
    }

    /// Of each arrival one probability enters the average p_avg: with `p_of=base` RED's base probability p_b, with
    /// `p_of=applied` p_a, which RED computes from p_b and the number of arrivals since the last drop (spacing of
    /// drops).
    #[test]
    fn parameter_p_of_selects_the_averaged_probability() {
        // No packet departs. An arrival that sees q packets has p_b = 0.12 (q - 20)/60 and count = q - 19. By the
        // spacing of drops p_a = 0 while count p_b < 1; above, p_a = p_b/(2 - count p_b). At q = 41, count p_b is
        // 22 x 21/500 < 1. At q = 42, p_b = 22/500 and count p_b is 23 x 22/500 > 1.
        near(after(41, "max_p=0.12 p_of=applied", 1), (19.0, 0.0));
        near(after(41, "max_p=0.12 p_of=base", 1), (21.0, 21.0 / 500.0));
        near(after(42, "max_p=0.12 p_of=applied", 1), (21.0, 22.0 / (1000.0 - 23.0 * 22.0)));
        // With one packet in the queue RED drops nothing (p_a = 0), although p_b is 0.1/10.
        near(after(1, "min_th=0p max_th=10p p_of=base", 0), (0.0, 0.01));
        near(after(1, "min_th=0p max_th=10p p_of=applied", 0), (0.0, 0.0));
    }

    #[test]
    fn average_weighs_the_chosen_probability_by_w_p() {
        // Six arrivals with p_b = 1/4 of which none is dropped, so that p_a is 0, 0, 0, 1/4, 1/3 and 1/2; then a forced
        // drop.
        let average = |p_of: &str| {
            let mut red = DynamicRed::build(&params(&alloc::format!("w_p=0.5 p_of={p_of}")), &LINK);
            let mut spacing = Spacing::new(red::Rule::Ns2, true, None);
            let averages = [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 1.0].map(|p_b| {
                if p_b < 1.0 {
                    assert!(!spacing.arrival(Some(p_b), 1000, 1.0))
                } else {
                    spacing.forced()
                }
                red.steering_mut().judged(p_b, &spacing);
                red.steering().p_avg()
            });
            averages.map(|p| p * 384.0)
        };
        // With w_p = 0.5 each average is half of the average before plus half of p. Averages are multiplied by 384, so
        // half of p is 192 p.
        assert_eq!(average("base"), [48.0, 72.0, 84.0, 90.0, 93.0, 94.5, 239.25]);
        let applied = average("applied");
        let want = [0.0, 0.0, 0.0, 48.0, 24.0 + 64.0, 44.0 + 96.0, 70.0 + 192.0];
        assert!(applied.iter().zip(want).all(|(p, want)| (p - want).abs() < 1e-9), "{applied:?}");
    }

    #[test]
    fn thresholds_stay_within_the_buffer() {
        assert_eq!(after(100, "gamma=0.5", 20).0, 100.0, "160 less 60");
        assert_eq!(after(10, "gamma=0.5", 20).0, 5.0);
        assert_eq!(after(35, "p_l=0 p_u=0.09", 20).0, 20.0);
    }

    #[test]
    fn refuses_invalid_thresholds_probability_bands_and_clocks() {
        let refused = |settings| DynamicRed::check(&params(settings)).is_err();
        assert!(refused("min_th=5p") && refused("min_th=80000b") && refused("p_l=0.1") && !refused(""));
        assert!(refused("p_u=0.5") && refused("max_p=0.02") && !refused("p_u=0.5 max_p=0.6"));
        let clock = |word| Params::default().set("clock", word).is_some_and(|set| set.is_ok());
        assert_eq!(["timer", "arrival", "change"].map(clock), [true, true, false]);
    }

    #[test]
    fn thresholds_move_by_gamma_within_bounds() {
        let floating = |p_avg, least, most| {
            let (p_l, p_u, p_of) = (0.005, 0.010, Averaged::Base);
            Floating { p_l, p_u, gamma: GAMMA, w_p: W_P, p_of, least, most, p_avg }
        };
        let moved = |min_th, p_avg| floating(p_avg, 5_000.0, 100_000.0).moved(min_th);
        assert_eq!([0.02, 0.001, 0.007].map(|p| moved(20_000.0, p)), [21_000.0, 19_000.0, 20_000.0]);
        assert_eq!([moved(99_000.0, 0.02), moved(5_100.0, 0.0)], [100_000.0, 5_000.0]);
        assert_eq!(floating(0.5, 5_000.0, -1.0).moved(20_000.0), 5_000.0, "the smallest wins");
    }

    #[test]
    fn thresholds_and_max_p_move_once_per_interval() {
        let mut red = DynamicRed::build(&params("p_l=0.005 p_u=0.010"), &LINK);
        let mut curve = *red.curve();
        let once = 0.1 * 0.9;
        for (t, max_p, min_th) in [(500, 0.1, 20_000.0), (501, once, 19_000.0), (60_000, once * 0.9, 18_050.0)] {
            red.steering_mut().steer(&mut curve, 0.0, ms(t));
            assert_eq!((curve.max_p, curve.min_th), (max_p, min_th), "{t} ms");
        }
    }
}
