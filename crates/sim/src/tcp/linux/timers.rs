//! The timer of a sender. It has one of three tasks at a time: the retransmission timeout, a tail loss probe (RFC 8985
//! section 7), or the end of RACK's reordering window.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::states::Cause;
use super::{INITIAL_RTO, Plan, REORDERING, Sender, State, rack};
use crate::engine::due::Due;

/// Task of the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    Retransmission,
    Probe,
    Reordering,
}

impl Sender {
    pub(super) const fn arm(&mut self, timer: Timer, at: Instant) {
        (self.timer, self.timer_at) = (timer, Due::at(at));
    }

    /// Time until the timeout of the first outstanding packet, counted from its last transmission; zero if it has passed.
    fn timeout_of_first(&self, now: Instant) -> Span {
        (self.packets.get(self.una).sent + self.rtt.timeout()).since(now)
    }

    /// Starts the retransmission timer, or stops it if nothing is outstanding (`tcp_rearm_rto`).
    pub(super) fn rearm(&mut self, now: Instant) {
        if self.high == self.una {
            (self.timer, self.timer_at) = (Timer::Retransmission, Due::NEVER);
            return;
        }
        let wait = match self.timer {
            Timer::Retransmission => self.rtt.timeout(),
            Timer::Probe | Timer::Reordering => self.timeout_of_first(now).max(Span::from_micros(1)),
        };
        self.arm(Timer::Retransmission, now + wait);
    }

    /// Starts the timer of a tail loss probe, but not later than the retransmission timer would expire. `advances`: that
    /// timer starts now too. Returns whether a probe is possible.
    pub(super) fn schedule_probe(&mut self, now: Instant, advances: bool) -> bool {
        let outstanding = self.high - self.una;
        if outstanding == 0 || !matches!(self.state, State::Open | State::Reduced) {
            return false;
        }
        let wait = match self.rtt.precise() {
            Span::ZERO => INITIAL_RTO,
            // The receiver may delay the acknowledgement of a single packet.
            srtt if outstanding == 1 => srtt * 2 + self.rtt.min_rto(),
            srtt => srtt * 2 + rack::SLACK,
        };
        let most = if advances { self.rtt.timeout() } else { self.timeout_of_first(now) };
        let wait = if most > Span::ZERO { wait.min(most) } else { wait };
        self.arm(Timer::Probe, now + wait);
        true
    }

    /// Restarts the timer after an acknowledgement (`tcp_set_xmit_timer`).
    pub(super) fn restart_timer(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    pub(in super::super) fn on_deadline(&mut self, now: Instant) {
        if self.stopped || !self.timer_at.has_come(now) {
            return;
        }
        self.timer_at = Due::NEVER;
        self.control.on_event(now);
        if self.high == self.una {
            return;
        }
        match self.timer {
            Timer::Retransmission => self.on_timeout(now),
            Timer::Probe => self.on_probe_timer(now),
            Timer::Reordering => self.on_reordering_timer(now),
        }
    }

    /// Sends a tail loss probe: new data if there is any, else the highest packet again. One at a time.
    fn on_probe_timer(&mut self, now: Instant) {
        if self.probed.is_none() {
            self.probe = Some(if self.has_new() { self.high } else { self.high - 1 });
            self.timer = Timer::Retransmission;
        }
        self.rearm(now);
    }

    /// The retransmission timer has expired (`tcp_enter_loss`): the first outstanding packet is lost, and others that were
    /// sent more than a round trip ago. Reports are kept.
    fn on_timeout(&mut self, now: Instant) {
        self.counts.timeouts += 1;
        let is_new = self.state < State::Recovery;
        for seq in self.una..self.high {
            if seq == self.una || now.since(self.packets.get(seq).sent) >= self.rack.rtt {
                self.lose(now, seq);
            }
        }
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        let reduces = self.state <= State::Disorder
            || self.una >= self.point
            || (self.state == State::Loss && self.expirations == 0);
        if reduces {
            self.undo.threshold = Some(self.current_threshold());
            self.prr.before = cwnd as u32;
            self.begin_undo();
        }
        self.control.on_timeout(&mut self.window, !reduces);
        self.window.forget_credit();
        if !reduces {
            self.window.restore_threshold(ssthresh);
        } else if !self.owns_window {
            self.round_threshold(Cause::Loss);
        }
        self.window.set(f64::from(self.in_flight() + 1));
        if self.state <= State::Disorder && self.packets.reported() >= REORDERING {
            self.reordering = self.reordering.min(REORDERING);
        }
        self.state = State::Loss;
        self.point = self.high;
        (self.probed, self.probe) = (None, None);
        self.cwr |= self.sends_cwr;
        self.undo.probes_timeout = is_new || self.expirations > 0;
        self.expirations += 1;
        self.usage.active(now);
        self.rtt.double();
        self.plan = Plan::Lost;
        self.arm(Timer::Retransmission, now + self.rtt.timeout());
    }
}
