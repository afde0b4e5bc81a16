//! The quality of experience (QoE) of adaptive video: bitrates, stalls and changes of the bitrate in one number.
//!
//! Sources: Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015,
//! equation 5; Mao et al., "Neural Adaptive Video Streaming with Pensieve", SIGCOMM 2017, section 5.1.

/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;

/// A segment of a video, as played.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segment {
    /// Bitrate in Mbit/s.
    pub bitrate_mbps: f64,
    /// Time for which the player waited for this segment, in s. That of the first segment is the start-up delay.
    pub stall_s: f64,
}

/// The quality q of a segment as a function of its bitrate R.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quality {
    /// q = R in Mbit/s.
    Linear,
    /// q = ln(R / lowest).
    Log {
        /// The lowest bitrate of the video in Mbit/s.
        lowest_mbps: f64,
    },
}

/// Penalties for waiting, in units of quality per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Penalty {
    /// For stalls, mu.
    pub stall: f64,
    /// For the start-up delay; 0 ignores it.
    pub startup: f64,
}

impl Penalty {
    /// Yin et al. with [`Quality::Linear`]: 3000 for bitrates in kbit/s.
    pub const YIN: Self = Self::of(3.0);
    /// Pensieve with [`Quality::Linear`].
    pub const PENSIEVE: Self = Self::of(4.3);
    /// Pensieve with [`Quality::Log`].
    pub const PENSIEVE_LOG: Self = Self::of(2.66);

    /// The same penalty `mu` for stalls and for the start-up delay.
    pub const fn of(mu: f64) -> Self {
        Self { stall: mu, startup: mu }
    }
}

impl Quality {
    /// The quality of a bitrate in Mbit/s; infinite or NaN if it is not defined.
    fn of(self, bitrate_mbps: f64) -> f64 {
        match self {
            Self::Linear => bitrate_mbps,
            Self::Log { lowest_mbps } => libm::log(bitrate_mbps / lowest_mbps),
        }
    }
}

impl Segment {
    /// Are bitrate and stall finite and not negative?
    fn is_valid(&self) -> bool {
        [self.bitrate_mbps, self.stall_s].iter().all(|value| value.is_finite() && *value >= 0.0)
    }
}

/// The score of a session, per segment: (sum q(R_n) - mu sum T_n - sum |q(R_n+1) - q(R_n)|) / N.
///
/// With constant quality and without stalls it is that quality. It may be negative. `None` without segments, if a
/// bitrate or a stall is negative or not finite, or if the result is not finite: [`Quality::Log`] needs bitrates above
/// 0.
pub fn score(segments: &[Segment], quality: Quality, penalty: Penalty) -> Option<f64> {
    let (first, later) = segments.split_first()?;
    let qualities: Vec<f64> = segments.iter().map(|segment| quality.of(segment.bitrate_mbps)).collect();
    let changes: f64 = qualities.iter().zip(qualities.iter().skip(1)).map(|(one, next)| (next - one).abs()).sum();
    let stalls: f64 = later.iter().map(|segment| segment.stall_s).sum();
    let waiting = penalty.startup * first.stall_s + penalty.stall * stalls;
    let score = (qualities.iter().sum::<f64>() - waiting - changes) / segments.len() as f64;
    (segments.iter().all(Segment::is_valid) && score.is_finite()).then_some(score)
}

