//! Runs the code of a control law with a computed queue, to find the equilibrium of law and TCP flows, and the
//! frequency response of the law. The law computes the signal probability p. Its clocks are its periodic updates, in
//! which it reads the packet counters of the queue.

use std::f64::consts::TAU;
use std::ops::Range;

use forebay_aqm::base::discipline::{Actuation, BareLaw, MAX_CLOCKS, Sample, Signal};
use forebay_aqm::base::port::{Count, Tally};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Depth;
use num_complex::Complex64;

use super::answer::Rest;
use super::setting::Setting;

/// A control law that runs with a computed queue, with the state of its clocks and of the counters that it reads.
pub(crate) struct Driven<'a> {
    law: Box<dyn BareLaw>,
    setting: &'a Setting,
    actuation: Actuation,
    now_s: f64,
    q: f64,
    clocks: [Clock; MAX_CLOCKS],
    /// Packets offered and dropped so far, with fractions. The counters that the law reads are whole numbers; a
    /// fraction of a packet is added to the counts of the next period of a clock.
    offered: f64,
    dropped: f64,
}

#[derive(Clone, Copy, Default)]
struct Clock {
    last_s: f64,
    tally: Tally,
}

impl Clone for Driven<'_> {
    fn clone(&self) -> Self {
        Self { law: self.law.duplicate(), ..*self }
    }
}

impl<'a> Driven<'a> {
    /// The law `law` at time 0, with an empty queue.
    pub(crate) fn new(law: Box<dyn BareLaw>, setting: &'a Setting) -> Self {
        let actuation = law.initial();
        Self { law, setting, actuation, now_s: 0.0, q: 0.0, clocks: Default::default(), offered: 0.0, dropped: 0.0 }
    }

    /// Shortest period of the law's clocks, in seconds; infinite without clocks.
    pub(crate) fn period_s(&self) -> f64 {
        (0..self.law.clocks()).map(|i| self.law.period(i).secs()).fold(f64::INFINITY, f64::min)
    }

    /// Sets the interval in which a law without a clock samples the queue.
    fn look_every(&mut self, seconds: f64) {
        // Rounded down, so that the law never samples too late.
        self.law.look_every(Span::from_nanos((seconds * 1e9) as u64));
    }

    /// Length of a step of the search for the equilibrium, in seconds of the law's time.
    fn slow_step(&self) -> f64 {
        self.period_s().max(self.setting.at_rest(0.0, self.setting.capacity).mean_rtt_s() / 50.0)
    }

    /// The law's time in seconds.
    pub(crate) fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Time of the next periodic update, in seconds; infinite without clocks.
    fn due_s(&self) -> f64 {
        let due = |i: usize| self.clocks[i].last_s + self.law.period(i).secs();
        (0..self.law.clocks()).map(due).fold(f64::INFINITY, f64::min)
    }

    /// Signal probability for a packet of the scenario's size if `q` packets are waiting.
    pub(crate) fn p(&self, q: f64) -> f64 {
        let length = f64::from(self.setting.packet);
        let p = match self.actuation.signal {
            Signal::Bernoulli(p) => p,
            Signal::Scaled { p, q0: Depth::Packets(q0) } => p * q / q0,
            Signal::Scaled { p, q0: Depth::Bytes(q0) } => p * q * length / q0,
        };
        self.actuation.per_byte.map_or(p, |mean| p * length / mean).clamp(0.0, 1.0)
    }

    /// Advances the law's time to `now_s` in seconds. Since the previous call, `offered` packets have arrived and
    /// `dropped` of them were dropped, evenly spread in time, and the queue has changed linearly to `q` packets.
    /// Periodic updates that are due in this interval run with the counters and the queue at their time.
    pub(crate) fn pass(&mut self, now_s: f64, offered: f64, dropped: f64, q: f64) {
        let (begin_s, from_q) = (self.now_s, self.q);
        let mut part = 0.0;
        loop {
            let due = |i: usize| self.clocks[i].last_s + self.law.period(i).secs();
            let Some(next) = (0..self.law.clocks()).min_by(|&a, &b| due(a).total_cmp(&due(b))) else { break };
            // A clock also counts as due if its time is later only by the rounding error of the sum.
            let due_s = due(next);
            if due_s > now_s + 1e-6 * self.law.period(next).secs() {
                break;
            }
            let until = if now_s > begin_s { ((due_s - begin_s) / (now_s - begin_s)).clamp(part, 1.0) } else { 1.0 };
            self.offered += (until - part) * offered;
            self.dropped += (until - part) * dropped;
            part = until;
            self.update(next, due_s, from_q + until * (q - from_q));
        }
        self.offered += (1.0 - part) * offered;
        self.dropped += (1.0 - part) * dropped;
        (self.now_s, self.q) = (now_s, q);
    }

