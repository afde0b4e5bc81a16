//! TCP Prague, version 0.7 of the Linux module (draft-briscoe-iccrg-prague-congestion-control): a window in fractions of
//! packets that falls by half of the fraction of marked packets, and grows only for unmarked ones.
//!
//! Differences from the module:
//! - the first mark halves the window also if its acknowledgement covers unmarked packets; the module then loses this
//!   reduction, because it sets the window from the integer one afterwards;
//! - the mode for low rates is off by default: then the pacing rate follows the window also at two packets, the smallest one;
//! - packets are sent one by one, not in bursts of up to 244 microseconds.

mod low_rate;
#[cfg(test)]
mod tests;

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::{Acked, CongestionControl, Design, Echo, EcnUse, Profile, Progress, Start};
use super::super::window::Window;
use low_rate::LowRate;

/// Weight of the newest round in the estimate of the fraction of marked packets.
const GAIN: f64 = 1.0 / 16.0;
/// Number of rounds after slow start from which on the virtual round trip replaces a shorter one.
const DEPENDENT_ROUNDS: u32 = 4;
/// Smallest window in packets.
const MIN_CWND: f64 = 2.0;
/// Longest time between packets: 12,000 bits at 100 kbit/s.
const MAX_INTERVAL: Span = Span::from_millis(120);

/// State of Prague.
#[derive(Clone, Debug)]
pub(in super::super) struct Prague {
    /// A flow with a shorter round trip grows, reduces and averages as if it had this one.
    virtual_rtt: Span,
    /// Window in packets, with fractions. The sender's window follows it by one packet per acknowledgement.
    target: f64,
    /// Estimated fraction of marked packets, 0 to 1.
    alpha: f64,
    /// Has a packet been marked? The first mark halves the window.
    seen_mark: bool,
    /// Rounds since slow start has ended.
    rounds: u32,
    /// The round ends when this packet number is acknowledged.
    round_end: u32,
    /// Packets delivered since the last update of alpha, and how many of them were marked.
    delivered: u32,
    marked: u32,
    updated_at: Instant,
    reduced_at: Option<Instant>,
    /// True from a loss to the end of its recovery: no growth.
    recovers: bool,
    /// `target` before the latest loss.
    before_loss: f64,
    in_slow_start: bool,
    now: Instant,
    interval: Option<Span>,
    /// The mode for low rates, if the connection requests it.
    low_rate: Option<Box<LowRate>>,
}

impl Prague {
    /// The round trip that the flow behaves as if it had.
    fn virtual_rtt(&self, srtt: Span) -> Span {
        if self.is_rtt_independent() { srtt.max(self.virtual_rtt) } else { srtt }
    }

    /// Is the rate controlled, not the window?
    fn has_low_rate(&self) -> bool {
        self.low_rate.as_ref().is_some_and(|low| low.is_active())
    }

    /// Does the flow behave as if its round trip were at least the virtual one?
    const fn is_rtt_independent(&self) -> bool {
        !self.in_slow_start && self.rounds >= DEPENDENT_ROUNDS
    }

    /// Packets by which the window grows per window of unmarked packets.
    fn increase(&self, srtt: Span) -> f64 {
        if srtt >= self.virtual_rtt || self.rounds < DEPENDENT_ROUNDS {
            return 1.0;
        }
        let share = srtt.secs() / self.virtual_rtt.secs();
        share * share
    }

    fn grow(&mut self, window: &mut Window, unmarked: u32, srtt: Span) {
        let mut rest = f64::from(unmarked);
        if self.in_slow_start {
            let more = rest.min(window.ssthresh() - window.cwnd());
            window.set(window.cwnd() + more);
            self.target += more;
            rest -= more;
        }
        let virtual_rtt = self.virtual_rtt(srtt);
        match self.low_rate.as_mut().and_then(|low| low.grow(rest as u32, virtual_rtt)) {
            Some(target) => self.target = target,
            // A target below the smallest window would grow by many packets at once.
            None => self.target += rest * self.increase(srtt) / self.target.max(MIN_CWND),
        }
    }

    /// Moves the sender's window by at most one packet towards the target. The first step down ends slow start.
    fn walk(&self, window: &mut Window) {
        let (cwnd, target) = (window.cwnd(), self.target.ceil().max(MIN_CWND));
        if cwnd > target {
            window.set(cwnd - 1.0);
            window.restore_threshold(cwnd - 1.0);
        } else if cwnd < target {
            window.set(cwnd + 1.0);
        }
    }

    /// Updates the estimate once per round, but not more often than once per virtual round trip.
    fn end_round(&mut self, progress: Progress) {
        let waits = self.is_rtt_independent() && progress.now.since(self.updated_at) < self.virtual_rtt;
        if progress.una < self.round_end || waits {
            return;
        }
        if self.seen_mark && self.delivered > 0 {
            let share = f64::from(self.marked.min(self.delivered)) / f64::from(self.delivered);
            self.alpha += GAIN * (share - self.alpha);
            self.updated_at = progress.now;
        }
        self.round_end = progress.high;
        (self.delivered, self.marked) = (0, 0);
        self.rounds += u32::from(!self.in_slow_start);
        if let Some(low) = &mut self.low_rate {
            low.end_round(progress.srtt);
        }
    }

