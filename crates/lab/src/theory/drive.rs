//! A law driven by a queue that is not there: what it answers to a queue of our making, asked of its own code.

use std::f64::consts::TAU;

use forebay_aqm::base::ladder::{Actuation, BareLaw, MAX_CLOCKS, Sample, Signal};
use forebay_aqm::base::port::{Count, Tally};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Depth;
use num_complex::Complex64;

use super::setting::Setting;

/// A law with its clocks, and what it has been told.
pub(crate) struct Driven<'a> {
    law: Box<dyn BareLaw>,
    setting: &'a Setting,
    actuation: Actuation,
    now_s: f64,
    clocks: [Clock; MAX_CLOCKS],
    /// Packets so far, whole and in parts: counters are whole numbers, and what a period lacks the next one has.
    offered: f64,
    dropped: f64,
}

#[derive(Clone, Copy, Default)]
struct Clock {
    last_s: f64,
    tally: Tally,
}

impl<'a> Driven<'a> {
    /// `law` at time 0.
    pub(crate) fn new(law: Box<dyn BareLaw>, setting: &'a Setting) -> Self {
        let actuation = law.initial();
        Self { law, setting, actuation, now_s: 0.0, clocks: Default::default(), offered: 0.0, dropped: 0.0 }
    }

    /// The shortest period of its clocks, in seconds.
    pub(crate) fn period_s(&self) -> f64 {
        (0..self.law.clocks()).map(|i| self.law.period(i).secs()).fold(f64::INFINITY, f64::min)
    }

    /// The time that its clocks have reached, in seconds.
    pub(crate) fn now_s(&self) -> f64 {
        self.now_s
    }

    /// The probability that a packet of the setting meets with `q` packets waiting.
    pub(crate) fn p(&self, q: f64) -> f64 {
        let length = f64::from(self.setting.packet);
        let p = match self.actuation.signal {
            Signal::Bernoulli(p) => p,
            Signal::Scaled { p, q0: Depth::Packets(q0) } => p * q / q0,
            Signal::Scaled { p, q0: Depth::Bytes(q0) } => p * q * length / q0,
        };
        self.actuation.per_byte.map_or(p, |mean| p * length / mean).clamp(0.0, 1.0)
    }

    /// Time passes until `now_s`: so many packets were offered, of which so many dropped, and `q` wait then.
    pub(crate) fn pass(&mut self, now_s: f64, offered: f64, dropped: f64, q: f64) {
        self.now_s = now_s;
        self.offered += offered;
        self.dropped += dropped;
        for i in 0..self.law.clocks() {
            let period = self.law.period(i).secs();
            // A clock that is due by all but the rounding of a sum is due.
            if now_s - self.clocks[i].last_s < period * (1.0 - 1e-9) {
                continue;
            }
            let tally = self.tally();
            let clock = &mut self.clocks[i];
            let sample = Sample {
                now: Instant::from_nanos((now_s * 1e9) as u64),
                dt: Span::from_secs(now_s - clock.last_s),
                link: self.setting.link,
                backlog_pkts: q,
                backlog_bytes: q * f64::from(self.setting.packet),
                period: tally.since(&clock.tally),
            };
            (clock.last_s, clock.tally) = (now_s, tally);
            self.actuation = self.law.update(i, &sample);
        }
    }

    /// What the counters of a port would say.
    fn tally(&self) -> Tally {
        let count = |pkts: f64| Count { pkts: pkts as u64, bytes: (pkts * f64::from(self.setting.packet)) as u64 };
        let accepted = count(self.offered - self.dropped);
        let dropped_early = count(self.dropped);
        // As at a port: what was offered is what came of it.
        let offered = Count { pkts: accepted.pkts + dropped_early.pkts, bytes: accepted.bytes + dropped_early.bytes };
        Tally { offered, accepted, dropped_early, ..Tally::default() }
    }
}

/// Where a loop rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rest {
    /// Packets waiting.
    pub(crate) q: f64,
    /// Probability of a signal.
    pub(crate) p: f64,
}

/// How much nearer the queue comes each period to where the flows would have it, the coarsest first.
const NEARER: [f64; 5] = [0.3, 0.1, 0.03, 0.01, 0.003];
/// Periods that are tried with each of them, and the share at the end that must be alike.
const PERIODS: usize = 60_000;
/// Unlikeness that is still rest.
const REST: f64 = 1e-4;

