//! BBR's window: a cap on the packets in flight, and its changes in loss recovery (section 4.2.3 of the BBR draft).

use super::super::super::congestion::Progress;
use super::super::super::window::Window;
use super::{Bbr, MIN_CWND, Phase};

/// Section 4.2.3.2: allowance of three quanta for delayed and stretched acknowledgements.
const QUANTA: f64 = 3.0;

impl Bbr {
    /// Section 4.2.3.2: packets in flight for `gain` times the bandwidth-delay product.
    pub(super) fn in_flight_for(&self, gain: f64) -> f64 {
        self.with_allowance(gain, 0.0)
    }

    /// As [`in_flight_for`](Self::in_flight_for), with `extra` packets for aggregated acknowledgements.
    fn with_allowance(&self, gain: f64, extra: f64) -> f64 {
        let Some(rtt) = self.min_rtt else { return self.initial_window };
        let product = gain * self.bandwidth() * rtt.secs();
        if self.host.is_some() { self.budget(libm::ceil(product) + extra) } else { product + QUANTA }
    }

    /// Sections 4.2.3.4 to 4.2.3.6: sets the window.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, progress: Progress, delivered: u32) {
        let (in_flight, delivered) = (f64::from(progress.in_flight.1), f64::from(delivered));
        let mut cwnd = window.cwnd();
        if core::mem::take(&mut self.entering) {
            cwnd = in_flight + delivered.max(1.0);
        } else if self.in_recovery {
            cwnd = (cwnd - f64::from(progress.lost)).max(1.0);
        }
        if self.conserving {
            cwnd = cwnd.max(in_flight + delivered);
        } else {
            let target = self.with_allowance(self.cwnd_gain, self.extra());
            if self.filled_pipe {
                cwnd = (cwnd + delivered).min(target);
            } else if cwnd < target || (self.sampler.delivered as f64) < self.initial_window {
                cwnd += delivered;
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        if self.phase == Phase::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        window.set(cwnd);
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
