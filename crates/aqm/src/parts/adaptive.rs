//! Adaptive RED as an [`Aqm`] over one list: RED whose max_p keeps the average between its thresholds,
//! and optionally the thresholds themselves follow the drop probability (RED+Tail, section V).

use alloc::string::{String, ToString};

use super::early::{Config, Early};
use super::max_p::Aimd;
use super::red_auto::{AutoWeight, Known, TARGET_DELAY};
use super::red_curve::Curve;
use super::spacing::Rule;
use crate::base::cx::Cx;
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::choice;

choice! {
    /// When max_p is looked at.
    pub enum Clock {
        /// By a timer: the paper, Linux. While the link is idle the average counts as decayed, as in Linux.
        Timer = "timer",
        /// At the first arrival more than an interval after the last step.
        Arrival = "arrival",
        /// At the first arrival more than an interval after the last change: ns-2.
        Change = "change",
    }
}

/// max_p at the start. ns-2.35.
pub const MAX_P: f64 = 0.1;
/// The step of max_p up and the factor down: Floyd, Gummadi, Shenker 2001.
pub const AIMD: (f64, f64) = (0.01, 0.9);
/// No increase from here on: the same.
pub const TOP: f64 = 0.5;
/// Time between two steps: the same.
pub const INTERVAL: Span = Span::from_millis(500);
/// max_p does not sink below this: the same.
const BOTTOM: f64 = 0.01;
/// On links faster than 8 Mb/s it may sink to this over C in bits per second. ns-2.35.
const BOTTOM_RATE: f64 = 80_000.0;
/// Dynamic thresholds keep min_th at this or above, in packets. Ours.
const LEAST_MIN_TH: f64 = 5.0;

/// ns-2's bottom of max_p, unless it is given.
pub fn bottom(given: Auto<f64>, link: &Link) -> f64 {
    given.or(BOTTOM.min(BOTTOM_RATE / link.rate.0 as f64))
}

/// RED as ns-2 has it, gentle and waiting, counting packets, remembering a second's packets: for thresholds that a
/// scheme of its own gives.
pub const fn usual(min_th: Depth, max_th: Depth, link: &Link) -> Config {
    Config {
        known: Known {
            rule: Rule::Ns2,
            min_th: Auto::Given(min_th),
            max_th: Auto::Given(max_th),
            bytes: false,
            target: TARGET_DELAY,
            w_q: Auto::Auto,
            auto_w: AutoWeight::Second,
            delay: Span::ZERO,
            burst: Auto::Auto,
            mean_packet: link.mean_packet,
        },
        max_p: MAX_P,
        gentle: true,
        wait: true,
        idle: true,
        harddrop: true,
        nodrop: false,
        mark_p: None,
    }
}

/// When and how max_p moves.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    /// How.
    pub aimd: Aimd,
    /// Time between two steps; above 0.
    pub interval: Span,
    /// What measures it.
    pub clock: Clock,
    /// ns-2: the gentle part keeps its first slope.
    pub frozen: bool,
}

impl Steering {
    /// With the authors' numbers and ns-2's bottom, at the first arrival after each interval.
    pub fn usual(link: &Link) -> Self {
        let aimd = Aimd { alpha: AIMD.0, beta: AIMD.1, bottom: bottom(Auto::Auto, link), top: TOP, inclusive: false };
        Self { aimd, interval: INTERVAL, clock: Clock::Arrival, frozen: false }
    }
}

choice! {
    /// What measures the interval where max_p and thresholds move together.
    pub enum Pace {
        /// A timer. While the link is idle the average counts as decayed.
        Timer = "timer",
        /// The first arrival more than an interval after the last step.
        Arrival = "arrival",
    }
}

/// What RED+Tail may set of the Adaptive RED of its queue 2, in it or by itself.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// min_th and max_th.
    pub thresholds: (Depth, Depth),
    /// max_p at the start.
    pub max_p: f64,
    /// Largest step of max_p up, and the factor down.
    pub aimd: (f64, f64),
    /// Time between two steps.
    pub interval: Span,
    /// What measures it.
    pub pace: Pace,
    /// Weight of the average.
    pub w_q: Auto<f64>,
    /// How the thresholds move, if they do.
    pub floating: Option<Floating>,
}

