//! What every member of the RED family shares: the averaged queue, the curve from the average to a
//! base probability, and the spacing of signals by a count (Floyd, Jacobson 1993; gentle: Floyd 2000;
//! adaptive: Floyd, Gummadi, Shenker 2001). Semantics of ns-2.35 where the papers leave a choice.
//!
//! Queue lengths and thresholds are in one unit, packets or bytes, that the caller chooses.

use crate::base::time::Instant;

/// The exponentially weighted average of the queue, aware of idle time.
#[derive(Clone, Debug)]
pub struct Average {
    value: f64,
    weight: f64,
    pkts_per_sec: f64,
    idle_since: Option<Instant>,
}

impl Average {
    /// An average of 0 over a queue that is idle from time 0; `pkts_per_sec` typical packets fit
    /// into a second of idle time.
    pub const fn new(weight: f64, pkts_per_sec: f64) -> Self {
        Self { value: 0.0, weight, pkts_per_sec, idle_since: Some(Instant::ZERO) }
    }

    /// An arrival meets the queue `q`, itself not counted. After idle time the average first decays
    /// as if the packets that could have been sent meanwhile had met an empty queue.
    #[inline]
    pub fn arrival(&mut self, q: f64, now: Instant) -> f64 {
        let missed = match self.idle_since.take() {
            None => 0.0,
            Some(since) => libm::floor(self.pkts_per_sec * now.since(since).secs()),
        };
        if missed > 0.0 {
            self.value *= libm::pow(1.0 - self.weight, missed);
        }
        self.value = (1.0 - self.weight) * self.value + self.weight * q;
        self.value
    }

    /// The queue has nothing to send; repeated calls keep the first time.
    #[inline]
    pub fn emptied(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// The present average.
    pub const fn value(&self) -> f64 {
        self.value
    }
}

/// RED's automatic weight, `1 - exp(-1/C)` with C in packets per second: a time constant of 1 s.
pub fn auto_weight(pkts_per_sec: f64) -> f64 {
    1.0 - libm::exp(-1.0 / pkts_per_sec)
}

/// From the average to the base probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// Below this average nothing is signalled.
    pub min_th: f64,
    /// Here the base probability reaches `max_p`.
    pub max_th: f64,
    /// Base probability at `max_th`.
    pub max_p: f64,
    /// Above `max_th`: up to 1 at twice `max_th`, or 1 at once.
    pub gentle: bool,
}

impl Curve {
    /// p_b, or `None` while the average is below `min_th`.
    #[inline]
    pub fn base_probability(&self, avg: f64) -> Option<f64> {
        let Self { min_th, max_th, max_p, gentle } = *self;
        if avg < min_th {
            None
        } else if avg < max_th {
            Some(max_p * (avg - min_th) / (max_th - min_th))
        } else if gentle && avg < 2.0 * max_th {
            Some((max_p + (1.0 - max_p) * (avg - max_th) / max_th).min(1.0))
        } else {
            Some(1.0)
        }
    }
}

/// p_a: `p_b` made dependent on `count`, the packets since the last signal, this one included.
/// Without `wait` the gaps are uniform on 1..1/p_b; with it on 1/p_b..2/p_b.
#[inline]
pub fn spaced(p_b: f64, count: f64, wait: bool) -> f64 {
    let done = count * p_b;
    match (wait, done) {
        (true, done) if done < 1.0 => 0.0,
        (true, done) if done < 2.0 => (p_b / (2.0 - done)).min(1.0),
        (false, done) if done < 1.0 => (p_b / (1.0 - done)).min(1.0),
        _ => 1.0,
    }
}

/// The count between signals, with ns-2's rule that the first arrival above `min_th` only starts it.
#[derive(Clone, Debug, Default)]
pub struct Spacer {
    count: f64,
    above: bool,
}

impl Spacer {
    /// The probability of a signal for an arrival that counts `weight` and whose average gives
    /// `p_b`; pass `None` also when the present queue is too short for any signal.
    #[inline]
    pub fn arrival(&mut self, p_b: Option<f64>, weight: f64, wait: bool) -> f64 {
        self.count += weight;
        match p_b {
            None => {
                self.above = false;
                0.0
            }
            Some(p_b) if p_b >= 1.0 => 1.0,
            Some(_) if !self.above => {
                (self.above, self.count) = (true, weight);
                0.0
            }
            Some(p_b) => spaced(p_b, self.count, wait),
        }
    }

    /// A packet was signalled, or dropped for want of room: count anew.
    #[inline]
    pub fn reset(&mut self) {
        self.count = 0.0;
    }

    /// Packets since the last signal.
    pub const fn count(&self) -> f64 {
        self.count
    }
}

/// Adaptive RED's steering of max_p: additive increase, multiplicative decrease.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aimd {
    /// Largest increase of one step; a quarter of max_p if that is less.
    pub alpha: f64,
    /// Factor of a decrease.
    pub beta: f64,
    /// No decrease at or below this.
    pub bottom: f64,
    /// No increase at or above this.
    pub top: f64,
}

