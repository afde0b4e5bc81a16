//! PIE with the numbers of Linux 6.12 (`rules=linux`), so that both treat every packet alike: net/pie.h and sch_pie.c.
//!
//! Times are in ticks of 64 ns. Probabilities are integers in units of 2^-56. They may exceed 1: only an overflow of 64
//! bits sets p to 1.
//!
//! Random numbers: one of 64 bits, of which the upper 56 count, if the sum of p is from 0.85 to 8.5 and no rule spares
//! the packet; else none.

use super::{Latency, Params};
use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::Link;
use crate::base::verdict::Verdict;

/// A probability of 1: `MAX_PROB`.
const ONE: u64 = u64::MAX >> 8;
/// A tick is 2 to this power nanoseconds: `PSCHED_SHIFT`.
const SHIFT: u32 = 6;
/// Ticks in a second: `PSCHED_TICKS_PER_SEC`.
const TICKS_PER_SEC: u64 = 1_000_000_000 >> SHIFT;
/// alpha and beta are whole multiples of 1/16.
const PARTS: f64 = 16.0;
/// Above this delay, in ticks, an update adds 2 % to p: 250 ms.
const LONG: u64 = 250_000_000 >> SHIFT;
/// The largest increase of p in an update from p = 10 % on, and the increase at a long delay. They are computed in
/// different ways, and differ by 1.
const STEP: (u64, u64) = (ONE / 100 * 2, ONE / 50);
/// Limits of the sum of p: no drop below the first, a certain drop from the second on.
const SPACING: (u64, u64) = (ONE / 100 * 85, ONE / 2 * 17);
/// Bytes over which the departure rate is measured: `QUEUE_THRESHOLD`.
const MEASURED: u64 = 16_384;
/// Measured rates are in bytes per tick, times 2 to this power: `PIE_SCALE`.
const SCALE: u32 = 8;
/// The weight of a new rate in the average is 2 to minus this power.
const RATE_SHIFT: u32 = 3;
/// Time of the first update: half a second after the start, `HZ / 2`.
pub const FIRST_UPDATE: Span = Span::from_millis(500);

const fn ticks(nanos: u64) -> u64 {
    nanos >> SHIFT
}

/// Whose percentages limit the marks: both round differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Percent {
    /// sch_pie: 1 times the percentage, rounded down.
    OfOne,
    /// sch_fq_pie: a hundredth of 1, rounded down, times the percentage.
    Hundredths,
}

/// Linux's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Set {
    target: u64,
    /// Change of p per tick of delay and per update, from p = 10 % on.
    alpha: u64,
    beta: u64,
    max_burst: u64,
    /// ECT packets are marked up to this p.
    mark_to: u64,
    mtu: u64,
    by_bytes: bool,
    by_rate: bool,
}

impl Set {
    /// Linux's form of `params`; `percent` selects how ecn_cut is rounded.
    pub fn new(params: &Params, link: &Link, percent: Percent) -> Self {
        let gain = |hz: f64| ((libm::round(hz * PARTS) as u64).wrapping_mul(ONE / TICKS_PER_SEC)) >> 4;
        let cut = libm::round(params.ecn_cut * 100.0) as u64;
        Self {
            target: ticks(params.target.nanos()),
            alpha: gain(params.alpha),
            beta: gain(params.beta),
            max_burst: ticks(params.max_burst.nanos()),
            mark_to: match percent {
                Percent::OfOne => (u128::from(ONE) * u128::from(cut) / 100) as u64,
                Percent::Hundredths => ONE / 100 * cut,
            },
            mtu: params.mtu.or(link.mean_packet).0.clamp(1, 1 << 20),
            by_bytes: params.bytes,
            by_rate: params.latency == Latency::Rate,
        }
    }
}

/// Linux's PIE for one queue: `struct pie_vars`. Times in ticks.
#[derive(Clone, PartialEq, Debug)]
pub struct Vars {
    p: u64,
    /// `accu_prob`: the sum of p since the last drop or mark.
    sum: u64,
    delay: u64,
    delay_old: u64,
    burst: u64,
    /// `dq_tstamp`: the last departure, or the start of the rate measurement.
    since: Option<u64>,
    /// Bytes in the current rate measurement.
    counted: Option<u64>,
    /// The average departure rate in bytes per tick, times 256; 0 before the first measurement.
    rate: u32,
}

impl Vars {
    /// A new queue.
    pub const fn new(set: &Set) -> Self {
        let (since, counted) = (None, None);
        Self { p: 0, sum: 0, delay: 0, delay_old: 0, burst: set.max_burst, since, counted, rate: 0 }
    }

