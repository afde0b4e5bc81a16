//! TCP on one link near its rest, after Misra, Gong and Towsley, linearised without their shortcuts.
//!
//! W' = 1/R - W W(t-R)/(2 R(t-R)) p(t-R), q' = N W/R - C, R = q/C + T. Packets and seconds.

use num_complex::Complex64;

/// Flows of one kind on one link, at the rest that a queue of given length means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpLoop {
    /// N: flows.
    pub flows: f64,
    /// C: the link, packets per second.
    pub capacity: f64,
    /// R: round trip at rest, queueing included, in seconds.
    pub rtt_s: f64,
}

/// How the queue and the load answer the signal probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// Packets by which the queue falls per unit of probability.
    pub queue: Complex64,
    /// Packets per second by which the load falls per unit of probability.
    pub load: Complex64,
}

impl TcpLoop {
    /// Window of a flow in packets.
    pub fn window(&self) -> f64 {
        self.rtt_s * self.capacity / self.flows
    }

    /// Signal probability at rest, 2/W^2.
    pub fn p(&self) -> f64 {
        let window = self.window();
        2.0 / (window * window)
    }

    /// The answer at `w` radians a second. Delays are exact.
    pub fn answer(&self, w: f64) -> Answer {
        let Self { flows, capacity, rtt_s } = *self;
        let s = Complex64::new(0.0, w);
        let late = Complex64::from_polar(1.0, -w * rtt_s);
        let a = flows / (rtt_s * rtt_s * capacity);
        let b = 1.0 / (rtt_s * rtt_s * capacity);
        let c = rtt_s * capacity * capacity / (2.0 * flows * flows);
        // s W = -a (1 + late) W - b (1 - late) Q - c late P;  s Q = N/R W - Q/R
        let own = s + a * (1.0 + late);
        let queue = flows / rtt_s * c * late / ((s + 1.0 / rtt_s) * own + flows / rtt_s * b * (1.0 - late));
        Answer { queue, load: s * queue }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nyquist::margins;

    /// The example of Hollot et al.: 60 flows, 3750 packets per second, 246 ms.
    const EXAMPLE: TcpLoop = TcpLoop { flows: 60.0, capacity: 3750.0, rtt_s: 0.246 };

    /// Their controller, p += a (q - ref) - b (before - ref) every 1/160 s, held in between.
    fn pi(w: f64) -> Complex64 {
        const PERIOD: f64 = 1.0 / 160.0;
        let late = Complex64::from_polar(1.0, -w * PERIOD);
        (1.857e-5 - 1.851e-5 * late) / Complex64::new(0.0, w * PERIOD)
    }

    #[test]
    fn rest_of_the_example() {
        assert!((EXAMPLE.window() - 15.375).abs() < 1e-9 && (EXAMPLE.p() - 0.008_461).abs() < 1e-6);
    }

    #[test]
    fn slow_changes_follow_the_square_root() {
        // q + C T = N W, W = root of 2/p: dq/dp = -N W/(2 p).
        let still = EXAMPLE.answer(1e-7).queue;
        let want = 60.0 * EXAMPLE.window() / (2.0 * EXAMPLE.p());
        assert!((still.re / want - 1.0).abs() < 1e-4 && still.im.abs() < 1e-3 * want, "{still} {want}");
    }

    #[test]
    fn the_design_rule_of_pi_holds_about_what_it_promises() {
        // w_g = 0.53, phase margin 90 - w_g R - atan(w_g R) = 75 degrees, with their simpler plant.
        let found = margins(&|w| pi(w) * EXAMPLE.answer(w).queue, 1, 1e-4, 1e3);
        assert!(found.is_stable());
        assert!((found.crossover.unwrap() - 0.53).abs() < 0.06, "{found:?}");
        assert!((found.phase_deg.unwrap() - 75.0).abs() < 8.0, "{found:?}");
        // With ten flows the gain is 36 times as large: it swings.
        let few = TcpLoop { flows: 10.0, ..EXAMPLE };
        assert!(!margins(&|w| 4.0 * pi(w) * few.answer(w).queue, 1, 1e-4, 1e3).is_stable());
    }
}
