//! Proportional-integral control of the queuing delay, shared by PI2 and DualPI2.

use crate::base::time::Span;

/// Target delay and gains. A gain in Hz times a delay in seconds is the change of the probability per update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gains {
    /// Target delay in seconds.
    pub target: f64,
    /// Integral gain in Hz, on the difference to the target.
    pub alpha: f64,
    /// Proportional gain in Hz, on the growth since the last update.
    pub beta: f64,
}

impl Gains {
    /// Gains with this target.
    pub fn new(target: Span, alpha: f64, beta: f64) -> Self {
        Self { target: target.secs(), alpha, beta }
    }

    /// The change of the probability per update: alpha (delay - target) + beta (delay - before); delays in seconds.
    pub fn change(&self, delay: f64, before: f64) -> f64 {
        self.alpha * (delay - self.target) + self.beta * (delay - before)
    }
}

/// The base probability p' of PI2 and DualPI2, from which the signal probabilities are computed.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    gains: Gains,
    most: f64,
    p: f64,
    before: f64,
}

impl Base {
    /// A controller with p' = 0; p' never exceeds `most`.
    pub const fn new(gains: Gains, most: f64) -> Self {
        Self { gains, most, p: 0.0, before: 0.0 }
    }

    /// This controller with the state of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { p: before.p.min(self.most), before: before.before, ..self }
    }

    /// The periodic update with the current `delay` in seconds: RFC 9332 Figure 6.
    pub fn update(&mut self, delay: f64) {
        self.p = (self.p + self.gains.change(delay, self.before)).clamp(0.0, self.most);
        self.before = delay;
    }

    /// The base probability p'.
    #[inline]
    pub const fn p(&self) -> f64 {
        self.p
    }

    /// The delay of the last update, in seconds.
    pub const fn delay(&self) -> f64 {
        self.before
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

    #[test]
    fn base_probability_stays_between_0_and_maximum() {
        // RFC 9332's gains: 0.15 x 10 ms + 3 x 25 ms, then the integral part alone.
        let mut base = Base::new(Gains::new(Span::from_millis(15), 0.15, 3.0), 0.5);
        base.update(0.025);
        assert!((base.p() - 0.0765).abs() < 1e-15 && base.delay() == 0.025);
        base.update(0.025);
        assert!((base.p() - 0.078).abs() < 1e-15);
        base.update(1.0);
        assert_eq!(base.p(), 0.5);
        base.update(0.0);
        assert_eq!(base.p(), 0.0);
    }
}
