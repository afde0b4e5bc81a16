//! Detects policers, as Linux's version 1 does (`bbr_lt_bw_sampling` of Linux 6.12). A policer is found if two intervals in
//! succession have many losses and nearly the same delivery rate. BBR then sends at this rate for 48 rounds.

use forebay_aqm::base::time::Instant;

/// `bbr_lt_intvl_min_rtts`: an interval has at least this many rounds, and at most four times as many.
const ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: an interval with at least this share of lost packets counts.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// `bbr_lt_bw_ratio` and `bbr_lt_bw_diff`: two rates are nearly the same if they differ by at most this share, or by 4 kb/s
/// (in packets of 1448 bytes per second, paced 1 % below).
const RATIO: f64 = 1.0 / 8.0;
const DIFFERENCE: f64 = 500.0 / (1448.0 * 0.99);
/// `bbr_lt_bw_max_rtts`: the rate is used for this many rounds of ProbeBW.
const LASTS: u32 = 48;

/// What an acknowledgement says about a policer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) now: Instant,
    /// Packets delivered so far.
    pub(super) delivered: u64,
    /// The acknowledgement shows a loss.
    pub(super) has_loss: bool,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    pub(super) is_probing_bandwidth: bool,
}

/// What changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    None,
    /// A policer is detected.
    Found,
    /// The rate has been used for long enough.
    Over,
}

/// State of the detection.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Packets considered lost so far.
    pub(super) lost: u64,
    /// An interval is being measured.
    samples: bool,
    /// The rate replaces the bandwidth.
    is_used: bool,
    /// Rate of the latest interval that counts, packets per second; while it is used, the mean of two.
    rate: Option<f64>,
    rounds: u32,
    /// Start of the interval: time in whole ms, packets delivered and lost.
    began_ms: u64,
    delivered_before: u64,
    lost_before: u64,
}

const fn whole_ms(at: Instant) -> u64 {
    at.nanos() / 1_000_000
}

impl Policer {
    /// The rate that replaces the estimated bandwidth.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.is_used)
    }

    pub(super) const fn reset(&mut self) {
        (self.rate, self.is_used, self.samples) = (None, false, false);
    }

    const fn begin(&mut self, seen: Observation) {
        (self.began_ms, self.delivered_before, self.lost_before) = (whole_ms(seen.now), seen.delivered, self.lost);
        self.rounds = 0;
    }

    pub(super) fn observe(&mut self, seen: Observation) -> Change {
        if self.is_used {
            if seen.is_probing_bandwidth && seen.round_start {
                self.rounds += 1;
                if self.rounds >= LASTS {
                    self.reset();
                    return Change::Over;
                }
            }
            return Change::None;
        }
        if !self.samples {
            if !seen.has_loss {
                return Change::None;
            }
            self.begin(seen);
            self.samples = true;
        }
        self.rounds += u32::from(seen.round_start && !seen.app_limited);
        if seen.app_limited || self.rounds > 4 * ROUNDS {
            self.reset();
            return Change::None;
        }
        // An interval ends with a loss: the policer has no tokens left.
        if self.rounds < ROUNDS || !seen.has_loss {
            return Change::None;
        }
        let lost = (self.lost - self.lost_before) as f64;
        let delivered = (seen.delivered - self.delivered_before) as f64;
        let ms = whole_ms(seen.now) - self.began_ms;
        if delivered == 0.0 || lost < LOSS_THRESHOLD * delivered || ms == 0 {
            return Change::None;
        }
        self.end_interval(seen, 1e3 * delivered / ms as f64)
    }

    /// An interval ends that has enough losses (`bbr_lt_bw_interval_done`).
    fn end_interval(&mut self, seen: Observation, rate: f64) -> Change {
        if let Some(before) = self.rate
            && (rate - before).abs() <= (RATIO * before).max(DIFFERENCE)
        {
            (self.rate, self.is_used, self.rounds) = (Some(0.5 * (rate + before)), true, 0);
            return Change::Found;
        }
        self.rate = Some(rate);
        self.begin(seen);
        Change::None
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::time::Span;

    use super::*;

    /// Rounds of 20 ms in which `delivered` packets arrive and `lost` are lost; returns the round after which a policer is
    /// found.
    fn found_after(policer: &mut Policer, rounds: u64, delivered: u64, lost: u64) -> Option<u64> {
        (1..=rounds).find(|round| {
            policer.lost += lost;
            policer.observe(Observation {
                now: Instant::ZERO + Span::from_millis(20) * *round,
                delivered: delivered * round,
                has_loss: lost > 0,
                app_limited: false,
                round_start: true,
                is_probing_bandwidth: true,
            }) == Change::Found
        })
    }

    #[test]
    fn two_equal_lossy_intervals_show_a_policer() {
        let mut policer = Policer::default();
        // The first loss begins an interval in its round; 3 rounds later it ends, 4 rounds later the next.
        assert_eq!(found_after(&mut policer, 20, 40, 10), Some(8));
        assert_eq!(policer.rate(), Some(2000.0), "40 packets in 20 ms");
    }

    #[test]
    fn fewer_losses_than_the_threshold_show_none() {
        assert_eq!(found_after(&mut Policer::default(), 200, 40, 7), None, "7 of 40 is less than 50 of 256");
        assert_eq!(found_after(&mut Policer::default(), 200, 40, 0), None);
    }

    #[test]
    fn rate_of_a_policer_lasts_48_rounds() {
        let mut policer = Policer::default();
        found_after(&mut policer, 20, 40, 10).unwrap();
        let mut seen = Observation {
            now: Instant::ZERO,
            delivered: 0,
            has_loss: true,
            app_limited: false,
            round_start: true,
            is_probing_bandwidth: true,
        };
        assert!((1..48).all(|_| policer.observe(seen) == Change::None));
        seen.is_probing_bandwidth = false;
        assert_eq!(policer.observe(seen), Change::None);
        seen.is_probing_bandwidth = true;
        assert_eq!(policer.observe(seen), Change::Over);
        assert_eq!(policer.rate(), None);
    }
}