/// Brings a law to rest on slow flows: the queue follows what p means a little each period, so that only where the loop
/// rests decides, not whether it swings. `None` where it does not come to rest.
pub(crate) fn rest<'a>(law: &dyn Fn() -> Box<dyn BareLaw>, setting: &'a Setting) -> Option<(Driven<'a>, Rest)> {
    for nearer in NEARER {
        let mut driven = Driven::new(law(), setting);
        let period = driven.period_s();
        let mut q = 0.0;
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for n in 0..PERIODS {
            let p = driven.p(q);
            let next = q + nearer * (setting.queue_for(p) - q);
            let entering = (setting.capacity * period + next - q).max(0.0);
            let dropped = if setting.drops { entering * p / (1.0 - p).max(0.01) } else { 0.0 };
            q = next;
            driven.pass(driven.now_s() + period, entering + dropped, dropped, q);
            if n == PERIODS / 4 || n == PERIODS / 2 {
                (low, high) = (f64::INFINITY, 0.0);
            }
            (low, high) = (low.min(driven.p(q)), high.max(driven.p(q)));
            let settled = n > 2000 && n % 1000 == 999;
            if settled {
                if high - low <= REST * high && high > 0.0 {
                    let p = driven.p(q);
                    return Some((driven, Rest { q, p }));
                }
                (low, high) = (f64::INFINITY, 0.0);
            }
        }
    }
    None
}

/// The swing that a law is driven with: a part of the queue at rest, and at least so many packets.
const PART: f64 = 0.05;
const LEAST: f64 = 1.0;
/// Periods of it that count, and looks at p in each at least.
const SWINGS: usize = 6;
const LOOKS: usize = 48;

/// What p answers to a queue that swings about `rest` at `w` radians a second, arrivals being what that takes: the
/// complex gain, per packet.
pub(crate) fn response(driven: &mut Driven<'_>, rest: Rest, w: f64) -> Complex64 {
    let setting = driven.setting;
    let swing = (PART * rest.q).max(LEAST).min((setting.limit - rest.q).max(LEAST)).min(rest.q.max(LEAST));
    let tick = driven.period_s();
    // Looks fall together with the clock.
    let every = ((TAU / w) / LOOKS as f64).min(tick);
    let looks_a_tick = (tick / every).ceil();
    let step = tick / looks_a_tick;
    let begin = driven.now_s();
    let at = |t: f64| rest.q + swing * libm::sin(w * t);
    let looks = ((SWINGS + 1) as f64 * TAU / w / step) as usize;
    let settled = TAU / w;
    let end = settled + SWINGS as f64 * TAU / w;
    let (mut q, mut sum, mut total, mut weight) = (rest.q, Complex64::new(0.0, 0.0), 0.0, 0.0);
    let (mut pending, mut since_tick) = ([0.0_f64; 2], 0.0);
    // All looks, because the mean and what drifts go first: an integrator keeps what it met when the swing began.
    let mut seen: Vec<(f64, f64)> = Vec::with_capacity(looks);
    for n in 1..=looks {
        let t = n as f64 * step;
        let next = at(t);
        let p = driven.p(q);
        let entering = (setting.capacity * step + next - q).max(0.0);
        let dropped = if setting.drops { entering * p / (1.0 - p).max(0.01) } else { 0.0 };
        pending = [pending[0] + entering + dropped, pending[1] + dropped];
        q = next;
        since_tick += 1.0;
        if since_tick >= looks_a_tick {
            driven.pass(begin + t, pending[0], pending[1], q);
            (pending, since_tick) = ([0.0; 2], 0.0);
        }
        if t > settled && t <= end {
            // What is held until the next look, seen in its middle.
            let middle = t + 0.5 * step;
            let p = driven.p(at(middle));
            seen.push((middle, p));
            total += p;
            weight += 1.0;
        }
    }
    // A whole swing has no trend of its own, so its mean tells what drifts.
    let mean_of = |from: f64| {
        let of: Vec<f64> = seen.iter().filter(|(t, _)| *t > from && *t <= from + settled).map(|(_, p)| *p).collect();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    };
    let trend = (mean_of(end - settled) - mean_of(settled)) / (end - 2.0 * settled);
    let (mean, middle) = (total / weight, 0.5 * (settled + end));
    for &(t, p) in &seen {
        sum += (p - mean - trend * (t - middle)) * Complex64::from_polar(1.0, -w * t);
    }
    // A sine of amplitude 1 gives -i/2.
    2.0 * sum / weight * Complex64::i() / swing
}