impl Knobs {
    /// The Adaptive RED with these.
    pub fn build(&self, link: &Link) -> Adaptive {
        let plain = usual(self.thresholds.0, self.thresholds.1, link);
        let config = Config { known: Known { w_q: self.w_q, ..plain.known }, max_p: self.max_p, ..plain };
        let (alpha, beta) = self.aimd;
        let clock = match self.pace {
            Pace::Timer => Clock::Timer,
            Pace::Arrival => Clock::Arrival,
        };
        let usual = Steering::usual(link);
        let aimd = Aimd { alpha, beta, ..usual.aimd };
        Adaptive::new(config, Steering { aimd, interval: self.interval, clock, ..usual }, self.floating, link)
    }

    /// A band that lies in order, below what RED does at max_th (section V: P_U < P_max).
    pub fn check_band((p_l, p_u): (f64, f64), max_p: f64) -> Result<(), String> {
        if p_l > p_u {
            return Err("p_l at most p_u".to_string());
        }
        if p_u > 0.0 && p_u >= max_p { Err("p_u below max_p".to_string()) } else { Ok(()) }
    }
}

/// Relative step of floating thresholds: RED+Tail, section V.
pub const GAMMA: f64 = 0.05;
/// Weight of an arrival in the average drop probability. Ours.
pub const W_P: f64 = 0.02;

/// How the thresholds follow the average drop probability, their distance kept.
#[derive(Clone, Copy, Debug)]
pub struct Floating {
    /// P_L and P_U: down below the one, up above the other.
    pub band: (f64, f64),
    /// Relative step.
    pub gamma: f64,
    /// Weight of an arrival in the average drop probability.
    pub w_p: f64,
}

/// Thresholds in motion.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    floating: Floating,
    bounds: (f64, f64),
    p_avg: f64,
}

/// The thresholds' lower end after one step: up while p is above the band, down while below it,
/// within `bounds`, the lower one of which wins.
fn moved(min_th: f64, p_avg: f64, floating: &Floating, bounds: (f64, f64)) -> f64 {
    let Floating { band, gamma, .. } = *floating;
    let factor = match p_avg {
        p if p > band.1 => 1.0 + gamma,
        p if p < band.0 => 1.0 - gamma,
        _ => return min_th,
    };
    (min_th * factor).min(bounds.1).max(bounds.0)
}

/// State of Adaptive RED.
pub struct Adaptive {
    early: Early,
    steps: Steps,
}

/// What moves the curve.
struct Steps {
    steering: Steering,
    /// By the timer: the next step. Else: the last step, or change.
    at: Instant,
    dynamic: Option<Dynamic>,
}

impl Steps {
    /// max_p, then the thresholds. Has max_p made a step?
    fn step(&mut self, curve: &mut Curve, avg: f64) -> bool {
        let max_p = self.steering.aimd.step(curve, avg);
        curve.max_p = max_p.unwrap_or(curve.max_p);
        if let Some(Dynamic { floating, bounds, p_avg }) = &self.dynamic {
            let distance = curve.max_th - curve.min_th;
            curve.min_th = moved(curve.min_th, *p_avg, floating, *bounds);
            curve.max_th = curve.min_th + distance;
        }
        max_p.is_some()
    }

    /// An arrival's turn to look at the clock.
    #[inline]
    fn look(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        if self.steering.clock == Clock::Timer || now.since(self.at) <= self.steering.interval {
            return;
        }
        if self.step(curve, avg) || self.steering.clock == Clock::Arrival {
            self.at = now;
        }
    }
}

