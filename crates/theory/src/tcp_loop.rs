//! TCP on one link near its rest, after Misra, Gong and Towsley, linearised without their shortcuts.
//!
//! W' = 1/R - W W(t-R)/(2 R(t-R)) p(t-R), q' = N W/R - C, R = q/C + T. Packets and seconds.

use num_complex::Complex64;

use crate::classes;

/// Flows with one round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flows {
    /// N: how many.
    pub count: f64,
    /// R: round trip at rest, queueing included, in seconds.
    pub rtt_s: f64,
}

/// Flows of some kinds on one link, at the rest that a queue of given length means.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpLoop {
    /// C: packets per second at rest, as many as the link has unless a rule keeps it from being full.
    pub capacity: f64,
    /// Are signals drops? Then what is signalled does not enter the queue.
    pub drops: bool,
    /// The flows; at least one kind.
    pub flows: Vec<Flows>,
}

/// The signal probability, 2/W^2, at which a window is `window` packets, of which what is signalled does not count if
/// signals are drops.
pub fn p_for(window: f64, drops: bool) -> f64 {
    if !drops {
        return 2.0 / (window * window);
    }
    // (1 - p) times the root of 2/p falls from no bound to 0.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = 0.5 * (low + high);
        if (1.0 - p) * libm::sqrt(2.0 / p) > window { low = p } else { high = p }
    }
    0.5 * (low + high)
}

/// How the queue and the load answer the signal probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// Packets by which the queue falls per unit of probability.
    pub queue: Complex64,
    /// Packets per second by which the load falls per unit of probability where no queue stands: the link is not full, and the round trip does not change.
    pub load_alone: Complex64,
}

impl TcpLoop {
    /// Window of a flow in packets: all kinds meet the same signals and have the same.
    pub fn window(&self) -> f64 {
        libm::sqrt(2.0 / self.p())
    }

    /// Signal probability at rest, 2/W^2.
    pub fn p(&self) -> f64 {
        p_for(self.capacity / self.flows.iter().map(|kind| kind.count / kind.rtt_s).sum::<f64>(), self.drops)
    }

    /// The mean round trip of a flow, in seconds.
    pub fn mean_rtt_s(&self) -> f64 {
        let count: f64 = self.flows.iter().map(|kind| kind.count).sum();
        self.flows.iter().map(|kind| kind.count * kind.rtt_s).sum::<f64>() / count
    }

    /// How it answers small changes.
    pub fn near(&self) -> Near<'_> {
        self.near_on(self.capacity)
    }

    /// The same where the queue empties at `link` packets per second: these flows have a part of it.
    pub fn near_on(&self, link: f64) -> Near<'_> {
        let p = self.p();
        let (enters, at_once) = if self.drops { (1.0 - p, self.capacity / (1.0 - p)) } else { (1.0, 0.0) };
        Near { at: self, link, window: libm::sqrt(2.0 / p), enters, at_once }
    }
}

/// A loop near its rest.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    at: &'a TcpLoop,
    /// What empties the queue, in packets per second.
    link: f64,
    window: f64,
    /// Of what is offered, what enters.
    enters: f64,
    /// What a drop takes away at once, in packets per second per unit of probability.
    at_once: f64,
}

impl Near<'_> {
    /// The answer at `w` radians a second. Delays are exact.
    pub fn answer(&self, w: f64) -> Answer {
        let load = self.load(w);
        let queue = load.to_signals / (Complex64::new(0.0, w) + load.to_queue);
        Answer { queue, load_alone: load.to_signals }
    }

    /// The answer of the load.
    pub fn load(&self, w: f64) -> classes::Answer {
        let Self { at, link, window, enters, at_once } = *self;
        let s = Complex64::new(0.0, w);
        let (mut to_signals, mut to_queue) = (Complex64::new(at_once, 0.0), Complex64::ZERO);
        for Flows { count, rtt_s } in at.flows.iter().copied() {
            let late = Complex64::from_polar(1.0, -w * rtt_s);
            let a = 1.0 / (window * rtt_s);
            let b = 1.0 / (rtt_s * rtt_s * link);
            let c = window * window / (2.0 * rtt_s);
            // s W = -a (1 + late) W - b (1 - late) Q - c late P;  s Q = sum of N/R W - N W/(R^2 C) Q, of what enters
            let own = s + a * (1.0 + late);
            let rate = enters * count / rtt_s;
            to_signals += rate * c * late / own;
            to_queue += rate * window / (rtt_s * link) + rate * b * (1.0 - late) / own;
        }
        classes::Answer { to_signals, to_queue }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nyquist::margins;

    /// The example of Hollot et al.: 60 flows, 3750 packets per second, 246 ms.
    fn example(count: f64) -> TcpLoop {
        TcpLoop { capacity: 3750.0, drops: false, flows: vec![Flows { count, rtt_s: 0.246 }] }
    }

    /// Their controller, p += a (q - ref) - b (before - ref) every 1/160 s, held in between.
    fn pi(w: f64) -> Complex64 {
        const PERIOD: f64 = 1.0 / 160.0;
        let late = Complex64::from_polar(1.0, -w * PERIOD);
        (1.857e-5 - 1.851e-5 * late) / Complex64::new(0.0, w * PERIOD)
    }

    #[test]
    fn rest_of_the_example() {
        let rest = example(60.0);
        assert!((rest.window() - 15.375).abs() < 1e-9 && (rest.p() - 0.008_461).abs() < 1e-6);
    }

    #[test]
    fn slow_changes_follow_the_square_root() {
        // q + C T = N W, W = root of 2/p: dq/dp = -N W/(2 p).
        let rest = example(60.0);
        let still = rest.near().answer(1e-7).queue;
        let want = 60.0 * rest.window() / (2.0 * rest.p());
        assert!((still.re / want - 1.0).abs() < 1e-4 && still.im.abs() < 1e-3 * want, "{still} {want}");
    }

    #[test]
    fn kinds_that_are_alike_are_one_kind() {
        let one = example(60.0);
        let two = TcpLoop { flows: [20.0, 40.0].map(|count| Flows { count, ..one.flows[0] }).to_vec(), ..one.clone() };
        assert!((one.window() - two.window()).abs() < 1e-12 && (two.mean_rtt_s() - 0.246).abs() < 1e-12);
        for w in [0.1, 1.0, 10.0] {
            assert!((one.near().answer(w).queue / two.near().answer(w).queue - 1.0).norm() < 1e-12);
        }
    }

    #[test]
    fn the_design_rule_of_pi_holds_about_what_it_promises() {
        // w_g = 0.53, phase margin 90 - w_g R - atan(w_g R) = 75 degrees, with their simpler plant.
        let found = margins(&|w| pi(w) * example(60.0).near().answer(w).queue, 1, 1e-4, 1e3);
        assert!(found.is_stable());
        assert!((found.crossover.unwrap() - 0.53).abs() < 0.06, "{found:?}");
        assert!((found.phase_deg.unwrap() - 75.0).abs() < 8.0, "{found:?}");
        // With ten flows the gain is 36 times as large: it swings.
        let few = example(10.0);
        assert!(!margins(&|w| 4.0 * pi(w) * few.near().answer(w).queue, 1, 1e-4, 1e3).is_stable());
    }
}
