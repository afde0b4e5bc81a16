//! Linearised model of MSVB: classes share a queue, and each has its own threshold and its own share of the link.
//!
//! p_i = (Q - B_i)/Q, B_i' = alpha_i (phi_i C - lambda_i), Q' = sum of lambda_i - C. Q: queue; C: link rate; class i
//! has signal probability p_i, threshold B_i, adaptation gain alpha_i, share phi_i and load lambda_i. The caller
//! supplies the TCP model, that is the response of lambda_i to p_i. All classes move the same queue, so a class needs a
//! larger threshold than Lemma 3.1 of the MSVB paper says for a single class. Units: packets and seconds.

use num_complex::Complex64;

use crate::nyquist::{self, Margins};

/// A class at equilibrium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// Adaptation gain of its threshold, in packets of threshold per packet of traffic.
    pub alpha: f64,
    /// Its signal probability.
    pub p: f64,
}

/// Response of a class's load to small changes of its signal probability and of the queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// Decrease of the load in packets per second per unit of signal probability.
    pub to_signals: Complex64,
    /// Decrease of the load in packets per second per packet of queue, because a longer queue delays the flows.
    pub to_queue: Complex64,
}

/// Classes that share a queue.
pub struct Classes<'a> {
    /// Q: queue at equilibrium in packets.
    pub queue: f64,
    /// The classes.
    pub classes: &'a [Class],
    /// `answer(i, w)`: response of the load of class i to its signal probability and to the queue, at `w` rad/s.
    pub answer: &'a dyn Fn(usize, f64) -> Answer,
}

/// A change of the loop that serves to find its margins: an additional delay of the signals, and a factor on them.
#[derive(Clone, Copy)]
struct Change {
    delay_s: f64,
    times: f64,
}

const UNCHANGED: Change = Change { delay_s: 0.0, times: 1.0 };
/// Number of doublings and bisections to find a margin.
const DOUBLINGS: u32 = 13;
const HALVINGS: u32 = 30;

