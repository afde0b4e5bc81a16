//! Recovery by counting duplicate acknowledgements: Tahoe, Reno (RFC 5681) and NewReno (RFC 6582).

use forebay_aqm::base::time::Instant;

use super::super::Recovery;
use super::{Cut, DUP_THRESHOLD, Sender};

impl Sender {
    /// The next packet in order, if the window allows one.
    #[inline]
    pub(super) fn next_in_order(&mut self) -> Option<u32> {
        if self.next.wrapping_sub(self.una) >= self.allowed() || !self.has_data(self.next) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Packets that may be outstanding now.
    #[inline]
    pub(super) fn allowed(&self) -> u32 {
        let limited =
            if self.limited_transmit && !self.in_recovery && self.dup_acks < DUP_THRESHOLD { self.dup_acks } else { 0 };
        let window = (self.window.cwnd() + f64::from(self.inflation)) as u32 + limited;
        window.min(self.receiver_window)
    }

    #[inline]
    pub(super) fn on_new_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        let acked = ack - self.una;
        let outstanding = self.high - self.una;
        self.acknowledge(now, ack, ece);
        if self.in_recovery && self.recovery == Recovery::NewReno && ack < self.recover {
            self.on_partial_ack(now, acked);
            return;
        }
        self.in_recovery = false;
        self.inflation = 0;
        if !(ece || self.is_application_limited(outstanding)) {
            self.window.grow();
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
        self.dup_acks += 1;
        if self.in_recovery {
            self.inflation += 1;
        } else if self.dup_acks == DUP_THRESHOLD && self.may_fast_retransmit() {
            self.fast_retransmit(now);
        }
    }

    /// One reduction per loss episode: no second one before `recover` is acknowledged (RFC 6582 section 3.2 step 2).
    /// As in ns-2 this applies to Reno too: Reno leaves fast recovery with the first new acknowledgement, and further
    /// holes of the same window wait for the timer.
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
        if self.recovery == Recovery::Tahoe {
            let ssthresh = self.window.ssthresh();
            self.window.collapse_for_loss();
            if reduced {
                self.window.restore_threshold(ssthresh);
            }
            self.next = self.una;
        } else {
            if !reduced {
                self.window.halve();
            }
            self.in_recovery = true;
            self.partial_seen = false;
            self.inflation = DUP_THRESHOLD;
            self.retransmit = Some(self.una);
        }
        self.rearm(now);
    }
}
