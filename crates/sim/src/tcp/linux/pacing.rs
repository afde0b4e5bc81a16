//! Pacing as Linux does it (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`).

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::super::gate;
use super::Sender;

/// Packets of a connection that are not paced.
const UNPACED: u32 = 10;

impl Sender {
    /// A packet was sent: sets the time of the next one.
    pub(super) fn pace(&mut self, now: Instant, again: bool) {
        self.sent = self.sent.saturating_add(1);
        let outstanding = f64::from(self.high - self.una);
        let own = self.control.pacing_interval();
        let interval = own.unwrap_or_else(|| gate::interval_of(&self.window, outstanding, self.rtt.precise()));
        let is_paced = self.sent >= UNPACED;
        if let Some(gate) = &mut self.gate {
            let burst = if again { 1 } else { self.control.burst() };
            gate.sent_in_burst(now, if is_paced { interval } else { Span::ZERO }, burst);
        }
    }
}
