//! A queue whose sources change their rates every S seconds (RED+Tail paper, section VI): Lindley's recursion with
//! TCP's windows. The next queue in bits is `q' = clamp(f(q) + noise, 0, B)` with
//! `f(q) = q + S (sum of W C/(q + d_k C) - C)`. The fields of [`Loop`] define the symbols.

mod chain;

pub use chain::{Distribution, Ends};

/// Sources with equal windows on one link.
#[derive(Clone, Debug)]
pub struct Loop {
    /// C: link rate in bits per second.
    pub capacity: f64,
    /// W: window of each source in bits.
    pub window: f64,
    /// d_k: round-trip times without queueing in seconds, one per source.
    pub delays_s: Vec<f64>,
    /// S: seconds between rate changes.
    pub interval_s: f64,
    /// B: buffer in bits.
    pub buffer: f64,
}

impl Loop {
    /// TCP's window in bits at loss probability `p`: sqrt(3/2 / p) packets of `packet` bits.
    pub fn tcp_window(packet: f64, p: f64) -> f64 {
        packet * libm::sqrt(1.5 / p)
    }

    /// f: the next queue without noise and without buffer limits.
    pub fn drift(&self, q: f64) -> f64 {
        let rates: f64 = self.delays_s.iter().map(|d| self.window * self.capacity / (q + d * self.capacity)).sum();
        q + self.interval_s * (rates - self.capacity)
    }

    /// The next queue without noise.
    pub fn next(&self, q: f64) -> f64 {
        self.drift(q).clamp(0.0, self.buffer)
    }

    /// f': the derivative of [`Loop::drift`].
    pub fn slope(&self, q: f64) -> f64 {
        let falls = self.delays_s.iter().map(|d| {
            let sum = q + d * self.capacity;
            self.window * self.capacity / (sum * sum)
        });
        1.0 - self.interval_s * falls.sum::<f64>()
    }

