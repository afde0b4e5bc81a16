//! What may hold a packet back that the window allows: the application, and the pacer.

use forebay_aqm::base::time::{Instant, Span};

use super::window::Window;
use crate::engine::due::Due;

/// Linux's rates in windows per round trip (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`): faster than the window
/// is acknowledged, so that the window and not the pacer limits the rate.
const SLOW_START: f64 = 2.0;
/// See [`SLOW_START`].
const AVOIDANCE: f64 = 1.2;

/// State of the two; a sender with neither has none.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Packets that the application has handed over, unless it has data without end.
    offered: Option<u32>,
    /// When the last packet left.
    last_sent: Instant,
    paced: bool,
    /// The earliest time for the next packet.
    next: Instant,
    /// A packet waits for that time.
    waiting: bool,
}

impl Gate {
    /// An application with data without end.
    pub(super) const fn new(paced: bool) -> Self {
        Self { offered: None, last_sent: Instant::ZERO, paced, next: Instant::ZERO, waiting: false }
    }

    /// The application hands over `packets` after the first `high`; how long nothing was sent.
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

    /// Can the application run out of data?
    pub(super) const fn can_run_dry(&self) -> bool {
        self.offered.is_some()
    }

    /// May a packet leave at `now`? If not, and one `wants` to, it waits.
    pub(super) fn opens(&mut self, now: Instant, wants: bool) -> bool {
        let open = now >= self.next;
        self.waiting = wants && !open;
        open
    }

    /// When the waiting packet may leave.
    pub(super) const fn deadline(&self) -> Due {
        if self.waiting { Due::at(self.next) } else { Due::NEVER }
    }

    /// A packet has left; with pacing the next one follows `interval` later.
    pub(super) fn sent(&mut self, now: Instant, interval: Span) {
        self.last_sent = now;
        if self.paced {
            self.next = now + interval;
        }
    }
}

/// Time between packets for a window and a round trip, as in Linux's `tcp_update_pacing_rate`: the faster rate
/// until half of the slow-start threshold. Zero before the first measurement of the round trip.
pub(super) fn interval(window: &Window, srtt: Span) -> Span {
    let fast = window.cwnd() < window.ssthresh() / 2.0;
    let factor = if fast { SLOW_START } else { AVOIDANCE };
    Span::from_nanos((srtt.nanos() as f64 / (factor * window.cwnd())) as u64)
}