    /// An arrival: `pie_qdisc_enqueue`. A full buffer comes first, without a random number.
    pub fn arrival(&mut self, set: &Set, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        if !level.fits(packet.len) {
            self.sum = 0;
            return Verdict::Accept; // The port drops it: overflow.
        }
        if !self.drops_early(set, packet, level, cx) {
            return Verdict::Accept;
        }
        if self.p <= set.mark_to && level.marks(packet) {
            return Verdict::Signal; // A forced mark leaves the sum as it is, unlike a drop.
        }
        self.sum = 0;
        Verdict::Drop
    }

    /// `pie_drop_early`.
    fn drops_early(&mut self, set: &Set, packet: &Packet, level: &Level, cx: &mut Cx) -> bool {
        let short = self.delay < set.target / 2 && self.p < ONE / 5;
        if self.burst > 0 || short || level.bytes() < 2 * set.mtu {
            return false;
        }
        let len = u64::from(packet.len);
        let p = if set.by_bytes && len <= set.mtu { len * (self.p / set.mtu) } else { self.p };
        self.sum = if p == 0 { 0 } else { self.sum.wrapping_add(p) };
        if self.sum < SPACING.0 {
            return false;
        }
        if self.sum >= SPACING.1 {
            return true;
        }
        let drawn = cx.rng.bits() >> 8 < p;
        if drawn {
            self.sum = 0;
        }
        drawn
    }

    /// A departure that leaves `backlog` bytes: `pie_process_dequeue`.
    pub fn departure(&mut self, set: &Set, packet: &Packet, backlog: u64, at: Instant) {
        let now = ticks(at.nanos());
        let took = if set.by_rate {
            self.measure(packet.len, backlog, now)
        } else {
            self.delay = if backlog > 0 { now.wrapping_sub(ticks(packet.arrived.nanos())) } else { 0 };
            self.since.replace(now).map_or(0, |since| now.wrapping_sub(since) as u32)
        };
        self.burst = self.burst.saturating_sub(u64::from(took));
    }

    /// Counts a departure in the rate measurement. Returns the duration of a measurement that it ends, else 0.
    fn measure(&mut self, len: u32, backlog: u64, now: u64) -> u32 {
        if backlog >= MEASURED && self.counted.is_none() {
            (self.since, self.counted) = (Some(now), Some(0));
        }
        let Some(counted) = &mut self.counted else { return 0 };
        *counted += u64::from(len);
        if *counted < MEASURED {
            return 0;
        }
        let took = now.wrapping_sub(self.since.unwrap_or(now)) as u32;
        if took == 0 {
            return 0;
        }
        let rate = ((*counted << SCALE) as u32) / took;
        let before = self.rate;
        self.rate = if before == 0 { rate } else { (before - (before >> RATE_SHIFT)).wrapping_add(rate >> RATE_SHIFT) };
        if backlog < MEASURED {
            self.counted = None;
        } else {
            (self.since, self.counted) = (Some(now), Some(0));
        }
        took
    }

    /// The update every tupdate with `backlog` bytes queued: `pie_calculate_probability`.
    pub fn update(&mut self, set: &Set, backlog: u64) {
        let (delay, delay_old) = if set.by_rate {
            self.delay_old = self.delay;
            (((backlog as u32) << SCALE).checked_div(self.rate).map_or(0, u64::from), self.delay)
        } else {
            (self.delay, self.delay_old)
        };
        let (alpha, beta) = self.scaled(set);
        let above = alpha.wrapping_mul(delay.wrapping_sub(set.target));
        let mut change = above.wrapping_add(beta.wrapping_mul(delay.wrapping_sub(delay_old))) as i64;
        if change > STEP.1 as i64 && self.p >= ONE / 10 {
            change = STEP.0 as i64;
        }
        if delay > LONG {
            change = change.wrapping_add(STEP.1 as i64);
        }
        // A delay of 0 with a backlog is a very short queue: p does not decay.
        let mut decays = delay == 0 && delay_old == 0 && backlog == 0;
        let before = self.p;
        self.p = before.wrapping_add(change as u64);
        if change > 0 && self.p < before {
            (self.p, decays) = (ONE, false);
        } else if change <= 0 && self.p > before {
            self.p = 0;
        }
        if decays {
            self.p -= self.p / 64;
        }
        self.delay = delay;
        let calm = delay < set.target / 2 && self.delay_old < set.target / 2 && self.p == 0;
        if calm && (!set.by_rate || self.rate > 0) {
            let Self { p, delay, delay_old, .. } = *self;
            *self = Self { p, delay, delay_old, ..Self::new(set) };
        }
        if !set.by_rate {
            self.delay_old = delay;
        }
    }

