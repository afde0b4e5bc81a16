//! A transmitter that follows a [`Schedule`]: when a packet may begin, and when it is through.
//!
//! Packets begin in order, so that a cursor suffices. All of it is integer arithmetic; as on a link of constant
//! rate, each packet's end is rounded to the nearest nanosecond.

use std::sync::Arc;

use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::Rate;

use crate::meter::Window;
use crate::schedule::{BIT, NEVER, OPPORTUNITY, Schedule, Trace};

/// The place of a transmitter in its schedule.
#[derive(Clone, Debug)]
pub struct Pace {
    schedule: Arc<Schedule>,
    cursor: Cursor,
}

#[derive(Clone, Debug)]
struct Cursor {
    window: Window,
    /// Steps: the one that the last packet ended in. Trace: the next opportunity.
    next: u64,
    /// When the last packet was through.
    free: u64,
    /// Bytes that the opportunity at `free` still has.
    left: u32,
    /// Work done in the window.
    done: u128,
}

impl Pace {
    /// At the beginning of `schedule`; work is counted within `window`.
    pub const fn new(schedule: Arc<Schedule>, window: Window) -> Self {
        Self { schedule, cursor: Cursor { window, next: 0, free: 0, left: 0, done: 0 } }
    }

    /// When a packet may begin that finds the link idle at `now`.
    pub fn from_idle(&self, now: u64) -> u64 {
        match &*self.schedule {
            Schedule::Steps(steps) => up_from(steps, now),
            Schedule::Trace(trace) => trace.at(trace.before(now + 1)),
        }
    }

    /// When a packet may begin that has been waiting for the one before it.
    pub fn from_backlog(&self) -> u64 {
        match &*self.schedule {
            Schedule::Steps(steps) => up_from(steps, self.cursor.free),
            Schedule::Trace(_) if self.cursor.left > 0 => self.cursor.free,
            Schedule::Trace(trace) => trace.at(self.cursor.next),
        }
    }

    /// Sends `len` bytes from `start` on, which is what one of the other two said; when they are through.
    pub fn send(&mut self, start: u64, len: u16) -> u64 {
        self.cursor.free = match &*self.schedule {
            Schedule::Steps(steps) => self.cursor.through_steps(steps, start, len),
            Schedule::Trace(trace) => self.cursor.through_trace(trace, start, len),
        };
        self.cursor.free
    }

    /// The window ends at `end`.
    pub const fn end(&mut self, end: u64) {
        self.cursor.window.to = end;
    }

    /// Work done in the window as a share of what could have been.
    pub fn utilisation(&self) -> f64 {
        let window = self.cursor.window;
        let able = self.schedule.bits(Instant::from_nanos(window.from), Instant::from_nanos(window.to));
        if able > 0.0 { self.cursor.done as f64 / BIT as f64 / able } else { 0.0 }
    }
}

impl Cursor {
    fn through_steps(&mut self, steps: &[(Instant, Rate)], start: u64, len: u16) -> u64 {
        let mut work = u128::from(len) * 8 * BIT;
        let mut at = start;
        loop {
            let i = self.next as usize;
            let is_last = i + 1 == steps.len();
            let end = if is_last { NEVER } else { steps[i + 1].0.nanos() };
            let rate = u128::from(steps[i].1.0);
            let able = rate * u128::from(end.saturating_sub(at));
            let through = at < end && rate > 0 && able >= work;
            let to = if through { at + ((work + rate / 2) / rate) as u64 } else { at.max(end) };
            self.done += rate * u128::from(self.window.overlap(at, to));
            if through || is_last {
                return to;
            }
            (work, at) = (work - able, to);
            self.next += 1;
        }
    }

