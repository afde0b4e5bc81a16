//! What every member of the RED family shares: the averaged queue, and the curve from the average to a
//! base probability (Floyd, Jacobson 1993; gentle: Floyd 2000).
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

    /// The same with the value that `before` has.
    pub const fn after(self, before: &Self) -> Self {
        Self { value: before.value, idle_since: before.idle_since, ..self }
    }

    /// An arrival meets the queue `q`, itself not counted. After idle time the average first decays
    /// as if the packets that could have been sent meanwhile had met an empty queue: ns-2.
    #[inline]
    pub fn arrival(&mut self, q: f64, now: Instant) -> f64 {
        if let Some(since) = self.idle_since {
            self.idle_since = None;
            let missed = libm::floor(self.packets_since(since, now));
            if missed > 0.0 {
                self.value *= self.decay(missed);
            }
        }
        self.sample(q)
    }

    /// The same by the paper of 1993, and by Linux: whole packets do not matter, and an arrival that ends an idle
    /// time is not averaged in.
    #[inline]
    pub fn arrival_or_decay(&mut self, q: f64, now: Instant) -> f64 {
        match self.idle_since.take() {
            None => self.sample(q),
            Some(since) => {
                self.value *= self.decay(self.packets_since(since, now));
                self.value
            }
        }
    }

    /// Averages `q` in, whatever the time.
    #[inline]
    pub fn sample(&mut self, q: f64) -> f64 {
        self.value = (1.0 - self.weight) * self.value + self.weight * q;
        self.value
    }

    /// Averages `q` in as often as `times` says.
    pub fn sample_many(&mut self, q: f64, times: f64) -> f64 {
        self.value = q + (self.value - q) * self.decay(times);
        self.value
    }

    /// What it would have decayed to by `now`; as it is while the queue has something to send.
    pub fn at(&self, now: Instant) -> f64 {
        self.idle_since.map_or(self.value, |since| self.value * self.decay(self.packets_since(since, now)))
    }

    fn packets_since(&self, since: Instant, now: Instant) -> f64 {
        self.pkts_per_sec * now.since(since).secs()
    }

    fn decay(&self, packets: f64) -> f64 {
        libm::pow(1.0 - self.weight, packets)
    }

    /// The queue has nothing to send; repeated calls keep the first time.
    #[inline]
    pub fn emptied(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// The queue is idle from `now` on, whatever it was before.
    #[inline]
    pub const fn restart_idle(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }

    /// The idle time is over, and does not count.
    #[inline]
    pub const fn forget_idle(&mut self) {
        self.idle_since = None;
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
    /// 1 / (max_th - min_th), kept as ns-2 keeps it: packets would wait for the division. Thresholds move together.
    v_a: f64,
}

impl Curve {
    /// The curve through these points.
    pub const fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Self {
        Self { min_th, max_th, max_p, gentle, v_a: 1.0 / (max_th - min_th) }
    }

    /// The same with another `max_p`.
    pub const fn with(self, max_p: f64) -> Self {
        Self { max_p, ..self }
    }

    /// p_b, or `None` while the average is below `min_th`.
    #[inline]
    pub fn base_probability(&self, avg: f64) -> Option<f64> {
        let Self { min_th, max_th, max_p, gentle, v_a } = *self;
        if avg < min_th {
            None
        } else if avg < max_th {
            Some(max_p * (avg - min_th) * v_a)
        } else if gentle && avg < 2.0 * max_th {
            Some((max_p + (1.0 - max_p) * (avg - max_th) / max_th).min(1.0))
        } else {
            Some(1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Span;

    const CURVE: Curve = Curve::new(5.0, 15.0, 0.1, true);

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
    fn the_papers_idle_time_is_no_whole_number_of_packets_and_not_averaged() {
        let mut avg = Average::new(0.5, 1000.0);
        avg.arrival_or_decay(0.0, Instant::ZERO);
        assert_eq!(avg.arrival_or_decay(8.0, Instant::ZERO), 4.0, "half of what was met");
        avg.emptied(Instant::ZERO);
        let later = Instant::from_nanos(1_500_000);
        assert!(near(avg.at(later), 4.0 * libm::pow(0.5, 1.5)));
        assert_eq!(avg.value(), 4.0, "only asked");
        assert!(near(avg.arrival_or_decay(0.0, later), 4.0 * libm::pow(0.5, 1.5)));
        assert_eq!(avg.at(Instant::NEVER), avg.value(), "not idle any more");
        avg.emptied(later);
        avg.restart_idle(later + Span::from_millis(1));
        assert!(near(avg.at(later + Span::from_millis(2)) / avg.value(), 0.5));
        avg.forget_idle();
        assert_eq!(avg.at(Instant::NEVER), avg.value());
    }

    #[test]
    fn automatic_weight() {
        // Worked in the specification: 15 Mb/s of 500 B packets, and 3 Mb/s of 1000 B.
        assert!((auto_weight(3750.0) - 2.67e-4).abs() < 5e-7);
        assert!((auto_weight(375.0) - 2.66e-3).abs() < 5e-6);
    }

    #[test]
    fn many_samples_at_once_are_as_many() {
        let average = || Average { idle_since: None, ..Average::new(0.002, 1250.0) };
        let (mut one_by_one, mut at_once) = (average(), average());
        (0..500).for_each(|_| {
            one_by_one.sample(40.0);
        });
        assert!((one_by_one.value() - at_once.sample_many(40.0, 500.0)).abs() < 1e-9);
    }
}
