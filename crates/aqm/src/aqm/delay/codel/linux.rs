//! CoDel with the numbers of Linux 6.12 (`rules=linux`), so that both treat every packet alike: net/codel.h and
//! net/codel_impl.h.
//!
//! The rule is that of RFC 8289. Linux's clock has steps of 1.024 us and 32 bits. It returns to 0 after 73 minutes, so
//! that two times are compared by the sign of their difference. The delay counts as above target for an interval only
//! if the interval is exceeded. CoDel draws no random numbers.

use super::{MEMORY, Rule, State, drop_unless_marked};
use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::params::Off;
use crate::base::port::{ListId, Port, Taken};
use crate::base::time::{Instant, Span};
use crate::base::units::Bytes;

/// One step of Linux's clock is 2 to this power nanoseconds: `CODEL_SHIFT`.
const SHIFT: u32 = 10;
/// 1/sqrt(1) as Linux stores it: the largest number of 16 bits, as a fraction of 2^32.
const ROOT_OF_ONE: u32 = 0xffff_0000;

/// CoDel's times of one queue, in steps of Linux's clock.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    /// Time at which the delay will have been above target for one interval; 0 while it is below.
    pub(super) first_above: u32,
    pub(super) drop_next: u32,
}

const fn now_of(at: Instant) -> u32 {
    (at.nanos() >> SHIFT) as u32
}

const fn steps(span: Span) -> u32 {
    (span.nanos() >> SHIFT) as u32
}

/// Whether `a` is later than `b`, or a duration `a` longer than `b`.
const fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

impl State {
    /// The time that is interval/sqrt(count) after `at`.
    const fn linux_next_after(&self, at: u32, interval: u32) -> u32 {
        at.wrapping_add(((interval as u64 * self.reciprocal as u64) >> 32) as u32)
    }

    /// Enters the dropping state, after the first drop or mark. Resumes the drop rate of a recent one.
    const fn linux_enter(&mut self, now: u32, interval: u32) {
        let delta = self.count.wrapping_sub(self.last_count);
        let recent = is_after(interval.wrapping_mul(MEMORY as u32), now.wrapping_sub(self.linux.drop_next));
        (self.count, self.reciprocal) =
            if delta > 1 && recent { (delta, super::newton_step(self.reciprocal, delta)) } else { (1, ROOT_OF_ONE) };
        self.dropping = true;
        self.last_count = self.count;
        self.linux.drop_next = self.linux_next_after(now, interval);
    }
}

impl Rule {
    /// `codel_should_drop` on the next packet of `list`: the packet, and whether it may be dropped.
    fn linux_dodequeue(
        &mut self,
        state: &mut State,
        list: ListId,
        port: &mut Port,
        at: Instant,
    ) -> (Option<Taken>, bool) {
        let first_above = &mut state.linux.first_above;
        let Some(p) = port.take(list) else {
            *first_above = 0;
            return (None, false);
        };
        let (now, packet) = (now_of(at), port.taken(&p));
        self.max_packet = self.max_packet.max(packet.len);
        self.sojourn = at.since(packet.arrived);
        self.steps_waited = now.wrapping_sub(now_of(packet.arrived));
        let max_packet = self.params.mtu.or(Bytes(u64::from(self.max_packet)));
        if is_after(steps(self.params.target), self.steps_waited) || port.bytes() <= max_packet.0 {
            *first_above = 0;
            return (Some(p), false);
        }
        if *first_above == 0 {
            *first_above = now.wrapping_add(steps(self.params.interval));
            return (Some(p), false);
        }
        (Some(p), is_after(now, *first_above))
    }

    /// `codel_dequeue`: the packet of `list` to send, and whether it is marked.
    #[inline(never)] // It would make the listing of RFC 8289 slower.
    pub(super) fn linux_next(
        &mut self,
        state: &mut State,
        list: ListId,
        port: &mut Port,
        cx: &mut Cx,
    ) -> Option<(Taken, bool)> {
        let (now, interval) = (now_of(cx.now), steps(self.params.interval));
        let (mut p, mut ok_to_drop) = self.linux_dodequeue(state, list, port, cx.now);
        if state.dropping {
            state.dropping = ok_to_drop;
            while state.dropping && !is_after(state.linux.drop_next, now) {
                state.count_one();
                p = drop_unless_marked(p?, port, cx);
                if p.is_some() {
                    state.linux.drop_next = state.linux_next_after(state.linux.drop_next, interval);
                    return p.map(|p| (p, true));
                }
                (p, ok_to_drop) = self.linux_dodequeue(state, list, port, cx.now);
                state.dropping = ok_to_drop;
                if ok_to_drop {
                    state.linux.drop_next = state.linux_next_after(state.linux.drop_next, interval);
                }
            }
        } else if ok_to_drop {
            p = drop_unless_marked(p?, port, cx);
            let marked = p.is_some();
            if !marked {
                (p, _) = self.linux_dodequeue(state, list, port, cx.now);
            }
            state.linux_enter(now, interval);
            if marked {
                return p.map(|p| (p, true));
            }
        }
        let p = p?;
        let marked = self.linux_marks_late(port.taken(&p));
        Some((p, marked))
    }

