//! A transmitter that follows a [`Schedule`], which has steps of the rate or is a trace of delivery opportunities: when
//! a packet may begin, and when its transmission ends.
//!
//! Transmissions begin in order of time, so that it is enough to store one position in the schedule. All arithmetic is
//! on integers. The end of each transmission is rounded to the nearest nanosecond, as on a link of constant rate.

use std::sync::Arc;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

use crate::measure::meter::Window;
use crate::wire::schedule::{BIT, NEVER, OPPORTUNITY, Schedule, Trace};

/// A transmitter's position in its schedule.
#[derive(Clone, Debug)]
pub struct Pace {
    schedule: Arc<Schedule>,
    cursor: Cursor,
}

#[derive(Clone, Debug)]
struct Cursor {
    window: Window,
    /// For steps: index of the step in which the last transmission ended. For a trace: number of the next opportunity.
    next: u64,
    /// When the last transmission ended.
    free: Instant,
    /// For a trace: bytes left in the opportunity at `free`.
    left: u32,
    /// Bits sent in the window, x 1e9.
    done: u128,
}

impl Pace {
    /// A transmitter at the start of `schedule`. Bits sent are counted within `window`.
    pub const fn new(schedule: Arc<Schedule>, window: Window) -> Self {
        Self { schedule, cursor: Cursor { window, next: 0, free: Instant::ZERO, left: 0, done: 0 } }
    }

    /// Start of transmission of a packet that finds the link idle at `now`.
    pub fn from_idle(&self, now: Instant) -> Instant {
        match &*self.schedule {
            Schedule::Steps(steps) => up_from(steps, now),
            Schedule::Trace(trace) => trace.at(trace.before(now + Span::from_nanos(1))),
        }
    }

    /// Start of transmission of a packet that has waited for the one before it.
    pub fn from_backlog(&self) -> Instant {
        match &*self.schedule {
            Schedule::Steps(steps) => up_from(steps, self.cursor.free),
            Schedule::Trace(_) if self.cursor.left > 0 => self.cursor.free,
            Schedule::Trace(trace) => trace.at(self.cursor.next),
        }
    }

    /// Sends `len` bytes from `start`, which `from_idle` or `from_backlog` returned. Returns the end of the
    /// transmission.
    pub fn send(&mut self, start: Instant, len: u16) -> Instant {
        self.cursor.free = match &*self.schedule {
            Schedule::Steps(steps) => self.cursor.through_steps(steps, start, len),
            Schedule::Trace(trace) => self.cursor.through_trace(trace, start, len),
        };
        self.cursor.free
    }

    /// Sets the end of the window within which sent bits are counted.
    pub const fn end(&mut self, end: Instant) {
        self.cursor.window.to = end;
    }

    /// Bits sent in the window divided by the capacity in the window.
    pub fn utilisation(&self) -> f64 {
        let window = self.cursor.window;
        let able = self.schedule.bits(window.from, window.to);
        if able > 0.0 { self.cursor.done as f64 / BIT as f64 / able } else { 0.0 }
    }
}

impl Cursor {
    fn through_steps(&mut self, steps: &[(Instant, Rate)], start: Instant, len: u16) -> Instant {
        let mut work = u128::from(len) * 8 * BIT;
        let mut at = start;
        loop {
            let i = self.next as usize;
            let is_last = i + 1 == steps.len();
            let end = if is_last { NEVER } else { steps[i + 1].0 };
            let rate = u128::from(steps[i].1.0);
            let able = rate * u128::from(end.since(at).nanos());
            let through = at < end && rate > 0 && able >= work;
            let to = if through { at + Span::from_nanos(((work + rate / 2) / rate) as u64) } else { at.max(end) };
            self.done += rate * u128::from(self.window.overlap(at, to).nanos());
            if through || is_last {
                return to;
            }
            (work, at) = (work - able, to);
            self.next += 1;
        }
    }

    fn through_trace(&mut self, trace: &Trace, start: Instant, len: u16) -> Instant {
        if self.left == 0 || start > self.free {
            (self.next, self.left) = (self.next.max(trace.before(start)), 0);
        }
        let (mut need, mut at) = (u32::from(len), start);
        loop {
            if self.left == 0 {
                (at, self.left) = (trace.at(self.next), OPPORTUNITY);
                self.next += 1;
            }
            let part = need.min(self.left);
            (need, self.left) = (need - part, self.left - part);
            if (self.window.from..self.window.to).contains(&at) {
                self.done += u128::from(part) * 8 * BIT;
            }
            if need == 0 {
                return at;
            }
        }
    }
}

