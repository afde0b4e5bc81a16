//! Limits on sending besides the window: the application's data and the pacer.

use forebay_aqm::base::time::{Instant, Span};

use super::window::Window;
use crate::engine::due::Due;

/// Linux's pacing rate in slow start (`tcp_pacing_ss_ratio`), in windows per round trip. It is above 1, so that the
/// window limits the rate, not the pacer.
const SLOW_START: f64 = 2.0;
/// Linux's pacing rate in congestion avoidance (`tcp_pacing_ca_ratio`), in windows per round trip.
const AVOIDANCE: f64 = 1.2;

/// Decides when application and pacer allow a packet. A sender with unlimited data and no pacing has no gate.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Packets handed over by the application; `None`: unlimited.
    offered: Option<u32>,
    /// When the last packet left.
    last_sent: Instant,
    paced: bool,
    /// Does a packet that leaves late shorten the gap to the next one, by at most half (`tcp_update_skb_after_send` of
    /// Linux)?
    catches_up: bool,
    /// The earliest time for the next packet.
    next: Instant,
    /// A packet is waiting for `next`.
    waiting: bool,
    /// Packets of the current burst that have not left; they may leave only at the time of the last packet.
    burst: u32,
    /// Lateness of the burst that is not yet made up for, ns.
    late: u64,
}

impl Gate {
    /// A gate with unlimited data.
    pub(super) const fn new(paced: bool, catches_up: bool) -> Self {
        Self {
            offered: None,
            last_sent: Instant::ZERO,
            paced,
            catches_up,
            next: Instant::ZERO,
            waiting: false,
            burst: 0,
            late: 0,
        }
    }

    /// The application hands over `packets` more packets. The first of them is number `high` at the first call, later
    /// the one after the previous packets. Returns the time since the last packet was sent.
    pub(super) fn offer(&mut self, now: Instant, high: u32, packets: u32) -> Span {
        self.offered = Some(self.offered.unwrap_or(high).saturating_add(packets));
        now.since(self.last_sent)
    }

    /// Has the application handed over packet `seq`?
    pub(super) const fn has(&self, seq: u32) -> bool {
        match self.offered {
            Some(offered) => seq < offered,
            None => true,
        }
    }

    /// Packets handed over from number `high` on; `u32::MAX`: unlimited.
    pub(super) fn left(&self, high: u32) -> u32 {
        self.offered.map_or(u32::MAX, |offered| offered.saturating_sub(high))
    }

    /// Is the application's data limited?
    pub(super) const fn can_run_dry(&self) -> bool {
        self.offered.is_some()
    }

    /// May a packet be sent at `now`? `wants`: a packet is ready. If it may not be sent, it waits until
    /// [`deadline`](Self::deadline).
    pub(super) fn opens(&mut self, now: Instant, wants: bool) -> bool {
        let open = now >= self.next || self.burst > 0 && now == self.last_sent;
        self.waiting = wants && !open;
        open
    }

    /// Time until the pacer lets the next packet leave.
    pub(super) fn pause(&self, now: Instant) -> Span {
        self.next.max(now).since(now)
    }

    /// When the waiting packet may be sent.
    pub(super) const fn deadline(&self) -> Due {
        if self.waiting { Due::at(self.next) } else { Due::NEVER }
    }

    /// A packet was sent; with pacing the next one follows `interval` later.
    pub(super) fn sent(&mut self, now: Instant, interval: Span) {
        self.sent_in_burst(now, interval, 1);
    }

    /// As [`sent`](Self::sent); up to `burst` packets may leave at once.
    pub(super) fn sent_in_burst(&mut self, now: Instant, interval: Span, burst: u32) {
        let follows = self.burst > 0 && now == self.last_sent;
        self.last_sent = now;
        if !self.paced {
            return;
        }
        let begin = if follows {
            self.burst -= 1;
            self.next
        } else {
            self.burst = burst - 1;
            self.late = if self.catches_up { now.since(self.next.min(now)).nanos() } else { 0 };
            now
        };
        let credit = self.late.min(interval.nanos() / 2);
        self.late -= credit;
        self.next = begin + Span::from_nanos(interval.nanos() - credit);
    }
}

/// Time between packets for a window and a round trip, as in Linux's `tcp_update_pacing_rate`: the rate [`SLOW_START`]
/// while the window is below half of the slow-start threshold, else [`AVOIDANCE`]. Zero before the first round-trip
/// measurement.
pub(super) fn interval(window: &Window, srtt: Span) -> Span {
    interval_of(window, 0.0, srtt)
}

/// As [`interval`], for a window of at least the packets `outstanding`.
pub(super) fn interval_of(window: &Window, outstanding: f64, srtt: Span) -> Span {
    let fast = window.cwnd() < window.ssthresh() / 2.0;
    let factor = if fast { SLOW_START } else { AVOIDANCE };
    Span::from_nanos((srtt.nanos() as f64 / (factor * window.cwnd().max(outstanding))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_leaves_at_once() {
        let ms = Span::from_millis(1);
        let at = |time: u64| Instant::ZERO + ms * time;
        let mut gate = Gate::new(true, false);
        gate.sent_in_burst(at(0), ms, 3);
        assert!(gate.opens(at(0), true));
        gate.sent_in_burst(at(0), ms, 3);
        gate.sent_in_burst(at(0), ms, 3);
        assert!(!gate.opens(at(0), true), "three have left");
        assert!(!gate.opens(at(2), true));
        assert!(gate.opens(at(3), true), "three intervals later");
    }

    #[test]
    fn late_burst_makes_up_for_half_of_its_length() {
        let ms = Span::from_millis(1);
        let at = |time: u64| Instant::ZERO + ms * time;
        let mut gate = Gate::new(true, true);
        gate.sent_in_burst(at(10), ms * 4, 2);
        gate.sent_in_burst(at(10), ms * 4, 2);
        assert!(!gate.opens(at(13), true));
        assert!(gate.opens(at(14), true), "8 ms less half of them, because the burst was 10 ms late");
    }

    #[test]
    fn rest_of_a_burst_expires() {
        let ms = Span::from_millis(1);
        let at = |time: u64| Instant::ZERO + ms * time;
        let mut gate = Gate::new(true, false);
        gate.sent_in_burst(at(0), ms * 5, 2);
        assert!(!gate.opens(at(1), true));
        gate.sent_in_burst(at(5), ms * 5, 1);
        assert!(!gate.opens(at(5), true), "a burst of one");
    }
}
