//! Small dense matrices: products, Kronecker products and sums, and linear systems by Gaussian elimination with
//! pivoting.
//!
//! Implemented here because libraries select instructions at run time, and results must be bit-identical on all
//! machines. The matrices have tens of rows, rarely hundreds.

/// A matrix, stored by rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zero(rows: usize, cols: usize) -> Self {
        Self { rows, cols, cells: vec![0.0; rows * cols] }
    }

    /// A matrix with the elements `cell(row, column)`.
    pub fn from_fn(rows: usize, cols: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let cells = (0..rows * cols).map(|i| cell(i / cols, i % cols)).collect();
        Self { rows, cols, cells }
    }

    /// The identity matrix.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
    }

    /// A diagonal matrix.
    pub fn diagonal(values: &[f64]) -> Self {
        Self::from_fn(values.len(), values.len(), |i, j| if i == j { values[i] } else { 0.0 })
    }

    /// Number of rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// One element.
    pub fn at(&self, row: usize, col: usize) -> f64 {
        self.cells[row * self.cols + col]
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.cols..(row + 1) * self.cols]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.cells[row * self.cols..(row + 1) * self.cols]
    }

    /// `self` + `times` x `other`; both have the same shape.
    #[must_use]
    pub fn plus(mut self, times: f64, other: &Self) -> Self {
        self.cells.iter_mut().zip(&other.cells).for_each(|(a, b)| *a += times * b);
        self
    }

    /// The matrix product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let mut out = Self::zero(self.rows, other.cols);
        for i in 0..self.rows {
            for (k, &factor) in self.row(i).iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
                out.row_mut(i).iter_mut().zip(other.row(k)).for_each(|(cell, b)| *cell += factor * b);
            }
        }
        out
    }

    /// The transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self.at(j, i))
    }

    /// The Kronecker product: every element of `self` times `other`.
    #[must_use]
    pub fn kron(&self, other: &Self) -> Self {
        let (rows, cols) = (other.rows, other.cols);
        Self::from_fn(self.rows * rows, self.cols * cols, |i, j| {
            self.at(i / rows, j / cols) * other.at(i % rows, j % cols)
        })
    }

    /// The Kronecker sum of two square matrices. For the generators of two independent Markov chains it is the
    /// generator of both together.
    #[must_use]
    pub fn kron_sum(&self, other: &Self) -> Self {
        self.kron(&Self::identity(other.rows)).plus(1.0, &Self::identity(self.rows).kron(other))
    }

    /// The row vector `row` times the matrix.
    pub fn after(&self, row: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.cols];
        for (i, &factor) in row.iter().enumerate() {
            out.iter_mut().zip(self.row(i)).for_each(|(cell, b)| *cell += factor * b);
        }
        out
    }

    /// Solves `self` X = `right` for a square matrix; `None` if it is singular.
    pub fn solve(&self, right: &Self) -> Option<Self> {
        let (mut a, mut x, n) = (self.clone(), right.clone(), self.rows);
        for col in 0..n {
            let size = |row: &usize| a.at(*row, col).abs();
            let pivot = (col..n).max_by(|i, j| size(i).total_cmp(&size(j)))?;
            let largest = size(&pivot);
            if largest.is_nan() || largest <= 0.0 {
                return None;
            }
            a.swap(col, pivot);
            x.swap(col, pivot);
            for row in col + 1..n {
                let factor = a.at(row, col) / a.at(col, col);
                if factor != 0.0 {
                    a.subtract(row, factor, col);
                    x.subtract(row, factor, col);
                }
            }
        }
        for col in (0..n).rev() {
            let diagonal = a.at(col, col);
            x.row_mut(col).iter_mut().for_each(|cell| *cell /= diagonal);
            for row in 0..col {
                let factor = a.at(row, col);
                if factor != 0.0 {
                    x.subtract(row, factor, col);
                }
            }
        }
        Some(x)
    }

    fn swap(&mut self, i: usize, j: usize) {
        for col in 0..self.cols {
            self.cells.swap(i * self.cols + col, j * self.cols + col);
        }
    }

    /// Row `row` minus `factor` times row `other`.
    fn subtract(&mut self, row: usize, factor: f64, other: usize) {
        for col in 0..self.cols {
            self.cells[row * self.cols + col] -= factor * self.cells[other * self.cols + col];
        }
    }
}