/// Returns the first time from `at` on at which the rate is above 0; [`NEVER`] if there is none.
fn up_from(steps: &[(Instant, Rate)], at: Instant) -> Instant {
    let later = steps.partition_point(|(from, _)| *from <= at);
    if later > 0 && steps[later - 1].1.0 > 0 {
        return at;
    }
    steps[later..].iter().find(|(_, rate)| rate.0 > 0).map_or(NEVER, |(from, _)| *from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        at(ms * 1_000_000)
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn pace(schedule: Schedule) -> Pace {
        Pace::new(Arc::new(schedule), Window { from: at(0), to: ms(1000) })
    }

    fn steps(steps: &[(u64, u64)]) -> Pace {
        let steps = steps.iter().map(|&(step, rate)| (ms(step), Rate(rate)));
        pace(Schedule::steps(steps.collect()).unwrap())
    }

    fn trace(text: &str) -> Pace {
        pace(Schedule::Trace(Trace::parse(text).unwrap()))
    }

    /// 1 Mb/s until 10 ms, then 4 Mb/s. Of 1250 bytes that begin at 5 ms, 5000 bits are sent by 10 ms, and the other
    /// 5000 bits take 1.25 ms.
    #[test]
    fn packet_can_span_a_rate_step() {
        let mut pace = steps(&[(0, 1_000_000), (10, 4_000_000)]);
        assert_eq!(pace.send(ms(5), 1250), at(11_250_000));
        assert_eq!(pace.from_backlog(), at(11_250_000));
        assert_eq!(pace.send(at(11_250_000), 1250), at(13_750_000));
    }

    /// One packet over three steps, one of rate 0: 1000 bits by 1 ms, none until 5 ms, 1000 more at 0.5 Mb/s.
    #[test]
    fn link_down_pauses_a_transmission() {
        let mut pace = steps(&[(0, 1_000_000), (1, 0), (5, 500_000), (9, 0), (20, 1_000_000)]);
        assert_eq!(pace.from_idle(at(0)), at(0));
        assert_eq!(pace.send(at(0), 250), ms(7));
        assert_eq!(pace.send(ms(7), 125), ms(9), "ends exactly at the step");
        assert_eq!((pace.from_backlog(), pace.from_idle(ms(15))), (ms(20), ms(20)));
        assert_eq!(pace.send(ms(20), 125), ms(21));
    }

    #[test]
    fn link_that_stays_down_never_sends() {
        let mut pace = steps(&[(0, 1_000_000), (1, 0)]);
        assert_eq!(pace.send(at(0), 1250), NEVER);
        assert_eq!((pace.from_backlog(), pace.from_idle(ms(2))), (NEVER, NEVER));
        assert_eq!(pace.send(NEVER, 1), NEVER);
    }

    /// 3 bytes at 7 bit/s take 24/7 s = 3.428571428571.. s.
    #[test]
    fn single_step_equals_constant_rate() {
        assert_eq!(steps(&[(0, 7)]).send(at(0), 3), at(3_428_571_429));
        for (rate, len) in [(10_000_000, 500), (999_999_937, 1500), (3, 65_535)] {
            assert_eq!(steps(&[(0, rate)]).send(at(0), len), at(0) + Rate(rate).time_for(u32::from(len)));
        }
    }

    /// The trace has opportunities at 1, 3, 3 and 8 ms. Its second repetition has them at 9, 11, 11 and 16 ms.
    #[test]
    fn trace_packet_ends_with_opportunity_of_last_byte() {
        let mut pace = trace("1\n3\n3\n8\n");
        assert_eq!(pace.from_idle(at(0)), ms(1));
        assert_eq!(pace.send(ms(1), 1500), ms(1));
        assert_eq!(pace.from_backlog(), ms(3));
        assert_eq!(pace.send(ms(3), 2000), ms(3), "both opportunities at 3 ms");
        assert_eq!(pace.from_backlog(), ms(3), "1000 bytes are left");
        assert_eq!(pace.send(ms(3), 600), ms(3));
        assert_eq!(pace.send(ms(3), 600), ms(8), "400 bytes at 3 ms, 200 at 8");
        assert_eq!(pace.from_idle(ms(8)), ms(9), "an arrival at 8 ms does not get the rest of that opportunity");
        assert_eq!(pace.send(ms(9), 3000), ms(11));
        assert_eq!(pace.from_backlog(), ms(11), "the second one at 11 ms");
    }

    /// The measurement window has 50 opportunities. In it the link sends 10 packets of 1500 bytes and one of 750 bytes.
    #[test]
    fn utilisation_is_relative_to_capacity_in_window() {
        let mut pace =
            Pace::new(Arc::new(Schedule::Trace(Trace::parse("2\n").unwrap())), Window { from: ms(100), to: ms(200) });
        (40..60).for_each(|i| assert_eq!(pace.send(ms(2 * i), 1500), ms(2 * i)));
        pace.send(ms(150), 750);
        assert!((pace.utilisation() - 10.5 / 50.0).abs() < 1e-12);
        let mut pace = Pace::new(
            Arc::new(Schedule::steps(vec![(Instant::ZERO, Rate(8000)), (ms(1), Rate(0))]).unwrap()),
            Window { from: at(0), to: ms(2) },
        );
        pace.send(at(500_000), 1);
        assert!((pace.utilisation() - 0.5).abs() < 1e-12, "4 of 8 bits: the packet never ends");
    }
}
