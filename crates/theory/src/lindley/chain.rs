//! The queue as a Markov chain on cells, and what its distribution says.

use super::Loop;
use crate::dense::{Matrix, stationary};

impl Loop {
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
        // A buffer of whole cells has them all, whatever the quotient is rounded to.
        let (cells, noise) = ((self.buffer / cell * (1.0 + 1e-12)) as usize, self.noise(sigma));
        let below = |edge: f64, mean: f64| 0.5 * libm::erfc((mean - edge) / (noise * std::f64::consts::SQRT_2));
        let means: Vec<f64> = (0..cells).map(|i| self.drift((i as f64 + place) * cell)).collect();
        Matrix::from_fn(cells, cells, |i, j| {
            let from = if j == 0 { 0.0 } else { below(j as f64 * cell, means[i]) };
            let to = if j + 1 == cells { 1.0 } else { below((j + 1) as f64 * cell, means[i]) };
            to - from
        })
    }

    /// What the two ends of the buffer do to a chain of this loop.
    pub fn ends(&self, sigma: f64, rest: &Distribution) -> Ends {
        let noise = self.noise(sigma);
        let (mut over, mut under, mut sent) = (0.0, 0.0, self.interval_s * self.capacity);
        for (q, chance) in rest.queue.iter().zip(&rest.chance) {
            let next = self.drift(*q);
            over += chance * beyond(next - self.buffer, noise);
            under += chance * beyond(-next, noise);
            sent += chance * (next - q);
        }
        Ends { lost: over / sent, idle: under / (self.interval_s * self.capacity) }
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

/// Mean of what is above 0 of a normal variable with this mean and standard deviation.
fn beyond(mean: f64, std: f64) -> f64 {
    let z = mean / std;
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
    mean * 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2) + std * density
}

/// What the ends of the buffer do in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Share of what is sent that finds no room.
    pub lost: f64,
    /// Share of the capacity that finds nothing to carry.
    pub idle: f64,
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

    /// The queue in bits that is not exceeded with this chance, cells being even within.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut before = 0.0;
        for (j, chance) in self.chance.iter().enumerate() {
            if before + chance >= share && *chance > 0.0 {
                return (j as f64 + (share - before) / chance) * self.cell;
            }
            before += chance;
        }
        self.chance.len() as f64 * self.cell
    }
}
