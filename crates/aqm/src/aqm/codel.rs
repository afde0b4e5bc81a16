//! CoDel: drops at the head while packets have stayed too long for too long (RFC 8289).
//!
//! Not the queue but its minimum matters: only if no packet's stay was below `target` during a whole
//! `interval` is there a standing queue. Then drops come interval/sqrt(count) apart, so the drop rate
//! grows linearly until the sender answers.

use core::mem;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{Tail, Tc};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::Verdict;
use crate::{choice, params, probes};

choice! {
    /// How 1/sqrt(count) is worked out.
    pub enum InverseSqrt {
        /// Exactly.
        Exact = "exact",
        /// One Newton step a drop on 16 bits: Linux.
        Newton = "newton",
    }
}

params! {
    /// Knobs of CoDel.
    pub struct Params {
        /// Acceptable standing delay.
        target: Span = Span::from_millis(5), in 1e-9 ..= 1e3, "TARGET", "RFC 8289 section 4.3";
        /// Time within which the delay must once have been below target: a long round trip.
        interval: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "INTERVAL", "RFC 8289 section 4.2";
        /// No drop while no more than this waits; auto is the largest packet seen.
        mtu: Auto<Bytes> = Auto::Auto, in 0.0 ..= 1e9, "maxpacket", "RFC 8289 section 5.6";
        /// The square root of the control law.
        inv_sqrt: InverseSqrt = InverseSqrt::Exact, in 0.0 ..= 1.0, "", "RFC 8289 section 5.6; Linux";
    }
}

/// A cycle that begins within so many intervals of the last one's next drop takes over its rate.
const MEMORY: u64 = 16;

/// State of CoDel.
pub struct CoDel {
    params: Params,
    max_packet: u32,
    sojourn: Span,
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    /// 1/sqrt(count) as a fraction of 2^32, for Newton's step.
    reciprocal: u32,
    /// The present dequeue has dropped: the next drop is scheduled if the next packet is bad too.
    unscheduled: bool,
}

/// The control law: time between drops, interval/sqrt(count).
pub fn gap(interval: Span, count: u32) -> Span {
    Span::from_nanos(libm::round(interval.nanos() as f64 / libm::sqrt(f64::from(count))) as u64)
}

/// x (3 - count x^2)/2 with x a fraction of 2^32, of which the upper 16 bits are kept.
fn newton_step(x: u32, count: u32) -> u32 {
    let x = u64::from(x);
    let bracket = (3 << 32) - u64::from(count) * ((x * x) >> 32);
    (((bracket >> 2) * x) >> 31) as u32 & 0xffff_0000
}

impl CoDel {
    /// RFC 8289's `dodequeue`: has the delay been above target for an interval, this packet included?
    fn ok_to_drop(&mut self, packet: &Packet, level: &Level, now: Instant) -> bool {
        self.max_packet = self.max_packet.max(packet.len);
        self.sojourn = now.since(packet.arrived);
        let small = self.params.mtu.or(Bytes(u64::from(self.max_packet)));
        if self.sojourn < self.params.target || level.bytes() <= small.0 {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + self.params.interval)
    }

    fn enter(&mut self, now: Instant) {
        let delta = self.count - self.last_count;
        if delta > 1 && now.since(self.drop_next) < self.params.interval * MEMORY {
            self.count = delta;
            self.reciprocal = newton_step(self.reciprocal, delta);
        } else {
            self.count = 1;
            self.reciprocal = 0xffff_0000;
        }
        self.dropping = true;
        self.last_count = self.count;
        self.drop_next = now + self.gap();
    }

    fn gap(&self) -> Span {
        match self.params.inv_sqrt {
            InverseSqrt::Exact => gap(self.params.interval, self.count),
            InverseSqrt::Newton => {
                let scaled = u128::from(self.params.interval.nanos()) * u128::from(self.reciprocal);
                Span::from_nanos((scaled >> 32) as u64)
            }
        }
    }
}

