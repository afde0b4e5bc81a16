//! Statistics over replications: means with Student's t intervals, curves, quantiles.
//!
//! Replications of one scenario are independent; disciplines with the same seeds are paired. Nothing else is
//! assumed. No function panics: without data the result is NaN or `None`.

use serde::{Deserialize, Deserializer, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its 95 % confidence half-width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The sample mean; NaN (`null` in JSON) without samples.
    #[serde(deserialize_with = "or_nan")]
    pub mean: f64,
    /// Half-width; infinite (`null` in JSON) for fewer than two samples.
    #[serde(deserialize_with = "or_infinite")]
    pub half: f64,
    /// Number of samples.
    pub n: usize,
}

fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn or_infinite<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

impl Interval {
    /// The interval of independent samples.
    pub fn of(samples: &[f64]) -> Self {
        let n = samples.len();
        let half = match n {
            0 | 1 => f64::INFINITY,
            _ => t95(n - 1) * sd(samples) / (n as f64).sqrt(),
        };
        Self { mean: mean(samples), half, n }
    }

    /// The interval of the difference of the means of two independent samples, `one - other`, whose variances may
    /// differ (Welch). The degrees of freedom are rounded down. `n`: the size of the smaller sample.
    pub fn of_difference(one: &[f64], other: &[f64]) -> Self {
        let n = one.len().min(other.len());
        let [first, second] = [one, other].map(|samples| sd(samples).powi(2) / samples.len() as f64);
        let half = match first + second {
            _ if n < 2 => f64::INFINITY,
            0.0 => 0.0,
            both => {
                let per_freedom = |part: f64, samples: &[f64]| part.powi(2) / (samples.len() - 1) as f64;
                let freedom = both.powi(2) / (per_freedom(first, one) + per_freedom(second, other));
                // Rounding must not lose a whole degree.
                t95((freedom + 1e-9) as usize) * both.sqrt()
            }
        };
        Self { mean: mean(one) - mean(other), half, n }
    }

    /// Lower end of the interval.
    pub fn lo(&self) -> f64 {
        self.mean - self.half
    }

    /// Upper end of the interval.
    pub fn hi(&self) -> f64 {
        self.mean + self.half
    }

    /// Whether it contains `value`.
    pub fn contains(&self, value: f64) -> bool {
        (self.lo()..=self.hi()).contains(&value)
    }
}

/// Arithmetic mean; NaN without samples.
pub fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// The sample standard deviation (divisor n - 1); NaN for fewer than two samples.
pub fn sd(samples: &[f64]) -> f64 {
    if samples.len() < 2 {
        return f64::NAN;
    }
    let centre = mean(samples);
    let squares: f64 = samples.iter().map(|x| (x - centre).powi(2)).sum();
    (squares / (samples.len() - 1) as f64).sqrt()
}

