//! RED's spacing: makes the gaps between signals uniformly distributed, for a given base probability p_b.
//!
//! The decision depends on the number of packets since the last signal. The three rules differ in when this count
//! starts and in what is random: a decision per packet (ns-2, the paper of 1993), or the length of the gap, drawn when
//! the previous gap ends (Linux).

use core::hint::select_unpredictable;

use super::Rule;

/// A probability as a fraction: a decision needs no division.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    part: f64,
    /// Denominator: not negative, and 0 only if the numerator `part` is above 0.
    of: f64,
}

impl Chance {
    const fn of(p: f64) -> Self {
        Self { part: p, of: 1.0 }
    }

    /// Whether `u`, uniform on 0..1, is below the probability.
    #[inline]
    pub const fn meets(self, u: f64) -> bool {
        u * self.of < self.part
    }

    /// The probability, 0 to 1.
    pub const fn p(self) -> f64 {
        (self.part / self.of).min(1.0)
    }
}

/// p_a: the probability of a signal after `count` packets since the last signal, this one included.
/// Without `wait` the gaps are uniform on 1..1/p_b; with it on 1/p_b..2/p_b.
#[inline]
pub fn spaced(p_b: f64, count: f64, wait: bool) -> Chance {
    let done = count * p_b;
    let begin = f64::from(u8::from(wait));
    // Branch-free: with several queues the branch is mispredicted often.
    let part = select_unpredictable(done < begin, 0.0, p_b);
    // Where the gap must end the fraction is p_b/0: certain.
    Chance { part, of: (begin + 1.0 - done).max(0.0) }
}

/// The mean fraction of packets that are signalled: 1 divided by the mean gap.
pub(super) fn mean_spaced(p_b: f64, wait: bool) -> f64 {
    // Gaps are uniform on 1/p_b..2/p_b - 1, or on 1..1/p_b - 1: the count is 1 at the first arrival after a signal.
    if wait { 2.0 * p_b / (3.0 - p_b) } else { (2.0 * p_b).min(1.0) }
}

/// p_a in ns-2's byte mode. The count is the number of bytes since the last signal divided by `mean`, rounded down. A
/// probability below 1 is then multiplied by `len`/`mean`, up to 1.
fn spaced_bytes(p_b: f64, count_bytes: u64, len: u32, mean: u64, wait: bool) -> Chance {
    let chance = spaced(p_b, (count_bytes / mean) as f64, wait);
    match chance.p() {
        p if p < 1.0 => Chance::of((p * f64::from(len) / mean as f64).min(1.0)),
        _ => chance,
    }
}

/// State of the spacing, with the count since the last signal.
#[derive(Clone, Debug)]
pub struct Spacing {
    rule: Rule,
    wait: bool,
    /// Byte mode: mean packet size in bytes.
    mean: Option<u64>,
    /// Packets since the last signal. -1 (not with ns-2's rule): at the last arrival the average was below min_th
    /// (Linux: or above max_th).
    count: i64,
    bytes: u64,
    above: bool,
    /// Linux: random number of the current gap, 0 to 1. The gap ends when count p_b reaches it.
    gap: f64,
    chance: Chance,
}

impl Spacing {
    /// Spacing by `rule`; `mean` is the mean packet size in bytes for byte mode.
    pub const fn new(rule: Rule, wait: bool, mean: Option<u64>) -> Self {
        let count = if matches!(rule, Rule::Ns2) { 0 } else { -1 };
        Self { rule, wait, mean, count, bytes: 0, above: false, gap: 0.0, chance: Chance::of(0.0) }
    }

    /// The parameters of `self` with the count and the gap of `before`. If the rules differ, returns `self`.
    pub fn after(self, before: &Self) -> Self {
        if self.rule != before.rule {
            return self;
        }
        let Self { rule, wait, mean, .. } = self;
        Self { rule, wait, mean, ..before.clone() }
    }

    /// Whether an arrival of `len` bytes with base probability `p_b` is signalled. `p_b` is `None` below min_th, or if
    /// the queue is too short for any signal. `u` is uniform on 0..1.
    #[inline(always)] // Like `ns2`, which it calls.
    pub fn arrival(&mut self, p_b: Option<f64>, len: u32, u: f64) -> bool {
        let signal = match self.rule {
            Rule::Ns2 => self.ns2(p_b, len, u),
            Rule::Paper => self.paper(p_b, len, u),
            Rule::Linux => self.linux(p_b, u),
        };
        if signal {
            self.reset();
        }
        signal
    }

    /// ns-2's rule. The first arrival with an average above min_th is accepted and starts the count.
    #[inline(always)] // A call would cost 0.5 ns per arrival; ns-2's rule is the default.
    fn ns2(&mut self, p_b: Option<f64>, len: u32, u: f64) -> bool {
        self.pass(len);
        self.chance = match p_b {
            None => {
                self.above = false;
                Chance::of(0.0)
            }
            Some(_) if !self.above => {
                (self.above, self.count, self.bytes) = (true, 1, u64::from(len));
                Chance::of(0.0)
            }
            Some(p_b) => match self.mean {
                None => spaced(p_b, self.count as f64, self.wait),
                Some(mean) => spaced_bytes(p_b, self.bytes, len, mean, self.wait),
            },
        };
        self.chance.meets(u)
    }

