//! Losses on the wire: packets that a link has sent and that do not arrive, whatever the queue does.

use forebay_aqm::base::rng::Rng;

/// How a link loses packets. Every packet uses the link first, and draws the same number of randoms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LossModel {
    /// Each packet by itself, with this probability, 0 to 1.
    Bernoulli(f64),
    /// A Markov chain of two states with a step for each packet (Gilbert 1960, Elliott 1963).
    ///
    /// Parameters as `tc qdisc ... netem loss gemodel p r 1-h 1-k` takes them, as shares of 1. The state decides
    /// over the packet first and changes afterwards, as netem's does; netem begins in the good state, here the
    /// first state is drawn with the probabilities of the long run.
    GilbertElliott {
        /// Probability to go from good to bad after a packet.
        p: f64,
        /// Probability to go from bad to good after a packet; `1 / r` is the mean length of a bad spell in packets.
        r: f64,
        /// Loss in the bad state, `1 - h`; 1 in Gilbert's simple model.
        bad: f64,
        /// Loss in the good state, `1 - k`; 0 in Gilbert's model.
        good: f64,
    },
}

impl LossModel {
    /// Are all of its figures probabilities?
    pub fn is_sound(&self) -> bool {
        let share = |x: f64| (0.0..=1.0).contains(&x);
        match *self {
            Self::Bernoulli(p) => share(p),
            Self::GilbertElliott { p, r, bad, good } => [p, r, bad, good].into_iter().all(share),
        }
    }

    /// The share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Bernoulli(p) => p,
            Self::GilbertElliott { bad, good, .. } => {
                let share = self.bad_share();
                share * bad + (1.0 - share) * good
            }
        }
    }

    /// The share of packets that meet the bad state: `p / (p + r)`, and 0 for a chain that never moves.
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
    /// Losses by `model` with the numbers of `rng`.
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

    /// Share of packets lost and mean number of losses in a row, of so many packets.
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

    /// Of n packets the share lost has the sd sqrt(p (1 - p) / n), and the mean burst, geometric with mean
    /// 1 / (1 - p), the sd sqrt(p) / (1 - p) / sqrt(bursts). Tolerance: 4 of each.
    #[test]
    fn bernoulli_losses_have_their_rate_and_come_alone() {
        let n = 1_000_000;
        for p in [0.001, 0.02, 0.3] {
            let (share, burst) = measured(LossModel::Bernoulli(p), n);
            let bursts = f64::from(n) * p * (1.0 - p);
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{p}: {share}");
            assert!((burst - 1.0 / (1.0 - p)).abs() < 4.0 * p.sqrt() / (1.0 - p) / bursts.sqrt(), "{p}: {burst}");
        }
    }

    /// Gilbert's simple model: bursts are the bad spells, geometric with mean 1/r and sd sqrt(1 - r)/r; a cycle
    /// has 1/p + 1/r packets, so that there are n p r / (p + r) bursts. The share lost has, as that of any
    /// two-state chain, the variance s (1 - s) (2 - p - r) / (p + r) / n. Tolerance: 4 sd of each.
    #[test]
    fn gilbert_losses_have_their_rate_and_their_bursts() {
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

    /// With losses in both states the rate is (p bad + r good) / (p + r); its variance is at most that of a
    /// chain that loses all or nothing. Tolerance: 4 sd of that.
    #[test]
    fn elliott_losses_mix_both_states() {
        let (p, r, n) = (0.01, 0.2, 4_000_000.0);
        let model = LossModel::GilbertElliott { p, r, bad: 0.5, good: 0.02 };
        let expected = (0.01 * 0.5 + 0.2 * 0.02) / 0.21;
        assert!((model.mean() - expected).abs() < 1e-12);
        let s = p / (p + r);
        let sd = (s * (1.0 - s) * (2.0 - p - r) / (p + r) / n).sqrt();
        assert!((measured(model, n as u32).0 - expected).abs() < 4.0 * sd);
    }

    #[test]
    fn the_extremes_are_exact_and_the_rest_is_refused() {
        assert_eq!(measured(LossModel::Bernoulli(0.0), 1000).0, 0.0);
        assert_eq!(measured(LossModel::Bernoulli(1.0), 1000).0, 1.0);
        let stuck = LossModel::GilbertElliott { p: 0.0, r: 0.0, bad: 1.0, good: 0.0 };
        assert_eq!((stuck.mean(), measured(stuck, 1000).0), (0.0, 0.0));
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(!LossModel::Bernoulli(p).is_sound(), "{p}");
        }
    }
}
