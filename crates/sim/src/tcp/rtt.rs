//! Retransmission timeout of RFC 6298, in the fixed-point form of 4.3BSD and with a coarse clock.

use forebay_aqm::base::time::{Instant, Span};

/// A backoff factor above this discards the smoothed RTT (RFC 6298 section 5, last paragraph).
const FORGET_BACKOFF: u32 = 8;

/// Smallest timeout of a connection whose SYN was retransmitted (RFC 6298 rule 5.7).
const AFTER_LOST_SYN: Span = Span::from_millis(3000);

/// Options of the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RttOptions {
    /// Timeout before the first measurement.
    pub initial: Span,
    /// Smallest timeout before backoff.
    pub min_rto: Span,
    /// Largest timeout, backoff included (RFC 6298 rule 2.5).
    pub max_rto: Span,
    /// Granularity of the clock that measures round trips; > 0.
    pub tick: Span,
    /// Position of the clock within its tick at time 0.
    pub phase: Span,
}

/// Smoothed round-trip time and its variation, in ticks.
#[derive(Clone, Debug)]
pub struct Rtt {
    options: RttOptions,
    /// 8 x smoothed RTT; 0 means none.
    srtt8: i64,
    /// 4 x smoothed mean deviation.
    var4: i64,
    /// Smoothed RTT in nanoseconds, unaffected by ticks; zero before the first measurement.
    precise: Span,
    /// Timeout before backoff.
    base: Span,
    backoff: u32,
    /// The latest measurement; `None` after `take` has returned it.
    latest: Option<Span>,
}

impl Rtt {
    /// An estimator without a measurement.
    pub const fn new(options: RttOptions) -> Self {
        Self { options, srtt8: 0, var4: 0, precise: Span::ZERO, base: options.initial, backoff: 1, latest: None }
    }

    /// Returns the latest measurement once. `None`: there is no new measurement since the last call.
    #[inline]
    pub const fn take(&mut self) -> Option<Span> {
        self.latest.take()
    }

