//! A queue whose sources set their rates anew every S seconds (RED+Tail paper, section VI): Lindley's recursion with
//! TCP's windows, `q' = clamp(f(q) + noise, 0, B)`, `f(q) = q + S (sum of W C/(q + d_k C) - C)`, in bits.

use crate::dense::{Matrix, stationary};

/// Sources with one window on one link.
#[derive(Clone, Debug)]
pub struct Loop {
    /// C, bits per second.
    pub capacity: f64,
    /// W, bits: what each source has on its way.
    pub window: f64,
    /// Round trips without queueing, seconds: one for each source.
    pub delays_s: Vec<f64>,
    /// S, seconds between two changes of the rates.
    pub interval_s: f64,
    /// B, bits.
    pub buffer: f64,
}

impl Loop {
    /// TCP's window in bits at loss probability `p`, by the root of 3/2, for packets of so many bits.
    pub fn tcp_window(packet: f64, p: f64) -> f64 {
        packet * libm::sqrt(1.5 / p)
    }

    /// f: the next queue without noise and without ends of the buffer.
    pub fn drift(&self, q: f64) -> f64 {
        let rates: f64 = self.delays_s.iter().map(|d| self.window * self.capacity / (q + d * self.capacity)).sum();
        q + self.interval_s * (rates - self.capacity)
    }

    /// The next queue.
    pub fn next(&self, q: f64) -> f64 {
        self.drift(q).clamp(0.0, self.buffer)
    }

    /// f'.
    pub fn slope(&self, q: f64) -> f64 {
        let falls = self.delays_s.iter().map(|d| {
            let sum = q + d * self.capacity;
            self.window * self.capacity / (sum * sum)
        });
        1.0 - self.interval_s * falls.sum::<f64>()
    }

    /// q_e, where the rates fill the link; 0 if they do not even with an empty queue.
    pub fn equilibrium(&self) -> f64 {
        let load = |q: f64| self.delays_s.iter().map(|d| self.window / (q + d * self.capacity)).sum::<f64>();
        let (mut low, mut high) = (0.0, self.window * self.delays_s.len() as f64);
        if load(low) <= 1.0 {
            return 0.0;
        }
        // The load falls with the queue; at the sum of the windows it is below 1. Halved until nothing lies between.
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return middle;
            }
            if load(middle) > 1.0 { low = middle } else { high = middle }
        }
    }

    /// Proposition 6.1: below this S the map brings any two queues nearer to each other.
    pub fn contraction_bound_s(&self) -> f64 {
        let sum: f64 = self.delays_s.iter().map(|d| 1.0 / (d * d)).sum();
        2.0 * self.capacity / (self.window * sum)
    }

    /// The noise of a step in bits: each source's rate is off by `sigma` bits per second, independently.
    pub fn noise(&self, sigma: f64) -> f64 {
        self.interval_s * sigma * libm::sqrt(self.delays_s.len() as f64)
    }

    /// Standard deviation of the queue if f were a straight line through q_e; infinite where that does not settle.
    pub fn linear_std(&self, sigma: f64) -> f64 {
        let slope = self.slope(self.equilibrium());
        if slope.abs() < 1.0 { self.noise(sigma) / libm::sqrt(1.0 - slope * slope) } else { f64::INFINITY }
    }

    /// The chain on cells of `cell` bits (eq. 17), each taken for the queue at `place` of it: 0 is its lower end, as in
    /// the paper, 0.5 its middle. The first and the last cell take what lies beyond. `None` if the buffer has no end, or
    /// does not hold a cell, or if the elimination meets a zero.
    pub fn chain(&self, sigma: f64, cell: f64, place: f64) -> Option<Distribution> {
        if !self.buffer.is_finite() || self.buffer < cell {
            return None;
        }
        let moves = self.moves(sigma, cell, place);
        let cells = moves.rows();
        let chance = stationary(&moves.plus(-1.0, &Matrix::identity(cells)))?;
        Some(Distribution { cell, place, queue: (0..cells).map(|i| (i as f64 + place) * cell).collect(), chance })
    }

    /// Chances to go from cell to cell in one step.
    fn moves(&self, sigma: f64, cell: f64, place: f64) -> Matrix {
        let (cells, noise) = ((self.buffer / cell) as usize, self.noise(sigma));
        let below = |edge: f64, mean: f64| 0.5 * libm::erfc((mean - edge) / (noise * std::f64::consts::SQRT_2));
        let means: Vec<f64> = (0..cells).map(|i| self.drift((i as f64 + place) * cell)).collect();
        Matrix::from_fn(cells, cells, |i, j| {
            let from = if j == 0 { 0.0 } else { below(j as f64 * cell, means[i]) };
            let to = if j + 1 == cells { 1.0 } else { below((j + 1) as f64 * cell, means[i]) };
            to - from
        })
    }

    /// How far the chain is from `rest`, which is one of its own, after so many steps, begun with an empty and with a full
    /// queue: half the sum of all differences.
    pub fn distance_after(&self, sigma: f64, rest: &Distribution, steps: usize) -> [f64; 2] {
        let moves = self.moves(sigma, rest.cell, rest.place);
        let cells = moves.rows();
        [0, cells.saturating_sub(1)].map(|start| {
            let mut chance: Vec<f64> = (0..cells).map(|i| if i == start { 1.0 } else { 0.0 }).collect();
            for _ in 0..steps {
                chance = moves.after(&chance);
            }
            0.5 * chance.iter().zip(&rest.chance).map(|(a, b)| (a - b).abs()).sum::<f64>()
        })
    }
}

