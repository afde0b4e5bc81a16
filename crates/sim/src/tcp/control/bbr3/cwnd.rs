//! The window (section 5.6.4).

use super::super::super::window::Window;
use super::cycle::State;
use super::{Bbr3, MIN_CWND};

/// Section 5.6.4.2: packets added in UP, for acknowledgements that arrive late.
const UP_EXTRA: f64 = 2.0;

impl Bbr3 {
    /// BBRSetCwnd: grows by what is delivered, up to the model's cap, then applies the bounds.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, delivered: u32) {
        let mut cwnd = window.cwnd();
        let product = self.model.flight_for(self.model.bandwidth(), self.cwnd_gain);
        let cap = product.map_or(self.initial_window, |product| {
            (product + self.extra_acked.get()).max(MIN_CWND) + if self.state == State::Up { UP_EXTRA } else { 0.0 }
        });
        if self.full_reached {
            cwnd = (cwnd + f64::from(delivered)).min(cap);
        } else if cwnd < cap || (self.sampler.delivered as f64) < self.initial_window {
            cwnd += f64::from(delivered);
        }
        cwnd = cwnd.max(MIN_CWND);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        window.set(cwnd.min(self.bound()));
        self.cwnd = window.cwnd();
    }

    /// BBRBoundCwndForModel.
    fn bound(&self) -> f64 {
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.model.flight_long,
            State::Cruise | State::ProbeRtt => self.model.flight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        long.min(self.model.flight_short).max(MIN_CWND)
    }

    /// BBRSaveCwnd: the window before recovery or ProbeRTT.
    pub(super) fn save(&mut self, window: &Window) {
        let keeps = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(window.cwnd()) } else { window.cwnd() };
    }

    pub(super) fn restore(&self, window: &mut Window) {
        window.set(window.cwnd().max(self.prior_cwnd));
    }
}
