//! Fit of a two-state MMPP to a recording of arrivals, by moments of counts.
//!
//! Heffes and Lucantoni (1986) match the mean rate, the index of dispersion for counts (variance over mean) in one
//! window and in the limit of long windows, and the third central moment. A recording is finite, so this fit uses the
//! index in two windows, as Gusella (1991) measures it, and the third moment in the longer one. Let a and a + b be the
//! rates of the two states, p = 1 - q the fraction of time with rate a + b, and let correlations decay as exp(-d t).
//! Then the counts in a window of length t have
//! - mean m t, with m = a + b p;
//! - index 1 + 2 v g(dt) / (d m), with v = b^2 p q and g(x) = 1 - (1 - exp(-x))/x;
//! - third central moment K + 3 variance - 2 mean, with K = 6 w h(dt)/d^3, w = b^3 p q (q - p) and
//!   h(x) = x - 2 + exp(-x)(x + 2).
//!
//! The two indices give d and v, the third moment gives w, and then b^2 = (w/v)^2 + 4 v.

/// Minimum number of long windows for a third moment.
const MIN_WINDOWS: usize = 30;
/// Bisections, enough for full floating-point precision.
const STEPS: usize = 200;

/// The moments that are matched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Arrivals per second.
    pub rate: f64,
    /// The short window in seconds, and the index of dispersion in it.
    pub short: (f64, f64),
    /// The long window in seconds, and the index of dispersion in it.
    pub long: (f64, f64),
    /// Third central moment of counts in the long window.
    pub third: f64,
}

/// Moments of the rate that a Markov chain gives the arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateMoments {
    /// Mean, arrivals per second.
    pub mean: f64,
    /// Variance, in (arrivals per second)^2.
    pub variance: f64,
    /// Third central moment.
    pub third: f64,
    /// Variance over the integral of the autocovariance, per second: with two states, correlations decay as
    /// exp(-decay t).
    pub decay: f64,
}

impl RateMoments {
    /// The moments of the sum of independent rates.
    pub fn sum(all: &[Self]) -> Self {
        let add = |of: &dyn Fn(&Self) -> f64| all.iter().map(of).sum::<f64>();
        let variance = add(&|one| one.variance);
        let decay = variance / add(&|one| one.variance / one.decay);
        Self { mean: add(&|one| one.mean), variance, third: add(&|one| one.third), decay }
    }
}

/// A two-state MMPP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoStates {
    /// Mean duration of each state in seconds, the state with the higher rate first.
    pub mean_s: [f64; 2],
    /// Arrivals per second in each state.
    pub rates: [f64; 2],
    /// Is the third moment matched? False if a match would need a negative rate; the lower rate is then 0.
    pub third_matched: bool,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFit {
    /// Fewer than thirty long windows, or the short window is not shorter than the long one.
    TooShort,
    /// Counts vary no more than those of a Poisson process.
    NotBursty,
    /// The index is no larger in the long window than in the short one: bursts are shorter than the short window.
    ShorterBursts,
    /// The index grows in proportion to the window: bursts are longer than the long window.
    LongerBursts,
}

impl NoFit {
    /// The input that would be accepted instead, for error messages.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TooShort => "a recording of at least thirty long windows, and a short window below the long one",
            Self::NotBursty => "counts that vary more than those of a Poisson process",
            Self::ShorterBursts => "a shorter short window: the bursts are shorter than it",
            Self::LongerBursts => "a longer long window: the bursts are longer than it",
        }
    }
}

/// Moments of the counts of arrivals at sorted `times`, in windows of `short` and `long` seconds.
pub fn counts(times: &[f64], short: f64, long: f64) -> Result<Counts, NoFit> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Err(NoFit::TooShort) };
    let windows = ((last - first) / long) as usize;
    if windows < MIN_WINDOWS || short <= 0.0 || short >= long {
        return Err(NoFit::TooShort);
    }
    let (mean, variance, third) = moments(times, long, windows);
    let (short_mean, short_variance, _) = moments(times, short, ((last - first) / short) as usize);
    let rate = mean / long;
    Ok(Counts { rate, short: (short, short_variance / short_mean), long: (long, variance / mean), third })
}

/// Mean, variance and third central moment of the counts in `windows` windows.
fn moments(times: &[f64], window: f64, windows: usize) -> (f64, f64, f64) {
    let mut counts = vec![0.0; windows];
    let first = times.first().copied().unwrap_or(0.0);
    for at in times {
        if let Some(count) = counts.get_mut(((at - first) / window) as usize) {
            *count += 1.0;
        }
    }
    let n = windows as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let central = |power: i32| counts.iter().map(|count| (count - mean).powi(power)).sum::<f64>() / n;
    (mean, central(2) * n / (n - 1.0), central(3))
}

/// 1 - (1 - exp(-x))/x.
fn g(x: f64) -> f64 {
    if x < 1e-4 { x * (0.5 - x / 6.0) } else { 1.0 + libm::expm1(-x) / x }
}