    /// The count of the paper's Fig. 2: 0 at the first arrival above min_th, which may be signalled. In byte mode the
    /// packet length scales p_b.
    #[inline(never)]
    fn paper(&mut self, p_b: Option<f64>, len: u32, u: f64) -> bool {
        let Some(p_b) = p_b else {
            (self.count, self.chance) = (-1, Chance::of(0.0));
            return false;
        };
        self.count += 1;
        let p_b = self.mean.map_or(p_b, |mean| p_b * f64::from(len) / mean as f64);
        self.chance = spaced(p_b, self.count as f64, self.wait);
        self.chance.meets(u)
    }

    /// Linux's rule. The random number of a gap is drawn when the gap starts. The length in packets also depends on the
    /// current p_b.
    #[inline(never)]
    fn linux(&mut self, p_b: Option<f64>, u: f64) -> bool {
        let Some(p_b) = p_b else {
            (self.count, self.chance) = (-1, Chance::of(0.0));
            return false;
        };
        self.count += 1;
        let begins = self.count == 0;
        let ends = !begins && self.count as f64 * p_b >= self.gap;
        if begins || ends {
            self.gap = u;
        }
        self.chance = Chance::of(f64::from(u8::from(ends)));
        ends
    }

    /// Counts an arrival of `len` bytes without a random decision.
    #[inline]
    pub fn pass(&mut self, len: u32) {
        self.count += 1;
        self.bytes += u64::from(len);
    }

    /// Records a forced drop, which a high average caused. Resets the count.
    #[inline]
    pub const fn forced(&mut self) {
        self.reset();
        if matches!(self.rule, Rule::Linux) {
            self.count = -1;
        }
        self.chance = Chance::of(1.0);
    }

    /// Records an overflow drop. Resets the count, except with Linux's rule.
    #[inline]
    pub fn overflowed(&mut self) {
        if self.rule != Rule::Linux {
            self.reset();
        }
    }

    const fn reset(&mut self) {
        (self.count, self.bytes) = (0, 0);
    }

    /// Packets since the last signal.
    pub const fn count(&self) -> f64 {
        self.count as f64
    }