    /// Measures the round trip of a packet that was sent only once, at `sent`, and acknowledged at `now`.
    pub fn measure(&mut self, sent: Instant, now: Instant) {
        self.latest = Some(now.since(sent));
        let ticks = |t: Instant| ((t + self.options.phase).nanos() / self.options.tick.nanos()) as i64;
        let m = (ticks(now) - ticks(sent)).max(1);
        if self.srtt8 == 0 {
            self.srtt8 = m << 3;
            self.var4 = m << 1;
        } else {
            let error = m - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + error).max(1);
            self.var4 = (self.var4 + error.abs() - (self.var4 >> 2)).max(1);
        }
        // srtt + 4 var; var4 >= 1 makes the second term at least one tick (rule 2.3).
        let rto = ((self.var4 << 3) + self.srtt8) >> 3;
        self.base = self.options.tick * rto as u64;
        let exact = now.since(sent).nanos();
        self.precise = match self.precise.nanos() {
            0 => Span::from_nanos(exact),
            old => Span::from_nanos(old - old / 8 + exact / 8),
        };
    }

    /// Takes over an estimate of the Linux stack, whose tick is 1 ns, and ends the backoff: eight times the smoothed round
    /// trip in ns, and the timeout before backoff. `latest`: the measurement.
    pub(super) const fn assume(&mut self, latest: Span, srtt8: u64, base: Span) {
        (self.srtt8, self.precise) = (srtt8 as i64, Span::from_nanos(srtt8 / 8));
        (self.latest, self.base, self.backoff) = (Some(latest), base, 1);
    }

    /// The timer of the Linux stack has expired: doubles the timeout and keeps the estimate.
    pub(super) fn double(&mut self) {
        if self.timeout() < self.options.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
    }

    /// Smallest timeout before backoff.
    pub(super) const fn min_rto(&self) -> Span {
        self.options.min_rto
    }

    /// Resets the backoff factor to 1.
    pub const fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// The time after which the retransmission timer must expire if it is started now.
    pub fn timeout(&self) -> Span {
        let rto = self.base.max(self.options.min_rto) * u64::from(self.backoff);
        rto.min(self.options.max_rto).max(self.options.tick * 2)
    }

    /// The timer has expired: double the timeout (RFC 6298 rule 5.5).
    pub fn back_off(&mut self) {
        if self.timeout() < self.options.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > FORGET_BACKOFF {
            self.var4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }

    /// Sets the timeout of the first data after a retransmitted SYN: the backed-off timeout, at least 3 s (RFC 6298
    /// rule 5.7). The handshake has not measured the round trip.
    pub fn begin_after_lost_syn(&mut self) {
        self.base = self.timeout().max(AFTER_LOST_SYN);
        self.backoff = 1;
    }

    /// Smoothed round-trip time, unaffected by the clock's ticks (RFC 6298 rule 2.3); zero before the first
    /// measurement.
    pub const fn precise(&self) -> Span {
        self.precise
    }

    /// Smoothed round-trip time with a resolution of 1/8 tick. Zero before the first measurement, and after a long
    /// backoff has discarded the estimate.
    pub fn smoothed(&self) -> Span {
        Span::from_nanos((self.srtt8 as u64 * self.options.tick.nanos()) / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: RttOptions = RttOptions {
        initial: Span::from_millis(3000),
        min_rto: Span::from_millis(200),
        max_rto: Span::from_millis(60_000),
        tick: Span::from_millis(10),
        phase: Span::ZERO,
    };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn first_measurement_gives_timeout_of_three_rtts() {
        // RFC 6298 rule 2.2: SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
        let mut rtt = Rtt::new(OPTIONS);
        assert_eq!(rtt.timeout(), Span::from_millis(3000), "initial timeout before the first measurement");
        rtt.measure(at(0), at(100));
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Span::from_millis(100), Span::from_millis(300)));
    }

    #[test]
    fn timeout_settles_at_minimum_with_constant_rtt() {
        let mut rtt = Rtt::new(OPTIONS);
        (0..100).for_each(|i| rtt.measure(at(100 * i), at(100 * i + 100)));
        assert_eq!(rtt.timeout(), Span::from_millis(200));
    }

    #[test]
    fn backoff_doubles_timeout_up_to_60_s() {
        let mut rtt = Rtt::new(OPTIONS);
        rtt.measure(at(0), at(100));
        for want in [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000] {
            rtt.back_off();
            assert_eq!(rtt.timeout(), Span::from_millis(want));
        }
        rtt.measure(at(200_000), at(200_100));
        assert_eq!(rtt.timeout(), Span::from_millis(60_000));
        rtt.end_backoff();
        assert_eq!(rtt.timeout(), Span::from_millis(300), "estimate discarded at backoff 16, then restarted");
    }

    #[test]
    fn backoff_never_reduces_the_timeout() {
        let mut rtt = Rtt::new(RttOptions {
            initial: Span::from_millis(3000),
            min_rto: Span::from_nanos(1),
            max_rto: Span::from_nanos(u64::MAX),
            tick: Span::from_nanos(1),
            phase: Span::ZERO,
        });
        rtt.measure(at(0), Instant::from_nanos(1));
        let mut before = rtt.timeout();
        for _ in 0..100 {
            rtt.back_off();
            assert!(rtt.timeout() >= before);
            before = rtt.timeout();
        }
    }

    #[test]
    fn lost_syn_leaves_timeout_above_3_s() {
        // RFC 6298 rule 5.7: after a retransmitted SYN the timeout is 3 s or the backed-off value, if larger.
        for (initial, want) in [(1000, 3000), (2000, 4000), (6000, 12_000), (50_000, 60_000)] {
            let mut rtt = Rtt::new(RttOptions { initial: Span::from_millis(initial), ..OPTIONS });
            rtt.back_off();
            rtt.begin_after_lost_syn();
            assert_eq!(rtt.timeout(), Span::from_millis(want));
            rtt.end_backoff();
            assert_eq!(rtt.timeout(), Span::from_millis(want), "until a round trip is measured");
        }
    }

    #[test]
    fn precise_rtt_is_not_rounded_to_ticks() {
        let mut rtt = Rtt::new(OPTIONS);
        rtt.measure(at(0), at(104));
        rtt.measure(at(0), at(112));
        assert_eq!((rtt.precise(), rtt.smoothed()), (Span::from_millis(105), Span::from_micros(101_250)));
    }

    #[test]
    fn rtt_in_ticks_counts_tick_boundaries_crossed() {
        let mut rtt = Rtt::new(OPTIONS);
        rtt.measure(at(9), at(11));
        assert_eq!(rtt.smoothed(), Span::from_millis(10), "9 ms -> 11 ms crosses one boundary");
        rtt.measure(at(11), at(12));
        assert_eq!(rtt.smoothed(), Span::from_millis(10), "never less than one tick");
    }
}
