//! The congestion states and their changes (`tcp_fastretrans_alert`).

use forebay_aqm::base::time::Instant;

use super::super::congestion::CongestionControl;
use super::super::window::MIN_SSTHRESH;
use super::ack::Event;
use super::prr::Prr;
use super::{MAX_REORDERING, Plan, Sender, State};

/// Cause of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    Loss,
    Mark,
    ProbeRepair,
}

impl Sender {
    /// Changes the state without an episode of its own.
    pub(super) fn enter(&mut self, state: State) {
        let repaired = self.state >= State::Recovery && state < State::Reduced;
        self.state = state;
        if repaired {
            self.control.on_recovered(&mut self.window);
        }
    }

    /// The slow-start threshold, at least three quarters of the window outside of a reduction (`tcp_current_ssthresh`).
    pub(super) fn current_threshold(&self) -> f64 {
        let cwnd = self.window.cwnd() as u32;
        let used = if self.is_reducing() { 0 } else { cwnd / 2 + cwnd / 4 };
        self.window.ssthresh().max(f64::from(used))
    }

    /// Rounds the slow-start threshold that the control has set down to packets. After a mark that reduces by less than a
    /// loss Linux rounds the reduction down.
    pub(super) fn round_threshold(&mut self, cause: Cause) {
        let threshold = self.window.ssthresh();
        let whole = if cause == Cause::Mark && !self.mark_is_loss { libm::ceil } else { libm::floor };
        self.window.restore_threshold(whole(threshold).max(MIN_SSTHRESH));
    }

    /// Begins a reduction (`tcp_init_cwnd_reduction`). The window stays, unless the control owns it; PRR reduces it.
    pub(super) fn begin_reduction(&mut self, cause: Cause) {
        let cwnd = self.window.cwnd();
        self.point = self.high;
        self.probed = None;
        self.window.forget_credit();
        self.prr = Prr::new(cwnd as u32);
        self.set_target(cause);
        self.cwr |= self.sends_cwr;
    }

    /// The control sets the threshold.
    fn set_target(&mut self, cause: Cause) {
        let cwnd = self.window.cwnd();
        match cause {
            Cause::Loss => self.control.on_loss(&mut self.window),
            Cause::Mark => self.control.on_mark(&mut self.window),
            Cause::ProbeRepair => self.control.on_probe_repair(&mut self.window),
        }
        if !self.owns_window {
            self.window.set(cwnd);
            self.round_threshold(cause);
        }
    }

