//! A packet that one end sends again until the other answers: of a handshake, or a request.

use forebay_aqm::base::time::Instant;

use crate::engine::due::Due;
use crate::tcp::rtt::{Rtt, RttOptions};

/// What an end says, until it is answered.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    rtt: Rtt,
    sent: Instant,
    repeated: bool,
    due: Due,
}

impl Call {
    /// Nothing said yet.
    pub(crate) fn new(options: RttOptions) -> Self {
        Self { rtt: Rtt::new(options), sent: Instant::ZERO, repeated: false, due: Due::NEVER }
    }

    /// A packet leaves for the first time, its timer what is known of the round trip.
    pub(crate) fn send(&mut self, now: Instant) {
        self.rtt.end_backoff();
        (self.sent, self.repeated, self.due) = (now, false, self.expiry(now));
    }

    /// The timer has expired: the packet leaves again, and twice the time is left for an answer (RFC 6298 rule 5.5).
    pub(crate) fn send_again(&mut self, now: Instant) {
        self.rtt.back_off();
        (self.repeated, self.due) = (true, self.expiry(now));
    }

    /// The packet leaves once more because the other end asked again; the timer goes on.
    pub(crate) const fn repeat(&mut self) {
        self.repeated = true;
    }

    /// The answer to a packet of the handshake: a round trip, unless nobody could tell which packet it answers (Karn's
    /// algorithm, RFC 6298 section 3).
    pub(crate) fn answered(&mut self, now: Instant) {
        self.due = Due::NEVER;
        if self.repeated {
            self.rtt.begin_after_lost_syn();
        } else {
            self.rtt.measure(self.sent, now);
        }
    }

    /// No answer is waited for.
    pub(crate) const fn drop_timer(&mut self) {
        self.due = Due::NEVER;
    }

    /// When the packet is sent again.
    pub(crate) const fn due(&self) -> Due {
        self.due
    }

    /// Was the packet sent more than once?
    pub(crate) const fn repeated(&self) -> bool {
        self.repeated
    }

    /// What this end knows of the round trip.
    pub(crate) const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    fn expiry(&self, now: Instant) -> Due {
        Due::at(now + self.rtt.timeout())
    }
}