    /// Calls the law's periodic update of the clock with index `i`.
    fn update(&mut self, i: usize, now_s: f64, q: f64) {
        let tally = self.tally();
        let clock = &mut self.clocks[i];
        let sample = Sample {
            now: Instant::from_nanos(libm::round(now_s * 1e9) as u64),
            dt: Span::from_secs(now_s - clock.last_s),
            link: self.setting.link,
            backlog_pkts: q,
            backlog_bytes: q * f64::from(self.setting.packet),
            period: tally.since(&clock.tally),
        };
        (clock.last_s, clock.tally) = (now_s, tally);
        self.actuation = self.law.update(i, &sample);
    }

    /// The packet counters as the queue of a simulated link would report them.
    fn tally(&self) -> Tally {
        let count = |pkts: f64| Count { pkts: pkts as u64, bytes: (pkts * f64::from(self.setting.packet)) as u64 };
        let accepted = count(self.offered - self.dropped);
        let dropped_early = count(self.dropped);
        // As at a simulated link: offered is the sum of accepted and dropped.
        let offered = Count { pkts: accepted.pkts + dropped_early.pkts, bytes: accepted.bytes + dropped_early.bytes };
        Tally { offered, accepted, dropped_early, ..Tally::default() }
    }
}

/// Step sizes of the search for the equilibrium, largest first. In each step the queue moves by this fraction of the
/// distance to the queue that the TCP flows would have at the law's signal probability p.
const NEARER: [f64; 7] = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003];
/// Largest number of steps with each step size of the search, and the number of steps in a window, over which p is
/// averaged.
const STEPS: usize = 2_000_000;
const WATCHED: usize = 1000;
/// The search has found the equilibrium if the mean of p changes by at most the fraction MOVES from one window to the
/// next, and if the range of p in a window is at most the fraction ROUNDING of the mean. p varies because counters are
/// whole numbers.
const MOVES: f64 = 1e-5;
const ROUNDING: f64 = 0.05;
/// Number of recent windows by which the search for the equilibrium decides that p oscillates without converging. It
/// then tries the next smaller step size.
const RECENT_MEANS: usize = 20;

/// Indices of the step sizes in `NEARER`, from the largest to the smallest.
pub(crate) const PACES: Range<usize> = 0..NEARER.len();

/// Finds the equilibrium of a law and TCP flows that react slowly: in each step the queue moves a small part of the way
/// to the queue that the flows would have at the law's p. This converges even if the real control loop oscillates.
/// Returns the state of the law, the equilibrium and the first of `paces` that converges; `None` if none does.
pub(crate) fn rest<'a>(
    law: &dyn Fn() -> Box<dyn BareLaw>,
    setting: &'a Setting,
    mut paces: Range<usize>,
) -> Option<(Driven<'a>, Rest, usize)> {
    paces.find_map(|pace| {
        let (driven, rest) = rest_by(NEARER[pace], Driven::new(law(), setting))?;
        Some((driven, rest, pace))
    })
}

