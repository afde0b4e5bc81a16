//! Adaptive RED with dynamic thresholds: they float until the drop probability is in the band wanted
//! (RED+Tail, section V).
//!
//! RED answers more load with more drops, which TCP pays for with retransmissions. Raising both thresholds instead
//! lengthens the queue and with it the round trips: the same throughput at fewer drops, for more delay.

use alloc::string::{String, ToString};

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::adaptive::{AIMD, Adaptive, Floating, GAMMA, INTERVAL, Knobs, MAX_P, Pace, W_P};
use crate::{params, probes};

params! {
    /// Knobs of Adaptive RED with dynamic thresholds.
    pub struct Params {
        /// Lower threshold of the average queue, to begin with.
        min_th: Depth = Depth::Bytes(20_000.0), in 0.0 ..= 1e9, "minth_2", "RED+Tail, Table II";
        /// Upper threshold; it keeps its distance from the lower one.
        max_th: Depth = Depth::Bytes(80_000.0), in 1.0 ..= 1e9, "maxth_2", "RED+Tail, Table II";
        /// The thresholds sink while the average drop probability is below this.
        p_l: f64 = 0.01, in 0.0 ..= 1.0, "P_L", "RED+Tail, section V";
        /// They rise while it is above this.
        p_u: f64 = 0.02, in 0.0 ..= 1.0, "P_U", "RED+Tail, section V";
        /// Relative step of the lower threshold.
        gamma: f64 = GAMMA, in 0.0 ..= 1.0, "gamma", "RED+Tail, section V";
        /// Weight of an arrival in the average drop probability.
        w_p: f64 = W_P, in 1e-9 ..= 1.0, "", "ours: not printed";
        /// Time between two steps, of max_p and of the thresholds.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "ours: Adaptive RED's";
        /// What measures it.
        clock: Pace = Pace::Arrival, in 0.0 ..= 1.0, "", "ours: as in red_tail";
        /// Largest step of max_p up; a quarter of it if that is less.
        alpha: f64 = AIMD.0, in 0.0 ..= 1.0, "alpha", "RED+Tail, Table II";
        /// Factor of a step of max_p down.
        beta: f64 = AIMD.1, in 0.0 ..= 1.0, "beta", "RED+Tail, Table II";
        /// Probability at max_th, to begin with.
        max_p: f64 = MAX_P, in 0.0 ..= 1.0, "P_max", "ns-2.35 1/linterm_";
        /// Weight of the queue met by an arrival in the average; auto is 1 - exp(-1/C).
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "Floyd, Gummadi, Shenker 2001, section 5.1";
    }
}

/// State of Adaptive RED with dynamic thresholds.
pub struct DynamicRed {
    adaptive: Adaptive,
}

impl Design for DynamicRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "Adaptive RED whose thresholds rise and sink until the drop probability is in a given band",
        source: "RED+Tail: parallel virtual queues with drop-tail and Adaptive RED, section V",
        rule: "arrival:         ared's;  P += w_p (p_b - P)\n\
               every interval:  max_p as ared;  P > p_u: min_th *= 1 + gamma;  P < p_l: min_th *= 1 - gamma;\n\
               \u{20}                max_th = min_th + D, D as at the start",
        deviations: &[
            "w_p, the interval and what is averaged are not printed: P averages RED's base probability p_b at every \
             arrival, before it is spread, 0 below min_th",
            "min_th stays at or above 5 packets, max_th within the buffer: ours; without them the thresholds walk past \
             the buffer, or shrink to nothing, which a factor does not lead out of",
            "max_p is adapted all the while, as in the paper's simulations with ns-2: two loops",
            "RED is gentle, waits and counts packets, as ns-2.35's does; it is the queue 2 of red_tail",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off min_th=20000b max_th=80000b p_l=0.01 p_u=0.02 gamma=0.05 alpha=0.01 beta=0.9",
            source: "RED+Tail, Fig. 11 and Table II: 6 Mb/s; give it a buffer of 160000b",
        },
        Preset {
            name: "tail",
            settings: "ecn=off min_th=20000b max_th=80000b p_l=0.005 p_u=0.010 gamma=0.05 alpha=0.01 beta=0.9",
            source: "RED+Tail, Table IV: the band inside RED+Tail",
        },
    ];

    fn check(params: &Params) -> Result<(), String> {
        let &Params { min_th, max_th, p_l, p_u, .. } = params;
        if min_th.with(0.0) != max_th.with(0.0) {
            return Err("min_th and max_th both in packets, or both in bytes".to_string());
        }
        if min_th >= max_th {
            return Err("min_th below max_th".to_string());
        }
        Knobs::check_band((p_l, p_u), params.max_p)
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { min_th, max_th, p_l, p_u, gamma, w_p, interval, clock, alpha, beta, max_p, w_q } = params;
        let floating = Some(Floating { band: (p_l, p_u), gamma, w_p });
        let knobs =
            Knobs { thresholds: (min_th, max_th), max_p, aimd: (alpha, beta), interval, pace: clock, w_q, floating };
        Self { adaptive: knobs.build(link) }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { adaptive: Self::build(params, link).adaptive.after(&self.adaptive)? })
    }
}