impl Adaptive {
    /// RED by `config`, its max_p steered, its thresholds where they are or `floating`.
    pub fn new(config: Config, steering: Steering, floating: Option<Floating>, link: &Link) -> Self {
        let mut early = Early::new(config, link);
        if steering.frozen {
            early.freeze_gentle();
        }
        let (packet, buffer) = match early.unit() {
            Depth::Packets(_) => (1.0, link.limit_pkts()),
            Depth::Bytes(_) => (config.known.mean_packet.0 as f64, link.limit_bytes()),
        };
        let bounds = (LEAST_MIN_TH * packet, buffer - (early.curve.max_th - early.curve.min_th));
        let dynamic = floating.map(|floating| Dynamic { floating, bounds, p_avg: 0.0 });
        let at = match steering.clock {
            Clock::Timer => Instant::ZERO + steering.interval,
            Clock::Arrival | Clock::Change => Instant::ZERO,
        };
        Self { early, steps: Steps { steering, at, dynamic } }
    }

    /// The same where `before` was steered to; none if that is in another unit.
    pub fn after(self, before: &Self) -> Option<Self> {
        let mut early = self.early.after(&before.early)?;
        early.curve.max_p = before.early.curve.max_p;
        if before.steps.dynamic.is_some() {
            early.curve = before.early.curve;
        }
        let p_avg = before.p_avg();
        let dynamic = self.steps.dynamic.map(|dynamic| Dynamic { p_avg, ..dynamic });
        Some(Self { early, steps: Steps { at: before.steps.at, dynamic, ..self.steps } })
    }

    /// The RED that is steered.
    pub const fn early(&self) -> &Early {
        &self.early
    }

    /// The average drop probability that moves the thresholds; 0 if they stand.
    pub fn p_avg(&self) -> f64 {
        self.steps.dynamic.map_or(0.0, |dynamic| dynamic.p_avg)
    }
}

