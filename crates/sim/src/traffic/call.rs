//! A handshake packet or request that is retransmitted until the other end answers.

use forebay_aqm::base::time::Instant;

use crate::engine::due::Due;
use crate::tcp::rtt::{Rtt, RttOptions};

/// State of a packet that needs an answer.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    rtt: Rtt,
    sent: Instant,
    repeated: bool,
    due: Due,
}

impl Call {
    /// State before the first transmission.
    pub(crate) fn new(options: RttOptions) -> Self {
        Self { rtt: Rtt::new(options), sent: Instant::ZERO, repeated: false, due: Due::NEVER }
    }

    /// First transmission. The timer starts from the current round-trip estimate.
    pub(crate) fn send(&mut self, now: Instant) {
        self.rtt.end_backoff();
        (self.sent, self.repeated, self.due) = (now, false, self.expiry(now));
    }

    /// The timer has expired: retransmits with a doubled timeout (RFC 6298 rule 5.5).
    pub(crate) fn send_again(&mut self, now: Instant) {
        self.rtt.back_off();
        (self.repeated, self.due) = (true, self.expiry(now));
    }

    /// Retransmits because the other end sent its packet again; the timer is unchanged.
    pub(crate) const fn repeat(&mut self) {
        self.repeated = true;
    }

    /// The answer to a handshake packet: measures the round trip, unless the packet was sent more than once (Karn's
    /// algorithm, RFC 6298 section 3).
    pub(crate) fn answered(&mut self, now: Instant) {
        self.due = Due::NEVER;
        if self.repeated {
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

    /// Was the packet sent more than once?
    pub(crate) const fn repeated(&self) -> bool {
        self.repeated
    }

    /// This end's round-trip estimate.
    pub(crate) const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    fn expiry(&self, now: Instant) -> Due {
        Due::at(now + self.rtt.timeout())
    }
}