/// Queues and their chances.
#[derive(Clone, Debug)]
pub struct Distribution {
    cell: f64,
    place: f64,
    /// Bits.
    pub queue: Vec<f64>,
    /// Sums to 1.
    pub chance: Vec<f64>,
}

impl Distribution {
    /// Mean in bits.
    pub fn mean(&self) -> f64 {
        self.queue.iter().zip(&self.chance).map(|(q, p)| q * p).sum()
    }

    /// Standard deviation in bits.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        libm::sqrt(self.queue.iter().zip(&self.chance).map(|(q, p)| (q - mean) * (q - mean) * p).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: f64 = 8000.0;

    /// The paper's example: 6 Mb/s, 64 ms, p = 0.014; S in round trips at the equilibrium.
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
    fn equilibria_worked_by_hand() {
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
    fn an_orbit_passes_the_equilibrium_once() {
        let one = Loop { buffer: f64::INFINITY, ..example(20, 1.0) };
        let mut q = 0.0;
        for want in [685.84, 537.22, 403.43, 291.35, 210.62, 169.32, 159.51, 159.02] {
            q = one.next(q);
            assert!((q / PACKET - want).abs() < 6e-3, "{} for {want}", q / PACKET);
        }
    }

    #[test]
    fn chain_and_straight_line_by_the_worked_table() {
        for (sources, sigma, round_trips, mean, std, linear) in [
            (20, 77021.0, 0.5, 158.2, 6.85, 6.86),
            (20, 77021.0, 1.0, 159.2, 11.93, 11.88),
            (20, 77021.0, 1.5, 160.8, 21.10, 20.58),
            (40, 128_490.0, 0.5, 367.6, 32.4, 32.4),
            (40, 128_490.0, 1.0, 373.7, 57.5, 56.1),
        ] {
            let one = example(sources, round_trips);
            let chain = one.chain(sigma, PACKET, 0.0).unwrap();
            let (found, width) = (chain.mean() / PACKET, chain.std() / PACKET);
            let case = format!("{sources} sources, {round_trips} round trips: {found} +- {width}");
            assert!((chain.chance.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{case}");
            assert!((found - mean).abs() < 0.6 && (width / std - 1.0).abs() < 0.02, "{case}");
            assert!((one.linear_std(sigma) / PACKET / linear - 1.0).abs() < 0.005, "{case}");
        }
        assert!(Loop { buffer: f64::INFINITY, ..example(20, 1.0) }.chain(77021.0, PACKET, 0.0).is_none());
        assert!(example(20, 2.1).linear_std(77021.0).is_infinite());
    }
}