impl Aqm for Adaptive {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let (now, steps) = (cx.now, &mut self.steps);
        let verdict = self.early.arrival(packet, level, cx, |curve, avg| steps.look(curve, avg, now));
        if let Some(dynamic) = &mut self.steps.dynamic {
            dynamic.p_avg += dynamic.floating.w_p * (self.early.p_b() - dynamic.p_avg);
        }
        verdict
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        self.early.settled(fate);
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        self.early.emptied(cx.now);
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        (self.steps.steering.clock == Clock::Timer).then_some(self.steps.at)
    }

    fn tick(&mut self, _: &Level, cx: &mut Cx) {
        let avg = self.early.average().at(cx.now);
        self.steps.step(&mut self.early.curve, avg);
        self.steps.at = cx.now + self.steps.steering.interval;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};

    fn link(rate: u64) -> Link {
        Link { rate: Rate(rate), limit: Limit::Bytes(160_000), mean_packet: Bytes(1000) }
    }

    const FLOATING: Floating = Floating { band: (0.005, 0.010), gamma: GAMMA, w_p: W_P };

    fn adaptive(clock: Clock, floating: Option<Floating>) -> Adaptive {
        let link = link(3_000_000);
        let config = usual(Depth::Bytes(20_000.0), Depth::Bytes(80_000.0), &link);
        Adaptive::new(config, Steering { clock, ..Steering::usual(&link) }, floating, &link)
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn thresholds_move_by_a_twentieth_within_the_buffer() {
        let moved = |min_th, p_avg, bounds| moved(min_th, p_avg, &FLOATING, bounds);
        let bounds = (5_000.0, 100_000.0);
        assert_eq!(moved(20_000.0, 0.02, bounds), 21_000.0);
        assert_eq!(moved(20_000.0, 0.001, bounds), 19_000.0);
        assert_eq!(moved(20_000.0, 0.007, bounds), 20_000.0);
        assert_eq!(moved(99_000.0, 0.02, bounds), 100_000.0);
        assert_eq!(moved(5_100.0, 0.0, bounds), 5_000.0);
        assert_eq!(moved(20_000.0, 0.5, (5_000.0, -1.0)), 5_000.0);
    }

    #[test]
    fn bottom_of_max_p_falls_with_the_rate() {
        assert_eq!(bottom(Auto::Auto, &link(3_000_000)), 0.01);
        assert!((bottom(Auto::Auto, &link(15_000_000)) - 0.0053).abs() < 5e-5);
        assert_eq!(bottom(Auto::Given(0.02), &link(15_000_000)), 0.02);
    }

    /// max_p and min_th after an arrival, or a tick, at each of these times.
    fn course(clock: Clock, avg: f64, times: &[u64]) -> Vec<(f64, f64)> {
        let Adaptive { mut early, mut steps } = adaptive(clock, Some(FLOATING));
        let one = |ms: &u64| {
            steps.look(&mut early.curve, avg, at(*ms));
            (early.curve.max_p, early.curve.min_th)
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn one_step_an_interval_however_long_the_silence() {
        let once = 0.1 * 0.9;
        assert_eq!(
            course(Clock::Arrival, 0.0, &[400, 500, 501, 900, 60_000]),
            [(0.1, 20_000.0), (0.1, 20_000.0), (once, 19_000.0), (once, 19_000.0), (once * 0.9, 18_050.0)]
        );
    }

    #[test]
    fn ns2_counts_from_the_last_change() {
        // 50 KB is in the middle: max_p stays, so every arrival looks again, and the thresholds sink each time.
        assert_eq!(course(Clock::Change, 50_000.0, &[500, 501, 502])[2], (0.1, 20_000.0 * 0.95 * 0.95));
        let once = 0.1 * 0.9;
        let below = course(Clock::Change, 0.0, &[501, 900, 1_001, 1_002]);
        assert_eq!(below.iter().map(|(max_p, _)| *max_p).collect::<Vec<_>>(), [once, once, once, once * 0.9]);
    }

    #[test]
    fn the_timer_runs_without_arrivals_on_an_average_that_decays() {
        let mut queue = Queue::new(Fifo::new(adaptive(Clock::Timer, None)), link(3_000_000), false, Rng::stream(1, ""));
        let max_p = |queue: &Queue<Fifo<Adaptive>>| queue.discipline().aqm().early().curve.max_p;
        (0..160).for_each(|_| queue.arrive(Packet { len: 1000, ..Packet::default() }, at(0)));
        assert!(queue.discipline().aqm().early().average().value() < 80_000.0);
        assert_eq!(queue.next_tick(), Some(at(500)));
        queue.tick(at(500));
        let first = max_p(&queue);
        assert!(first != 0.1 && queue.next_tick() == Some(at(1000)));
        while queue.depart(at(600)).is_some() {}
        // A late tick is one step; the next is an interval later. After 10 s at 375 packets a second nothing is left.
        queue.tick(at(10_600));
        assert_eq!((max_p(&queue), queue.next_tick()), (first * 0.9, Some(at(11_100))));
    }

    #[test]
    fn a_frozen_gentle_part_keeps_its_slope() {
        let link = link(3_000_000);
        let config = usual(Depth::Packets(5.0), Depth::Packets(15.0), &link);
        for (frozen, want) in [(true, 0.1 + 0.9 * 0.5), (false, 0.4 + 0.6 * 0.5)] {
            let config = Config { known: Known { w_q: Auto::Given(1.0), ..config.known }, ..config };
            let mut ared = Adaptive::new(config, Steering { frozen, ..Steering::usual(&link) }, None, &link);
            ared.early.curve.max_p = 0.4;
            let mut queue = Queue::new(Fifo::new(ared), link, false, Rng::stream(1, ""));
            // Half-way from max_th to its double are 22.5 packets: at 23, 0.5 more of a packet in 15.
            (0..24).for_each(|_| queue.arrive(Packet { len: 1000, ..Packet::default() }, at(0)));
            let early = queue.discipline().aqm().early();
            let more = (early.average().value() - 22.5) / 15.0 * if frozen { 0.9 } else { 0.6 };
            assert!((early.p_b() - want - more).abs() < 1e-12, "{}", early.p_b());
        }
    }
}
