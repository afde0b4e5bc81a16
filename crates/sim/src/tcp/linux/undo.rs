//! Undo of a reduction for packets that were not lost: by DSACK (RFC 2883, RFC 3708), by Eifel (RFC 3522, RFC 4015) and by
//! F-RTO (RFC 5682).
//!
//! In place of timestamps packets have stamps of two bits: the number of the sender's retransmission episode when they were
//! sent. An acknowledgement returns the stamp of the packet that advanced it.

use forebay_aqm::base::time::Instant;

use super::super::congestion::CongestionControl;
use super::ack::Event;
use super::{Sender, State};

/// State of the undo.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `una` at the start of the recovery; `None`: nothing can be undone (`undo_marker`).
    pub(super) marker: Option<u32>,
    /// Retransmissions that were not reported as duplicates; `None`: there were none (`undo_retrans`).
    unproven: Option<u32>,
    /// Slow-start threshold before the reduction; `None`: the reduction is final (`prior_ssthresh`).
    pub(super) threshold: Option<f64>,
    /// First retransmission of this episode (`retrans_stamp`).
    pub(super) repeated_at: Option<Instant>,
    /// Number of the episode, modulo 4.
    episode: u8,
    /// F-RTO waits for the outcome of a timeout.
    pub(super) probes_timeout: bool,
}

impl Undo {
    /// The stamp of a packet sent now; `repairs`: it is a retransmission, which begins an episode.
    pub(super) const fn stamp(&mut self, now: Instant, repairs: bool) -> u8 {
        if repairs {
            if self.repeated_at.is_none() {
                self.repeated_at = Some(now);
                self.episode = (self.episode + 1) & 3;
            }
            self.unproven = match self.unproven {
                Some(count) => Some(count + 1),
                None => Some(1),
            };
        }
        self.episode
    }

    /// For the next connection with the same peer.
    pub(super) fn renewed(self) -> Self {
        Self { episode: self.episode, ..Self::default() }
    }

    /// `packets` retransmissions below packet `end` were reported as duplicates.
    pub(super) fn duplicated(&mut self, end: u32, packets: u32) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.unproven = self.unproven.map(|count| count.saturating_sub(packets));
        }
    }

    /// Was the packet that the acknowledgement echoes sent before the first retransmission of this episode?
    const fn is_original(&self, stamp: u8) -> bool {
        self.repeated_at.is_none() || stamp != self.episode
    }

    fn is_possible(&self, stamp: u8) -> bool {
        self.marker.is_some() && (self.unproven == Some(0) || self.is_original(stamp))
    }
}

impl Sender {
    /// A recovery begins, which may be undone.
    pub(super) fn begin_undo(&mut self) {
        self.undo.marker = Some(self.una);
        let probes = u32::from(self.probed.is_some() && self.probe_repeated);
        self.undo.unproven = Some(self.packets.repeated() + probes).filter(|&count| count > 0);
    }

    /// Was a packet retransmitted that is outstanding?
    pub(super) fn has_retransmitted(&self) -> bool {
        self.packets.repeated() > 0 || self.high > self.una && self.packets.get(self.una).was_repeated
    }

    /// Undoes the reduction. `unmark`: no packet counts as lost any more.
    fn undo(&mut self, now: Instant, unmark: bool) {
        if unmark {
            self.packets.unlose(self.una, self.high);
        }
        if let Some(threshold) = self.undo.threshold {
            self.control.on_undo(&mut self.window, f64::from(self.prr.before));
            if threshold > self.window.ssthresh() {
                self.window.restore_threshold(threshold);
                self.cwr = false;
            }
        }
        self.usage.active(now);
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    /// Everything outstanding at the start of a recovery is acknowledged: undoes it if it was spurious, and ends it.
    pub(super) fn finish_recovery(&mut self, event: &Event) {
        if self.undo.is_possible(event.stamp) {
            self.undo(event.now, false);
        } else {
            self.rack.recovered();
        }
        self.enter(State::Open);
    }

    /// All retransmissions were reported as duplicates.
    pub(super) fn undo_by_duplicates(&mut self, now: Instant) -> bool {
        let all = self.undo.marker.is_some() && self.undo.unproven == Some(0);
        if all {
            self.rack.all_duplicates();
            self.undo(now, false);
        }
        all
    }

    /// After a timeout. `proven`: F-RTO has found that it was spurious.
    pub(super) fn undo_timeout(&mut self, event: &Event, proven: bool) -> bool {
        if !proven && !self.undo.is_possible(event.stamp) {
            return false;
        }
        self.undo(event.now, true);
        self.expirations = 0;
        self.enter(State::Open);
        true
    }

    /// The cumulative acknowledgement has advanced in Recovery. Returns whether nothing more may be retransmitted now.
    pub(super) fn undo_partially(&mut self, event: &Event) -> bool {
        if self.undo.marker.is_none() || !self.undo.is_original(event.stamp) {
            return false;
        }
        self.note_reordering(event.before);
        if self.packets.repeated() > 0 {
            return true;
        }
        if !self.has_retransmitted() {
            self.undo.repeated_at = None;
        }
        self.undo(event.now, true);
        self.try_keep_open();
        false
    }
}
