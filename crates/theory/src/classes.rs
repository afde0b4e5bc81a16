//! Classes that share a queue, each held to a share of the link by a threshold of its own, near their rest: MSVB.
//!
//! p_i = (Q - B_i)/Q, B_i' = alpha_i (phi_i C - lambda_i), Q' = sum of lambda_i - C, whatever TCP makes of p_i. All classes
//! are signalled by one queue: the lemma for a class alone says less than all of them together. Packets and seconds.

use num_complex::Complex64;

use crate::nyquist::{self, Margins};

/// A class at rest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// How fast its threshold follows, in packets of it for each packet of traffic.
    pub alpha: f64,
    /// Its signal probability at rest.
    pub p: f64,
}

/// How the load of a class answers small changes, in packets per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// By how much it falls for each unit of probability.
    pub to_signals: Complex64,
    /// By how much it falls for each packet more in the queue, which makes round trips longer.
    pub to_queue: Complex64,
}

/// Classes around a queue of `queue` packets; `answer(i, w)` is that of class i at `w` radians a second.
pub struct Classes<'a> {
    /// Q at rest.
    pub queue: f64,
    /// Those that share it.
    pub classes: &'a [Class],
    /// How their loads answer.
    pub answer: &'a dyn Fn(usize, f64) -> Answer,
}

/// What is tried on a loop: signals later by so many seconds, and so many times as strong.
#[derive(Clone, Copy)]
struct Change {
    delay_s: f64,
    times: f64,
}

const AS_IT_IS: Change = Change { delay_s: 0.0, times: 1.0 };
/// Doublings and halvings by which a margin is found.
const DOUBLINGS: u32 = 13;
const HALVINGS: u32 = 30;

impl Classes<'_> {
    fn answer(&self, i: usize, w: f64, change: Change) -> Answer {
        let answer = (self.answer)(i, w);
        Answer { to_signals: answer.to_signals * Complex64::from_polar(change.times, -w * change.delay_s), ..answer }
    }

    /// The return difference of all signals at once: by how much a small change of them comes back smaller. Its zeros are
    /// the modes. With one class it is 1 + L, L being (b + alpha/Q) times TCP's answer, as for SVB.
    fn difference(&self, w: f64, change: Change) -> Complex64 {
        let s = Complex64::new(0.0, w);
        let (mut alone, mut shared, mut drain) = (Complex64::ONE, Complex64::ZERO, s);
        for (i, class) in self.classes.iter().enumerate() {
            let Answer { to_signals, to_queue } = self.answer(i, w, change);
            // The loop of a class through its own threshold; then what is left of it moves the queue.
            let own = 1.0 + class.alpha * to_signals / (s * self.queue);
            alone *= own;
            shared += (to_signals * (1.0 - class.p) / self.queue + to_queue) / (s * own);
            drain += to_queue;
        }
        alone * (1.0 + shared) * s / drain
    }

    fn margins_if(&self, change: Change, from: f64, to: f64) -> Margins {
        // Each threshold that follows is an integrator; all of them together hold a queue that flows hear of, and then are
        // one less.
        let follow = self.classes.iter().filter(|class| class.alpha > 0.0).count();
        let heard: Complex64 = (0..self.classes.len()).map(|i| self.answer(i, from, change).to_queue).sum();
        let integrators = match (follow == self.classes.len(), heard.norm() > from) {
            (true, true) => follow.saturating_sub(1),
            (true, false) | (false, true) => follow,
            (false, false) => follow + 1,
        };
        nyquist::margins(&|w| self.difference(w, change) - 1.0, integrators as u32, from, to)
    }

    /// How far the classes are from the edge: how much later, or how many times as strong, the signals of all of them may
    /// be, the first such found by doubling; none: some hundred times as much, at least. Only frequencies from `from`, so low that nothing happens there,
    /// to `to` matter. Crossover and phase are those of one loop: several classes have none.
    pub fn margins(&self, from: f64, to: f64) -> Margins {
        let here = self.margins_if(AS_IT_IS, from, to);
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
            delay_s: edge(&|delay_s| Change { delay_s, ..AS_IT_IS }, 1.0 / to),
            gain: edge(&|more| Change { times: 1.0 + more, ..AS_IT_IS }, 0.1).map(|more| 1.0 + more),
            ..here
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svb;

    /// The rates of Kunniyur and Srikant, which do not hear the queue but for their signals, around a queue of `q`.
    fn margins(classes: &[svb::Class], q: f64) -> Margins {
        let at_rest: Vec<Class> = classes.iter().map(|class| Class { alpha: class.alpha, p: class.p() }).collect();
        let answer = |i: usize, w: f64| Answer { to_signals: classes[i].answer(w), to_queue: Complex64::ZERO };
        Classes { queue: q, classes: &at_rest, answer: &answer }.margins(1e-3, 1e4)
    }

    fn class(flows: f64, phi: f64, alpha: f64) -> svb::Class {
        svb::Class { capacity: 1250.0, delay_s: 0.12, flows, phi, alpha }
    }

    #[test]
    fn one_class_turns_where_the_lemma_says() {
        for (flows, alpha) in [(30.0, 0.1), (50.0, 0.5), (100.0, 1.0)] {
            let one = class(flows, 1.0, alpha);
            let b = one.lemma().unwrap();
            let growing = |times: f64| margins(&[one], times * b / (1.0 - one.p())).growing;
            assert_eq!((growing(0.995), growing(1.005)), (2, 0), "{flows} {alpha}");
        }
    }

    #[test]
    fn ten_equal_classes_turn_where_they_swing_together() {
        // 349.8 and 68.5 packets a class, where the lemma for one of them says 52.8 and 11.8.
        for (flows, want) in [(5.0, 349.8), (8.0, 68.5)] {
            let one = class(flows, 0.1, 0.5);
            let growing = |b: f64| margins(&[one; 10], b / (1.0 - one.p())).growing;
            assert_eq!((growing(0.995 * want), growing(1.005 * want)), (2, 0), "{flows}");
        }
    }

    #[test]
    fn unequal_classes_turn_where_the_nonlinear_model_does() {
        let two = [class(12.0, 0.3, 0.2), class(40.0, 0.7, 0.8)];
        let (mut low, mut high) = (1.0, 1e5);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if margins(&two, middle).is_stable() { high = middle } else { low = middle }
        }
        let [below, above] = [0.93, 1.07].map(|times| svb::deviation(&two, times * high, 200.0));
        assert!(below > 0.1 && above < 1e-3, "edge {high}: {below} {above}");
        // Signals times as strong or later by the margin bring it to the edge: the same loop, changed by hand.
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
