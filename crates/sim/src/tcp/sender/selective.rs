//! Recovery with selective acknowledgements (RFC 6675), and what goes with it.
//!
//! The window falls at once, and sending resumes when so much has left the network: there is no proportional
//! rate reduction (RFC 6937). A retransmission that is lost again waits for the timer.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;

use super::super::TcpOptions;
use super::super::control::{Acked, Control};
use super::super::reports::Block;
use super::super::scoreboard::{Rules, Scoreboard};
use super::super::window::Window;
use super::{Cut, DUP_THRESHOLD, Sender};

/// What only senders with selective acknowledgements have.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    pub(super) board: Scoreboard,
    pub(super) control: Control,
}

impl Selective {
    pub(super) fn new(options: &TcpOptions, _rng: Rng) -> Self {
        Self { board: Scoreboard::default(), control: Control::new(options.variant) }
    }

    pub(super) fn on_timeout(&mut self, una: u32, high: u32, window: &mut Window) {
        self.board.on_timeout(una, high);
        self.control.on_timeout(window);
    }
}

impl Sender {
    /// Packets that the network is thought to hold; without selective acknowledgements, all outstanding ones.
    pub fn in_flight(&self) -> u32 {
        match &self.selective {
            Some(selective) => selective.board.pipe(self.una, self.high),
            None => self.high - self.una,
        }
    }

    /// DCTCP's estimate of the share of marked packets; none for other senders.
    pub fn marked_share(&self) -> Option<f64> {
        match &self.selective.as_ref()?.control {
            Control::Dctcp(dctcp) => Some(dctcp.alpha()),
            _ => None,
        }
    }

    /// RFC 6675 section 5, step C: is the window at least a packet larger than the pipe? Without limited
    /// transmit what was reported counts as outstanding until recovery begins.
    pub(super) fn has_room_selective(&self) -> bool {
        let counts_all = !self.limited_transmit && !self.in_recovery && !self.after_timeout();
        let outstanding = if counts_all { self.high - self.una } else { self.in_flight() };
        f64::from(outstanding) + 1.0 <= self.window.cwnd()
    }

    fn after_timeout(&self) -> bool {
        self.selective.as_ref().is_some_and(|selective| selective.board.after_timeout(self.una))
    }

    pub(super) fn next_selective(&mut self) -> Option<u32> {
        if !self.has_room_selective() {
            return None;
        }
        let rules = Rules {
            una: self.una,
            high: self.high,
            new_data: self.has_data(self.high) && self.high - self.una < self.receiver_window,
            recovery: self.in_recovery.then_some(self.recover),
        };
        self.selective.as_mut()?.board.next(rules)
    }

    pub(super) fn on_selective_ack(&mut self, now: Instant, ack: u32, ece: bool, blocks: &[Block]) {
        if ack < self.una {
            return;
        }
        let (una, acked, outstanding) = (self.una, ack - self.una, self.high - self.una);
        let Some(selective) = &mut self.selective else { return };
        let mut delivered = 0;
        selective.board.advance(una, ack, |_| delivered += 1);
        let reported = selective.board.report(ack, self.high, blocks, |_| ());
        delivered += reported;
        selective.control.observe(delivered, ece, ack, self.high);
        if ece {
            self.on_mark(ack);
        }
        if acked > 0 {
            self.acknowledge(now, ack);
            self.rearm(now);
        }
        let recovered = self.in_recovery && ack >= self.recover;
        if recovered {
            self.in_recovery = false;
        }
        // RFC 6675 section 2: whatever reports something new is a duplicate acknowledgement.
        if reported > 0 && !self.in_recovery && !self.after_timeout() {
            self.on_report(now);
        }
        if acked > 0 && !self.in_recovery && !ece && !self.is_application_limited(outstanding) {
            let acked = Acked { now, packets: delivered, srtt: self.rtt.precise() };
            if let Some(selective) = &mut self.selective {
                selective.control.grow(&mut self.window, acked);
            }
        }
    }

    /// RFC 6675 section 5, steps 1 to 4, outside of recovery.
    fn on_report(&mut self, now: Instant) {
        self.dup_acks += 1;
        let Some(selective) = &mut self.selective else { return };
        if self.dup_acks < DUP_THRESHOLD && !selective.board.bottom_is_lost(self.una) {
            selective.board.forget_retransmissions(self.una);
            return;
        }
        self.counts.fast_retransmits += 1;
        // A mark in the same window has already reduced it.
        if self.last_cut != Cut::Mark || self.una > self.recover {
            selective.control.on_loss(&mut self.window);
        }
        selective.board.enter_recovery(self.una);
        self.recover = self.high;
        self.last_cut = Cut::FastRetransmit;
        self.in_recovery = true;
        self.timed = None;
        self.retransmit = Some(self.una);
        self.rearm(now);
    }
}