fn rest_by(nearer: f64, mut driven: Driven<'_>) -> Option<(Driven<'_>, Rest)> {
    let setting = driven.setting;
    let step = driven.slow_step();
    driven.look_every(step);
    let (mut q, mut rate) = (0.0, setting.capacity);
    let mut means: Vec<f64> = Vec::new();
    let (mut low, mut high, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
    for n in 1..=STEPS {
        let p = driven.p(q);
        let wanted = setting.queue_for(p);
        // The queue decreases no faster than the link sends. Otherwise laws that count departures would compute a
        // different queue.
        let next = (q + nearer * (wanted - q)).max(q - setting.capacity * step);
        // A queue that only shrinks becomes empty.
        let next = if next < 1e-3 && wanted <= 0.0 { 0.0 } else { next };
        let full = next > 0.0 || wanted > 0.0;
        // If packets wait, the link sends at full rate.
        rate = if full { setting.capacity } else { rate + nearer * (setting.rate_for(p) - rate) };
        let entering = (rate * step + next - q).max(0.0);
        let dropped = setting.dropped_beside(entering, p);
        q = next;
        driven.pass(driven.now_s() + step, entering + dropped, dropped, q);
        let p = driven.p(q);
        (low, high, sum) = (low.min(p), high.max(p), sum + p);
        if !n.is_multiple_of(WATCHED) {
            continue;
        }
        if driven.law.has_failed() {
            return None;
        }
        let mean = sum / WATCHED as f64;
        let before = means.last().copied().unwrap_or(f64::INFINITY);
        if (mean - before).abs() <= MOVES * mean && high - low <= ROUNDING * mean && mean > 0.0 {
            driven.look_every(0.0);
            return Some((driven, Rest { q, p: mean, rate }));
        }
        means.push(mean);
        // p neither converges nor has a trend: it oscillates with this step size.
        let oscillates = high - low > ROUNDING * mean && means.len() > RECENT_MEANS && {
            let recent = &means[means.len() - RECENT_MEANS..];
            let rises = recent.windows(2).filter(|two| two[1] > two[0]).count();
            (RECENT_MEANS / 4..=3 * RECENT_MEANS / 4).contains(&rises) || recent.windows(2).all(|two| two[0] == two[1])
        };
        if oscillates {
            return None;
        }
        (low, high, sum) = (f64::INFINITY, 0.0, 0.0);
    }
    None
}

/// Amplitude of the oscillation of the queue in the measurement of the response: the fraction PART of the queue at
/// equilibrium, but at least MIN_AMPLITUDE packets.
const PART: f64 = 0.05;
const MIN_AMPLITUDE: f64 = 1.0;
/// Number of periods of the oscillation that are measured, and the minimum number of samples of p per period.
const PERIODS: usize = 6;
const LOOKS: usize = 48;
/// A law without a clock samples the queue this many times between two samples of p.
const BETWEEN: f64 = 16.0;

/// The complex gain of a law at `w` rad/s, in change of p per packet of queue. The queue oscillates around the
/// equilibrium `rest`, and the arrivals are those that cause this oscillation. If the queue is empty at equilibrium,
/// the load oscillates instead, and the gain is the change of p per packet per second.
pub(crate) fn response(driven: &mut Driven<'_>, rest: Rest, w: f64) -> Complex64 {
    let setting = driven.setting;
    let stands = rest.q > 0.0;
    let amplitude = if stands {
        (PART * rest.q)
            .max(MIN_AMPLITUDE)
            .min((setting.limit - rest.q).max(MIN_AMPLITUDE))
            .min(rest.q.max(MIN_AMPLITUDE))
    } else {
        PART * rest.rate
    };
    // p is sampled at each update of the law's clock, or less often if the clock is faster than needed.
    let every = (TAU / w) / LOOKS as f64;
    driven.look_every(every / BETWEEN);
    let tick = driven.period_s();
    let step = if tick > every { tick / (tick / every).ceil() } else { every };
    // The measurement starts at a periodic update.
    let due = driven.due_s();
    let entering = rest.rate * (due - driven.now_s());
    let dropped = setting.dropped_beside(entering, rest.p);
    driven.pass(due, entering + dropped, dropped, rest.q);
    let begin = driven.now_s();
    let at = |t: f64| if stands { rest.q + amplitude * libm::sin(w * t) } else { 0.0 };
    // Packets that enter the queue in the step that ends at t.
    let enters = |t: f64, q: f64, next: f64| {
        let change = if stands { next - q } else { amplitude * libm::sin(w * (t - 0.5 * step)) * step };
        (rest.rate * step + change).max(0.0)
    };
    let looks = ((PERIODS + 1) as f64 * TAU / w / step).ceil() as usize;
    let settled = TAU / w;
    let end = settled + PERIODS as f64 * TAU / w;
    let (mut q, mut sum, mut total, mut weight) = (rest.q, Complex64::new(0.0, 0.0), 0.0, 0.0);
    // All samples are kept, because mean and drift are subtracted first: an integrator keeps the state from
    // the start of the oscillation.
    let mut seen: Vec<(f64, f64)> = Vec::with_capacity(looks);
    for n in 1..=looks {
        let t = n as f64 * step;
        let next = at(t);
        let p = driven.p(q);
        let entering = enters(t, q, next);
        let dropped = setting.dropped_beside(entering, p);
        q = next;
        driven.pass(begin + t, entering + dropped, dropped, q);
        if t > settled && t <= end {
            // p is constant until the next update, so a sample counts at the middle of this interval; if p is sampled
            // less often than it is updated, at the time of the sample.
            let middle = if step > tick { t } else { t + 0.5 * step };
            let p = driven.p(at(middle));
            seen.push((middle, p));
            total += p;
            weight += 1.0;
        }
    }
    // The mean over a complete period of the oscillation does not oscillate, so its change is drift.
    let mean_of = |from: f64| {
        let of: Vec<f64> = seen.iter().filter(|(t, _)| *t > from && *t <= from + settled).map(|(_, p)| *p).collect();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    };
    let trend = (mean_of(end - settled) - mean_of(settled)) / (end - 2.0 * settled);
    let (mean, middle) = (total / weight, 0.5 * (settled + end));
    for &(t, p) in &seen {
        sum += (p - mean - trend * (t - middle)) * Complex64::from_polar(1.0, -w * t);
    }
    driven.look_every(0.0);
    // The Fourier coefficient of a sine of amplitude 1 is -i/2.
    2.0 * sum / weight * Complex64::i() / amplitude
}
