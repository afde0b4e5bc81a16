//! Durations of the states of an on/off source.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Span;

use super::super::draw::Draw;

/// Distribution of a state's duration.
#[derive(Clone, Copy)]
pub(super) enum Stay {
    /// Exponential with this mean.
    Exponential(Span),
    /// Pareto with this mean and tail index; the index is > 1.
    Pareto(Span, f64),
}

impl Stay {
    /// The mean duration of the state.
    pub(super) const fn mean(self) -> Span {
        match self {
            Self::Exponential(mean) | Self::Pareto(mean, _) => mean,
        }
    }

    /// Draws the duration of a state from entry to exit.
    pub(super) fn whole(self, rng: &mut Rng) -> Span {
        Span::from_secs(match self {
            Self::Exponential(mean) => rng.exponential(mean.secs()),
            Self::Pareto(mean, shape) => {
                let least = least(mean, shape);
                Draw::Pareto { least, shape, most: f64::INFINITY }.next(rng)
            }
        })
    }

    /// Draws the remaining duration of a state observed at a random time. Its density at x is P(duration > x) / mean.
    /// For the exponential distribution it is distributed like a whole duration (memoryless). For Pareto its tail index
    /// is `shape - 1`; its mean is infinite if that is at most 1.
    pub(super) fn rest(self, rng: &mut Rng) -> Span {
        let Self::Pareto(mean, shape) = self else { return self.whole(rng) };
        let u = rng.uniform();
        // P(rest < least) = least / mean = (shape - 1) / shape, uniform in this range.
        let flat = (shape - 1.0) / shape;
        Span::from_secs(if u < flat {
            u * mean.secs()
        } else {
            least(mean, shape) * libm::pow(shape * (1.0 - u), -1.0 / (shape - 1.0))
        })
    }
}

/// The shortest Pareto duration in seconds.
fn least(mean: Span, shape: f64) -> f64 {
    mean.secs() * (shape - 1.0) / shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures the fractions of 200,000 durations and remaining durations above some values. The expected fractions
    /// are computed by hand for mean 1.5 s and shape 1.5. The shortest duration is then 0.5 s, P(duration > x) =
    /// (0.5/x)^1.5, P(remaining > 0.25) = 1 - 0.25/1.5, P(remaining > 2) = (0.5/2)^0.5 / 1.5. A fraction has a standard
    /// deviation (sd) below 0.0012. Tolerance: 4 sd.
    #[test]
    fn durations_and_remainders_have_their_distribution() {
        let stay = Stay::Pareto(Span::from_millis(1500), 1.5);
        let mut rng = Rng::stream(3, "states");
        let n = 200_000;
        let mut share = |draw: fn(Stay, &mut Rng) -> Span, beyond: f64| {
            (0..n).filter(|_| draw(stay, &mut rng).secs() > beyond).count() as f64 / f64::from(n)
        };
        assert_eq!(share(Stay::whole, 0.499_999), 1.0);
        for (draw, beyond, expected) in [
            (Stay::whole as fn(Stay, &mut Rng) -> Span, 2.0, 0.125),
            (Stay::whole, 50.0, 0.001),
            (Stay::rest, 0.25, 5.0 / 6.0),
            (Stay::rest, 2.0, 1.0 / 3.0),
            (Stay::rest, 50.0, 1.0 / 15.0),
        ] {
            let found = share(draw, beyond);
            assert!((found - expected).abs() < 0.0048, "beyond {beyond}: {found}, not {expected}");
        }
    }
}
