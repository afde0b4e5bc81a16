//! The allowance of BBR's window for aggregated acknowledgements: draft-ietf-ccwg-bbr-06 section 5.5.9, and
//! `bbr_update_ack_aggregation` of Linux 6.12 for version 1. Differs from Linux: the maximum is over the last 10 rounds; in
//! Linux over 5 to 10 rounds.

use forebay_aqm::base::time::Instant;

use super::super::super::congestion::Progress;

/// Number of rounds that count; one in Startup (section 2.6, ExtraAckedFilterLen).
const EXTRA_ROUNDS: usize = 10;

/// Packets acknowledged beyond what the bandwidth explains, because acknowledgements arrive in bursts.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct ExtraAcked {
    by_round: [f64; EXTRA_ROUNDS],
    round: usize,
    began: Instant,
    acked: f64,
}

impl ExtraAcked {
    /// Data is sent after idle time: a new epoch begins.
    pub(in super::super) const fn restart(&mut self, now: Instant) {
        self.began = now;
    }

    /// As [`restart`](Self::restart); packets acknowledged before do not count (Linux).
    pub(in super::super) const fn restart_empty(&mut self, now: Instant) {
        (self.began, self.acked) = (now, 0.0);
    }

    /// `(full, round)`: is the pipe full, and does a round start?
    pub(in super::super) fn update(
        &mut self,
        bandwidth: f64,
        progress: Progress,
        cwnd: f64,
        (full, round): (bool, bool),
    ) {
        if round {
            self.round = (self.round + 1) % EXTRA_ROUNDS;
            self.by_round[self.round] = 0.0;
        }
        let expected = |since: Instant| bandwidth * progress.now.since(since).secs();
        let mut due = expected(self.began);
        if self.acked <= due {
            (self.acked, self.began, due) = (0.0, progress.now, 0.0);
        }
        self.acked += f64::from(progress.delivered);
        let extra = (self.acked - due).min(cwnd);
        if full {
            let slot = &mut self.by_round[self.round];
            *slot = slot.max(extra);
        } else {
            self.by_round = [0.0; EXTRA_ROUNDS];
            self.by_round[self.round] = extra;
        }
    }

    pub(in super::super) fn get(&self) -> f64 {
        self.by_round.iter().copied().fold(0.0, f64::max)
    }
}