/// The two-sided 95 % point of Student's t with `freedom` degrees of freedom; infinite for 0.
pub fn t95(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

/// The value at `x` of the curve through `points`, which need not be sorted: linear between neighbours, `None` outside.
///
/// Points with equal x are averaged.
pub fn interpolate(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let mut sorted: Vec<(f64, f64)> = points.iter().copied().filter(|p| !p.0.is_nan()).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let here: Vec<f64> = sorted.iter().filter(|p| p.0 == x).map(|p| p.1).collect();
    if !here.is_empty() {
        return Some(mean(&here));
    }
    let after = sorted.iter().position(|p| p.0 > x)?;
    let (x0, x1) = (sorted.get(after.checked_sub(1)?)?.0, sorted.get(after)?.0);
    let (y0, y1) = (interpolate(points, x0)?, interpolate(points, x1)?);
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
}

/// The quantiles of `samples` at each of `ps` in 0..=1, linear between order statistics (R's type 7).
///
/// All NaN without samples.
pub fn quantiles(samples: &[f64], ps: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    ps.iter().map(|p| quantile(&sorted, *p)).collect()
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = p.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    // An infinite end with weight zero would give NaN.
    if below == above { below } else { below + (above - below) * at.fract() }
}

/// Jain's fairness index (sum x)^2 / (n sum x^2); `None` if all are 0.
pub fn jain(each: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) = each.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_quantiles_match_published_tables() {
        // Abramowitz & Stegun table 26.10, to the digits of SciPy's t.ppf(0.975, df).
        let table = [
            (1, 12.706204736432095),
            (2, 4.302652729911275),
            (4, 2.7764451051977987),
            (9, 2.2621571627409915),
            (29, 2.045229642132703),
            (99, 1.984216951508683),
        ];
        for (freedom, expected) in table {
            assert!((t95(freedom) - expected).abs() < 1e-9, "{freedom}: {}", t95(freedom));
        }
        assert!(t95(0).is_infinite());
    }

    #[test]
    fn interval_of_five_samples_matches_hand_calculation() {
        // 2, 4, 4, 4, 6: mean 4, sum of squares 8, sd sqrt(2), half 2.776445 x sqrt(2 / 5).
        let interval = Interval::of(&[2.0, 4.0, 4.0, 4.0, 6.0]);
        assert_eq!(interval.mean, 4.0);
        assert!((sd(&[2.0, 4.0, 4.0, 4.0, 6.0]) - 2f64.sqrt()).abs() < 1e-15);
        assert!((interval.half - 2.7764451051977987 * 0.4f64.sqrt()).abs() < 1e-9);
        assert!((interval.hi() - interval.lo() - 2.0 * interval.half).abs() < 1e-12);
        assert!(interval.contains(5.0) && !interval.contains(6.0));
    }

    #[test]
    fn interval_of_difference_matches_hand_calculation() {
        // 1, 2, 3: variance 1; 2, 6, 10: variance 16. 1/3 + 16/3 = 17/3; freedom (17/3)^2 / ((1/9 + 256/9) / 2) = 2.25,
        // rounded down to 2; half 4.302653 x sqrt(17/3).
        let difference = Interval::of_difference(&[1.0, 2.0, 3.0], &[2.0, 6.0, 10.0]);
        assert_eq!((difference.mean, difference.n), (-4.0, 3));
        assert!((difference.half - 4.302652729911275 * (17.0f64 / 3.0).sqrt()).abs() < 1e-9);
        // Equal variances and sizes: 2 (n - 1) = 4 degrees of freedom; half 2.776445 x sqrt(2/3).
        let difference = Interval::of_difference(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        assert!((difference.half - 2.7764451051977987 * (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(Interval::of_difference(&[0.0; 5], &[0.0; 5]), Interval { mean: 0.0, half: 0.0, n: 5 });
        assert!(Interval::of_difference(&[1.0], &[1.0, 2.0]).half.is_infinite());
    }

    #[test]
    fn interval_of_one_sample_is_infinitely_wide() {
        let interval = Interval::of(&[3.0]);
        assert!(interval.half.is_infinite() && interval.contains(-1e300));
        assert_eq!(serde_json::to_string(&interval).unwrap(), r#"{"mean":3.0,"half":null,"n":1}"#);
        assert_eq!(serde_json::to_string(&Interval::of(&[])).unwrap(), r#"{"mean":null,"half":null,"n":0}"#);
    }

    #[test]
    fn curves_are_linear_between_their_points() {
        let curve = [(40.0, 0.97), (20.0, 0.95), (30.0, 0.96)];
        assert!((interpolate(&curve, 25.0).unwrap() - 0.955).abs() < 1e-12);
        assert_eq!(interpolate(&curve, 30.0), Some(0.96));
        assert_eq!(interpolate(&curve, 20.0), Some(0.95));
        assert_eq!(interpolate(&curve, 40.0), Some(0.97));
        assert_eq!(interpolate(&curve, 19.9), None);
        assert_eq!(interpolate(&curve, 40.1), None);
        assert_eq!(interpolate(&curve, f64::NAN), None);
        assert_eq!(interpolate(&[], 1.0), None);
        let step = [(1.0, 0.0), (2.0, 4.0), (2.0, 6.0), (3.0, 7.0)];
        assert_eq!(interpolate(&step, 2.0), Some(5.0));
        assert_eq!(interpolate(&step, 2.5), Some(6.0));
        assert_eq!(interpolate(&step, 1.5), Some(2.5));
    }

    #[test]
    fn quantiles_match_numpy() {
        // numpy.quantile([15, 20, 35, 40, 50], [0, .05, .3, .4, .5, 1])
        let samples = [50.0, 15.0, 40.0, 20.0, 35.0];
        let expected = [15.0, 16.0, 23.0, 29.0, 35.0, 50.0];
        for (got, want) in quantiles(&samples, &[0.0, 0.05, 0.3, 0.4, 0.5, 1.0]).iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        assert!(quantiles(&[], &[0.5])[0].is_nan());
        assert_eq!(quantiles(&[7.0], &[0.99]), [7.0]);
    }

    #[test]
    fn jain_index_matches_hand_calculation() {
        assert_eq!(jain([1.0, 1.0, 1.0].into_iter()), Some(1.0));
        assert_eq!(jain([4.0, 0.0].into_iter()), Some(0.5));
        assert_eq!(jain([0.0, 0.0].into_iter()), None);
    }
}
