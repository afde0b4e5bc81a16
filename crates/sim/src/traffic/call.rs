//! A handshake packet or request that is retransmitted until the other end answers.

use forebay_aqm::base::time::{Instant, Span};

use crate::engine::due::Due;
use crate::tcp::rtt::{Rtt, RttOptions};
use crate::tcp::sender::Handshake;

/// State of a packet that needs an answer.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    rtt: Rtt,
    /// Time of the last transmission.
    sent: Instant,
    retransmissions: u32,
    /// Number of expirations of the timer at which the timeout does not double.
    linear: u32,
    /// Time from the last transmission to the answer.
    round_trip: Span,
    due: Due,
}

impl Call {
    /// State before the first transmission. `linear`: number of expirations of the timer, before the first answer, at which
    /// the timeout does not double.
    pub(crate) fn new(options: RttOptions, linear: u32) -> Self {
        let (sent, round_trip) = (Instant::ZERO, Span::ZERO);
        Self { rtt: Rtt::new(options), sent, retransmissions: 0, linear, round_trip, due: Due::NEVER }
    }

    /// First transmission. The timer starts from the current round-trip estimate.
    pub(crate) fn send(&mut self, now: Instant) {
        self.rtt.end_backoff();
        (self.sent, self.retransmissions, self.due) = (now, 0, self.expiry(now));
    }

    /// The timer has expired: retransmits. The timeout doubles (RFC 6298 rule 5.5), except at the first `linear` expirations.
    pub(crate) fn send_again(&mut self, now: Instant) {
        if self.retransmissions >= self.linear {
            self.rtt.back_off();
        }
        self.repeat(now);
        self.due = self.expiry(now);
    }

    /// Retransmits because the other end sent its packet again; the timer is unchanged.
    pub(crate) const fn repeat(&mut self, now: Instant) {
        self.sent = now;
        self.retransmissions += 1;
    }

    /// The answer to a handshake packet: measures the round trip, unless the packet was sent more than once (Karn's
    /// algorithm, RFC 6298 section 3).
    pub(crate) fn answered(&mut self, now: Instant) {
        (self.due, self.linear) = (Due::NEVER, 0);
        self.round_trip = now.since(self.sent);
        if self.retransmissions > 0 {
            self.rtt.begin_after_lost_syn();
        } else {
            self.rtt.measure(self.sent, now);
        }
    }

    /// Stops waiting for an answer.
    pub(crate) const fn drop_timer(&mut self) {
        self.due = Due::NEVER;
    }

    /// Time of the next retransmission.
    pub(crate) const fn due(&self) -> Due {
        self.due
    }

    /// The result for this end.
    pub(crate) fn result(&self, syn_lost: bool) -> Handshake {
        let Self { rtt, retransmissions, round_trip, .. } = self;
        Handshake {
            rtt: rtt.clone(),
            retransmissions: *retransmissions,
            round_trip: *round_trip,
            syn_lost,
            counts_as_loss: false,
        }
    }

    fn expiry(&self, now: Instant) -> Due {
        Due::at(now + self.rtt.timeout())
    }
}
