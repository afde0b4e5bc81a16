//! LEDBAT (RFC 6817): a window that grows while its queueing delay is below a target, and shrinks above it.
//!
//! The window starts at two packets without slow start, as in the RFC's pseudocode. Losses, marks and timeouts reduce it as
//! Reno's, to at least two packets (RFC 6817 section 2.4.2; one packet after a timeout). The filter of current delays is
//! the minimum of the latest four. Delays are in microseconds.
//!
//! Differences from the RFC: the delay does not change the window in recovery, by an acknowledgement with ECN-Echo, or while
//! the application limits sending; minutes without a delay count as minutes of the base history.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::{Acked, CongestionControl, Design, Profile, Start};
use super::super::window::Window;

/// Section 2.5 `MIN_CWND`: smallest window in packets.
const MIN_CWND: f64 = 2.0;
/// Section 2.5 `ALLOWED_INCREASE`: packets by which the window may exceed the packets in flight, and so grow at once.
const ALLOWED_INCREASE: f64 = 1.0;
/// Section 2.5 `BASE_HISTORY`: number of minutes of which the smallest delay is the base delay.
const BASE_HISTORY: usize = 10;
/// Section 2.5 `CURRENT_FILTER`: number of latest delays of which the smallest is the current delay.
const CURRENT_FILTER: usize = 4;
/// Nanoseconds of an interval of the base history.
const MINUTE: u64 = 60_000_000_000;

/// LEDBAT's delays.
#[derive(Clone, Debug)]
pub(in super::super) struct Ledbat {
    /// `TARGET`.
    target: Span,
    /// `GAIN`: packets per round trip by which the window grows without queueing delay.
    gain: f64,
    /// `base_delays`: the smallest delay of each of the latest minutes; index: minute modulo the length.
    base_delays: [Option<Span>; BASE_HISTORY],
    /// Number of the latest minute with a delay; `None`: no delay yet.
    minute: Option<u64>,
    /// `current_delays`: the latest delays, with the time of their acknowledgement, as a ring.
    current_delays: [Option<(Instant, Span)>; CURRENT_FILTER],
    /// Place of the next delay in the ring.
    next: usize,
}

impl Ledbat {
    /// Section 2.4.2 `update_base_delay`.
    fn update_base_delay(&mut self, now: Instant, delay: Span) {
        let minute = now.nanos() / MINUTE;
        let place = |minute: u64| (minute % BASE_HISTORY as u64) as usize;
        let first = self.minute.replace(minute).map_or(minute, |latest| latest + 1);
        // Minutes without a delay are cleared too, each at most once.
        for empty in first.max(minute.saturating_sub(BASE_HISTORY as u64 - 1))..=minute {
            self.base_delays[place(empty)] = None;
        }
        let tail = &mut self.base_delays[place(minute)];
        *tail = Some(tail.map_or(delay, |least| least.min(delay)));
    }

    /// Section 2.4.2 `update_current_delay`.
    fn update_current_delay(&mut self, now: Instant, delay: Span) {
        self.current_delays[self.next] = Some((now, delay));
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// `FILTER(current_delays) - MIN(base_delays)`. Section 2.5: no current delay is older than a round trip, apart from
    /// the latest one.
    fn queueing_delay(&self, now: Instant, srtt: Span) -> Option<Span> {
        let latest = self.current_delays[(self.next + CURRENT_FILTER - 1) % CURRENT_FILTER].map(|(_, delay)| delay);
        let recent = self.current_delays.iter().flatten().filter(|(at, _)| now.since(*at) <= srtt);
        let current = recent.map(|(_, delay)| *delay).chain(latest).min()?;
        let base = self.base_delays.iter().flatten().min()?;
        Some(current - *base)
    }
}

impl CongestionControl for Ledbat {
    fn on_delay(&mut self, now: Instant, delay: Span) {
        self.update_base_delay(now, delay);
        self.update_current_delay(now, delay);
    }

    /// Section 2.4.2, `on acknowledgement`. Called while the window limits sending: the packets in flight fill it.
    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        let Some(queueing_delay) = self.queueing_delay(acked.now, acked.srtt) else { return };
        if window.is_closed() {
            return;
        }
        let off_target = 1.0 - queueing_delay.secs() / self.target.secs();
        let change = self.gain * off_target * f64::from(acked.packets) / window.cwnd();
        window.set((window.cwnd() + change.min(ALLOWED_INCREASE)).max(MIN_CWND));
    }

    /// Section 2.4.2, `on data loss`.
    fn on_loss(&mut self, window: &mut Window) {
        window.cut(0.5, MIN_CWND);
    }

    /// As a loss (RFC 3168 section 5). A mark at a window of one packet [closes](Window::is_closed) the window.
    fn on_mark(&mut self, window: &mut Window) {
        window.cut(0.5, if window.cwnd() > 1.0 { MIN_CWND } else { 0.0 });
    }
}

impl Design for Ledbat {
    const PROFILE: Profile = Profile {
        word: "ledbat",
        summary: "a window that keeps the queueing delay at a target (RFC 6817), for background traffic",
        reports_delay: true,
        owns_window: true,
        ..Profile::TCP
    };

    fn new(start: Start) -> Self {
        Self {
            target: start.target,
            gain: start.gain,
            base_delays: [None; BASE_HISTORY],
            minute: None,
            current_delays: [None; CURRENT_FILTER],
            next: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::rng::Rng;

    use super::super::super::TcpOptions;
    use super::*;

    fn at(minutes: u64) -> Instant {
        Instant::from_nanos(minutes * MINUTE)
    }

    /// A delay of 10 ms in minute 0; from minute 1 on the path has 50 ms. The base delay follows after ten minutes.
    #[test]
    fn base_delay_rises_after_ten_minutes() {
        let mut ledbat = Ledbat::new(Start::new(&TcpOptions::default(), Rng::stream(1, "test")));
        let [short, long, rtt] = [10, 50, 100].map(Span::from_millis);
        ledbat.on_delay(at(0), short);
        for minute in 1..=9 {
            ledbat.on_delay(at(minute), long);
            assert_eq!(ledbat.queueing_delay(at(minute), rtt), Some(long - short), "minute {minute}");
        }
        ledbat.on_delay(at(10), long);
        assert_eq!(ledbat.queueing_delay(at(10), rtt), Some(Span::ZERO));
    }

    #[test]
    fn minutes_without_delays_are_forgotten() {
        let mut ledbat = Ledbat::new(Start::new(&TcpOptions::default(), Rng::stream(1, "test")));
        ledbat.on_delay(at(3), Span::from_millis(10));
        ledbat.on_delay(at(1000), Span::from_millis(70));
        assert_eq!(ledbat.queueing_delay(at(1000), Span::from_millis(100)), Some(Span::ZERO));
    }
}