impl Classes<'_> {
    fn answer(&self, i: usize, w: f64, change: Change) -> Answer {
        let answer = (self.answer)(i, w);
        Answer { to_signals: answer.to_signals * Complex64::from_polar(change.times, -w * change.delay_s), ..answer }
    }

    /// The return difference at `w` rad/s if the signals of all classes are fed back; its zeros are the modes. For one
    /// class it is 1 + L, with the loop gain L = T (1 - p + alpha)/(Q (s + U)), where T is the load's response to
    /// signals and U its response to the queue.
    fn difference(&self, w: f64, change: Change) -> Complex64 {
        let s = Complex64::new(0.0, w);
        let (mut alone, mut shared, mut drain) = (Complex64::ONE, Complex64::ZERO, s);
        for (i, class) in self.classes.iter().enumerate() {
            let Answer { to_signals, to_queue } = self.answer(i, w, change);
            // First the loop of a class through its own threshold; the rest of its load moves the queue.
            let own = 1.0 + class.alpha * to_signals / (s * self.queue);
            alone *= own;
            shared += (to_signals * (1.0 - class.p) / self.queue + to_queue) / (s * own);
            drain += to_queue;
        }
        alone * (1.0 + shared) * s / drain
    }

    fn margins_if(&self, change: Change, from: f64, to: f64) -> Margins {
        // Each adapting threshold is an integrator. If all thresholds adapt they also hold the queue; if in addition
        // the flows respond to the queue, there is one integrator less.
        let follow = self.classes.iter().filter(|class| class.alpha > 0.0).count();
        let heard: Complex64 = (0..self.classes.len()).map(|i| self.answer(i, from, change).to_queue).sum();
        let integrators = match (follow == self.classes.len(), heard.norm() > from) {
            (true, true) => follow.saturating_sub(1),
            (true, false) | (false, true) => follow,
            (false, false) => follow + 1,
        };
        nyquist::margins(&|w| self.difference(w, change) - 1.0, integrators as u32, from, to)
    }

    /// Stability margins: the additional delay of the signals of all classes, or the gain on them, at which a mode
    /// becomes unstable. `from` and `to` are frequencies in rad/s. At and below `from` the integrators (poles at 0)
    /// must dominate the loop gain; above `to` the loop gain must be negligible.
    ///
    /// For several classes the margins are found by doubling and bisection. `None` then means that the loop is stable
    /// up to a delay of 4096/`to` seconds or a gain of 410; crossover and phase margin are always `None`. If a mode is
    /// unstable without any change, the delay margin is 0 and the gain margin is `None`.
    pub fn margins(&self, from: f64, to: f64) -> Margins {
        let here = self.margins_if(UNCHANGED, from, to);
        if self.classes.len() == 1 {
            return here;
        }
        let here = Margins { crossover: None, phase_deg: None, ..here };
        if !here.is_stable() {
            return Margins { delay_s: Some(0.0), gain: None, ..here };
        }
        let edge = |change: &dyn Fn(f64) -> Change, first: f64| {
            let stable = |x: f64| self.margins_if(change(x), from, to).is_stable();
            let (mut low, mut high) = (0.0, first);
            for _ in 0..DOUBLINGS {
                if !stable(high) {
                    for _ in 0..HALVINGS {
                        let middle = 0.5 * (low + high);
                        if stable(middle) { low = middle } else { high = middle }
                    }
                    return Some(low);
                }
                (low, high) = (high, 2.0 * high);
            }
            None
        };
        Margins {
            delay_s: edge(&|delay_s| Change { delay_s, ..UNCHANGED }, 1.0 / to),
            gain: edge(&|more| Change { times: 1.0 + more, ..UNCHANGED }, 0.1).map(|more| 1.0 + more),
            ..here
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svb;

    /// Margins for the rate model of Kunniyur and Srikant and an equilibrium queue of `q` packets. In this model the
    /// load depends on the queue only through the signals.
    fn margins(classes: &[svb::Class], q: f64) -> Margins {
        let at_rest: Vec<Class> = classes.iter().map(|class| Class { alpha: class.alpha, p: class.p() }).collect();
        let answer = |i: usize, w: f64| Answer { to_signals: classes[i].answer(w), to_queue: Complex64::ZERO };
        Classes { queue: q, classes: &at_rest, answer: &answer }.margins(1e-3, 1e4)
    }

    fn class(flows: f64, phi: f64, alpha: f64) -> svb::Class {
        svb::Class { capacity: 1250.0, delay_s: 0.12, flows, phi, alpha }
    }

    #[test]
    fn single_class_is_stable_only_above_lemma_threshold() {
        for (flows, alpha) in [(30.0, 0.1), (50.0, 0.5), (100.0, 1.0)] {
            let one = class(flows, 1.0, alpha);
            let b = one.lemma().unwrap();
            let growing = |times: f64| margins(&[one], times * b / (1.0 - one.p())).growing;
            assert_eq!((growing(0.995), growing(1.005)), (2, 0), "{flows} {alpha}");
        }
    }

    #[test]
    fn ten_equal_classes_become_unstable_in_phase() {
        // 349.8 and 68.5 packets per class; the lemma for a single one says 52.8 and 11.8.
        for (flows, want) in [(5.0, 349.8), (8.0, 68.5)] {
            let one = class(flows, 0.1, 0.5);
            let growing = |b: f64| margins(&[one; 10], b / (1.0 - one.p())).growing;
            assert_eq!((growing(0.995 * want), growing(1.005 * want)), (2, 0), "{flows}");
        }
    }

    #[test]
    fn unequal_classes_match_the_nonlinear_model() {
        let two = [class(12.0, 0.3, 0.2), class(40.0, 0.7, 0.8)];
        let (mut low, mut high) = (1.0, 1e5);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if margins(&two, middle).is_stable() { high = middle } else { low = middle }
        }
        let [below, above] = [0.93, 1.07].map(|times| svb::deviation(&two, times * high, 200.0));
        assert!(below > 0.1 && above < 1e-3, "edge {high}: {below} {above}");
        // Apply the gain or delay margin to the loop by hand: it becomes unstable there.
        let found = margins(&two, 1.5 * high);
        let at_rest: Vec<Class> = two.iter().map(|class| Class { alpha: class.alpha, p: class.p() }).collect();
        let changed = |times: f64, delay: f64| {
            let answer = |i: usize, w: f64| Answer {
                to_signals: two[i].answer(w) * Complex64::from_polar(times, -w * delay),
                to_queue: Complex64::ZERO,
            };
            Classes { queue: 1.5 * high, classes: &at_rest, answer: &answer }.margins(1e-3, 1e4).is_stable()
        };
        let (times, delay) = (found.gain.unwrap(), found.delay_s.unwrap());
        assert!(changed(0.99 * times, 0.0) && !changed(1.01 * times, 0.0), "{times}");
        assert!(changed(1.0, 0.99 * delay) && !changed(1.0, 1.01 * delay), "{delay}");
    }
}
