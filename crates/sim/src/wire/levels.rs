//! Rates of a link that change at random, like those of a radio link.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

use crate::wire::schedule::Schedule;

/// A rate that moves between neighbouring levels of a list: a finite-state Markov channel (Wang and Moayeri 1995).
///
/// The times between moves are exponential. A move goes one level up or one level down, with equal probability. A move
/// beyond the first or last level keeps the level. In the long run every level has the same fraction of the time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels {
    /// The rates, in ascending or descending order; at least one.
    pub rates: Vec<Rate>,
    /// Mean time between moves; > 0.
    pub hold: Span,
}

impl Levels {
    /// The mean of the rates, which is the link's long-run rate.
    pub fn mean(&self) -> Rate {
        let sum: u128 = self.rates.iter().map(|rate| u128::from(rate.0)).sum();
        Rate((sum / self.rates.len().max(1) as u128) as u64)
    }

    /// The highest rate.
    pub fn most(&self) -> Rate {
        self.rates.iter().copied().max().unwrap_or(Rate(0))
    }

    /// Draws the rates of a link until `end`, the first one included.
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

    /// Simulates about 100,000 moves. Levels are correlated over a few tens of moves. A level's fraction of the time
    /// therefore has a standard deviation of about 0.01. Tolerance: 0.03.
    #[test]
    fn levels_have_equal_time_and_change_to_neighbours() {
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
        // At either end half of the moves keep the level: a quarter of all moves.
        let moves = steps.len() as f64 / 100_000.0;
        assert!((moves - 0.75).abs() < 0.02, "{moves}");
        assert_eq!((levels(&rates, 1).mean(), levels(&rates, 1).most()), (Rate(25), Rate(40)));
    }

    #[test]
    fn single_level_is_constant() {
        let end = Instant::NEVER;
        assert_eq!(
            levels(&[7], 1).draw(Rng::stream(1, "levels"), end),
            Schedule::Steps(vec![(Instant::ZERO, Rate(7))])
        );
    }
}
