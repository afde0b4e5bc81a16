//! TCP on one link, linearised at its equilibrium, after Misra, Gong and Towsley but without their simplifications.
//!
//! W' = 1/R - W W(t-R)/(2 R(t-R)) p(t-R), q' = N W/R - C, R = q/C + T. W: window; R: round-trip time; p: signal
//! probability; q: queue; N: number of flows; C: link rate; T: round-trip time without queueing. Units: packets and
//! seconds.

use num_complex::Complex64;

use crate::classes;

/// Flows with the same round-trip time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flows {
    /// N: number of flows.
    pub count: f64,
    /// R: round-trip time at equilibrium in seconds, queueing included.
    pub rtt_s: f64,
}

/// Flows on one link, in groups with equal round-trip times, at a given equilibrium.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpLoop {
    /// C: throughput at equilibrium in packets per second; the link rate, unless the AQM keeps the link below full
    /// load.
    pub capacity: f64,
    /// Are signals drops? Then signalled packets do not enter the queue.
    pub drops: bool,
    /// The flows; at least one group with equal round-trip times.
    pub flows: Vec<Flows>,
}

/// The signal probability p at equilibrium: 2/W^2 for a window of W = `window` packets. If signals are drops, `window`
/// counts only the packets that are not dropped: `window` = (1 - p) W.
pub fn p_for(window: f64, drops: bool) -> f64 {
    if !drops {
        return 2.0 / (window * window);
    }
    // (1 - p) sqrt(2/p) falls from infinity to 0.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = 0.5 * (low + high);
        if (1.0 - p) * libm::sqrt(2.0 / p) > window { low = p } else { high = p }
    }
    0.5 * (low + high)
}

/// Response of queue and load to the signal probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// Decrease of the queue in packets per unit of probability.
    pub queue: Complex64,
    /// Decrease of the load in packets per second per unit of probability, for a link that is not full. There is no
    /// queue, so the round-trip time does not change.
    pub load_alone: Complex64,
}

impl TcpLoop {
    /// Window of a flow in packets. It is the same for all flows, because they receive the same signals.
    pub fn window(&self) -> f64 {
        libm::sqrt(2.0 / self.p())
    }

    /// Signal probability at equilibrium, 2/W^2.
    pub fn p(&self) -> f64 {
        p_for(self.capacity / self.flows.iter().map(|kind| kind.count / kind.rtt_s).sum::<f64>(), self.drops)
    }

    /// The mean round-trip time of a flow in seconds.
    pub fn mean_rtt_s(&self) -> f64 {
        let count: f64 = self.flows.iter().map(|kind| kind.count).sum();
        self.flows.iter().map(|kind| kind.count * kind.rtt_s).sum::<f64>() / count
    }

    /// The loop linearised at its equilibrium.
    pub fn near(&self) -> Near<'_> {
        self.near_on(self.capacity)
    }

    /// The linearised loop of flows that share the link with other traffic. `link`: link rate in packets per second.
    pub fn near_on(&self, link: f64) -> Near<'_> {
        let p = self.p();
        let (enters, at_once) = if self.drops { (1.0 - p, self.capacity / (1.0 - p)) } else { (1.0, 0.0) };
        Near { at: self, link, window: libm::sqrt(2.0 / p), enters, at_once }
    }
}

/// A loop linearised at its equilibrium.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    at: &'a TcpLoop,
    /// Rate that drains the queue, in packets per second.
    link: f64,
    window: f64,
    /// Fraction of the offered packets that enter the queue.
    enters: f64,
    /// Immediate decrease of the load by drops, in packets per second per unit of probability; 0 for marks.
    at_once: f64,
}

impl Near<'_> {
    /// The response of queue and load to the signal probability at `w` rad/s, with exact delays.
    pub fn answer(&self, w: f64) -> Answer {
        let load = self.load(w);
        let queue = load.to_signals / (Complex64::new(0.0, w) + load.to_queue);
        Answer { queue, load_alone: load.to_signals }
    }

    /// The response of the load to the signal probability and to the queue at `w` rad/s.
    pub fn load(&self, w: f64) -> classes::Answer {
        let Self { at, link, window, enters, at_once } = *self;
        let s = Complex64::new(0.0, w);
        let (mut to_signals, mut to_queue) = (Complex64::new(at_once, 0.0), Complex64::ZERO);
        for Flows { count, rtt_s } in at.flows.iter().copied() {
            let late = Complex64::from_polar(1.0, -w * rtt_s);
            let a = 1.0 / (window * rtt_s);
            let b = 1.0 / (rtt_s * rtt_s * link);
            let c = window * window / (2.0 * rtt_s);
            // s W = -a (1 + late) W - b (1 - late) Q - c late P;  s Q = sum of N/R W - N W/(R^2 C) Q, of the packets
            // that enter
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

    /// Response of the PI controller of Hollot et al.: p += a (q - ref) - b (before - ref) every 1/160 s, where
    /// `before` is the previous queue. The output is held between updates (zero-order hold).
    fn pi(w: f64) -> Complex64 {
        const PERIOD: f64 = 1.0 / 160.0;
        let late = Complex64::from_polar(1.0, -w * PERIOD);
        (1.857e-5 - 1.851e-5 * late) / Complex64::new(0.0, w * PERIOD)
    }

    #[test]
    fn equilibrium_matches_example_of_hollot_et_al() {
        let rest = example(60.0);
        assert!((rest.window() - 15.375).abs() < 1e-9 && (rest.p() - 0.008_461).abs() < 1e-6);
    }

    #[test]
    fn low_frequency_response_follows_the_square_root_law() {
        // q + C T = N W, W = sqrt(2/p): dq/dp = -N W/(2 p).
        let rest = example(60.0);
        let still = rest.near().answer(1e-7).queue;
        let want = 60.0 * rest.window() / (2.0 * rest.p());
        assert!((still.re / want - 1.0).abs() < 1e-4 && still.im.abs() < 1e-3 * want, "{still} {want}");
    }

    #[test]
    fn two_groups_of_equal_flows_equal_one_group() {
        let one = example(60.0);
        let two = TcpLoop { flows: [20.0, 40.0].map(|count| Flows { count, ..one.flows[0] }).to_vec(), ..one.clone() };
        assert!((one.window() - two.window()).abs() < 1e-12 && (two.mean_rtt_s() - 0.246).abs() < 1e-12);
        for w in [0.1, 1.0, 10.0] {
            assert!((one.near().answer(w).queue / two.near().answer(w).queue - 1.0).norm() < 1e-12);
        }
    }

    #[test]
    fn pi_controller_of_hollot_has_its_design_margins() {
        // w_g = 0.53, phase margin 90 - w_g R - atan(w_g R) = 75 degrees, with their simpler plant.
        let found = margins(&|w| pi(w) * example(60.0).near().answer(w).queue, 1, 1e-4, 1e3);
        assert!(found.is_stable());
        assert!((found.crossover.unwrap() - 0.53).abs() < 0.06, "{found:?}");
        assert!((found.phase_deg.unwrap() - 75.0).abs() < 8.0, "{found:?}");
        // With ten flows the gain is 36 times as large: unstable.
        let few = example(10.0);
        assert!(!margins(&|w| 4.0 * pi(w) * few.near().answer(w).queue, 1, 1e-4, 1e3).is_stable());
    }
}
