//! Reads the state of a TCP sender, such as its slow-start threshold, for measurements and tests.

use forebay_aqm::base::time::Span;

use super::super::rtt::Rtt;
use super::Sender;

impl Sender {
    /// Slow-start threshold in packets.
    pub const fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    /// Smoothed round-trip time and timeout estimator.
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Number of packets that are cumulatively acknowledged.
    pub const fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Returns the latest measured round-trip time once. `None`: there is no new measurement since the last call.
    #[inline]
    pub const fn take_round_trip(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    /// Checks the sequence space: `una` <= `next` <= `high`.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.una <= self.next && self.next <= self.high { Ok(()) } else { Err("una <= next <= high") }
    }
}