/// x - 2 + exp(-x)(x + 2).
fn h(x: f64) -> f64 {
    if x < 1e-2 {
        x.powi(3) * (1.0 / 6.0 - x / 12.0 + x * x / 40.0 - x.powi(3) / 180.0)
    } else {
        x - 2.0 + libm::exp(-x) * (x + 2.0)
    }
}

/// The two-state MMPP with these moments.
pub fn two_states(counts: &Counts) -> Result<TwoStates, NoFit> {
    let Counts { rate, short: (short, low), long: (long, high), third } = *counts;
    if low <= 1.0 || high <= 1.0 {
        return Err(NoFit::NotBursty);
    }
    let d = decay(short, long, (low - 1.0) / (high - 1.0))?;
    let v = (high - 1.0) * d * rate / (2.0 * g(d * long));
    let mean = rate * long;
    let cumulant = third - 3.0 * high * mean + 2.0 * mean;
    let w = cumulant * d.powi(3) / (6.0 * h(d * long));
    Ok(TwoStates::of_rate(&RateMoments { mean: rate, variance: v, third: w, decay: d }))
}

/// Solves g(d short)/g(d long) = `ratio` for d; the quotient rises from short/long to 1.
fn decay(short: f64, long: f64, ratio: f64) -> Result<f64, NoFit> {
    let at = |d: f64| g(d * short) / g(d * long);
    let (mut slow, mut fast) = (1e-3 / long, 1e3 / short);
    if ratio >= at(fast) {
        return Err(NoFit::ShorterBursts);
    }
    if ratio <= at(slow) {
        return Err(NoFit::LongerBursts);
    }
    for _ in 0..STEPS {
        let middle = libm::sqrt(slow * fast);
        if at(middle) < ratio { slow = middle } else { fast = middle }
    }
    Ok(libm::sqrt(slow * fast))
}

impl TwoStates {
    /// The two-state MMPP whose rate has these moments.
    pub fn of_rate(rate: &RateMoments) -> Self {
        let RateMoments { mean, variance: v, third: w, decay: d } = *rate;
        let skew = w / v;
        let b = libm::sqrt(skew * skew + 4.0 * v);
        let p = 0.5 * (1.0 - skew / b);
        let (a, b, p, third_matched) = match mean - b * p {
            a if a >= 0.0 => (a, b, p, true),
            // An on/off source with the mean and the variance of the rate.
            _ => {
                let p = mean * mean / (mean * mean + v);
                (0.0, mean / p, p, false)
            }
        };
        Self { mean_s: [1.0 / (d * (1.0 - p)), 1.0 / (d * p)], rates: [a + b, a], third_matched }
    }

    /// The moments of its rate.
    pub fn rate(&self) -> RateMoments {
        let [up, down] = self.mean_s.map(|mean| 1.0 / mean);
        let (decay, p) = (up + down, down / (up + down));
        let b = self.rates[0] - self.rates[1];
        let variance = b * b * p * (1.0 - p);
        RateMoments { mean: self.rates[1] + b * p, variance, third: variance * b * (1.0 - 2.0 * p), decay }
    }