impl Design for CoDel {
    type Params = Params;
    const ABOUT: About = About {
        summary: "controlled delay: drops at the head once the minimum delay stays above target",
        source: "Nichols, Jacobson, McGregor, Iyengar: RFC 8289, sections 5.5 and 5.6",
        rule: "departure:  bad = delay >= target and backlog > maxpacket, for an interval on end\n\
               \u{20}           not dropping, bad:  drop, pass the next; count = 1, or the last cycle's if recent;\n\
               \u{20}                               drop_next = now + interval/sqrt(count)\n\
               \u{20}           dropping, not bad or empty:  leave\n\
               \u{20}           dropping, now >= drop_next:  drop; count += 1;\n\
               \u{20}                               if the next is bad: drop_next += interval/sqrt(count), and again",
        deviations: &[
            "maxpacket is the largest packet seen so far; the RFC suggests the interface's MTU (mtu=...)",
            "a mark ends the dequeue and advances drop_next at once, as in Linux; the RFC's listing only drops",
            "preset=linux: Linux's Newton step and MTU test; not its 1.024 us clock, its ce_threshold, that an idle \
             link leaves first_above_time standing, nor its strict > where delay has been above target for \
             exactly an interval: here that packet is bad, as in the RFC",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc8289",
            settings: "target=5ms interval=100ms mtu=auto inv_sqrt=exact",
            source: "RFC 8289 sections 4.2, 4.3 and 5",
        },
        Preset {
            name: "linux",
            settings: "ecn=off target=5ms interval=100ms mtu=1514 inv_sqrt=newton",
            source: "Linux codel on Ethernet: tc's defaults",
        },
    ];
    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux hard_limit=1000p",
        words: &[
            ("limit", Tail::Packets("hard_limit")),
            ("target", Tail::Time("target")),
            ("interval", Tail::Time("interval")),
            ("ecn", Tail::Flag("ecn=on")),
            ("noecn", Tail::Flag("ecn=off")),
        ],
    });

    fn build(params: &Params, _: &Link) -> Self {
        Self {
            params: params.clone(),
            max_packet: 0,
            sojourn: Span::ZERO,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            reciprocal: 0,
            unscheduled: false,
        }
    }
}

impl Aqm for CoDel {
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let bad = self.ok_to_drop(packet, level, cx.now);
        if mem::take(&mut self.unscheduled) && bad {
            self.drop_next += self.gap();
        }
        if !self.dropping && bad {
            // The packet behind this one passes, good or bad: drop_next lies ahead.
            self.enter(cx.now);
            return Verdict::Signal;
        }
        self.dropping = bad;
        if !bad || cx.now < self.drop_next {
            return Verdict::Accept;
        }
        self.count += 1;
        self.reciprocal = newton_step(self.reciprocal, self.count);
        if level.marks(packet) {
            self.drop_next += self.gap();
        } else {
            self.unscheduled = true;
        }
        Verdict::Signal
    }

    fn emptied(&mut self, _: &mut Cx) {
        self.first_above = None;
        self.dropping = false;
        self.unscheduled = false;
    }
}