    /// p_a of the latest arrival; with Linux's rule 0 or 1.
    pub const fn p(&self) -> f64 {
        self.chance.p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn gaps_are_uniformly_distributed() {
        // p_b = 0.25: without wait P(gap = n) = 1/4 for n = 1..4 would need count from 0;
        // ns-2 counts the arrival itself, so the gap is 1..3 with hazards 1/3, 1/2, 1.
        assert!(near(spaced(0.25, 1.0, false).p(), 1.0 / 3.0));
        assert!(near(spaced(0.25, 2.0, false).p(), 0.5));
        assert!(near(spaced(0.25, 3.0, false).p(), 1.0));
        assert_eq!(spaced(0.25, 4.0, false).p(), 1.0);
        assert_eq!(spaced(0.25, 3.0, true).p(), 0.0);
        assert!(near(spaced(0.25, 4.0, true).p(), 0.25));
        assert!(near(spaced(0.25, 7.0, true).p(), 1.0));
        assert_eq!(spaced(0.25, 8.0, true).p(), 1.0);
    }

    /// p_a with branches, as in ns-2's `red.cc` (`modify_p`); [`spaced`] is the branch-free form.
    fn listed(p_b: f64, count: f64, wait: bool) -> f64 {
        let done = count * p_b;
        match (wait, done) {
            (true, done) if done < 1.0 => 0.0,
            (true, done) if done < 2.0 => (p_b / (2.0 - done)).min(1.0),
            (false, done) if done < 1.0 => (p_b / (1.0 - done)).min(1.0),
            _ => 1.0,
        }
    }

    #[test]
    fn branch_free_p_a_equals_that_of_ns2() {
        let (mut rng, mut pairs) = (Rng::stream(2, "met"), Rng::stream(1, "spaced"));
        let drawn = (0..100_000).map(|_| (pairs.uniform() * pairs.uniform(), pairs.below(300) as f64));
        let edges = [0.0, 0.25, 0.5, 1.0].into_iter().flat_map(|p_b| (0..10).map(move |count| (p_b, f64::from(count))));
        for (p_b, count) in edges.chain(drawn) {
            for wait in [false, true] {
                let (chance, want) = (spaced(p_b, count, wait), listed(p_b, count, wait));
                assert_eq!(chance.p().to_bits(), want.to_bits(), "p_b {p_b}, count {count}, wait {wait}");
                // Without the division rounding differs, but only for u within 1e-15 of p.
                let met = [0.0, 0.5, 1.0 - f64::EPSILON, want - 1e-15, want + 1e-15, rng.uniform()];
                for u in met.into_iter().filter(|u| (0.0..1.0).contains(u)) {
                    assert_eq!(chance.meets(u), u < want, "u {u}, p_b {p_b}, count {count}, wait {wait}");
                }
            }
        }
    }

    /// The count is the number of bytes since the last signal, divided by the mean packet size and rounded down. p is
    /// multiplied by the length of the packet, divided by the mean packet size.
    #[test]
    fn ns2_byte_mode_rounds_count_and_scales_p() {
        // p_b = 0.1, mean 500: 1249 bytes are two packets, so p_b/(1 - 0.2) = 1/8, half of it for 250 bytes.
        assert!(near(spaced_bytes(0.1, 1249, 500, 500, false).p(), 0.125));
        assert!(near(spaced_bytes(0.1, 1249, 250, 500, false).p(), 0.0625));
        assert_eq!(spaced_bytes(0.1, 5000, 40, 500, false).p(), 1.0);
        assert_eq!(spaced_bytes(0.1, 4999, 1500, 500, true).p(), 0.0);
        assert_eq!(spaced_bytes(0.1, 1249, 5000, 500, false).p(), 1.0, "10 packets' worth of 1/8");
    }

    /// p_a of `n` arrivals of 500 bytes in a row, none of them signalled.
    fn row(spacing: &mut Spacing, p_b: Option<f64>, n: usize) -> alloc::vec::Vec<f64> {
        let p = |spacing: &mut Spacing| {
            assert!(!spacing.arrival(p_b, 500, 1.0));
            spacing.p()
        };
        (0..n).map(|_| p(spacing)).collect()
    }

    #[test]
    fn ns2_never_signals_first_arrival_above_minimum_threshold() {
        let mut spacing = Spacing::new(Rule::Ns2, false, None);
        assert_eq!(row(&mut spacing, None, 100), [0.0; 100]);
        assert_eq!((row(&mut spacing, Some(0.1), 1), spacing.count()), ([0.0].into(), 1.0));
        assert!(near(row(&mut spacing, Some(0.1), 1)[0], 0.1 / 0.8));
        assert!(spacing.arrival(Some(0.1), 500, 0.0));
        assert_eq!(spacing.count(), 0.0);
        assert!(near(row(&mut spacing, Some(0.1), 1)[0], 0.1 / 0.9));
        spacing.overflowed();
        assert!(near(row(&mut spacing, Some(0.1), 1)[0], 0.1 / 0.9));
    }

    #[test]
    fn paper_count_starts_at_0() {
        let mut spacing = Spacing::new(Rule::Paper, false, None);
        row(&mut spacing, None, 100);
        let p = row(&mut spacing, Some(0.1), 3);
        assert!(near(p[0], 0.1) && near(p[1], 0.1 / 0.9) && near(p[2], 0.1 / 0.8), "{p:?}");
        // Half a mean packet: p_b = 0.05, and the count goes on.
        spacing.mean = Some(1000);
        assert!(near(row(&mut spacing, Some(0.1), 1)[0], 0.05 / 0.85));
        assert!(spacing.arrival(Some(0.1), 500, 0.0));
        assert!(near(row(&mut spacing, Some(0.1), 1)[0], 0.05 / 0.95), "1 after a signal");
    }

    #[test]
    fn linux_draws_the_gap_at_its_start() {
        let mut spacing = Spacing::new(Rule::Linux, false, None);
        let mut signals = |p_b, u: f64, n| (0..n).map(|_| spacing.arrival(p_b, 500, u)).filter(|s| *s).count();
        assert_eq!(signals(Some(0.1), 0.65, 1), 0, "the first draws 0.65");
        assert_eq!(signals(Some(0.1), 0.25, 6), 0, "up to 0.6");
        assert_eq!(signals(Some(0.1), 0.25, 1), 1, "0.7: the next gap ends at 0.25");
        assert_eq!(signals(Some(0.1), 0.95, 2), 0);
        assert_eq!(signals(Some(0.1), 0.95, 1), 1, "0.3");
        assert_eq!(signals(Some(0.3), 0.0, 3), 0, "0.9 < 0.95");
        assert_eq!(signals(None, 0.0, 1), 0);
        assert_eq!(signals(Some(0.5), 0.0, 1), 0, "the first again");
        assert_eq!(signals(Some(0.5), 0.0, 1), 1);
        spacing.overflowed();
        assert_eq!(spacing.count(), 0.0);
        spacing.forced();
        assert_eq!((spacing.count(), spacing.p()), (-1.0, 1.0));
    }

    #[test]
    fn predicted_signal_rate_matches_simulation() {
        let mut rng = Rng::stream(1, "mean");
        for (wait, p_b) in [(false, 0.02), (false, 0.2), (true, 0.02), (true, 0.2)] {
            let mut spacing = Spacing::new(Rule::Paper, wait, None);
            let signals = (0..200_000).filter(|_| spacing.arrival(Some(p_b), 500, rng.uniform())).count();
            let ratio = signals as f64 / 200_000.0 / mean_spaced(p_b, wait);
            // Four standard deviations of the rarest case are 2 %.
            assert!((ratio - 1.0).abs() < 0.02, "{wait} {p_b}: {ratio}");
        }
    }
}