    /// alpha and beta for the current p: half below 10 %, an eighth below 1 %, and so on down to 1/2048.
    const fn scaled(&self, set: &Set) -> (u64, u64) {
        let (mut alpha, mut beta) = (set.alpha, set.beta);
        if self.p < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut part = 100;
            while part <= 1_000_000 && self.p < ONE / part {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                part *= 10;
            }
        }
        (alpha, beta)
    }

    /// Whether an update with an empty queue would leave the state unchanged.
    pub fn is_at_rest(&self, set: &Set) -> bool {
        *self == Self::new(set)
    }

    /// Signal probability, at most 1.
    pub fn p(&self) -> f64 {
        (self.p as f64 / ONE as f64).min(1.0)
    }

    /// The latest delay estimate.
    pub const fn delay(&self) -> Span {
        Span::from_nanos(self.delay << SHIFT)
    }

    /// Remaining burst allowance.
    pub const fn burst(&self) -> Span {
        Span::from_nanos(self.burst << SHIFT)
    }

    /// The sum of p since the last drop or mark.
    pub fn spacing(&self) -> f64 {
        self.sum as f64 / ONE as f64
    }

    /// Measured departure rate in bit/s; 0 while unknown.
    pub fn rate(&self) -> f64 {
        f64::from(self.rate) * 8.0 * TICKS_PER_SEC as f64 / f64::from(1_u32 << SCALE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::packet::Ecn;
    use crate::base::port::{MAIN, Port};
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::params;

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };
    const PERCENT: u64 = ONE / 100;
    /// 15 ms in ticks.
    const TARGET: u64 = 234_375;

    fn set(settings: &str) -> Set {
        let params: Params = params(settings);
        Set::new(&params, &LINK, Percent::OfOne)
    }

    /// A congested queue with this p: a delay of 100 ms, no allowance.
    fn congested(p: u64) -> Vars {
        Vars { p, burst: 0, delay: 1_562_500, delay_old: 1_562_500, ..Vars::new(&set("")) }
    }

    /// The verdict on an ECT arrival at ten packets of 1000 bytes, and whether a random number was drawn.
    fn arrival(vars: &mut Vars, set: &Set, ecn: Ecn) -> (Verdict, bool) {
        let mut port = Port::new(LINK, 1, true);
        let (mut rng, packet) = (Rng::stream(1, "pie"), Packet { len: 1000, ecn, ..Packet::default() });
        let mut cx = Cx::new(Instant::ZERO, &mut rng);
        for _ in 0..10 {
            port.admit(MAIN, packet, Verdict::Accept, &mut crate::aqm::backlog::droptail::DropTail, &mut cx);
        }
        let verdict = vars.arrival(set, &packet, &port.level(MAIN), &mut cx);
        (verdict, rng.bits() != Rng::stream(1, "pie").bits())
    }

    #[test]
    fn parameters_convert_to_ticks_and_sixteenths() {
        let set = set("");
        // 2^56 - 1 over 15,625,000 ticks is 4,611,686,017; alpha has 2 sixteenths of it, beta 20.
        assert_eq!((set.target, set.alpha, set.beta), (TARGET, 2 * 4_611_686_018 / 16, 20 * 4_611_686_018 / 16));
        assert_eq!((set.max_burst, set.mark_to, set.mtu), (2_343_750, ONE / 10, 1000));
        let fq = Set::new(&params(""), &LINK, Percent::Hundredths);
        assert_eq!(set.mark_to - fq.mark_to, 3, "the remainders of both divisions differ");
    }

    #[test]
    fn random_number_is_drawn_only_between_both_sums() {
        let set = set("");
        let state = |sum| Vars { sum, ..congested(PERCENT) };
        assert_eq!(arrival(&mut state(0), &set, Ecn::Ect0), (Verdict::Accept, false));
        assert_eq!(arrival(&mut state(83 * PERCENT), &set, Ecn::Ect0), (Verdict::Accept, false));
        let mut drawn = state(84 * PERCENT);
        assert_eq!(arrival(&mut drawn, &set, Ecn::Ect0), (Verdict::Accept, true), "84 + 1 are exactly 85");
        assert_eq!(drawn.sum, 85 * PERCENT);
        assert_eq!(arrival(&mut Vars { burst: 1, ..state(90 * PERCENT) }, &set, Ecn::Ect0), (Verdict::Accept, false));
    }

    #[test]
    fn forced_mark_keeps_the_sum_a_drop_clears_it() {
        let (set, sum) = (set(""), SPACING.1 - PERCENT);
        let mut marked = Vars { sum, ..congested(PERCENT) };
        assert_eq!((arrival(&mut marked, &set, Ecn::Ect0), marked.sum), ((Verdict::Signal, false), SPACING.1));
        let mut dropped = Vars { sum, ..congested(PERCENT) };
        assert_eq!((arrival(&mut dropped, &set, Ecn::NotEct), dropped.sum), ((Verdict::Drop, false), 0));
        // ECT packets are marked up to exactly 10 %.
        let at = |p| arrival(&mut Vars { sum: SPACING.1, ..congested(p) }, &set, Ecn::Ect0).0;
        assert_eq!([at(ONE / 10), at(ONE / 10 + 1)], [Verdict::Signal, Verdict::Drop]);
    }

    #[test]
    fn p_above_one_always_drops_and_wraps_to_one() {
        let set = set("");
        let mut vars = Vars { sum: 85 * PERCENT, ..congested(2 * ONE) };
        assert_eq!(arrival(&mut vars, &set, Ecn::NotEct), (Verdict::Drop, true));
        assert_eq!(vars.p(), 1.0);
        vars.update(&set, 10_000);
        assert!(vars.p > 2 * ONE, "an update adds to it");
        let mut vars = congested(u64::MAX - PERCENT);
        vars.update(&set, 10_000);
        assert_eq!(vars.p, ONE);
    }

    #[test]
    fn update_follows_a_hand_calculation() {
        // At p = 0 both gains are divided by 2048: alpha = 576,460,752/2048 = 281,474.9 -> 281,474 per tick.
        // 100 ms are 1,328,125 ticks above target, and the delay has not changed.
        let mut vars = congested(0);
        vars.update(&set(""), 10_000);
        assert_eq!((vars.p, vars.delay_old), (1_328_125 * 281_474, 1_562_500));
        // From 10 % on the whole gain applies, at most 2 %: 1,328,125 x 576,460,752 is 1.06 %.
        let mut vars = congested(ONE / 10);
        vars.update(&set(""), 10_000);
        assert_eq!(vars.p - ONE / 10, 1_328_125 * 576_460_752);
        let mut vars = Vars { delay_old: 0, ..congested(ONE / 10) };
        vars.update(&set(""), 10_000);
        assert_eq!(vars.p - ONE / 10, 2 * PERCENT);
        // Above 250 ms another fiftieth: here 4 % in all.
        let mut vars = Vars { delay: LONG + 1, delay_old: 0, ..congested(ONE / 10) };
        vars.update(&set(""), 10_000);
        assert_eq!(vars.p - ONE / 10, 2 * PERCENT + ONE / 50);
    }

    #[test]
    fn p_decays_only_without_backlog() {
        let idle = |p, backlog| {
            let mut vars = Vars { p, burst: 0, ..Vars::new(&set("alpha=0")) };
            vars.update(&set("alpha=0"), backlog);
            vars.p
        };
        assert_eq!((idle(6400, 0), idle(6400, 1)), (6300, 6400));
        assert_eq!(idle(63, 0), 63, "a 64th of it is 0");
    }

    #[test]
    fn rate_measurement_counts_the_departure_that_starts_it() {
        let set = set("latency=rate");
        let (mut vars, packet) = (Vars::new(&set), Packet { len: 1000, ..Packet::default() });
        // 17 departures of 1000 bytes, 1 ms apart: 17,000 bytes in 16 ms, or 250,000 ticks.
        for n in 0..17 {
            vars.departure(&set, &packet, 20_000, Instant::from_nanos(n * 1_000_000));
        }
        assert_eq!((vars.rate, vars.counted), (17_000 * 256 / 250_000, Some(0)));
        assert_eq!(vars.burst, 2_343_750 - 250_000);
        vars.update(&set, 20_000);
        assert_eq!(vars.delay, 20_000 * 256 / 17);
    }

    #[test]
    fn departures_use_up_the_burst_allowance() {
        let set = set("max_burst=10ms");
        let (mut vars, packet) = (Vars::new(&set), Packet { len: 1000, ..Packet::default() });
        for (ms, left) in [(1, 156_250), (4, 109_375), (12, 0)] {
            vars.departure(&set, &packet, 1000, Instant::from_nanos(ms * 1_000_000));
            assert_eq!(vars.burst, left);
        }
        assert_eq!(vars.delay, 187_500, "12 ms");
        vars.departure(&set, &packet, 0, Instant::from_nanos(12_000_000));
        assert_eq!(vars.delay, 0, "an empty queue");
        assert!(!vars.is_at_rest(&set));
        vars.update(&set, 0);
        assert!(vars.is_at_rest(&set), "renewed");
    }
}
