//! How max_p follows the average: Adaptive RED (Floyd, Gummadi, Shenker 2001), and the self-configuring gateway
//! (Feng, Kandlur, Saha, Shin 1999).

use super::red_curve::Curve;

/// Adaptive RED's steering of max_p: additive increase, multiplicative decrease.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aimd {
    /// Largest increase of one step; a quarter of max_p if that is less.
    pub alpha: f64,
    /// Factor of a decrease.
    pub beta: f64,
    /// No decrease below this.
    pub bottom: f64,
    /// No increase above this.
    pub top: f64,
    /// One more step at `bottom` and `top` themselves: the paper and Linux. ns-2 has none.
    pub inclusive: bool,
}

/// The average is steered into the middle fifth of the thresholds' distance.
const TARGET: (f64, f64) = (0.4, 0.6);

impl Aimd {
    /// Every interval: max_p grows while the average is above its target range, falls while below. None: no step.
    pub fn step(&self, curve: &Curve, avg: f64) -> Option<f64> {
        let Curve { min_th, max_th, max_p, .. } = *curve;
        let at = |fraction| min_th + fraction * (max_th - min_th);
        let may = |inside: bool, end: f64| inside || (self.inclusive && max_p == end);
        if avg > at(TARGET.1) && may(max_p < self.top, self.top) {
            Some((max_p + self.alpha.min(max_p / 4.0)).min(1.0))
        } else if avg < at(TARGET.0) && may(max_p > self.bottom, self.bottom) {
            Some(max_p * self.beta)
        } else {
            None
        }
    }
}

/// Where the average is, or was when it last was not on a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Below min_th.
    Below,
    /// Between the thresholds.
    Between,
    /// Above max_th.
    Above,
}

/// The self-configuring gateway's steering: multiplicative both ways, once a crossing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossings {
    /// Divisor when the average falls below min_th.
    pub alpha: f64,
    /// Factor when it rises above max_th.
    pub beta: f64,
    /// max_p stays at or above this.
    pub bottom: f64,
    /// max_p stays at or below this.
    pub top: f64,
    /// Where the average was.
    pub status: Status,
}

impl Crossings {
    /// At every average: the new max_p.
    #[inline]
    pub fn step(&mut self, curve: &Curve, avg: f64) -> f64 {
        let Curve { min_th, max_th, max_p, .. } = *curve;
        if min_th < avg && avg < max_th {
            self.status = Status::Between;
        } else if avg < min_th && self.status != Status::Below {
            self.status = Status::Below;
            return (max_p / self.alpha).max(self.bottom);
        } else if avg > max_th && self.status != Status::Above {
            self.status = Status::Above;
            return (max_p * self.beta).min(self.top);
        }
        max_p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: Curve = Curve::new(5.0, 15.0, 0.1, true);

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn max_p_moves_only_outside_the_target_range() {
        let aimd = Aimd { alpha: 0.01, beta: 0.9, bottom: 0.01, top: 0.5, inclusive: false };
        let step = |avg, max_p| aimd.step(&CURVE.with(max_p), avg).unwrap_or(max_p);
        assert!(near(step(11.1, 0.1), 0.11));
        assert!(near(step(11.1, 0.02), 0.025), "a quarter of max_p is less than alpha");
        assert!(near(step(8.9, 0.1), 0.09));
        assert_eq!(step(10.0, 0.1), 0.1);
        assert_eq!([step(20.0, 0.5), step(0.0, 0.01)], [0.5, 0.01]);
        let aimd = Aimd { inclusive: true, ..aimd };
        let step = |avg, max_p| aimd.step(&CURVE.with(max_p), avg).unwrap_or(max_p);
        assert!(near(step(20.0, 0.5), 0.51) && near(step(0.0, 0.01), 0.009), "one step beyond");
        assert_eq!([step(20.0, 0.51), step(0.0, 0.009)], [0.51, 0.009]);
        let greedy = Aimd { alpha: 1.0, top: 1.0, ..aimd };
        assert_eq!(greedy.step(&CURVE.with(0.9), 20.0), Some(1.0), "0.9 + 0.9/4");
        assert_eq!(greedy.step(&CURVE, 10.0), None);
    }

    #[test]
    fn a_crossing_counts_once() {
        let mut feng = Crossings { alpha: 3.0, beta: 2.0, bottom: 0.01, top: 0.3, status: Status::Below };
        let mut max_p = 0.1;
        let mut after = |avg| {
            max_p = feng.step(&CURVE.with(max_p), avg);
            max_p
        };
        assert_eq!([after(1.0), after(10.0), after(15.0)], [0.1; 3], "it began below; on a threshold nothing happens");
        assert_eq!([after(15.1), after(20.0)], [0.2; 2]);
        assert_eq!([after(10.0), after(16.0), after(5.0)], [0.2, 0.3, 0.3], "again, up to the top; 5 is not below 5");
        assert!(near(after(4.9), 0.1) && near(after(0.0), 0.1));
        assert!(near(after(20.0), 0.2), "from below to above at once");
        assert!(near(after(1.0), 0.2 / 3.0) && near(after(6.0), 0.2 / 3.0) && near(after(1.0), 0.2 / 9.0));
        assert!(near(after(6.0), 0.2 / 9.0) && after(1.0) == 0.01);
    }
}