    /// q_e: the queue at which the rates fill the link; 0 if they do not fill it even with an empty queue.
    pub fn equilibrium(&self) -> f64 {
        let load = |q: f64| self.delays_s.iter().map(|d| self.window / (q + d * self.capacity)).sum::<f64>();
        let (mut low, mut high) = (0.0, self.window * self.delays_s.len() as f64);
        if load(low) <= 1.0 {
            return 0.0;
        }
        // The load falls with the queue and is below 1 at the sum of the windows. Bisects to adjacent floating-point
        // numbers.
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return middle;
            }
            if load(middle) > 1.0 { low = middle } else { high = middle }
        }
    }

    /// Proposition 6.1: below this S the map from a queue to the next one is a contraction.
    pub fn contraction_bound_s(&self) -> f64 {
        let sum: f64 = self.delays_s.iter().map(|d| 1.0 / (d * d)).sum();
        2.0 * self.capacity / (self.window * sum)
    }

    /// A bound on S that ensures f'(q_e) >= 0, the condition of Proposition 6.2. Of the round trips it uses only the
    /// longest, and q_e. With N equal round trips it is N W/C. Valid only if the windows fill the link.
    ///
    /// Derivation, with r_k = 1/(q_e + d_k C) and D_m = C max d_k: at equilibrium the sum of r_k is 1/W, so the sum of
    /// r_k^2 is at most 1/W^2 - N(N - 1)/(q_e + D_m)^2. The paper's formula lacks W C and has inconsistent units.
    pub fn mixed_bound_s(&self) -> f64 {
        let sources = self.delays_s.len() as f64;
        let longest = self.equilibrium() + self.capacity * self.delays_s.iter().copied().fold(0.0, f64::max);
        let pairs = sources * (sources - 1.0) / (longest * longest);
        1.0 / (self.capacity / self.window - self.window * self.capacity * pairs)
    }

    /// The S at which f'(q_e) = -1. The equilibrium is stable if S is smaller.
    pub fn edge_s(&self) -> f64 {
        let q = self.equilibrium();
        let squares = self.delays_s.iter().map(|d| {
            let sum = q + d * self.capacity;
            1.0 / (sum * sum)
        });
        2.0 / (self.window * self.capacity * squares.sum::<f64>())
    }

    /// Standard deviation of the noise per step in bits, if each source's rate has an independent error of `sigma`
    /// bits per second.
    pub fn noise(&self, sigma: f64) -> f64 {
        self.interval_s * sigma * libm::sqrt(self.delays_s.len() as f64)
    }

    /// Standard deviation of the queue in bits, with f linearised at q_e; infinite if the equilibrium is unstable.
    pub fn linear_std(&self, sigma: f64) -> f64 {
        let slope = self.slope(self.equilibrium());
        if slope.abs() < 1.0 { self.noise(sigma) / libm::sqrt(1.0 - slope * slope) } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: f64 = 8000.0;

    /// The paper's example: 6 Mb/s, round trips of 64 ms without queueing, p = 0.014. S is `round_trips` times the
    /// round-trip time at the equilibrium.
    fn example(sources: usize, round_trips: f64) -> Loop {
        let mut one = Loop {
            capacity: 6e6,
            window: Loop::tcp_window(PACKET, 0.014),
            delays_s: vec![0.064; sources],
            interval_s: 0.0,
            buffer: 4e6,
        };
        one.interval_s = round_trips * sources as f64 * one.window / one.capacity;
        one
    }

    #[test]
    fn equilibria_match_values_by_hand() {
        for (sources, q_e, rtt, bound_ms) in [(20, 159.02, 0.2760, 29.7), (40, 366.04, 0.5521, 14.8)] {
            let one = example(sources, 1.0);
            let found = one.equilibrium();
            assert!((found / PACKET - q_e).abs() < 6e-3, "{}", found / PACKET);
            assert!((one.interval_s - rtt).abs() < 6e-5 && one.slope(found).abs() < 1e-9);
            assert!((1e3 * one.contraction_bound_s() - bound_ms).abs() < 0.06);
            assert!((one.drift(found) - found).abs() < 1e-6);
        }
        let idle = Loop { window: 1000.0, ..example(20, 1.0) };
        assert_eq!(idle.equilibrium(), 0.0);
    }

    #[test]
    fn orbit_from_empty_queue_matches_values_by_hand() {
        let one = Loop { buffer: f64::INFINITY, ..example(20, 1.0) };
        let mut q = 0.0;
        for want in [685.84, 537.22, 403.43, 291.35, 210.62, 169.32, 159.51, 159.02] {
            q = one.next(q);
            assert!((q / PACKET - want).abs() < 6e-3, "{} for {want}", q / PACKET);
        }
    }

    /// The specification of this project (section D.2; it is not in this repository) has these values, computed before
    /// this code was written: mean and standard deviation of the queue in packets, and the standard deviation of the
    /// linearised queue.
    #[test]
    fn chain_and_linear_model_match_specification_values() {
        // The last two numbers: units of the last digits of mean and standard deviations.
        for (sources, sigma, round_trips, mean, std, linear, digits) in [
            (20, 77021.0, 0.5, 158.2, 6.85, 6.86, [0.1, 0.01]),
            (20, 77021.0, 1.0, 159.2, 11.93, 11.88, [0.1, 0.01]),
            (20, 77021.0, 1.5, 160.8, 21.10, 20.58, [0.1, 0.01]),
            (20, 77021.0, 2.0, 169.4, 51.3, f64::INFINITY, [0.1, 0.1]),
            (40, 128_490.0, 0.5, 367.6, 32.4, 32.4, [0.1, 0.1]),
            (40, 128_490.0, 1.0, 373.7, 57.5, 56.1, [0.1, 0.1]),
            (40, 128_490.0, 1.5, 394.0, 116.7, 97.1, [0.1, 0.1]),
            (40, 128_490.0, 2.0, 450.0, 234.0, f64::INFINITY, [1.0, 1.0]),
        ] {
            // A buffer of 1200 packets: with the paper's 500 the widest distribution would reach its limit.
            let one = Loop { buffer: 9.6e6, ..example(sources, round_trips) };
            let chain = one.chain(sigma, PACKET, 0.0).unwrap();
            let (found, width) = (chain.mean() / PACKET, chain.std() / PACKET);
            let case = format!("{sources} sources, {round_trips} round trips: {found} +- {width}");
            assert!((chain.chance.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{case}");
            assert!((found - mean).abs() < 0.6 * digits[0] && (width - std).abs() < 0.6 * digits[1], "{case}");
            let line = one.linear_std(sigma) / PACKET;
            let near = (line - linear).abs() < 0.6 * digits[1];
            // At two round trips the slope is -1 up to rounding.
            assert!(if linear.is_finite() { near } else { line > 1e3 }, "{case}: {line}");
        }
        assert!(Loop { buffer: f64::INFINITY, ..example(20, 1.0) }.chain(77021.0, PACKET, 0.0).is_none());
        assert!(example(20, 2.1).linear_std(77021.0).is_infinite());
    }

    /// Reproducible numbers, uniform from 0 to 1 (Lehmer's generator).
    fn even(state: &mut u64) -> f64 {
        *state = *state * 48271 % 2_147_483_647;
        *state as f64 / 2_147_483_647.0
    }

    #[test]
    fn bound_on_interval_gives_nonnegative_slope_at_equilibrium() {
        for sources in [1, 20, 40] {
            let one = example(sources, 1.0);
            if one.equilibrium() > 0.0 {
                assert!((one.mixed_bound_s() / one.interval_s - 1.0).abs() < 1e-9, "{}", one.mixed_bound_s());
                assert!((one.edge_s() / one.interval_s - 2.0).abs() < 1e-9);
            }
        }
        let (mut state, mut tight) = (1, 0.0_f64);
        for _ in 0..2000 {
            let sources = 1 + (50.0 * even(&mut state)) as usize;
            let capacity = 1e6 + 99e6 * even(&mut state);
            let delays_s: Vec<f64> = (0..sources).map(|_| 0.001 + 0.3 * even(&mut state)).collect();
            let enough = capacity / delays_s.iter().map(|d| 1.0 / d).sum::<f64>();
            let window = enough * (1.001 + 4.0 * even(&mut state));
            let mut one = Loop { capacity, window, delays_s, interval_s: 0.0, buffer: f64::INFINITY };
            one.interval_s = one.mixed_bound_s();
            let slope = one.slope(one.equilibrium());
            assert!((-1e-9..1.0).contains(&slope), "{one:?}: {slope}");
            tight = tight.max(1.0 - slope);
            one.interval_s = one.edge_s();
            assert!((one.slope(one.equilibrium()) + 1.0).abs() < 1e-9, "{one:?}");
        }
        assert!(tight > 0.99, "the bound is tight for nearly equal round trips: {tight}");
    }

    #[test]
    fn markov_chain_matches_the_simulated_recursion() {
        // A short buffer and long steps, so that both buffer limits matter.
        let (one, sigma) = (Loop { buffer: 220.0 * PACKET, ..example(20, 1.8) }, 77021.0);
        let rest = one.chain(sigma, PACKET, 0.5).unwrap();
        let ends = one.ends(sigma, &rest);
        let (mut state, mut q) = (7, one.equilibrium());
        let (mut sum, mut squares, mut sent, mut lost, mut idle, mut above) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        // Not the 0.99 quantile: the full buffer alone has a higher probability than 0.01.
        let (steps, p75) = (400_000, rest.quantile(0.75));
        for _ in 0..steps {
            let around = libm::cos(2.0 * std::f64::consts::PI * even(&mut state));
            let normal = libm::sqrt(-2.0 * libm::log(even(&mut state))) * around;
            let next = one.drift(q) + one.noise(sigma) * normal;
            sent += next - q + one.interval_s * one.capacity;
            lost += (next - one.buffer).max(0.0);
            idle += (-next).max(0.0);
            q = next.clamp(0.0, one.buffer);
            sum += q;
            squares += q * q;
            above += if q > p75 { 1.0 } else { 0.0 };
        }
        let mean = sum / f64::from(steps);
        let std = libm::sqrt(squares / f64::from(steps) - mean * mean);
        assert!((rest.mean() / mean - 1.0).abs() < 0.01 && (rest.std() / std - 1.0).abs() < 0.02, "{mean} {std}");
        let (lost, idle) = (lost / sent, idle / (one.interval_s * one.capacity * f64::from(steps)));
        assert!(lost > 1e-3 && (ends.lost / lost - 1.0).abs() < 0.05, "{ends:?} {lost}");
        assert!((ends.idle - idle).abs() < 0.05 * idle + 1e-6, "{ends:?} {idle}");
        assert!((above / f64::from(steps) - 0.25).abs() < 0.01, "{above}");
        assert!(rest.quantile(0.0) <= rest.quantile(0.5) && rest.quantile(1.0) <= one.buffer);
    }
}