    fn through_trace(&mut self, trace: &Trace, start: u64, len: u16) -> u64 {
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

/// The first time from `at` on at which the rate is above 0.
fn up_from(steps: &[(Instant, Rate)], at: u64) -> u64 {
    let later = steps.partition_point(|(from, _)| from.nanos() <= at);
    if later > 0 && steps[later - 1].1.0 > 0 {
        return at;
    }
    steps[later..].iter().find(|(_, rate)| rate.0 > 0).map_or(NEVER, |(from, _)| from.nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(schedule: Schedule) -> Pace {
        Pace::new(Arc::new(schedule), Window { from: 0, to: 1000 * MS })
    }

    fn steps(steps: &[(u64, u64)]) -> Pace {
        let steps = steps.iter().map(|&(ms, rate)| (Instant::from_nanos(ms * MS), Rate(rate)));
        pace(Schedule::steps(steps.collect()).unwrap())
    }

    fn trace(text: &str) -> Pace {
        pace(Schedule::Trace(Trace::parse(text).unwrap()))
    }

    /// 1 Mb/s up to 10 ms, then 4 Mb/s: of 1250 bytes that begin at 5 ms, 5000 bits are through at 10 ms and
    /// the other 5000 take 1.25 ms.
    #[test]
    fn a_packet_spans_a_step() {
        let mut pace = steps(&[(0, 1_000_000), (10, 4_000_000)]);
        assert_eq!(pace.send(5 * MS, 1250), 11_250_000);
        assert_eq!(pace.from_backlog(), 11_250_000);
        assert_eq!(pace.send(11_250_000, 1250), 13_750_000);
    }

    /// Three steps in one packet, one of them of rate 0: 1000 bits by 1 ms, none by 5 ms, 1000 more at 0.5 Mb/s.
    #[test]
    fn a_link_that_goes_down_keeps_what_it_was_sending() {
        let mut pace = steps(&[(0, 1_000_000), (1, 0), (5, 500_000), (9, 0), (20, 1_000_000)]);
        assert_eq!(pace.from_idle(0), 0);
        assert_eq!(pace.send(0, 250), 7 * MS);
        assert_eq!(pace.send(7 * MS, 125), 9 * MS, "through in the last moment");
        assert_eq!((pace.from_backlog(), pace.from_idle(15 * MS)), (20 * MS, 20 * MS));
        assert_eq!(pace.send(20 * MS, 125), 21 * MS);
    }

    #[test]
    fn a_link_that_stays_down_never_sends() {
        let mut pace = steps(&[(0, 1_000_000), (1, 0)]);
        assert_eq!(pace.send(0, 1250), NEVER);
        assert_eq!((pace.from_backlog(), pace.from_idle(2 * MS)), (NEVER, NEVER));
        assert_eq!(pace.send(NEVER, 1), NEVER);
    }

    /// 3 bytes at 7 bit/s take 24/7 s = 3.428571428571.. s.
    #[test]
    fn one_step_is_a_constant_rate() {
        assert_eq!(steps(&[(0, 7)]).send(0, 3), 3_428_571_429);
        for (rate, len) in [(10_000_000, 500), (999_999_937, 1500), (3, 65_535)] {
            assert_eq!(steps(&[(0, rate)]).send(0, len), Rate(rate).time_for(u32::from(len)).nanos());
        }
    }

    /// Opportunities at 1, 3, 3, 8 ms, then 9, 11, 11, 16 ms.
    #[test]
    fn a_packet_leaves_with_the_opportunity_of_its_last_byte() {
        let mut pace = trace("1\n3\n3\n8\n");
        assert_eq!(pace.from_idle(0), MS);
        assert_eq!(pace.send(MS, 1500), MS);
        assert_eq!(pace.from_backlog(), 3 * MS);
        assert_eq!(pace.send(3 * MS, 2000), 3 * MS, "both opportunities at 3 ms");
        assert_eq!(pace.from_backlog(), 3 * MS, "1000 bytes are left");
        assert_eq!(pace.send(3 * MS, 600), 3 * MS);
        assert_eq!(pace.send(3 * MS, 600), 8 * MS, "400 bytes at 3 ms, 200 at 8");
        assert_eq!(pace.from_idle(8 * MS), 9 * MS, "the rest of 8 ms is lost for who arrives at 8 ms");
        assert_eq!(pace.send(9 * MS, 3000), 11 * MS);
        assert_eq!(pace.from_backlog(), 11 * MS, "the second one at 11 ms");
    }

    /// In 100 ms 50 opportunities, of which 10 full packets and one of 750 bytes are served.
    #[test]
    fn utilisation_is_of_the_capacity_in_the_window() {
        let mut pace =
            Pace::new(Arc::new(Schedule::Trace(Trace::parse("2\n").unwrap())), Window { from: 100 * MS, to: 200 * MS });
        (40..60).for_each(|i| assert_eq!(pace.send(2 * i * MS, 1500), 2 * i * MS));
        pace.send(150 * MS, 750);
        assert!((pace.utilisation() - 10.5 / 50.0).abs() < 1e-12);
        let mut pace = Pace::new(
            Arc::new(Schedule::steps(vec![(Instant::ZERO, Rate(8000)), (Instant::from_nanos(MS), Rate(0))]).unwrap()),
            Window { from: 0, to: 2 * MS },
        );
        pace.send(500_000, 1);
        assert!((pace.utilisation() - 0.5).abs() < 1e-12, "4 of 8 bits: it never gets through");
    }
}