    /// Ends a reduction: the window becomes the threshold, unless the reduction was undone.
    pub(super) fn end_reduction(&mut self, now: Instant) {
        let threshold = self.window.ssthresh();
        let holds = self.state == State::Reduced || self.undo.marker.is_some();
        if !self.owns_window && threshold.is_finite() && holds {
            self.window.set(threshold);
            self.usage.active(now);
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Instant, marked: bool) {
        if !self.has_retransmitted() {
            self.undo.repeated_at = None;
        }
        self.undo.threshold = None;
        self.begin_undo();
        if !self.is_reducing() {
            if !marked {
                self.undo.threshold = Some(self.current_threshold());
            }
            self.begin_reduction(Cause::Loss);
        } else if self.state == State::Reduced && !self.mark_is_loss {
            self.set_target(Cause::Loss);
        }
        self.counts.fast_retransmits += 1;
        self.state = State::Recovery;
        self.usage.active(now);
    }

    /// A mark reduces the window, at most once a round. It proves congestion: nothing is undone.
    fn enter_reduced(&mut self) {
        self.undo.threshold = None;
        if self.state < State::Reduced {
            self.undo.marker = None;
            self.begin_reduction(Cause::Mark);
            self.state = State::Reduced;
            self.counts.ecn_cuts += 1;
        }
    }

    /// Open, or Disorder if packets are reported out of order or lost.
    pub(super) fn try_keep_open(&mut self) {
        let disorder = self.packets.reported() + self.packets.lost() > 0 || self.has_retransmitted();
        let state = if disorder { State::Disorder } else { State::Open };
        if self.state != state {
            self.enter(state);
            self.point = self.high;
        }
    }

    fn try_to_open(&mut self, event: &Event) {
        if !self.has_retransmitted() {
            self.undo.repeated_at = None;
        }
        if event.echo {
            self.enter_reduced();
        }
        if self.state != State::Reduced {
            self.try_keep_open();
        }
    }

    /// Packet `seq` arrived after packets above it that were sent later: reordering.
    pub(super) fn note_reordering(&mut self, seq: u32) {
        let top = self.packets.top(self.una);
        if seq < top {
            self.reordering = self.reordering.max((top - seq).min(MAX_REORDERING));
            self.reordered = self.reordered.saturating_add(1);
        }
    }

    /// The outcome of a tail loss probe (`tcp_process_tlp_ack`).
    pub(super) fn end_probe(&mut self, event: &Event) {
        let Some(end) = self.probed.filter(|&end| event.ack >= end) else { return };
        let no_loss = !self.probe_repeated || event.probe_duplicated;
        if !no_loss && event.ack > end {
            // The probe has repaired a loss.
            self.begin_reduction(Cause::ProbeRepair);
            self.state = State::Reduced;
            self.end_reduction(event.now);
            self.try_keep_open();
        } else if no_loss || !(event.advanced || event.reported) {
            self.probed = None;
        }
    }

    /// An unusual acknowledgement, or one outside of Open: changes the state, and finds losses.
    pub(super) fn on_alert(&mut self, event: &mut Event) {
        if event.echo {
            self.undo.threshold = None;
        }
        if self.state == State::Open {
            self.undo.repeated_at = None;
        } else if self.una >= self.point {
            match self.state {
                // One packet above, so that CWR reaches the receiver.
                State::Reduced if self.una > self.point => {
                    self.end_reduction(event.now);
                    self.enter(State::Open);
                }
                State::Recovery => {
                    self.finish_recovery(event);
                    self.end_reduction(event.now);
                }
                State::Open | State::Disorder | State::Reduced | State::Loss => {}
            }
        }
        match self.state {
            State::Recovery => {
                if event.advanced && self.undo_partially(event) {
                    return;
                }
                if self.undo_by_duplicates(event.now) {
                    self.try_to_open(event);
                }
                self.find_losses(event);
                if self.state != State::Recovery {
                    if self.packets.lost() == 0 {
                        return;
                    }
                    self.enter_recovery(event.now, event.echo);
                }
                self.plan = Plan::Lost;
            }
            State::Loss => {
                self.on_ack_after_timeout(event);
                self.find_losses(event);
                if self.state == State::Open || event.lost_again {
                    self.on_alert_outside_recovery(event);
                }
            }
            State::Open | State::Disorder | State::Reduced => self.on_alert_outside_recovery(event),
        }
    }

    fn on_alert_outside_recovery(&mut self, event: &mut Event) {
        if self.state <= State::Disorder {
            self.undo_by_duplicates(event.now);
        }
        self.find_losses(event);
        if self.packets.lost() == 0 {
            self.try_to_open(event);
            return;
        }
        self.enter_recovery(event.now, event.echo);
        self.plan = Plan::Lost;
    }

    fn find_losses(&mut self, event: &mut Event) {
        let repeated = self.packets.repeated();
        event.keeps_timer |= self.identify_losses(event.now);
        event.lost_again |= self.packets.repeated() < repeated;
    }

    /// After a timeout (`tcp_process_loss`): ends when everything outstanding then is acknowledged, or with the proof that
    /// it was spurious.
    fn on_ack_after_timeout(&mut self, event: &Event) {
        let recovered = self.una >= self.point;
        if event.advanced && self.undo_timeout(event, false) {
            return;
        }
        if self.undo.probes_timeout {
            // RFC 5682 section 3.1 step 3.b: packets arrived that were never retransmitted.
            if event.original && self.undo_timeout(event, true) {
                return;
            }
            if self.high > self.point {
                // Step 3.a.
                self.undo.probes_timeout &= !(event.reported || event.is_duplicate());
            } else if event.advanced && !recovered {
                self.point = self.high;
                // Step 2.b.
                if self.has_new() {
                    self.plan = Plan::NewFirst;
                    return;
                }
                self.undo.probes_timeout = false;
            }
        }
        if recovered {
            self.finish_recovery(event);
        } else {
            self.plan = Plan::Lost;
        }
    }
}
