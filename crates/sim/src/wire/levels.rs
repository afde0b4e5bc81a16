//! Rates drawn by lot, as of a radio link whose quality changes.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

use crate::wire::schedule::Schedule;

/// A rate that moves between neighbours of a list: a finite-state Markov channel (Wang and Moayeri 1995).
///
/// After exponential times it goes a level up or down with the same chance, and stays where there is none: in the long run
/// every level has the same share of the time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels {
    /// The rates, lowest first or last; at least one.
    pub rates: Vec<Rate>,
    /// Mean time between two moves; above zero.
    pub hold: Span,
}

impl Levels {
    /// The mean of the rates, which is that of the link in the long run.
    pub fn mean(&self) -> Rate {
        let sum: u128 = self.rates.iter().map(|rate| u128::from(rate.0)).sum();
        Rate((sum / self.rates.len().max(1) as u128) as u64)
    }

    /// The highest.
    pub fn most(&self) -> Rate {
        self.rates.iter().copied().max().unwrap_or(Rate(0))
    }

    /// What the link does until `end`; the first level is drawn too.
    pub fn draw(&self, mut rng: Rng, end: Instant) -> Schedule {
        let top = self.rates.len().saturating_sub(1);
        let mut level = rng.below(self.rates.len() as u64) as usize;
        let mut steps = vec![(Instant::ZERO, self.rates[level])];
        let mut at = if top > 0 { Instant::ZERO } else { end };
        while at < end {
            at += Span::from_secs(rng.exponential(self.hold.secs())).max(Span::from_nanos(1));
            let next = if rng.uniform() < 0.5 { level.saturating_sub(1) } else { (level + 1).min(top) };
            if next != level {
                level = next;
                steps.push((at, self.rates[level]));
            }
        }
        Schedule::Steps(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(rates: &[u64], hold_ms: u64) -> Levels {
        Levels { rates: rates.iter().map(|&rate| Rate(rate)).collect(), hold: Span::from_millis(hold_ms) }
    }

    /// Of 100,000 moves; what is correlated over a few tens of them has an sd of about a hundredth.
    #[test]
    fn every_level_has_its_share_and_only_neighbours_follow_each_other() {
        let (rates, secs) = ([10u64, 20, 30, 40], 10_000);
        let end = Instant::ZERO + Span::from_millis(1000 * secs);
        let Schedule::Steps(steps) = levels(&rates, 100).draw(Rng::stream(1, "levels"), end) else {
            unreachable!("it draws steps")
        };
        let mut time = [0.0; 4];
        for pair in steps.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1.0.abs_diff(pair[1].1.0) == 10, "{pair:?}");
            time[(pair[0].1.0 / 10 - 1) as usize] += (pair[1].0.since(pair[0].0)).secs();
        }
        assert!(time.iter().all(|t| (t / secs as f64 - 0.25).abs() < 0.03), "{time:?}");
        // At either end half of the moves lead nowhere, so that a quarter of all do.
        let moves = steps.len() as f64 / 100_000.0;
        assert!((moves - 0.75).abs() < 0.02, "{moves}");
        assert_eq!((levels(&rates, 1).mean(), levels(&rates, 1).most()), (Rate(25), Rate(40)));
    }

    #[test]
    fn one_level_stays() {
        let end = Instant::NEVER;
        assert_eq!(
            levels(&[7], 1).draw(Rng::stream(1, "levels"), end),
            Schedule::Steps(vec![(Instant::ZERO, Rate(7))])
        );
    }
}