/// Stalls per hour of played video, without the start-up delay; 0 or more.
///
/// `segment_s`: the length of a segment in s, above 0. Time in stalls is not played time. `None` without segments, if a
/// bitrate or a stall is negative or not finite, or if the played time is not finite and above 0.
pub fn stalls_per_hour(segments: &[Segment], segment_s: f64) -> Option<f64> {
    let stalls = segments.iter().skip(1).filter(|segment| segment.stall_s > 0.0).count();
    let played_s = segments.len() as f64 * segment_s;
    let rate = stalls as f64 * (HOUR_S / played_s);
    (segments.iter().all(Segment::is_valid) && played_s > 0.0 && played_s.is_finite() && rate.is_finite())
        .then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, proptest};

    const LOG: Quality = Quality::Log { lowest_mbps: 0.3 };

    fn session(segments: &[(f64, f64)]) -> Vec<Segment> {
        segments
            .iter()
            .map(|(bitrate_mbps, stall_s)| Segment { bitrate_mbps: *bitrate_mbps, stall_s: *stall_s })
            .collect()
    }

    #[track_caller]
    fn close(got: Option<f64>, want: f64) {
        assert!(got.is_some_and(|got| (got - want).abs() < 1e-9), "{got:?}, not {want}");
    }

    #[test]
    fn constant_bitrate_scores_its_quality() {
        let steady = session(&[(4.3, 0.0); 10]);
        close(score(&steady, Quality::Linear, Penalty::PENSIEVE), 4.3);
        close(score(&steady, LOG, Penalty::PENSIEVE_LOG), (4.3f64 / 0.3).ln());
    }

    #[test]
    fn linear_score_matches_hand_calculation() {
        // Qualities 1 + 3 + 2 = 6, changes 2 + 1 = 3, start-up 0.5 s, stall 0.2 s.
        let segments = session(&[(1.0, 0.5), (3.0, 0.0), (2.0, 0.2)]);
        close(score(&segments, Quality::Linear, Penalty::PENSIEVE), (3.0 - 4.3 * 0.7) / 3.0);
        close(score(&segments, Quality::Linear, Penalty::YIN), (3.0 - 3.0 * 0.7) / 3.0);
        close(score(&segments, Quality::Linear, Penalty { stall: 4.3, startup: 0.0 }), (3.0 - 4.3 * 0.2) / 3.0);
    }

    #[test]
    fn log_score_matches_hand_calculation() {
        // Qualities 0, ln 4, ln 2; sum ln 8; changes ln 4 + ln 2 = ln 8; stall 1 s: -2.66 / 3.
        close(score(&session(&[(0.3, 0.0), (1.2, 1.0), (0.6, 0.0)]), LOG, Penalty::PENSIEVE_LOG), -2.66 / 3.0);
    }

    #[test]
    fn startup_delay_is_no_stall() {
        // 1 stall in 4 segments of 4 s: 3600 / 16.
        let segments = session(&[(1.0, 2.0), (1.0, 0.0), (1.0, 0.3), (1.0, 0.0)]);
        close(stalls_per_hour(&segments, 4.0), 225.0);
        close(stalls_per_hour(&segments[..1], 4.0), 0.0);
    }

    #[test]
    fn undefined_sessions_give_none() {
        let penalty = Penalty::PENSIEVE;
        let wrong = [&[][..], &[(f64::NAN, 0.0)], &[(1.0, -1.0)], &[(-1.0, 0.0)], &[(1.0, f64::INFINITY)]];
        for segments in wrong.map(session) {
            assert_eq!(score(&segments, Quality::Linear, penalty), None);
            assert_eq!(stalls_per_hour(&segments, 4.0), None);
        }
        assert_eq!(score(&session(&[(0.0, 0.0)]), LOG, penalty), None);
        assert_eq!(score(&session(&[(1.0, 0.0)]), Quality::Log { lowest_mbps: 0.0 }, penalty), None);
        // The changes overflow.
        let segments = session(&[(0.0, 0.0), (f64::MAX, 0.0), (0.0, 0.0)]);
        assert_eq!(score(&segments, Quality::Linear, penalty), None);
        for length in [0.0, -4.0, f64::NAN, f64::INFINITY] {
            assert_eq!(stalls_per_hour(&segments, length), None);
        }
    }

    proptest! {
        #[test]
        fn longer_stalls_lower_the_score(
            segments in prop::collection::vec((0.3..4.3, 0.0..5.0), 1..50),
            longer in 0.001..5.0,
        ) {
            let before = session(&segments);
            let mut after = before.clone();
            after[before.len() / 2].stall_s += longer;
            for (quality, penalty) in [(Quality::Linear, Penalty::PENSIEVE), (LOG, Penalty::PENSIEVE_LOG)] {
                let [before, after] = [&before, &after].map(|segments| score(segments, quality, penalty).unwrap());
                prop_assert!(after < before);
            }
        }
    }
}
