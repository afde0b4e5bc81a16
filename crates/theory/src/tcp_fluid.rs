//! Fluid model of TCP on one link, after Misra, Gong and Towsley. It computes transients, with fixed time steps.
//!
//! W' = 1/R - W W(t-R)/(2 R(t-R)) p(t-R), q' = sum of N W/R - C within 0..L, R = T + q/C. W: window; R: round-trip
//! time; q: queue; p: signal probability; N: number of flows; C: link rate; L: buffer; T: round-trip time without
//! queueing. Losses at a full buffer are signals too. The AQM, which sets p, receives a [`Step`]. Units: packets and
//! seconds.

use std::collections::VecDeque;

/// Flows with the same round-trip time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flows {
    /// N: number of flows.
    pub count: f64,
    /// T: round-trip time without queueing, in seconds.
    pub base_s: f64,
}

/// A link and the flows on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fluid {
    /// C: link rate in packets per second.
    pub capacity: f64,
    /// L: buffer in packets.
    pub limit: f64,
    /// Are signals drops? Then signalled packets do not enter the queue.
    pub drops: bool,
    /// The flows; at least one group with equal round-trip times.
    pub flows: Vec<Flows>,
}

/// The state after a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Seconds since the start.
    pub t_s: f64,
    /// Waiting packets.
    pub q: f64,
    /// Signal probability, as set by the rule (the AQM).
    pub p: f64,
    /// Mean window in packets.
    pub window: f64,
}

/// One time step of the model, passed to the rule that sets the signal probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// End of the step, in seconds since the start.
    pub t_s: f64,
    /// Waiting packets at its end.
    pub q: f64,
    /// Packets offered in the step.
    pub offered: f64,
    /// How many of the offered packets the rule (the AQM) dropped; 0 if signals are marks.
    pub dropped: f64,
}

/// Steps per shortest round trip.
const STEPS: f64 = 50.0;
/// Smallest window in packets.
const MIN_WINDOW: f64 = 1.0;

/// Maximum number of points of a trajectory. A longer trajectory keeps only every second, third, ... point.
const MAX_POINTS: usize = 1 << 20;

/// History of a quantity, one value per step, over the longest round trip.
struct Past {
    step: f64,
    values: VecDeque<f64>,
    most: usize,
}

impl Past {
    /// History of a quantity that was `value` until now. `longest`: the largest argument of `at`, in seconds.
    fn new(value: f64, step: f64, longest: f64) -> Self {
        Self { step, values: VecDeque::from([value]), most: (longest / step) as usize + 3 }
    }

