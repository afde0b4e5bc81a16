//! RACK (RFC 8985): a packet is lost if a packet sent later has arrived, and a round trip and the reordering window have
//! passed since it was sent. Retransmissions are covered too.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::packets::Packet;
use super::timers::Timer;
use super::{Sender, State};

/// Recoveries over which a widened reordering window stays (RFC 8985 section 6.2 step 4).
const PERSISTS: u32 = 16;
/// Largest reordering window in steps of a quarter of the minimum round trip.
const MAX_STEPS: u32 = 255;
/// Linux adds this to the timer of the reordering window (`TCP_TIMEOUT_MIN_US`).
pub(super) const SLACK: Span = Span::from_millis(2);

/// State of RACK.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Time of sending and number of the delivered packet that was sent last.
    newest: (Instant, u32),
    /// Round trip of the packet delivered last.
    pub(super) rtt: Span,
    /// Reordering window in steps of a quarter of the minimum round trip.
    steps: u32,
    /// Recoveries for which the window stays as it is.
    pub(super) persists: u32,
    /// A packet was delivered since the last detection.
    pub(super) advanced: bool,
    /// A duplicate was reported that waits for the next update of the window.
    pub(super) duplicate: bool,
    /// Packets delivered at the last update of the window.
    updated: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: (Instant::ZERO, 0),
            rtt: Span::ZERO,
            steps: 1,
            persists: 0,
            advanced: false,
            duplicate: false,
            updated: 0,
        }
    }
}

impl Rack {
    /// A packet is delivered. A retransmission that seems to arrive within the minimum round trip is the original, and
    /// tells nothing.
    pub(super) fn deliver(&mut self, now: Instant, seq: u32, packet: &Packet, min_rtt: Option<Span>) {
        let rtt = now.since(packet.sent);
        if packet.was_repeated && min_rtt.is_some_and(|least| rtt < least) {
            return;
        }
        (self.advanced, self.rtt) = (true, rtt);
        // One above the number, so that packet 0 at time 0 is newer than none.
        self.newest = self.newest.max((packet.sent, seq + 1));
    }

    /// A delivery ends a recovery without undo.
    pub(super) const fn recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
    }

    /// All retransmissions of a recovery were reported as duplicates.
    pub(super) fn all_duplicates(&mut self) {
        self.persists = (self.persists + 1).min(PERSISTS);
    }

    /// Widens the reordering window after a report of a duplicate, at most once a round. `prior`: packets delivered when
    /// the newest packet of this acknowledgement was sent; `delivered`: now.
    pub(super) fn update_window(&mut self, prior: Option<u32>, delivered: u32) {
        let Some(prior) = prior else { return };
        if (prior.wrapping_sub(self.updated) as i32) < 0 {
            self.duplicate = false;
        }
        if core::mem::take(&mut self.duplicate) {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            (self.updated, self.persists) = (delivered, PERSISTS);
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }
}

impl Sender {
    /// The time by which packets may be reordered.
    fn reordering_window(&self) -> Span {
        let decided = self.state >= State::Recovery || self.packets.reported() >= self.reordering;
        if self.reordered == 0 && decided {
            return Span::ZERO;
        }
        let least = self.min_rtt.get().unwrap_or(Span::ZERO).nanos() / 4;
        Span::from_nanos(least * u64::from(self.rack.steps)).min(self.rtt.precise())
    }

    /// Marks the packets that are lost. Returns the time until the last of the others could be lost, zero if there is none.
    pub(super) fn detect_losses(&mut self, now: Instant) -> Span {
        let deadline = self.rack.rtt + self.reordering_window();
        let mut wait = Span::ZERO;
        let mut next = self.packets.oldest();
        while let Some(seq) = next {
            next = self.packets.later(seq);
            let packet = self.packets.get(seq);
            if packet.is_lost && !packet.is_repeated {
                continue;
            }
            if (packet.sent, seq + 1) >= self.rack.newest {
                break;
            }
            let age = now.since(packet.sent);
            if age >= deadline {
                self.lose(now, seq);
                self.packets.unlink(seq);
            } else {
                wait = wait.max(Span::from_nanos(deadline.nanos() - age.nanos()));
            }
        }
        wait
    }

    /// Considers packet `seq` lost, and notifies the congestion control if this is new.
    pub(super) fn lose(&mut self, now: Instant, seq: u32) {
        if self.packets.lose(seq) {
            self.lost = self.lost.wrapping_add(1);
            self.control.on_lost(now, seq);
        }
    }

    /// Detects losses after an acknowledgement, and sets the timer for packets that may yet be lost. Returns whether it is
    /// set.
    pub(super) fn identify_losses(&mut self, now: Instant) -> bool {
        if self.high == self.una || !core::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.detect_losses(now);
        if wait == Span::ZERO {
            return false;
        }
        self.arm(Timer::Reordering, now + (wait + SLACK).min(self.rtt.timeout()));
        true
    }

    /// The timer of the reordering window has expired: enters recovery if packets are lost.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) {
        let (before, lost) = (self.in_flight(), self.lost);
        self.detect_losses(now);
        if self.in_flight() != before {
            if self.state != State::Recovery {
                self.enter_recovery(now, false);
                if !self.owns_window {
                    self.reduce_proportionally(1, self.lost.wrapping_sub(lost), false);
                }
            }
            self.plan = super::Plan::Lost;
        }
        if self.timer != Timer::Retransmission {
            self.rearm(now);
        }
    }
}
