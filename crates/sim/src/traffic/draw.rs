//! Random distributions of sizes and times.

use forebay_aqm::base::rng::Rng;

/// A distribution of positive numbers: bytes or seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Draw {
    /// A constant.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (least/x)^shape for x above `least`.
    Pareto {
        /// Scale: the smallest number.
        least: f64,
        /// Tail index. Without an upper bound, the mean is infinite for an index up to 1, the variance for one up to 2.
        shape: f64,
        /// Upper bound: larger numbers are drawn again. Infinity: no bound.
        most: f64,
    },
    /// Lognormal.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Upper bound: larger numbers are drawn again. Infinity: no bound.
        most: f64,
    },
}

/// Maximum number of draws for one number. If all of them exceed the upper bound, the number is the bound. A bound that
/// excludes nearly all of a distribution thus cannot stall a run.
const TRIES: u32 = 64;

impl Draw {
    /// Draws a number.
    pub fn next(&self, rng: &mut Rng) -> f64 {
        match *self {
            Self::Constant(x) => x,
            Self::Uniform(lo, hi) => lo + (hi - lo) * rng.uniform(),
            Self::Exponential(mean) => rng.exponential(mean),
            Self::Pareto { least, shape, most } => {
                bounded(most, || least * libm::pow(1.0 - rng.uniform(), -1.0 / shape))
            }
            Self::Lognormal { median, sigma, most } => bounded(most, || median * libm::exp(sigma * normal(rng))),
        }
    }

    /// The mean without the upper bound `most`; may be infinite.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(x) | Self::Exponential(x) => x,
            Self::Uniform(lo, hi) => 0.5 * (lo + hi),
            Self::Pareto { shape, .. } if shape <= 1.0 => f64::INFINITY,
            Self::Pareto { least, shape, .. } => least * shape / (shape - 1.0),
            Self::Lognormal { median, sigma, .. } => median * libm::exp(0.5 * sigma * sigma),
        }
    }
}

fn bounded(most: f64, mut draw: impl FnMut() -> f64) -> f64 {
    (0..TRIES).map(|_| draw()).find(|x| *x <= most).unwrap_or(most)
}

/// Standard normal (Box and Muller 1958). Only one of the pair is used, so that each number takes two uniforms.
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform()));
    radius * libm::cos(2.0 * core::f64::consts::PI * rng.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of 200,000 numbers, and the fraction above `x`.
    fn sample(draw: Draw, x: f64) -> (f64, f64) {
        let mut rng = Rng::stream(5, "draw");
        let n = 200_000;
        let all: Vec<f64> = (0..n).map(|_| draw.next(&mut rng)).collect();
        let share = all.iter().filter(|y| **y > x).count() as f64 / f64::from(n);
        (all.iter().sum::<f64>() / f64::from(n), share)
    }

    /// The mean of 200,000 numbers of variance v has a standard deviation (sd) of sqrt(v/200000). A measured fraction s
    /// has an sd of sqrt(s(1-s)/200000) < 0.0012. Tolerance: 4 sd.
    #[test]
    fn samples_have_mean_and_tail_of_distribution() {
        for (draw, sd, x, share) in [
            (Draw::Uniform(1.0, 3.0), 0.577, 2.0, 0.5),
            (Draw::Exponential(2.0), 2.0, 2.0, 0.367_88),
            (Draw::Pareto { least: 1.0, shape: 3.0, most: f64::INFINITY }, 0.866, 2.0, 0.125),
            (Draw::Lognormal { median: 2.0, sigma: 0.5, most: f64::INFINITY }, 1.208, 2.0, 0.5),
        ] {
            let (mean, above) = sample(draw, x);
            assert!((mean - draw.mean()).abs() < 4.0 * sd / 447.0, "{draw:?}: {mean} for {}", draw.mean());
            assert!((above - share).abs() < 0.0045, "{draw:?}: {above} for {share}");
        }
        assert_eq!(sample(Draw::Constant(7.0), 7.0), (7.0, 0.0));
    }

    #[test]
    fn draws_above_upper_bound_are_repeated_or_clamped() {
        let bounded = |least| Draw::Pareto { least, shape: 1.3, most: 2.0 };
        assert_eq!(sample(bounded(1.0), 2.0).1, 0.0);
        assert_eq!(sample(bounded(5.0), 1.99), (2.0, 1.0));
        assert_eq!(Draw::Pareto { least: 1.0, shape: 1.0, most: 9.0 }.mean(), f64::INFINITY);
    }
}