    /// Whether `packet`, the one dequeued last, is marked because its delay exceeds `ce_threshold`.
    const fn linux_marks_late(&self, packet: &Packet) -> bool {
        let late = matches!(self.params.ce_threshold, Off::At(most) if is_after(self.steps_waited, steps(most)));
        late && packet.ecn.is_capable()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CoDel, Params, Rules};
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::units::{Limit, Link, Rate};
    use crate::testing::by_hand::fifo;

    const LINK: Link = Link { rate: Rate(1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };
    /// A step of the clock, in nanoseconds.
    const STEP: u64 = 1 << SHIFT;
    /// 5 ms and 100 ms in whole steps, and the rest: 4882.8 and 97,656.25.
    const TARGET: u64 = 4882;
    const INTERVAL: u64 = 97_656;

    /// A queue to which 50 packets of 1000 bytes were offered at step `at` of the clock.
    fn backlog(settings: &str, at: u64, ecn: Ecn) -> Queue<Fifo<CoDel>> {
        let mut queue = fifo(&alloc::format!("rules=linux mtu=1514b {settings}"), LINK, true);
        for slot in 0..50 {
            queue.arrive(Packet { slot, len: 1000, ecn, ..Packet::default() }, Instant::from_nanos(at * STEP));
        }
        queue
    }

    /// The packet sent `ns` nanoseconds after step `step` of the clock.
    fn sent(queue: &mut Queue<Fifo<CoDel>>, step: u64, ns: u64) -> Option<u32> {
        queue.depart(Instant::from_nanos(step * STEP + ns)).map(|packet| packet.slot)
    }

    #[test]
    fn times_are_rounded_down_to_clock_steps() {
        let state = |queue: &Queue<Fifo<CoDel>>| queue.discipline().aqm().state.linux;
        let mut queue = backlog("", 1, Ecn::NotEct);
        sent(&mut queue, TARGET, STEP - 1);
        assert_eq!(state(&queue).first_above, 0, "one nanosecond before the step that is target late");
        // 4882 steps are 4.999168 ms: less than 5 ms, but not less than target in steps.
        sent(&mut queue, TARGET + 1, 0);
        assert_eq!(u64::from(state(&queue).first_above), TARGET + 1 + INTERVAL);
    }

    #[test]
    fn first_drop_comes_one_step_after_the_interval() {
        let mut queue = backlog("", 0, Ecn::NotEct);
        assert_eq!(sent(&mut queue, TARGET, 0), Some(0));
        assert_eq!(sent(&mut queue, TARGET + INTERVAL, STEP - 1), Some(1), "exactly one interval, not more");
        assert_eq!(sent(&mut queue, TARGET + INTERVAL + 1, 0), Some(3), "2 is dropped");
        // 1/sqrt(1) is 65,535/65,536: the next drop is due 97,656 x 65,535/65,536 = 97,654.5 steps later.
        let due = TARGET + INTERVAL + 1 + 97_654;
        assert_eq!(sent(&mut queue, due - 1, STEP - 1), Some(4));
        assert_eq!(sent(&mut queue, due, 0), Some(6), "exactly at that step");
    }

    #[test]
    fn a_wrap_of_the_clock_changes_nothing() {
        let fates = |from: u64| {
            let mut queue = backlog("target=1ms interval=10ms", from, Ecn::NotEct);
            (0..50).map(|n| sent(&mut queue, from + 1000 + 1500 * n, 7)).collect::<alloc::vec::Vec<_>>()
        };
        let before = fates(1000);
        assert!(before.last() == Some(&None) && fates((1 << 32) - 20_000) == before);
    }

    #[test]
    fn drop_rate_is_resumed_within_sixteen_intervals() {
        let count_of = |now: u32| {
            let linux = Times { first_above: 0, drop_next: 1000 };
            let mut state = State { count: 7, last_count: 1, reciprocal: 0x6000_0000, linux, ..State::default() };
            state.linux_enter(now, 100);
            state.count
        };
        assert_eq!([900, 1000, 2599, 2600].map(count_of), [6, 6, 6, 1]);
        // From 16 intervals and 2^31 steps on, the difference has the other sign.
        assert_eq!([0x8000_0a28, 0x8000_0a29].map(count_of), [1, 6]);
    }

    #[test]
    fn marks_advance_drop_next_and_ce_threshold_marks_late_packets() {
        let mut queue = backlog("ce_threshold=1ms", 0, Ecn::Ect0);
        let mut marked = |step| queue.depart(Instant::from_nanos(step * STEP)).map(|packet| packet.ecn == Ecn::Ce);
        // 1 ms is 976.6 steps.
        assert_eq!([marked(976), marked(977)], [Some(false), Some(true)]);
        let mut queue = backlog("", 0, Ecn::Ect0);
        let mut marked = |step| queue.depart(Instant::from_nanos(step * STEP)).map(|packet| packet.ecn == Ecn::Ce);
        assert_eq!([TARGET, TARGET + INTERVAL + 1].map(&mut marked), [Some(false), Some(true)]);
        let due = TARGET + INTERVAL + 1 + 97_654;
        assert_eq!([due - 1, due, due].map(&mut marked), [Some(false), Some(true), Some(false)]);
        assert_eq!(queue.port.tally().dropped_early.pkts, 0);
    }

    #[test]
    fn default_is_the_listing_of_rfc8289() {
        assert_eq!(Params::default().rules, Rules::Rfc);
    }
}