    fn pace(&mut self, window: &Window, progress: Progress) {
        if progress.srtt == Span::ZERO {
            return;
        }
        let (since, virtual_rtt) = (progress.now.since(self.updated_at), self.virtual_rtt(progress.srtt));
        if let Some(interval) = self.low_rate.as_ref().and_then(|low| low.interval(since, virtual_rtt)) {
            self.interval = Some(interval);
            return;
        }
        let packets = self.target.floor().max(f64::from(progress.in_flight.1)).max(1.0);
        let gain = if window.cwnd() < window.ssthresh() / 2.0 { 2.0 } else { 1.0 };
        let interval = progress.srtt.nanos() as f64 / (gain * packets);
        self.interval = Some(Span::from_nanos(interval as u64).min(MAX_INTERVAL));
    }

    fn halve(&mut self) {
        self.before_loss = self.target;
        self.target = self.low_rate.as_mut().and_then(|low| low.reduce(0.5)).unwrap_or(self.target / 2.0);
        self.recovers = true;
    }
}

impl CongestionControl for Prague {
    fn on_delivered(&mut self, now: Instant, _seq: u32) {
        self.now = now;
    }

    /// Reduces the window by half of alpha, once per round and at most once per virtual round trip.
    fn on_mark(&mut self, _window: &mut Window) {
        let recent = self.reduced_at.is_some_and(|at| self.now.since(at) < self.virtual_rtt);
        if !(self.is_rtt_independent() && recent) {
            self.reduced_at = Some(self.now);
            let (target, share) = (self.target, self.alpha / 2.0);
            let by_rate = self.low_rate.as_mut().and_then(|low| low.reduce(1.0 - share));
            self.target = by_rate.unwrap_or(target - target * self.alpha / 2.0);
        }
    }

    /// Halves the window, whatever alpha is.
    fn on_loss(&mut self, _window: &mut Window) {
        self.halve();
    }

    fn on_timeout(&mut self, window: &mut Window, is_reduced: bool) {
        if !is_reduced {
            self.halve();
        }
        self.recovers = true;
        window.set(1.0);
    }

    fn on_recovered(&mut self, _window: &mut Window) {
        self.recovers = false;
    }

    fn on_probe_repair(&mut self, _window: &mut Window) {
        self.halve();
        self.recovers = false;
    }

    fn on_undo(&mut self, window: &mut Window, before: f64) {
        self.target = self.target.max(self.before_loss);
        if let Some(low) = &mut self.low_rate {
            low.restore(self.target);
        }
        window.set(window.cwnd().max(before));
    }

    /// The window grows in `after_ack`.
    fn on_ack(&mut self, _window: &mut Window, _acked: Acked) {}

    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        let Progress { delivered, marked, srtt, is_limited, .. } = progress;
        self.delivered += delivered;
        self.marked += marked;
        self.in_slow_start = window.in_slow_start();
        let unmarked = delivered.saturating_sub(marked);
        if unmarked > 0 && !self.recovers && (is_limited || self.has_low_rate()) {
            self.grow(window, unmarked, srtt);
        }
        if marked > 0 && !self.seen_mark {
            self.seen_mark = true;
            self.target /= 2.0;
        }
        self.walk(window);
        self.in_slow_start = window.in_slow_start();
        self.end_round(progress);
        if let Some(low) = self.low_rate.as_mut().filter(|_| self.seen_mark) {
            low.switch(window.cwnd(), self.target, srtt);
        }
        self.pace(window, progress);
    }

    fn pacing_interval(&self) -> Option<Span> {
        self.interval
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

impl Design for Prague {
    const PROFILE: Profile = Profile {
        word: "prague",
        summary: "L4S: reduction by the fraction of marked packets, paced, ECT(1) and accurate ECN feedback",
        ecn: EcnUse::Always,
        echo: Echo::Accurate,
        mark_is_loss: false,
        is_scalable: true,
        sends_ect1: true,
        paces: true,
        catches_up: true,
        owns_window: true,
        kernel: Some("prague"),
        ..Profile::TCP
    };

    fn new(start: Start) -> Self {
        Self {
            virtual_rtt: start.virtual_rtt,
            target: f64::from(start.initial_window),
            alpha: 0.0,
            seen_mark: false,
            rounds: 0,
            round_end: 0,
            delivered: 0,
            marked: 0,
            updated_at: Instant::ZERO,
            reduced_at: None,
            recovers: false,
            before_loss: 0.0,
            in_slow_start: true,
            now: Instant::ZERO,
            interval: None,
            low_rate: start.low_rate.then(Box::default),
        }
    }
}
