//! The queue as a Markov chain, and its stationary distribution. The states are cells: short ranges of queue length.

use super::Loop;
use crate::dense::{Matrix, stationary};

impl Loop {
    /// The stationary distribution of the chain on cells of `cell` bits (eq. 17). One queue length represents a cell:
    /// its lower end if `place` is 0, as in the paper, its middle if `place` is 0.5. The first cell includes everything
    /// below it, the last one everything above. `None` if the buffer is infinite or smaller than a cell, or if the
    /// elimination fails.
    pub fn chain(&self, sigma: f64, cell: f64, place: f64) -> Option<Distribution> {
        if !self.buffer.is_finite() || self.buffer < cell {
            return None;
        }
        let moves = self.moves(sigma, cell, place);
        let cells = moves.rows();
        let chance = stationary(&moves.plus(-1.0, &Matrix::identity(cells)))?;
        Some(Distribution { cell, place, queue: (0..cells).map(|i| (i as f64 + place) * cell).collect(), chance })
    }

    /// Transition probabilities between cells.
    fn moves(&self, sigma: f64, cell: f64, place: f64) -> Matrix {
        // Rounding must not lose a cell if the buffer is a multiple of the cell size.
        let (cells, noise) = ((self.buffer / cell * (1.0 + 1e-12)) as usize, self.noise(sigma));
        let below = |edge: f64, mean: f64| 0.5 * libm::erfc((mean - edge) / (noise * std::f64::consts::SQRT_2));
        let means: Vec<f64> = (0..cells).map(|i| self.drift((i as f64 + place) * cell)).collect();
        Matrix::from_fn(cells, cells, |i, j| {
            let from = if j == 0 { 0.0 } else { below(j as f64 * cell, means[i]) };
            let to = if j + 1 == cells { 1.0 } else { below((j + 1) as f64 * cell, means[i]) };
            to - from
        })
    }

    /// Fraction of the bits lost at a full buffer, and of the capacity unused at an empty one, if the queue has the
    /// stationary distribution `rest`.
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

    /// Distance of the chain from its stationary distribution `rest` after `steps` steps, started with an empty and
    /// with a full queue: half of the sum of absolute differences.
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

/// Mean of max(X, 0), where X is normal with this mean and standard deviation.
fn beyond(mean: f64, std: f64) -> f64 {
    let z = mean / std;
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
    mean * 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2) + std * density
}

/// Long-run effect of the buffer limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Fraction of the bits sent that are lost at a full buffer.
    pub lost: f64,
    /// Fraction of the capacity unused at an empty buffer.
    pub idle: f64,
}

/// A stationary distribution of the queue.
#[derive(Clone, Debug)]
pub struct Distribution {
    cell: f64,
    place: f64,
    /// The queue length that represents each cell, in bits.
    pub queue: Vec<f64>,
    /// Probability of each cell; the sum is 1.
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

    /// The quantile of `share`, 0 to 1, in bits; the distribution within a cell is taken as uniform.
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
