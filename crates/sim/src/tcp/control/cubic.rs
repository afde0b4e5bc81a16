//! CUBIC (RFC 9438).
//!
//! Not implemented: the undo of spurious reductions (section 4.9). Slow start ends with a loss or mark, unless the
//! connection requests HyStart++ (RFC 9406). Reductions use `cwnd` in place of the amount in flight. Section 4.6 allows this if the window does not
//! grow while it is unused.

use forebay_aqm::base::time::Instant;

use super::super::congestion::{Acked, CongestionControl, Design, Profile, Start};
use super::super::window::Window;

/// Section 4.5: multiplicative decrease.
const BETA: f64 = 0.7;
/// Section 5: scale of the curve in packets per second cubed.
const C: f64 = 0.4;
/// Section 4.3: with this increase, Reno with a decrease to BETA has the same average window as Reno with a decrease
/// to half.
const RENO_INCREASE: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Section 4.2: growth limit per round trip, as a factor.
const MAX_GROWTH: f64 = 1.5;

/// CUBIC's state between two reductions of the window.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Cubic {
    /// `W_max` in packets: the plateau of the curve.
    w_max: f64,
    /// `K` in seconds: the time at which the curve reaches `W_max`.
    k: f64,
    /// `W_est` in packets: the window that Reno would have.
    w_est: f64,
    /// `cwnd_prior` in packets: the window before the last reduction.
    prior: f64,
    /// Start of this stage of congestion avoidance. The time in which the application limits sending is added to it.
    epoch: Option<Instant>,
    /// Latest time of an acknowledgement or of a call of `on_application_limited`.
    seen: Instant,
    /// True after a loss or mark, false after a timeout. If true, the plateau is the `w_max` of that reduction.
    has_plateau: bool,
}

impl Cubic {
    /// Section 4.2 eq. 1: the window on the cubic curve, `t` seconds after the start of the stage.
    fn curve(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }

    /// Starts a stage of congestion avoidance (section 4.2; without a plateau sections 4.8 and 4.10).
    fn begin(&mut self, now: Instant, cwnd: f64) -> Instant {
        if self.has_plateau && cwnd < self.w_max {
            // Eq. 2.
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        } else {
            (self.w_max, self.k) = (cwnd, 0.0);
        }
        self.w_est = cwnd;
        self.epoch = Some(now);
        now
    }

    /// Sections 4.6 and 4.7: reduces the window, to at least `least` packets, with fast convergence. If the window is
    /// below the last plateau, the new plateau is below the window, which leaves bandwidth to other flows.
    fn reduce(&mut self, window: &mut Window, least: f64) {
        let cwnd = window.cwnd();
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
        self.has_plateau = true;
        window.cut(BETA, least);
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        self.seen = acked.now;
        if window.in_slow_start() {
            window.grow();
            return;
        }
        let cwnd = window.cwnd();
        let epoch = self.epoch.unwrap_or_else(|| self.begin(acked.now, cwnd));
        let t = acked.now.since(epoch).secs();
        // Section 4.3 eq. 4: once W_est reaches cwnd_prior, it grows by one packet per round trip.
        let increase = if self.w_est < self.prior { RENO_INCREASE } else { 1.0 };
        self.w_est += increase * f64::from(acked.packets) / cwnd;
        if self.curve(t) < self.w_est {
            window.set(self.w_est.max(cwnd));
        } else {
            let target = self.curve(t + acked.srtt.secs()).clamp(cwnd, MAX_GROWTH * cwnd);
            window.set(cwnd + (target - cwnd) / cwnd);
        }
    }

    fn on_loss(&mut self, window: &mut Window) {
        self.reduce(window, 2.0);
    }

    /// Section 4.6: reduces the window to at least one packet. A mark at a window of one packet
    /// [closes](Window::is_closed) the window: nothing is sent until the timer expires.
    fn on_mark(&mut self, window: &mut Window) {
        let least = if window.cwnd() > 1.0 { 1.0 } else { 0.0 };
        self.reduce(window, least);
    }

    /// Section 4.8: multiplies the slow-start threshold by BETA, unless `is_reduced`. Afterwards the curve has no
    /// plateau.
    fn on_timeout(&mut self, window: &mut Window, is_reduced: bool) {
        if !is_reduced {
            self.reduce(window, 1.0);
        }
        self.epoch = None;
        self.has_plateau = false;
        window.set(1.0);
    }

    /// Section 4.2: the time `t` of the curve excludes the time in which the application limits sending.
    fn on_application_limited(&mut self, now: Instant) {
        let rested = now.since(core::mem::replace(&mut self.seen, now));
        self.epoch = self.epoch.map(|epoch| epoch + rested);
    }

    /// The idle restart reduced the window without congestion: the next stage starts at this window.
    fn on_restart(&mut self) {
        self.epoch = None;
    }
}

impl Design for Cubic {
    const PROFILE: Profile = Profile {
        word: "cubic",
        summary: "a cubic curve in time (RFC 9438), recovery as in sack",
        tracks_packets: false,
        kernel: Some("cubic"),
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::time::Span;

    /// Passes acknowledgements 10 ms apart to `cubic` until the window reaches `cwnd`.
    fn grow_to(cubic: &mut Cubic, window: &mut Window, mut now: Instant, cwnd: f64) {
        while window.cwnd() < cwnd {
            now += Span::from_millis(10);
            cubic.on_ack(window, Acked { now, packets: 1, srtt: Span::from_millis(100) });
        }
    }

    /// Section 4.3: `cwnd_prior` is the window at the last change of the slow-start threshold. A repeated timeout
    /// changes neither of them. Section 4.7: it also keeps the plateau `W_max`, with which the window at the next loss
    /// is compared.
    #[test]
    fn repeated_timeout_keeps_threshold_cwnd_prior_and_plateau() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(40.0, f64::INFINITY));
        cubic.on_timeout(&mut window, false);
        cubic.on_timeout(&mut window, true);
        assert_eq!((window.cwnd(), window.ssthresh(), cubic.prior), (1.0, 28.0, 40.0));
        grow_to(&mut cubic, &mut window, Instant::ZERO, 20.0);
        cubic.on_loss(&mut window);
        assert_eq!(cubic.w_max, 0.85 * 20.0, "a loss below the plateau");
    }

    /// Section 4.8: after a timeout, the plateau `W_max` is the window at the start of congestion avoidance. `K` is 0.
    #[test]
    fn avoidance_after_timeout_starts_at_its_plateau() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(40.0, f64::INFINITY));
        cubic.on_mark(&mut window);
        cubic.on_timeout(&mut window, true);
        assert_eq!((window.cwnd(), window.ssthresh()), (1.0, 28.0));
        grow_to(&mut cubic, &mut window, Instant::ZERO, 28.1);
        assert_eq!((cubic.w_max, cubic.k), (28.0, 0.0));
    }
}
