//! The virtual clocks of the shaper: one for the whole queue, with a failsafe, and one for each tin.

use crate::base::time::{Instant, Span};

/// Least rate of a clock in bytes per second, as in `cake_set_rate`.
const MIN_RATE: u64 = 64;

/// Fractional bits of the time per byte, as in `cake_set_rate`.
const FRACTION: u32 = 34;

/// The time of a byte at a rate, in fixed point: the time of a packet needs a multiplication and no division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    /// Nanoseconds per byte, times 2^shift; less than 2^34. 0: unlimited.
    per_byte: u64,
    shift: u32,
}

impl Pace {
    /// The pace of `rate` bytes per second; 0: unlimited.
    pub(super) const fn new(rate: u64) -> Self {
        if rate == 0 {
            return Self { per_byte: 0, shift: 0 };
        }
        let mut per_byte = (1_000_000_000_u64 << FRACTION) / if rate > MIN_RATE { rate } else { MIN_RATE };
        let mut shift = FRACTION;
        while per_byte >> FRACTION != 0 {
            per_byte >>= 1;
            shift -= 1;
        }
        Self { per_byte, shift }
    }

    /// Whether there is no limit.
    #[inline]
    pub(super) const fn is_unlimited(self) -> bool {
        self.per_byte == 0
    }

    /// The time that `len` bytes take.
    #[inline]
    pub(super) const fn time(self, len: u32) -> Span {
        Span::from_nanos((len as u64 * self.per_byte) >> self.shift)
    }
}

/// The clock of the whole queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pace: Pace,
    /// When the next packet may leave, by all charged packets.
    next: Instant,
    /// When the next packet may leave at the latest, by the sent packets.
    failsafe: Instant,
}

impl Shaper {
    /// An idle shaper at time zero.
    pub(super) const fn new(pace: Pace) -> Self {
        Self { pace, next: Instant::ZERO, failsafe: Instant::ZERO }
    }

    /// Sets the pace of later packets.
    pub(super) const fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Whether there is no limit.
    #[inline]
    pub(super) const fn is_unlimited(&self) -> bool {
        self.pace.is_unlimited()
    }

    /// The time until which no packet may leave, if that is after `now`.
    #[inline]
    pub(super) fn blocked(&self, now: Instant) -> Option<Instant> {
        let until = self.next.min(self.failsafe);
        (until > now).then_some(until)
    }

    /// A packet arrives at an empty queue: credit of the past is lost.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// Charges `len` bytes; `sent`: they leave, otherwise they are dropped.
    #[inline]
    pub(super) fn charge(&mut self, len: u32, sent: bool) {
        let time = self.pace.time(len);
        self.next += time;
        if sent {
            self.failsafe += Span::from_nanos(time.nanos() + (time.nanos() >> 1));
        }
    }
}

/// The clock of a tin: it is at most one packet ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The pace of the tin's threshold.
    pub(super) pace: Pace,
    next: Instant,
}

impl Clock {
    /// A clock at time zero.
    pub(super) const fn new(pace: Pace) -> Self {
        Self { pace, next: Instant::ZERO }
    }

    /// When the next packet is due.
    #[inline]
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// A packet arrives at an empty tin: credit of the past is lost.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// Charges `len` bytes. A clock in the past catches up. A clock ahead of one packet stays.
    #[inline]
    pub(super) fn charge(&mut self, len: u32, now: Instant) {
        let time = self.pace.time(len);
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_hand::ms;

    #[test]
    fn time_of_packets_is_within_two_nanoseconds() {
        for rate in [1_250, 12_500, 125_000, 7_812, 1_250_000, 12_500_000, 125_000_000] {
            for len in [1, 40, 576, 1042, 1514, 65_535] {
                let exact = u64::from(len) * 1_000_000_000 / rate;
                let time = Pace::new(rate).time(len).nanos();
                assert!(time.abs_diff(exact) <= 2 + exact / 1_000_000_000, "{rate} {len}: {time} {exact}");
            }
        }
        assert_eq!(Pace::new(1).time(64), Pace::new(64).time(64), "64 bytes/s at least");
        assert!(Pace::new(0).is_unlimited() && Pace::new(0).time(1500) == Span::ZERO);
    }

    /// 1 Mb/s, packets of 1250 bytes: 10 ms each.
    #[test]
    fn late_service_is_caught_up() {
        let mut shaper = Shaper::new(Pace::new(125_000));
        shaper.wake(ms(0));
        shaper.charge(1250, true);
        assert_eq!((shaper.blocked(ms(5)), shaper.blocked(ms(10))), (Some(ms(10)), None));
        // The second leaves late, at 14 ms.
        shaper.charge(1250, true);
        assert_eq!(shaper.blocked(ms(14)), Some(ms(20)));
        shaper.wake(ms(25));
        assert_eq!(shaper.next, ms(25));
    }

    #[test]
    fn dropped_packets_do_not_move_the_failsafe() {
        let mut shaper = Shaper::new(Pace::new(125_000));
        shaper.wake(ms(0));
        shaper.charge(1250, true);
        (0..5).for_each(|_| shaper.charge(1250, false));
        assert_eq!((shaper.next, shaper.blocked(ms(0))), (ms(60), Some(ms(15))));
    }

    #[test]
    fn clock_of_a_tin_is_at_most_a_packet_ahead() {
        let mut clock = Clock::new(Pace::new(125_000));
        clock.wake(ms(0));
        (0..3).for_each(|_| clock.charge(1250, ms(0)));
        assert_eq!(clock.next(), ms(10));
        clock.charge(1250, ms(100));
        assert_eq!(clock.next(), ms(20), "it catches up");
    }
}
