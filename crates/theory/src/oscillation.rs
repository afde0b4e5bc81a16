//! Oscillation of a quantity: mean, standard deviation and period, of a model or a measurement.

use num_complex::Complex64;

/// Oscillation of a time series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Oscillation {
    /// Mean, in the unit of the series.
    pub mean: f64,
    /// Standard deviation, in the unit of the series.
    pub std: f64,
    /// Period in seconds; `None` if it does not oscillate.
    pub period_s: Option<f64>,
}

/// A series counts as oscillating if the first peak of its autocorrelation is above this value.
const MIN_PEAK: f64 = 0.2;
/// A series counts as constant if its standard deviation is below this fraction of the mean.
const CONSTANT: f64 = 1e-6;

/// The oscillation of `values`, sampled every `step_s` seconds. The period is the lag of the first peak of the
/// autocorrelation that follows a negative value. A series shorter than two periods has none.
pub fn of(values: &[f64], step_s: f64) -> Oscillation {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let std = libm::sqrt(values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n);
    let period_s =
        if std > CONSTANT * mean.abs() && std > 0.0 { period(values, mean, std).map(|lag| lag * step_s) } else { None };
    Oscillation { mean, std, period_s }
}

/// The lag of the first peak in samples.
fn period(values: &[f64], mean: f64, std: f64) -> Option<f64> {
    let length = values.len();
    let size = (2 * length).next_power_of_two();
    let mut spectrum: Vec<Complex64> = values.iter().map(|v| Complex64::new((v - mean) / std, 0.0)).collect();
    spectrum.resize(size, Complex64::new(0.0, 0.0));
    transform(&mut spectrum);
    spectrum.iter_mut().for_each(|x| *x = Complex64::new(x.norm_sqr(), 0.0));
    // The spectrum of a real series is even: the transform is its own inverse except for a factor `size`.
    transform(&mut spectrum);
    let at = |lag: usize| spectrum[lag].re / size as f64 / (length - lag) as f64;
    let most = length / 2;
    let below = (1..most).find(|&lag| at(lag) < 0.0)?;
    let above = (below..most).find(|&lag| at(lag) > MIN_PEAK)?;
    let end = (above..most).find(|&lag| at(lag) < 0.0)?;
    (above..end).max_by(|&a, &b| at(a).total_cmp(&at(b))).map(|lag| lag as f64)
}

/// The discrete Fourier transform in place; the length is a power of two.
fn transform(values: &mut [Complex64]) {
    let n = values.len();
    if n < 2 {
        return;
    }
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            values.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        for k in 0..half {
            let turn = Complex64::from_polar(1.0, -std::f64::consts::PI * k as f64 / half as f64);
            for i in (k..n).step_by(2 * half) {
                let (a, b) = (values[i], turn * values[i + half]);
                (values[i], values[i + half]) = (a + b, a - b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(period: f64, seconds: f64) -> Vec<f64> {
        (0..(seconds / 0.01) as usize)
            .map(|n| 5.0 + libm::sin(std::f64::consts::TAU * 0.01 * n as f64 / period))
            .collect()
    }

    #[test]
    fn period_of_a_sine_is_found() {
        for period in [0.5, 2.0, 7.3] {
            let oscillation = of(&wave(period, 60.0), 0.01);
            assert!((oscillation.period_s.unwrap() - period).abs() < 0.02 * period, "{oscillation:?}");
            assert!((oscillation.mean - 5.0).abs() < 0.1 && (oscillation.std - libm::sqrt(0.5)).abs() < 0.05);
        }
    }

    #[test]
    fn constant_series_noise_and_short_series_lack_period() {
        assert_eq!(of(&[3.0; 100], 1.0), Oscillation { mean: 3.0, std: 0.0, period_s: None });
        assert_eq!(of(&[], 1.0).period_s, None);
        assert_eq!(of(&wave(50.0, 60.0), 0.01).period_s, None);
        // A linear congruential generator: no lag repeats.
        let mut x = 1_u64;
        let noise: Vec<f64> = (0..4000)
            .map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (x >> 33) as f64
            })
            .collect();
        assert_eq!(of(&noise, 1.0).period_s, None);
    }
}