/// The average is steered into the middle fifth of the thresholds' distance.
const TARGET: (f64, f64) = (0.4, 0.6);

impl Aimd {
    /// Every interval: max_p grows while the average is above its target range, falls while below.
    pub fn step(&self, curve: &Curve, avg: f64) -> f64 {
        let Curve { min_th, max_th, max_p, .. } = *curve;
        let at = |fraction| min_th + fraction * (max_th - min_th);
        if avg > at(TARGET.1) && max_p < self.top {
            max_p + self.alpha.min(max_p / 4.0)
        } else if avg < at(TARGET.0) && max_p > self.bottom {
            max_p * self.beta
        } else {
            max_p
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: Curve = Curve { min_th: 5.0, max_th: 15.0, max_p: 0.1, gentle: true };

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_curve_at_its_corners() {
        let p = |avg| CURVE.base_probability(avg);
        assert_eq!(p(4.999), None);
        assert_eq!(p(5.0), Some(0.0));
        assert!(near(p(10.0).unwrap(), 0.05));
        assert!(near(p(15.0).unwrap(), 0.1));
        assert!(near(p(22.5).unwrap(), 0.55), "half-way to twice max_th");
        assert_eq!(p(30.0), Some(1.0));
        assert_eq!(p(99.0), Some(1.0));
        assert_eq!(Curve { gentle: false, ..CURVE }.base_probability(15.0), Some(1.0));
    }

    #[test]
    fn idle_time_counts_as_packets_that_met_nothing() {
        // 0.5 s at 1000 packets a second: 500 decays and one more for the arrival itself.
        let mut avg = Average::new(0.002, 1000.0);
        for _ in 0..2000 {
            avg.arrival(20.0, Instant::from_nanos(0));
        }
        let before = avg.value();
        avg.emptied(Instant::from_nanos(1_000_000_000));
        avg.emptied(Instant::from_nanos(1_300_000_000));
        let after = avg.arrival(0.0, Instant::from_nanos(1_500_000_000));
        assert!(near(after / before, libm::pow(0.998, 501.0)));
        // Not idle any more: the next arrival decays once.
        assert!(near(avg.arrival(0.0, Instant::from_nanos(9_000_000_000)) / after, 0.998));
    }

    #[test]
    fn gaps_are_uniform_between_their_ends() {
        // p_b = 0.25: without wait P(gap = n) = 1/4 for n = 1..4 would need count from 0;
        // ns-2 counts the arrival itself, so the gap is 1..3 with hazards 1/3, 1/2, 1.
        assert!(near(spaced(0.25, 1.0, false), 1.0 / 3.0));
        assert!(near(spaced(0.25, 2.0, false), 0.5));
        assert!(near(spaced(0.25, 3.0, false), 1.0));
        assert_eq!(spaced(0.25, 4.0, false), 1.0);
        assert_eq!(spaced(0.25, 3.0, true), 0.0);
        assert!(near(spaced(0.25, 4.0, true), 0.25));
        assert!(near(spaced(0.25, 7.0, true), 1.0));
        assert_eq!(spaced(0.25, 8.0, true), 1.0);
    }

    #[test]
    fn the_first_arrival_above_only_starts_the_count() {
        let mut spacer = Spacer::default();
        for _ in 0..100 {
            assert_eq!(spacer.arrival(None, 1.0, false), 0.0);
        }
        assert_eq!(spacer.arrival(Some(0.1), 1.0, false), 0.0);
        assert_eq!(spacer.count(), 1.0);
        assert!(near(spacer.arrival(Some(0.1), 1.0, false), 0.1 / 0.8));
        spacer.reset();
        assert!(near(spacer.arrival(Some(0.1), 1.0, false), 0.1 / 0.9));
        assert_eq!(spacer.arrival(Some(1.0), 1.0, false), 1.0);
    }

    #[test]
    fn max_p_moves_only_outside_the_target_range() {
        let aimd = Aimd { alpha: 0.01, beta: 0.9, bottom: 0.01, top: 0.5 };
        let step = |avg, max_p| aimd.step(&Curve { max_p, ..CURVE }, avg);
        assert!(near(step(11.1, 0.1), 0.11));
        assert!(near(step(11.1, 0.02), 0.025), "a quarter of max_p is less than alpha");
        assert!(near(step(8.9, 0.1), 0.09));
        assert_eq!(step(10.0, 0.1), 0.1);
        assert_eq!(step(20.0, 0.5), 0.5);
        assert_eq!(step(0.0, 0.01), 0.01);
    }

    #[test]
    fn automatic_weight() {
        // Worked in the specification: 15 Mb/s of 500 B packets, and 3 Mb/s of 1000 B.
        assert!((auto_weight(3750.0) - 2.67e-4).abs() < 5e-7);
        assert!((auto_weight(375.0) - 2.66e-3).abs() < 5e-6);
    }
}