probes! { CoDel {
    /// Drops of the present or last dropping state, which set the rate.
    count ["1"] = |s| f64::from(s.count);
    /// Time the last judged packet had waited.
    sojourn ["s"] = |s| s.sojourn.secs();
    /// 1 in the dropping state.
    dropping ["1"] = |s| f64::from(u8::from(s.dropping));
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};

    fn ms(t: u64) -> Instant {
        Instant::from_nanos(t * 1_000_000)
    }

    #[test]
    fn parameters_at_their_limits_are_taken() {
        let mut params = Params::default();
        for (key, text) in [("interval", "1000s"), ("interval", "1us"), ("target", "1000s"), ("target", "1ns")] {
            assert!(params.set(key, text).unwrap().is_ok(), "{key}={text}");
        }
    }

    const LINK: Link = Link { rate: Rate(1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    /// `n` packets of 1000 bytes offered at time 0.
    fn backlog(n: u32) -> Queue<Fifo<CoDel>> {
        let codel = CoDel::build(&Params::default(), &LINK);
        let mut queue = Queue::new(Fifo::new(codel), LINK, true, Rng::stream(1, "codel"));
        for slot in 0..n {
            queue.arrive(Packet { slot, len: 1000, ..Packet::default() }, Instant::ZERO);
        }
        queue
    }

    #[test]
    fn gaps_shrink_with_the_root_of_the_count() {
        let interval = Span::from_millis(100);
        assert_eq!(gap(interval, 1), interval);
        assert_eq!(gap(interval, 4), Span::from_millis(50));
        assert_eq!(gap(interval, 100), Span::from_millis(10));
        assert_eq!(gap(interval, 2), Span::from_nanos(70_710_678));
    }

    #[test]
    fn newton_follows_the_root_within_a_percent() {
        let mut x = 0xffff_0000;
        for count in 2..1000 {
            x = newton_step(x, count);
            // The first steps from 1 are far off by design; Linux accepts that.
            let exact = 1.0 / libm::sqrt(f64::from(count));
            let error = (f64::from(x) / 4_294_967_296.0 - exact).abs() / exact;
            assert!(error < if count == 2 { 0.3 } else { 0.03 }, "count {count}: {error}");
        }
    }

    #[test]
    fn first_drop_comes_one_interval_after_the_delay_went_above() {
        let mut queue = backlog(100);
        let mut sent = |t| queue.depart(ms(t)).map(|p| p.slot);
        assert_eq!(sent(4), Some(0));
        assert_eq!(sent(5), Some(1)); // 5 ms is not below target: the interval starts
        assert_eq!(sent(104), Some(2));
        assert_eq!(sent(105), Some(4)); // 3 is dropped
        assert_eq!(sent(204), Some(5));
        assert_eq!(sent(205), Some(7)); // 6 is dropped, 100 ms later; the next in 100/sqrt(2)
        assert_eq!(sent(275), Some(8));
        assert_eq!(sent(276), Some(10));
    }

    #[test]
    fn last_packets_are_never_dropped() {
        let mut queue = backlog(3);
        let mut sent = |t| queue.depart(ms(t)).map(|p| p.slot);
        assert_eq!(sent(10), Some(0)); // two packets behind: above
        assert_eq!(sent(500), Some(1)); // one of maximum size behind: below
        assert_eq!(sent(900), Some(2));
        assert_eq!(sent(901), None);
    }

    #[test]
    fn an_empty_queue_ends_the_dropping_state_but_not_the_memory() {
        let mut codel = CoDel {
            first_above: Some(ms(1)),
            dropping: true,
            unscheduled: true,
            count: 7,
            ..CoDel::build(&Params::default(), &LINK)
        };
        codel.emptied(&mut Cx { now: ms(9), rng: &mut Rng::stream(1, "codel") });
        assert!(codel.first_above.is_none() && !codel.dropping && !codel.unscheduled);
        assert_eq!(codel.count, 7);
    }

    #[test]
    fn rate_is_taken_over_within_sixteen_intervals() {
        // Left at count 7 that began at 1: the next cycle begins at 6, unless it is too late or delta is 1.
        let count_of = |last_count, now| {
            let left = CoDel { count: 7, last_count, drop_next: ms(1000), ..CoDel::build(&Params::default(), &LINK) };
            let mut codel = CoDel { reciprocal: 0x6000_0000, ..left };
            codel.enter(ms(now));
            (codel.count, codel.drop_next.since(ms(now)))
        };
        assert_eq!(count_of(1, 2599), (6, gap(Span::from_millis(100), 6)));
        assert_eq!(count_of(1, 900).0, 6); // left before its next drop was due
        assert_eq!(count_of(1, 2600), (1, Span::from_millis(100)));
        assert_eq!(count_of(6, 1001).0, 1);
    }
}