    fn push(&mut self, value: f64) {
        if self.values.len() == self.most {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// The value `ago` seconds before the latest one; before the start the initial value.
    fn at(&self, ago: f64) -> f64 {
        let back = (ago / self.step).max(0.0);
        let (whole, part) = (back as usize, back.fract());
        let value = |i: usize| self.values[self.values.len().saturating_sub(1 + i)];
        value(whole) * (1.0 - part) + value(whole + 1) * part
    }
}

impl Fluid {
    /// The trajectory over `seconds`, starting with an empty queue and windows of one packet. After each step `rule`
    /// returns the new signal probability. Points are equidistant, one per step or per several steps. `None` if a
    /// parameter is not a positive finite number.
    pub fn run(&self, seconds: f64, rule: &mut dyn FnMut(&Step) -> f64) -> Option<Vec<Point>> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let shortest = self.flows.iter().map(|kind| kind.base_s).fold(f64::INFINITY, f64::min);
        let kinds = self.flows.iter().all(|kind| positive(kind.count) && positive(kind.base_s));
        if !(positive(self.capacity) && positive(self.limit) && positive(seconds) && positive(shortest) && kinds) {
            return None;
        }
        let h = shortest / STEPS;
        let longest = self.flows.iter().map(|kind| kind.base_s).fold(0.0, f64::max) + self.limit / self.capacity;
        let past = |value: f64| Past::new(value, h, longest);
        let steps = (seconds / h) as usize;
        let every = steps.div_ceil(MAX_POINTS).max(1);
        let (mut queue, mut signals) = (past(0.0), past(0.0));
        let mut windows: Vec<Past> = self.flows.iter().map(|_| past(MIN_WINDOW)).collect();
        let count: f64 = self.flows.iter().map(|kind| kind.count).sum();
        let (mut p, mut points) = (0.0, Vec::new());
        for n in 1..=steps {
            let q = queue.at(0.0);
            let rtt = |base: f64, q: f64| base + q / self.capacity;
            let offered: f64 =
                self.flows.iter().zip(&windows).map(|(kind, w)| kind.count * w.at(0.0) / rtt(kind.base_s, q)).sum();
            let dropped = if self.drops { p * offered } else { 0.0 };
            let entering = offered - dropped;
            let next = q + h * (entering - self.capacity);
            let lost = ((next - self.limit) / h).max(0.0);
            // Heun's method, second order: slopes at both ends of the step, with the delayed terms fixed at its start.
            for (kind, w) in self.flows.iter().zip(&mut windows) {
                let now = rtt(kind.base_s, q);
                let (w_then, q_then, p_then) = (w.at(now), queue.at(now), signals.at(now));
                let slope = |w: f64| 1.0 / now - w * w_then / (2.0 * rtt(kind.base_s, q_then)) * p_then;
                let w_now = w.at(0.0);
                let first = slope(w_now);
                let second = slope(w_now + h * first);
                w.push((w_now + 0.5 * h * (first + second)).max(MIN_WINDOW));
            }
            queue.push(next.clamp(0.0, self.limit));
            let step = Step { t_s: n as f64 * h, q: queue.at(0.0), offered: offered * h, dropped: dropped * h };
            p = rule(&step).clamp(0.0, 1.0);
            let full = if entering > 0.0 { lost / entering } else { 0.0 };
            signals.push(1.0 - (1.0 - p) * (1.0 - full));
            if n % every == 0 {
                let windows = self.flows.iter().zip(&windows).map(|(kind, w)| kind.count * w.at(0.0)).sum::<f64>();
                points.push(Point { t_s: step.t_s, q: step.q, p, window: windows / count });
            }
        }
        Some(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oscillation;

    fn fluid(count: f64) -> Fluid {
        Fluid {
            capacity: 3750.0,
            limit: 800.0,
            drops: false,
            flows: vec![Flows { count, base_s: 0.246 - 200.0 / 3750.0 }],
        }
    }

    /// The PI controller of Hollot et al. with gains multiplied by `times`: p += a (q - 200) - b (before - 200) every
    /// 1/160 s, where `before` is the previous queue.
    fn pi(times: f64) -> impl FnMut(&Step) -> f64 {
        let (mut p, mut before, mut due) = (0.0_f64, 0.0, 0.0);
        move |step| {
            while step.t_s >= due {
                p = (p + times * (1.857e-5 * (step.q - 200.0) - 1.851e-5 * (before - 200.0))).clamp(0.0, 1.0);
                (before, due) = (step.q, due + 1.0 / 160.0);
            }
            p
        }
    }

    #[test]
    fn pi_loop_converges_to_the_equilibrium() {
        let points = fluid(60.0).run(200.0, &mut pi(1.0)).unwrap();
        let last = points.last().unwrap();
        // q at the reference, W = R C/N, p = 2/W^2.
        assert!((last.q - 200.0).abs() < 0.5 && (last.window - 15.375).abs() < 0.02, "{last:?}");
        assert!((last.p - 0.008_461).abs() < 2e-5, "{last:?}");
    }

    #[test]
    fn unstable_loop_oscillates() {
        let points = fluid(10.0).run(200.0, &mut pi(8.0)).unwrap();
        let tail: Vec<f64> = points.iter().filter(|x| x.t_s > 100.0).map(|x| x.q).collect();
        let oscillation = oscillation::of(&tail, points[0].t_s);
        assert!(oscillation.std > 3.0 && oscillation.period_s.is_some(), "{oscillation:?}");
    }

    #[test]
    fn without_signals_the_queue_reaches_the_buffer_limit() {
        let points = fluid(60.0).run(100.0, &mut |_| 0.0).unwrap();
        let tail: Vec<f64> = points.iter().filter(|x| x.t_s > 50.0).map(|x| x.q).collect();
        let mean = tail.iter().sum::<f64>() / tail.len() as f64;
        assert!(mean > 300.0 && tail.iter().all(|q| (0.0..=800.0).contains(q)) && tail.contains(&800.0), "{mean}");
    }

    #[test]
    fn long_trajectory_is_thinned_evenly() {
        let (mut n, short) = (0, Fluid { flows: vec![Flows { count: 1.0, base_s: 0.001 }], ..fluid(1.0) });
        let mut rule = |_: &Step| {
            n += 1;
            0.01
        };
        let points = short.run(50.0, &mut rule).unwrap();
        assert!(n > 2 * MAX_POINTS && points.len() <= MAX_POINTS, "{n} {}", points.len());
        let apart: Vec<f64> = points.windows(2).map(|two| two[1].t_s - two[0].t_s).collect();
        assert!(apart.iter().all(|gap| (gap / points[0].t_s - 1.0).abs() < 1e-6));
    }

    #[test]
    fn nonpositive_and_nonfinite_parameters_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(fluid(bad).run(1.0, &mut |_| 0.0).is_none());
            assert!(fluid(1.0).run(bad, &mut |_| 0.0).is_none());
        }
        assert!(Fluid { flows: Vec::new(), ..fluid(1.0) }.run(1.0, &mut |_| 0.0).is_none());
    }
}
