//! Is the window the limit of sending, or the application (`tcp_cwnd_validate`)? An unused window does not grow, and shrinks.

use forebay_aqm::base::time::Instant;

use super::super::congestion::CongestionControl;
use super::{Sender, State};

/// Use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// In this window of data: did the window limit sending? If not, the most packets outstanding.
    is_limited: bool,
    most: u32,
    /// `high` at the last update.
    end: u32,
    /// Most packets outstanding since the window was the limit, and the time of the last change of the window, or at which
    /// it was the limit.
    used: u32,
    active_at: Instant,
}

impl Usage {
    /// The window has changed, or limits sending.
    pub(super) const fn active(&mut self, now: Instant) {
        self.active_at = now;
    }
}

impl Sender {
    /// Does the window limit sending? In slow start also if more than half of it is used.
    pub(super) fn is_limited(&self) -> bool {
        let window = self.window.cwnd();
        self.usage.is_limited || (self.window.in_slow_start() && window < 2.0 * f64::from(self.usage.most))
    }

    /// Nothing more can be sent now; `is_full`: because of the window.
    pub(super) fn validate_window(&mut self, now: Instant, is_full: bool) {
        let outstanding = self.high - self.una;
        let usage = &mut self.usage;
        if self.una >= usage.end || is_full || (!usage.is_limited && outstanding > usage.most) {
            (usage.is_limited, usage.most, usage.end) = (is_full, outstanding, self.high);
        }
        if self.is_limited() {
            self.usage.used = 0;
            self.usage.active(now);
            return;
        }
        self.usage.used = self.usage.used.max(outstanding);
        if self.idle_restart && now.since(self.usage.active_at) >= self.rtt.timeout() {
            self.shrink_unused(now);
        }
    }

    /// The window was not the limit for a timeout: halfway to what was used (`tcp_cwnd_application_limited`).
    fn shrink_unused(&mut self, now: Instant) {
        let (cwnd, used) = (self.window.cwnd() as u32, self.usage.used.max(self.initial_window));
        if self.state == State::Open && used < cwnd {
            self.window.restore_threshold(self.current_threshold());
            self.window.set(f64::from((cwnd + used) / 2));
        }
        if self.state == State::Open {
            self.usage.used = 0;
        }
        self.usage.active(now);
    }

    /// The application hands over data after a pause: for each timeout of silence the window halves, but not below the
    /// initial window (`tcp_cwnd_restart`).
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        let (idle, timeout) = (now.since(self.last_sent), self.rtt.timeout());
        if !self.idle_restart || idle <= timeout {
            return;
        }
        self.window.restore_threshold(self.current_threshold());
        let mut cwnd = self.window.cwnd() as u32;
        let least = self.initial_window.min(cwnd);
        let mut left = idle.nanos() - timeout.nanos();
        while left > 0 && cwnd > least {
            cwnd /= 2;
            left = left.saturating_sub(timeout.nanos());
        }
        self.window.set(f64::from(cwnd.max(least)));
        self.usage.used = 0;
        self.usage.active(now);
        self.control.on_restart();
    }
}