    /// The exact moments of the counts of this source's arrivals, in windows of `short` and `long` seconds.
    pub fn counts(&self, short: f64, long: f64) -> Counts {
        let RateMoments { mean: rate, variance: v, third: w, decay: d } = self.rate();
        let index = |t: f64| 1.0 + 2.0 * v * g(d * t) / (d * rate);
        let mean = rate * long;
        let third = 6.0 * w * h(d * long) / d.powi(3) + 3.0 * index(long) * mean - 2.0 * mean;
        Counts { rate, short: (short, index(short)), long: (long, index(long)), third }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [TwoStates; 4] = [
        TwoStates { mean_s: [0.5, 1.5], rates: [300.0, 50.0], third_matched: true },
        TwoStates { mean_s: [0.8, 0.2], rates: [250.0, 0.0], third_matched: true },
        TwoStates { mean_s: [1.0, 2.0], rates: [360.0, 60.0], third_matched: true },
        TwoStates { mean_s: [0.05, 5.0], rates: [2000.0, 10.0], third_matched: true },
    ];

    #[test]
    fn fit_of_exact_moments_returns_the_mmpp() {
        for source in ALL {
            let found = two_states(&source.counts(0.1, 2.0)).unwrap();
            for (found, of) in found.mean_s.iter().chain(&found.rates).zip(source.mean_s.iter().chain(&source.rates)) {
                assert!((found - of).abs() <= 1e-6 * of.max(1.0), "{source:?}: {found} for {of}");
            }
        }
    }

    /// Rates of 260 and 140 for 0.5 s each: mean 200, variance 60^2 = 3600, third moment 0, decay 2 + 2. Rates of 250 for
    /// 0.8 s and 0 for 0.2 s: mean 200, variance 250^2 x 0.16 = 10000, third moment 10000 x 250 x (1 - 1.6), decay 6.25.
    /// Together variance 13600 and 13600/(3600/4 + 10000/6.25) = 5.44 per second.
    #[test]
    fn summed_rates_match_values_by_hand() {
        let even = TwoStates { mean_s: [0.5, 0.5], rates: [260.0, 140.0], third_matched: true };
        let both = RateMoments::sum(&[even.rate(), ALL[1].rate()]);
        for (found, want) in [(both.mean, 400.0), (both.variance, 13600.0), (both.third, -1.5e6), (both.decay, 5.44)] {
            assert!((found / want - 1.0).abs() < 1e-12, "{both:?}");
        }
        // b = sqrt(110.294^2 + 4 x 13600) = 258.002 and p = (1 + 110.294/258.002)/2 = 0.713747.
        let one = TwoStates::of_rate(&both);
        for (found, want) in one.rates.iter().chain(&one.mean_s).zip([473.853, 215.851, 0.642_166, 0.257_543]) {
            assert!((found / want - 1.0).abs() < 3e-5, "{one:?}");
        }
        assert!((one.rate().third / both.third - 1.0).abs() < 1e-9 && one.third_matched);
    }

    /// Computed by hand for d = 2 and t = 1: p = 1/2, b = 2, a = 0, m = 1 and v = 1 give the index 1 + g(2) =
    /// 1 + 1 - (1 - e^-2)/2. Because p = q, K is 0, and the third moment is 3 variance - 2 mean.
    #[test]
    fn moments_match_values_by_hand() {
        let even = TwoStates { mean_s: [1.0, 1.0], rates: [2.0, 0.0], third_matched: true };
        let counts = even.counts(0.5, 1.0);
        let index = 2.0 - 0.5 * (1.0 - (-2.0_f64).exp());
        assert!((counts.long.1 - index).abs() < 1e-12 && (counts.rate - 1.0).abs() < 1e-12);
        assert!((counts.third - (3.0 * index - 2.0)).abs() < 1e-12);
        // At the switch between series and formula both agree up to cancellation.
        assert!((g(0.999_99e-4) / g(1.000_01e-4) - 1.0).abs() < 1e-4);
        assert!((h(0.999_99e-2) / h(1.000_01e-2) - 1.0).abs() < 1e-3);
    }

    struct Random(u64);

    impl Random {
        fn exponential(&mut self, rate: f64) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            -(1.0 - (self.0 >> 11) as f64 / (1u64 << 53) as f64).ln() / rate
        }
    }

    fn generated(source: &TwoStates, seconds: f64) -> Vec<f64> {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut times, mut now, mut state) = (Vec::new(), 0.0, 0);
        while now < seconds {
            let end = now + random.exponential(1.0 / source.mean_s[state]);
            // At a rate of 0 the next arrival is infinitely far.
            loop {
                now += random.exponential(source.rates[state]);
                if now > end {
                    break;
                }
                times.push(now);
            }
            (now, state) = (end, 1 - state);
        }
        times
    }

    /// The recording has 20,000 long windows. The tolerances, chosen before the first run, are 10 % for rates and
    /// durations and 2 % for the mean rate.
    #[test]
    fn fit_of_generated_recording_returns_its_mmpp() {
        for source in &ALL[..3] {
            let counts = counts(&generated(source, 40_000.0), 0.1, 2.0).unwrap();
            let found = two_states(&counts).unwrap();
            assert!((counts.rate / source.counts(0.1, 2.0).rate - 1.0).abs() < 0.02);
            for state in 0..2 {
                let (mean, rate) = (source.mean_s[state], source.rates[state]);
                let near = (found.mean_s[state] - mean).abs() <= 0.1 * mean;
                // For a rate of 0 the tolerance is a tenth of 30/s.
                assert!(near && (found.rates[state] - rate).abs() <= 0.1 * rate.max(30.0), "{found:?} for {source:?}");
            }
        }
    }

    #[test]
    fn impossible_fits_report_the_reason() {
        let counts = ALL[0].counts(0.1, 2.0);
        let with = |low: f64, high: f64| two_states(&Counts { short: (0.1, low), long: (2.0, high), ..counts });
        assert_eq!(with(0.9, 2.0), Err(NoFit::NotBursty));
        assert_eq!(with(2.0, 2.0), Err(NoFit::ShorterBursts));
        assert_eq!(with(1.1, 4.0), Err(NoFit::LongerBursts));
        let times: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(super::counts(&times, 0.5, 4.0), Err(NoFit::TooShort));
        assert_eq!(super::counts(&[], 0.5, 4.0), Err(NoFit::TooShort));
        // A third moment below that of any non-negative rates: on/off, with both indices still matched.
        let clipped = two_states(&Counts { third: -1e9, ..counts }).unwrap();
        let again = clipped.counts(0.1, 2.0);
        assert!(!clipped.third_matched && clipped.rates[1] == 0.0);
        assert!((again.rate / counts.rate - 1.0).abs() < 1e-9 && (again.long.1 / counts.long.1 - 1.0).abs() < 1e-9);
    }
}
