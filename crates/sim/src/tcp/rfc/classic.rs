//! Recovery by counting duplicate acknowledgements: Tahoe, Reno (RFC 5681) and NewReno (RFC 6582).

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::{CongestionControl, Feedback, Progress, Recovery};
use super::{Cut, DUP_THRESHOLD, Sender};

impl Sender {
    /// The next packet in order, if the window allows one.
    #[inline]
    pub(super) fn next_in_order(&mut self) -> Option<u32> {
        let outstanding = self.next.wrapping_sub(self.una);
        if outstanding >= self.allowed() || !self.has_data(self.next) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// As `next_in_order`, for a congestion control that is notified of each packet: its burst limit applies, and it is
    /// notified when the application has no data.
    pub(super) fn next_tracked(&mut self) -> Option<u32> {
        let outstanding = self.next.wrapping_sub(self.una);
        if !self.burst_allows(outstanding) {
            return None;
        }
        let next = self.next_in_order();
        if next.is_none() && !self.has_data(self.next) {
            self.control.on_out_of_data(outstanding);
        }
        next
    }

    /// Packets that may be outstanding now.
    #[inline]
    pub(super) fn allowed(&self) -> u32 {
        let limited =
            if self.limited_transmit && !self.in_recovery && self.dup_acks < DUP_THRESHOLD { self.dup_acks } else { 0 };
        let window = (self.window.cwnd() + f64::from(self.inflation)) as u32 + limited;
        window.min(self.receiver_window)
    }

    /// Handles an acknowledgement without selective blocks.
    #[inline]
    pub(super) fn on_classic_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        if ece {
            self.on_mark(now, ack);
        }
        if ack > self.una {
            self.on_new_ack(now, ack, ece);
        } else if ack == self.una && self.high > self.una {
            self.on_duplicate(now);
        }
    }

    /// As `on_classic_ack`, for a congestion control that is notified of each packet: also notifies it.
    #[inline(never)]
    pub(super) fn on_tracked_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        let (una, in_flight, retransmit) = (self.una, self.in_flight(), self.retransmit);
        let delivered = ack.saturating_sub(una);
        (una..una + delivered).for_each(|seq| self.control.on_delivered(now, seq));
        self.control.on_feedback(Feedback {
            delivered,
            marked: if ece { delivered } else { 0 },
            una: una + delivered,
            high: self.high,
        });
        let goes_back = match self.last_cut {
            Cut::Timeout => una < self.recover,
            Cut::FastRetransmit => una < self.recover && self.recovery == Recovery::GoBackN,
            Cut::None | Cut::Mark => false,
        };
        let ends_early = self.in_recovery && self.recovery == Recovery::FirstHole;
        let is_repaired = (self.in_recovery || goes_back) && ack >= self.recover;
        if delivered > 0 && (ends_early || is_repaired) {
            self.control.on_recovered(&mut self.window);
        }
        self.on_classic_ack(now, ack, ece);
        let progress = Progress {
            now,
            in_flight: (in_flight, self.in_flight()),
            lost: u32::from(self.retransmit.is_some() && self.retransmit != retransmit),
            delivered,
            marked: if ece { delivered } else { 0 },
            is_done: self.una == self.high,
            una: self.una,
            high: self.high,
            srtt: self.rtt.precise(),
            is_limited: !self.is_application_limited(self.high - una),
            pause: Span::ZERO,
        };
        self.control.after_ack(&mut self.window, progress);
    }

    #[inline]
    pub(super) fn on_new_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        let acked = ack - self.una;
        let outstanding = self.high - self.una;
        self.acknowledge(now, ack, ece);
        if self.in_recovery && self.recovery == Recovery::PartialAcks && ack < self.recover {
            self.on_partial_ack(now, acked);
            return;
        }
        self.in_recovery = false;
        self.inflation = 0;
        if !ece {
            let limited = self.is_application_limited(outstanding);
            if self.is_plain && !limited {
                self.window.grow();
            } else {
                self.used(now, acked, limited);
            }
        }
        self.rearm(now);
    }

    /// RFC 6582 section 3.2 step 3: a partial acknowledgement reveals the next hole. Retransmit it, and deflate the
    /// window by the packets acknowledged, less one. Only the first partial acknowledgement restarts the timer.
    fn on_partial_ack(&mut self, now: Instant, acked: u32) {
        if !self.partial_seen {
            self.partial_seen = true;
            self.rearm(now);
        }
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.window.deflate(f64::from(acked - self.inflation));
            self.inflation = 1;
        }
        self.retransmit = Some(self.una);
    }

    pub(super) fn on_duplicate(&mut self, now: Instant) {
        if self.last_cut == Cut::Timeout && self.una < self.recover && !self.duplicates_release_retransmissions() {
            // Retransmissions cause these. RFC 3042 releases new data only.
            return;
        }
        self.dup_acks += 1;
        if self.in_recovery {
            self.inflation += 1;
        } else if self.dup_acks == DUP_THRESHOLD && self.may_fast_retransmit() {
            self.fast_retransmit(now);
        }
    }

    /// May a fast retransmit begin? Not before all packets below `recover`, the end of the latest loss episode, are
    /// acknowledged, so that each loss episode has only one reduction (RFC 6582 section 3.2 step 2, here for every
    /// recovery).
    pub(super) fn may_fast_retransmit(&self) -> bool {
        // A mark set `recover`, and nothing has been retransmitted yet.
        let again = self.last_cut == Cut::Mark;
        self.una > self.recover || self.recover == 0 || again
    }

    fn fast_retransmit(&mut self, now: Instant) {
        self.counts.fast_retransmits += 1;
        // A mark in the same window of data has already halved the window.
        let reduced = self.last_cut == Cut::Mark && self.una <= self.recover;
        self.recover = self.high;
        self.note_cut(Cut::FastRetransmit, true);
        self.timed = None;
        if self.recovery == Recovery::GoBackN {
            let ssthresh = self.window.ssthresh();
            self.control.on_loss(&mut self.window);
            if reduced {
                self.window.restore_threshold(ssthresh);
            }
            self.next = self.una;
        } else {
            if !reduced {
                self.control.on_loss(&mut self.window);
            }
            self.in_recovery = true;
            self.partial_seen = false;
            self.inflation = DUP_THRESHOLD;
            self.retransmit = Some(self.una);
        }
        self.rearm(now);
    }
}