/// The stationary distribution of a generator (rows sum to 0) or any multiple of it; `None` if elimination fails, for
/// example because the distribution is not unique.
pub fn stationary(generator: &Matrix) -> Option<Vec<f64>> {
    let n = generator.rows();
    // One equation follows from the others: replace it by the normalisation.
    let system = Matrix::from_fn(n, n, |i, j| if i + 1 == n { 1.0 } else { generator.at(j, i) });
    let right = Matrix::from_fn(n, 1, |i, _| if i + 1 == n { 1.0 } else { 0.0 });
    Some(
        (0..n)
            .map({
                let x = system.solve(&right)?;
                move |i| x.at(i, 0)
            })
            .collect(),
    )
}

/// Finds two states (from, to) of the Markov chain with this generator such that `to` cannot be reached from `from`.
/// One of the two is state 0. `None`: the chain is irreducible, that is, every state can be reached from every other.
pub fn cut_off(generator: &Matrix) -> Option<(usize, usize)> {
    let n = generator.rows();
    let missing = |goes: &dyn Fn(usize, usize) -> bool| {
        let (mut reached, mut rest) = (vec![false; n], vec![0]);
        reached.iter_mut().take(1).for_each(|first| *first = true);
        while let Some(from) = rest.pop() {
            for (to, reached) in reached.iter_mut().enumerate().filter(|(to, _)| goes(from, *to)) {
                if !std::mem::replace(reached, true) {
                    rest.push(to);
                }
            }
        }
        reached.iter().position(|reached| !reached)
    };
    let there = missing(&|from, to| generator.at(from, to) > 0.0).map(|to| (0, to));
    there.or_else(|| missing(&|from, to| generator.at(to, from) > 0.0).map(|from| (from, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solve_pivots_and_refuses_singular_matrices() {
        let a = Matrix::from_fn(3, 3, |i, j| [[0.0, 2.0, 1.0], [1.0, -2.0, -3.0], [-1.0, 1.0, 2.0]][i][j]);
        let x = Matrix::from_fn(3, 2, |i, j| (i as f64 + 1.0) * (j as f64 - 0.5));
        let found = a.solve(&a.times(&x)).unwrap();
        assert!(found.plus(-1.0, &x).cells.iter().all(|cell| cell.abs() < 1e-12));
        assert_eq!(Matrix::from_fn(2, 2, |i, _| i as f64).solve(&Matrix::identity(2)), None);
        assert_eq!(a.transposed().transposed(), a);
    }

    #[test]
    fn kronecker_products_match_values_by_hand() {
        let a = Matrix::from_fn(2, 2, |i, j| (2 * i + j) as f64);
        let b = Matrix::diagonal(&[5.0, 7.0]);
        assert_eq!(a.kron(&b).row(1), [0.0, 0.0, 0.0, 7.0]);
        assert_eq!(a.kron(&b).row(2), [10.0, 0.0, 15.0, 0.0]);
        assert_eq!(a.kron_sum(&b).row(3), [0.0, 2.0, 0.0, 10.0]);
    }

    #[test]
    fn stationary_distribution_of_two_states_follows_rates() {
        let generator = Matrix::from_fn(2, 2, |i, j| [[-1.0, 1.0], [3.0, -3.0]][i][j]);
        assert_eq!(stationary(&generator), Some(vec![0.75, 0.25]));
    }

    #[test]
    fn finds_states_that_cannot_be_reached_or_left() {
        let chain = |cells: [[f64; 3]; 3]| Matrix::from_fn(3, 3, |i, j| cells[i][j]);
        let ring = [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0]];
        let trap = [[-1.0, 1.0, 0.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]];
        let spring = [[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]];
        assert_eq!([ring, trap, spring].map(|cells| cut_off(&chain(cells))), [None, Some((2, 0)), Some((0, 2))]);
        assert_eq!(cut_off(&Matrix::zero(1, 1)), None);
    }
}
