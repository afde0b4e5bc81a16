//! What viewers of adaptive video get: stalls, bitrates, and one score of both.

use forebay_aqm::base::time::Span;

/// Results of clients that play adaptive video: of one client, or the sums over several ([`absorb`](Self::absorb)).
/// Within the measurement window, except `startup`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoOutcome {
    /// Number of clients.
    pub clients: u32,
    /// Time between start and stop of the client.
    pub active: Span,
    /// Start-up delay: from the start of the client to that of the playback, or to the end of the client if playback never
    /// starts. In the complete run.
    pub startup: Span,
    /// Time in stalls. The start-up delay is not a stall.
    pub stall: Span,
    /// Number of stalls; those that begin before the window and end within it are included.
    pub stalls: u32,
    /// Number of segments that arrived.
    pub segments: u32,
    /// Sum of the bitrates of these segments, in bit/s.
    pub bitrates: u64,
    /// Number of these segments whose bitrate differs from that of the segment before.
    pub switches: u32,
    /// Sum of these differences, in bit/s.
    pub changes: u64,
}

/// The penalty for a second of stall in Mbit/s: mu of Pensieve.
const STALL_PENALTY: f64 = 4.3;
/// Seconds of an hour.
const HOUR: f64 = 3600.0;

impl VideoOutcome {
    /// Adds the results of other clients.
    pub fn absorb(&mut self, other: &Self) {
        self.clients += other.clients;
        self.active = self.active + other.active;
        self.startup = self.startup + other.startup;
        self.stall = self.stall + other.stall;
        self.stalls += other.stalls;
        self.segments += other.segments;
        self.bitrates += other.bitrates;
        self.switches += other.switches;
        self.changes += other.changes;
    }

    /// Mean start-up delay of a client in s; `None` without clients.
    pub fn startup_s(&self) -> Option<f64> {
        (self.clients > 0).then(|| self.startup.secs() / f64::from(self.clients))
    }

    /// Mean time that a client spends in stalls, in s; `None` without clients.
    pub fn stall_s(&self) -> Option<f64> {
        (self.clients > 0).then(|| self.stall.secs() / f64::from(self.clients))
    }

    /// Stalls in an hour of a client, stalls and start-up included in the hour; `None` if no client was active.
    pub fn stalls_per_hour(&self) -> Option<f64> {
        (self.active > Span::ZERO).then(|| f64::from(self.stalls) * HOUR / self.active.secs())
    }

    /// Mean bitrate of the segments in bit/s; `None` without segments.
    pub fn bitrate_bps(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.bitrates as f64 / f64::from(self.segments))
    }

    /// The quality of experience for each segment, in Mbit/s: (sum q(R) - mu sum T - sum |q(R') - q(R)|) / segments. q(R)
    /// is the bitrate in Mbit/s, R' that of the next segment, T the time in stalls, mu 4.3. It is the bitrate if that is
    /// constant and nothing stalls, and may be negative. `None` without segments.
    ///
    /// Sources: Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015,
    /// equation 5, here without its term for the start-up delay; Mao et al., "Neural Adaptive Video Streaming with
    /// Pensieve", SIGCOMM 2017, section 5.1, which has the linear q and mu.
    pub fn qoe(&self) -> Option<f64> {
        let (quality, changes) = (self.bitrates as f64 * 1e-6, self.changes as f64 * 1e-6);
        let score = quality - STALL_PENALTY * self.stall.secs() - changes;
        (self.segments > 0).then(|| score / f64::from(self.segments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: Option<f64>, wanted: f64) {
        assert!(found.is_some_and(|found| (found - wanted).abs() < 1e-12), "{found:?}, not {wanted}");
    }

    /// Bitrates 1, 3 and 2 Mbit/s: sum 6, changes 2 + 1 = 3. Stall 0.2 s: (6 - 0.86 - 3) / 3 = 0.71333.
    const CLIENT: VideoOutcome = VideoOutcome {
        clients: 1,
        active: Span::from_millis(60_000),
        startup: Span::from_millis(500),
        stall: Span::from_millis(200),
        stalls: 1,
        segments: 3,
        bitrates: 6_000_000,
        switches: 2,
        changes: 3_000_000,
    };

    #[test]
    fn score_matches_hand_calculation() {
        close(CLIENT.qoe(), 2.14 / 3.0);
        close(CLIENT.bitrate_bps(), 2e6);
        close(CLIENT.stalls_per_hour(), 60.0);
        close(CLIENT.startup_s(), 0.5);
    }

    /// A second client plays two segments of 2 Mbit/s: (2.14 + 4) / 5; 0.2 s of stall for two clients; a stall in 2 min.
    #[test]
    fn clients_are_pooled_by_segment() {
        let mut both = CLIENT;
        let steady = VideoOutcome { segments: 2, bitrates: 4_000_000, switches: 0, changes: 0, ..CLIENT };
        both.absorb(&VideoOutcome { stall: Span::ZERO, stalls: 0, ..steady });
        close(both.qoe(), 6.14 / 5.0);
        close(both.stall_s(), 0.1);
        close(both.stalls_per_hour(), 30.0);
        assert_eq!((both.clients, both.switches), (2, 2));
    }

    #[test]
    fn nothing_played_has_no_score() {
        let none = VideoOutcome::default();
        let all = [none.qoe(), none.bitrate_bps(), none.stall_s(), none.startup_s(), none.stalls_per_hour()];
        assert_eq!(all, [None; 5]);
    }
}
