//! Proportional-integral control of the queuing delay: the law that PIE, PI2 and DualPI2 share.

use crate::base::time::Span;

/// Target and gains. A gain in Hz turns seconds of delay into probability, at each update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gains {
    /// Delay that the integral part holds, in seconds.
    pub target: f64,
    /// Integral gain, on the distance from the target.
    pub alpha: f64,
    /// Proportional gain, on the growth since the last update.
    pub beta: f64,
}

impl Gains {
    /// Gains around `target`.
    pub fn new(target: Span, alpha: f64, beta: f64) -> Self {
        Self { target: target.secs(), alpha, beta }
    }

    /// What an update adds to the probability, delays in seconds: alpha (delay - target) + beta (delay - before).
    pub fn change(&self, delay: f64, before: f64) -> f64 {
        self.alpha * (delay - self.target) + self.beta * (delay - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_and_proportional_parts_add_up() {
        // RFC 8033's gains: 20 ms, 5 above the target and 10 more than before: 0.125 x 0.005 + 1.25 x 0.01.
        let gains = Gains::new(Span::from_millis(15), 0.125, 1.25);
        assert!((gains.change(0.020, 0.010) - 0.013_125).abs() < 1e-15);
        assert!((gains.change(0.005, 0.010) + 0.007_5).abs() < 1e-15);
        assert_eq!(gains.change(0.015, 0.015), 0.0);
    }
}