impl Aqm for DynamicRed {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.adaptive.arrival(packet, level, cx)
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, cx: &mut Cx) {
        self.adaptive.settled(packet, fate, cx);
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        self.adaptive.emptied(cx);
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        self.adaptive.next_tick()
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        self.adaptive.tick(level, cx);
    }
}

probes! { DynamicRed {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.adaptive.early().average().value();
    /// Average drop probability, which moves the thresholds.
    p ["1"] = |s| s.adaptive.p_avg();
    /// Lower threshold.
    min_th ["packets|bytes"] = |s| s.adaptive.early().curve.min_th;
    /// Probability at max_th.
    max_p ["1"] = |s| s.adaptive.early().curve.max_p;
    /// Base probability of the latest arrival.
    p_b ["1"] = |s| s.adaptive.early().p_b();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};

    const LINK: Link = Link { rate: Rate(6_000_000), limit: Limit::Packets(160), mean_packet: Bytes(1000) };

    fn params(settings: &str) -> Params {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        params
    }

    /// Lower threshold and average probability after `steps` steps of the timer behind a queue of `q` packets;
    /// thresholds 20 and 80, no memory of either average.
    fn after(q: u32, settings: &str, steps: u64) -> (f64, f64) {
        let params = params(&alloc::format!("min_th=20p max_th=80p w_q=1 w_p=1 clock=timer {settings}"));
        DynamicRed::check(&params).unwrap();
        let red = Fifo::new(DynamicRed::build(&params, &LINK));
        let mut queue = Queue::new(red, LINK, false, Rng::stream(1, "dynamic"));
        while queue.port.pkts() <= q {
            queue.arrive(Packet { len: 1000, ..Packet::default() }, Instant::ZERO);
        }
        (1..=steps).for_each(|n| queue.tick(Instant::ZERO + INTERVAL * n));
        let adaptive = &queue.discipline().aqm().adaptive;
        (adaptive.early().curve.min_th, adaptive.p_avg())
    }

    #[test]
    fn thresholds_follow_the_drop_probability() {
        // At 35 of 20 to 80 packets p_b = 0.1/4 is above 0.02; at 29, 0.015 is within; at 23, 0.005 is below.
        let near = |(min_th, p): (f64, f64), want: (f64, f64)| {
            assert!((min_th - want.0).abs() < 1e-9 && (p - want.1).abs() < 1e-12, "{min_th} {p}, not {want:?}");
        };
        near(after(35, "", 1), (21.0, 0.025));
        near(after(29, "", 1), (20.0, 0.015));
        near(after(23, "", 1), (19.0, 0.005));
        near(after(35, "", 3), (20.0 * 1.05 * 1.05 * 1.05, 0.025));
        near(after(35, "gamma=0.5", 1), (30.0, 0.025));
        near(after(10, "", 3), (20.0 * 0.95 * 0.95 * 0.95, 0.0));
    }

    #[test]
    fn thresholds_stay_within_the_buffer() {
        assert_eq!(after(100, "gamma=0.5", 20).0, 100.0, "160 less 60");
        assert_eq!(after(10, "gamma=0.5", 20).0, 5.0);
        assert_eq!(after(35, "p_l=0 p_u=0.09", 20).0, 20.0);
    }

    #[test]
    fn refuses_what_cannot_be() {
        let refused = |settings| DynamicRed::check(&params(settings)).is_err();
        assert!(refused("min_th=5p") && refused("min_th=80000b") && refused("p_l=0.1") && !refused(""));
        assert!(refused("p_u=0.5") && refused("max_p=0.02") && !refused("p_u=0.5 max_p=0.6"));
        let clock = |word| Params::default().set("clock", word).is_some_and(|set| set.is_ok());
        assert_eq!(["timer", "arrival", "change"].map(clock), [true, true, false]);
    }
}
