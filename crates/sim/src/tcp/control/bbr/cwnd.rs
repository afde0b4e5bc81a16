//! BBR's window: a cap on the packets in flight, and its changes in loss recovery (section 4.2.3 of the BBR draft).

use super::super::super::congestion::Progress;
use super::super::super::window::Window;
use super::{Bbr, MIN_CWND, Phase};

/// Section 4.2.3.2: allowance of three quanta for delayed and stretched acknowledgements.
const QUANTA: f64 = 3.0;

impl Bbr {
    /// Section 4.2.3.2: packets in flight for `gain` times the bandwidth-delay product.
    pub(super) fn in_flight_for(&self, gain: f64) -> f64 {
        self.packets_for(gain * self.bandwidth(), 0.0)
    }

    /// Packets in flight at `rate` packets per second, with `extra` packets for aggregated acknowledgements.
    fn packets_for(&self, rate: f64, extra: f64) -> f64 {
        let Some(rtt) = self.min_rtt else { return self.initial_window };
        let product = rate * rtt.secs();
        if self.host.is_some() { self.budget(libm::ceil(product) + extra) } else { product + QUANTA }
    }

    /// Sections 4.2.3.4 to 4.2.3.6: sets the window.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, progress: Progress, delivered: u32) {
        let (in_flight, delivered) = (f64::from(progress.in_flight.1), f64::from(delivered));
        let mut cwnd = window.cwnd();
        if self.host.is_some() {
            if delivered == 0.0 {
                self.cap(window, cwnd);
                return;
            }
            cwnd = self.update_recovery(window, progress, delivered);
        } else if core::mem::take(&mut self.entering) {
            cwnd = in_flight + delivered.max(1.0);
        } else if self.in_recovery {
            cwnd = (cwnd - f64::from(progress.lost)).max(1.0);
        }
        if self.conserving {
            cwnd = cwnd.max(in_flight + delivered);
        } else {
            let target = self.packets_for(self.cwnd_gain * self.sending_bandwidth(), self.extra());
            if self.filled_pipe {
                cwnd = (cwnd + delivered).min(target);
            } else if cwnd < target || (self.sampler.delivered as f64) < self.initial_window {
                cwnd += delivered;
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        self.cap(window, cwnd);
    }

    fn cap(&self, window: &mut Window, cwnd: f64) {
        window.set(if self.phase == Phase::ProbeRtt { cwnd.min(MIN_CWND) } else { cwnd });
    }

    /// Section 4.2.3.3: saves the window before recovery or ProbeRTT.
    pub(super) fn save(&mut self, window: &Window) {
        let keeps = self.in_recovery || self.phase == Phase::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(window.cwnd()) } else { window.cwnd() };
    }

    pub(super) fn restore(&self, window: &mut Window) {
        window.set(window.cwnd().max(self.prior_cwnd));
    }
}
