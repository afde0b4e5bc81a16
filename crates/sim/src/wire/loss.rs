//! Losses on the wire: packets that a link sends and that do not arrive, independent of the queue.

use forebay_aqm::base::rng::Rng;

/// Loss model of a link. A lost packet takes transmission time like any other. A model draws the same number of random
/// numbers for every packet, lost or not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LossModel {
    /// Independent losses with this probability, 0 to 1.
    Bernoulli(f64),
    /// A Markov chain of two states with one step per packet (Gilbert 1960, Elliott 1963).
    ///
    /// Parameters as those of `tc qdisc ... netem loss gemodel p r 1-h 1-k`, but from 0 to 1. As in netem the state
    /// decides about the packet first and changes afterwards. netem starts in the good state; here the first state is
    /// drawn with the long-run probabilities.
    GilbertElliott {
        /// Probability of going from good to bad after a packet.
        p: f64,
        /// Probability of going from bad to good after a packet; `1 / r` is the mean length of a bad period in
        /// packets.
        r: f64,
        /// Loss probability in the bad state, `1 - h`; 1 in Gilbert's simple model.
        bad: f64,
        /// Loss probability in the good state, `1 - k`; 0 in Gilbert's model.
        good: f64,
    },
}

impl LossModel {
    /// Are all parameters from 0 to 1?
    pub fn is_sound(&self) -> bool {
        let share = |x: f64| (0.0..=1.0).contains(&x);
        match *self {
            Self::Bernoulli(p) => share(p),
            Self::GilbertElliott { p, r, bad, good } => [p, r, bad, good].into_iter().all(share),
        }
    }

    /// The long-run fraction of packets lost.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Bernoulli(p) => p,
            Self::GilbertElliott { bad, good, .. } => {
                let share = self.bad_share();
                share * bad + (1.0 - share) * good
            }
        }
    }

    /// The fraction of packets in the bad state: `p / (p + r)`, or 0 for a chain that never moves.
    fn bad_share(&self) -> f64 {
        match *self {
            Self::GilbertElliott { p, r, .. } if p > 0.0 => p / (p + r),
            _ => 0.0,
        }
    }
}

/// The losses of one link.
#[derive(Clone, Debug)]
pub struct Losses {
    model: LossModel,
    is_bad: bool,
    rng: Rng,
}

impl Losses {
    /// Losses of `model`, drawn from `rng`.
    pub fn new(model: LossModel, mut rng: Rng) -> Self {
        let is_bad = rng.uniform() < model.bad_share();
        Self { model, is_bad, rng }
    }

    /// Is the next packet lost?
    pub fn draw(&mut self) -> bool {
        let chance = self.rng.uniform();
        match self.model {
            LossModel::Bernoulli(p) => chance < p,
            LossModel::GilbertElliott { p, r, bad, good } => {
                let (loss, change) = if self.is_bad { (bad, r) } else { (good, p) };
                self.is_bad ^= self.rng.uniform() < change;
                chance < loss
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fraction of `packets` lost, and mean number of consecutive losses.
    fn measured(model: LossModel, packets: u32) -> (f64, f64) {
        let mut losses = Losses::new(model, Rng::stream(11, "loss/test"));
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..packets {
            let now = losses.draw();
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / f64::from(packets), f64::from(lost) / f64::from(bursts.max(1)))
    }

    /// The fraction lost of n packets has a standard deviation (sd) of sqrt(p (1 - p) / n). The length of a loss burst
    /// is geometric with mean 1 / (1 - p). The measured mean length has an sd of sqrt(p) / (1 - p) / sqrt(bursts).
    /// Tolerance: 4 sd of each.
    #[test]
    fn bernoulli_losses_have_rate_and_independence() {
        let n = 1_000_000;
        for p in [0.001, 0.02, 0.3] {
            let (share, burst) = measured(LossModel::Bernoulli(p), n);
            let bursts = f64::from(n) * p * (1.0 - p);
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{p}: {share}");
            assert!((burst - 1.0 / (1.0 - p)).abs() < 4.0 * p.sqrt() / (1.0 - p) / bursts.sqrt(), "{p}: {burst}");
        }
    }

    /// Gilbert's simple model loses every packet of a bad period and no other. The length of a bad period is geometric
    /// with mean 1/r and standard deviation (sd) sqrt(1 - r)/r. A good and a bad period together have 1/p + 1/r packets
    /// on average: n packets have n p r / (p + r) bursts. As for any two-state chain the fraction lost (mean s) has the
    /// variance s (1 - s) (2 - p - r) / (p + r) / n. Tolerance: 4 sd of each.
    #[test]
    fn gilbert_losses_have_rate_and_burst_length() {
        let n = 4_000_000.0;
        for (p, r) in [(0.001, 0.1), (0.01, 0.3), (0.05, 0.9)] {
            let model = LossModel::GilbertElliott { p, r, bad: 1.0, good: 0.0 };
            let (share, burst) = measured(model, n as u32);
            let s = model.mean();
            let sd = (s * (1.0 - s) * (2.0 - p - r) / (p + r) / n).sqrt();
            assert!((share - s).abs() < 4.0 * sd, "{p} {r}: {share}, not {s}");
            let bursts: f64 = n * p * r / (p + r);
            assert!((burst - 1.0 / r).abs() < 4.0 * (1.0 - r).sqrt() / r / bursts.sqrt(), "{p} {r}: {burst}");
        }
    }

    /// With losses in both states the loss rate is (p bad + r good) / (p + r). The measured rate has a smaller variance
    /// than with `bad` = 1 and `good` = 0. Tolerance: 4 standard deviations for `bad` = 1 and `good` = 0.
    #[test]
    fn elliott_loss_rate_averages_both_states() {
        let (p, r, n) = (0.01, 0.2, 4_000_000.0);
        let model = LossModel::GilbertElliott { p, r, bad: 0.5, good: 0.02 };
        let expected = (0.01 * 0.5 + 0.2 * 0.02) / 0.21;
        assert!((model.mean() - expected).abs() < 1e-12);
        let s = p / (p + r);
        let sd = (s * (1.0 - s) * (2.0 - p - r) / (p + r) / n).sqrt();
        assert!((measured(model, n as u32).0 - expected).abs() < 4.0 * sd);
    }

    #[test]
    fn extreme_probabilities_are_exact_and_invalid_ones_refused() {
        assert_eq!(measured(LossModel::Bernoulli(0.0), 1000).0, 0.0);
        assert_eq!(measured(LossModel::Bernoulli(1.0), 1000).0, 1.0);
        let stuck = LossModel::GilbertElliott { p: 0.0, r: 0.0, bad: 1.0, good: 0.0 };
        assert_eq!((stuck.mean(), measured(stuck, 1000).0), (0.0, 0.0));
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(!LossModel::Bernoulli(p).is_sound(), "{p}");
        }
    }
}
