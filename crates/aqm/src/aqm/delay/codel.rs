//! CoDel: drops at the head while the sojourn time stays above a target (RFC 8289).
//!
//! CoDel tracks the minimum delay, not the queue length. There is a standing queue if no packet's sojourn time was
//! below `target` during one `interval`. Then drops are interval/sqrt(count) apart, so the drop rate grows linearly
//! until the sender reacts.
//!
//! [`Rule::deque`] and [`Rule::dodequeue`] are the listings of RFC 8289 section 5.5, for one queue of possibly several.
//! The file `codel/linux.rs` has the same listings with Linux's integers.

mod linux;

use crate::aqm::backlog::droptail::DropTail;
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::{Auto, Off};
use crate::base::port::{ListId, Port, Taken};
use crate::base::tc::{CODEL_TIME, ECN, Form, LIMIT, Tc, Words, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::Reason;
use crate::{choice, params, probes};

choice! {
    /// How 1/sqrt(count) is computed.
    pub enum InverseSqrt {
        /// Exactly, with a floating-point square root.
        Exact = "exact",
        /// One Newton step per drop on 16 bits: Linux.
        Newton = "newton",
    }
}

choice! {
    /// Whose numbers are used.
    pub enum Rules {
        /// Times in nanoseconds, as RFC 8289 describes it.
        Rfc = "rfc8289",
        /// The integers of Linux 6.12, packet by packet: times in steps of 1.024 us, a delay above target for more than
        /// an interval, inv_sqrt=newton.
        Linux = "linux",
    }
}

params! {
    /// Parameters of CoDel.
    pub struct Params {
        /// Acceptable standing delay.
        target: Span = Span::from_millis(5), in 1e-9 ..= 1e3, "TARGET", "RFC 8289 section 4.3";
        /// Time within which the delay must fall below target at least once; about the longest expected RTT.
        interval: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "INTERVAL", "RFC 8289 section 4.2";
        /// No drop while the backlog is at most this; auto: the largest packet seen.
        mtu: Auto<Bytes> = Auto::Auto, in 0.0 ..= 1e9, "maxpacket", "RFC 8289 section 5.6";
        /// How the square root of the control law is computed.
        inv_sqrt: InverseSqrt = InverseSqrt::Exact, in 0.0 ..= 1.0, "", "RFC 8289 section 5.6; Linux";
        /// Marks ECT packets whose sojourn time exceeds this, independent of the control law and of `ecn`.
        ce_threshold: Off<Span> = Off::Off, in 0.0 ..= 1e3, "ce_threshold", "Linux; RFC 8290 section 5.2.7";
        /// Whose numbers are used: exact times, or Linux's clock with steps of 1.024 us.
        rules: Rules = Rules::Rfc, in 0.0 ..= 1.0, "", "RFC 8289 section 5.5; Linux 6.12 net/codel_impl.h";
    }
}

/// Number of intervals. A dropping state that starts earlier than this after `drop_next` of the previous one resumes
/// the previous drop rate.
const MEMORY: u64 = 16;

/// CoDel's parameters, and the state that all its queues share.
pub struct Rule {
    params: Params,
    max_packet: u32,
    sojourn: Span,
    /// rules=linux: the sojourn time in steps of Linux's clock.
    steps_waited: u32,
}

/// CoDel's state for one queue.
#[derive(Clone, Copy, Default)]
pub struct State {
    /// Time at which the delay will have been above target for one interval; `None` while it is below.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    /// 1/sqrt(count) as a fraction of 2^32, for Newton's step.
    reciprocal: u32,
    dropping: bool,
    /// rules=linux: the times, instead of those above.
    linux: linux::Times,
}

/// State of CoDel.
pub struct CoDel {
    rule: Rule,
    state: State,
}

/// The control law: time between drops, interval/sqrt(count).
pub fn gap(interval: Span, count: u32) -> Span {
    Span::from_nanos(libm::round(interval.nanos() as f64 / libm::sqrt(f64::from(count))) as u64)
}

/// One Newton step towards 1/sqrt(count): x (3 - count x^2)/2. x is a fraction of 2^32; its upper 16 bits are kept.
///
/// Wraps on overflow, as in Linux: after a full buffer has added 64 drops to the count at once, x is far from the root.
const fn newton_step(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let bracket = (3_u64 << 32).wrapping_sub(count as u64 * ((x * x) >> 32));
    ((bracket >> 2).wrapping_mul(x) >> 31) as u32 & 0xffff_0000
}

impl State {
    /// Adds `drops` overflow drops of this queue to the count, which raises the drop rate.
    pub const fn count_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Drops of the current or last dropping state; they set the drop rate.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Enters the dropping state; resumes the drop rate of a recent one.
    fn enter(&mut self, params: &Params, now: Instant) {
        let delta = self.count.wrapping_sub(self.last_count);
        if delta > 1 && now.since(self.drop_next) < params.interval * MEMORY {
            self.count = delta;
            self.reciprocal = newton_step(self.reciprocal, delta);
        } else {
            self.count = 1;
            self.reciprocal = 0xffff_0000;
        }
        self.dropping = true;
        self.last_count = self.count;
        self.drop_next = now + self.gap(params);
    }

    /// Counts one drop or mark.
    fn count_one(&mut self) {
        self.count = self.count.wrapping_add(1);
        self.reciprocal = newton_step(self.reciprocal, self.count);
    }

    fn gap(&self, params: &Params) -> Span {
        match params.inv_sqrt {
            InverseSqrt::Exact => gap(params.interval, self.count),
            InverseSqrt::Newton => {
                let scaled = u128::from(params.interval.nanos()) * u128::from(self.reciprocal);
                Span::from_nanos((scaled >> 32) as u64)
            }
        }
    }
}

impl Rule {
    /// CoDel with `params`, before the first packet.
    pub const fn new(params: Params) -> Self {
        Self { params, max_packet: 0, sojourn: Span::ZERO, steps_waited: 0 }
    }

    /// The parameters of `self` with the state of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { max_packet: before.max_packet, sojourn: before.sojourn, ..self }
    }

    /// Sojourn time of the packet dequeued last.
    pub const fn sojourn(&self) -> Span {
        self.sojourn
    }

    /// Whether the sojourn time of the packet dequeued last exceeds `ce_threshold`.
    #[inline]
    fn is_late(&self) -> bool {
        matches!(self.params.ce_threshold, Off::At(threshold) if self.sojourn > threshold)
    }

    /// The next packet of `list`, and whether it may be dropped because the delay was above target for an interval.
    #[inline(always)] // Out of line, this and `next` cost FQ-CoDel a sixth.
    fn dodequeue(&mut self, state: &mut State, list: ListId, port: &mut Port, now: Instant) -> (Option<Taken>, bool) {
        let Some(p) = port.take(list) else {
            state.first_above = None;
            return (None, false);
        };
        let packet = port.taken(&p);
        self.max_packet = self.max_packet.max(packet.len);
        self.sojourn = now.since(packet.arrived);
        let max_packet = self.params.mtu.or(Bytes(u64::from(self.max_packet)));
        // Section 4.4: the backlog of all queues on the link counts.
        if self.sojourn < self.params.target || port.bytes() <= max_packet.0 {
            state.first_above = None;
            return (Some(p), false);
        }
        let ok_to_drop = now >= *state.first_above.get_or_insert(now + self.params.interval);
        (Some(p), ok_to_drop)
    }

    /// Takes the packet of `list` to send; `None` if there is none.
    #[inline(always)]
    pub fn deque(&mut self, state: &mut State, list: ListId, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        let (p, marked) = match self.params.rules {
            Rules::Rfc => self.next(state, list, port, cx)?,
            Rules::Linux => self.linux_next(state, list, port, cx)?,
        };
        Some(port.send_taken(p, marked, &mut DropTail, cx))
    }

    /// The packet to send, and whether it is marked. A packet marked instead of dropped is sent at once, as in Linux.
    #[inline(always)]
    fn next(&mut self, state: &mut State, list: ListId, port: &mut Port, cx: &mut Cx) -> Option<(Taken, bool)> {
        let now = cx.now;
        let (mut p, mut ok_to_drop) = self.dodequeue(state, list, port, now);
        if state.dropping {
            state.dropping = ok_to_drop;
            while state.dropping && now >= state.drop_next {
                state.count_one();
                p = drop_unless_marked(p?, port, cx);
                if p.is_some() {
                    state.drop_next += state.gap(&self.params);
                    return p.map(|p| (p, true));
                }
                (p, ok_to_drop) = self.dodequeue(state, list, port, now);
                state.dropping = ok_to_drop;
                if ok_to_drop {
                    state.drop_next += state.gap(&self.params);
                }
            }
        } else if ok_to_drop {
            state.enter(&self.params, now);
            p = drop_unless_marked(p?, port, cx);
            if p.is_some() {
                return p.map(|p| (p, true));
            }
            (p, _) = self.dodequeue(state, list, port, now);
            state.dropping = p.is_some();
        }
        let p = p?;
        let marked = self.is_late() && port.taken(&p).ecn.is_capable();
        Some((p, marked))
    }
}

/// The signal of the control law: drops the packet, or returns it if it can be marked.
fn drop_unless_marked(p: Taken, port: &mut Port, cx: &mut Cx) -> Option<Taken> {
    if port.marks(port.taken(&p)) {
        return Some(p);
    }
    port.drop_taken(p, Reason::Early, &mut DropTail, cx);
    None
}

/// tc's arguments for CoDel's target and interval.
pub const TIMES: Words = &[
    ("target", sets(Form::Time, "target").in_steps(CODEL_TIME).but_zero()),
    ("interval", sets(Form::Time, "interval").in_steps(CODEL_TIME).but_zero()),
];
/// tc's argument for the CE threshold.
pub const CE_THRESHOLD: Words = &[("ce_threshold", sets(Form::Time, "ce_threshold").in_steps(CODEL_TIME).tail())];

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
               \u{20}                               if the next is bad: drop_next += interval/sqrt(count), and again\n\
               \u{20}           delay > ce_threshold:  mark",
        deviations: &[
            "maxpacket differs from the RFC: it is the largest packet seen so far; the RFC suggests the interface's \
             MTU (mtu=...)",
            "marking is ours, as in Linux: a mark ends the dequeue and advances drop_next at once; the RFC's listing \
             only drops",
            "a drop that empties the queue differs from the RFC: it ends the dropping state at once; the RFC's listing \
             ends it at the next dequeue",
            "rules=linux: as Linux 6.12 packet by packet, with times of the same clock; no random numbers are drawn. An \
             idle Linux device may send a packet without CoDel; that does not change CoDel's state",
            "ce_threshold differs from Linux: it applies to all packets; Linux's selector for traffic classes is not \
             implemented",
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
            settings: "ecn=off hard_limit=1000p target=5ms interval=100ms mtu=1514 inv_sqrt=newton \
                       rules=linux",
            source: "Linux codel on Ethernet: tc's defaults",
        },
    ];
    const TC: Option<Tc> = Some(Tc::new("preset=linux", &[LIMIT, TIMES, CE_THRESHOLD, ECN]));
    const COST: Cost = Cost::Heavy;

    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn marks_without_ecn(params: &Params) -> bool {
        params.ce_threshold != Off::Off
    }

    fn build(params: &Params, _: &Link) -> Self {
        Self { rule: Rule::new(params.clone()), state: State::default() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { rule: Self::build(params, link).rule.after(&self.rule), state: self.state })
    }
}

impl Aqm for CoDel {
    #[inline]
    fn dequeue(&mut self, list: ListId, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.rule.deque(&mut self.state, list, port, cx)
    }
}

probes! { CoDel {
    /// Drops of the current or last dropping state; they set the drop rate.
    count ["1"] = |s| f64::from(s.state.count());
    /// Sojourn time of the packet dequeued last.
    sojourn ["s"] = |s| s.rule.sojourn.secs();
    /// 1 in the dropping state.
    dropping ["1"] switch = |s| f64::from(u8::from(s.state.dropping));
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::params::ParamSet;
    use crate::base::port::MAIN;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};
    use crate::base::verdict::Verdict;
    use crate::testing::by_hand::{ms, packet};

    #[test]
    fn parameters_at_their_limits_are_accepted() {
        let mut params = Params::default();
        for (key, text) in [("interval", "1000s"), ("interval", "1us"), ("target", "1000s"), ("target", "1ns")] {
            assert!(params.set(key, text).unwrap().is_ok(), "{key}={text}");
        }
    }

    const LINK: Link = Link { rate: Rate(1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    /// A queue to which `n` packets of 1000 bytes were offered at time 0.
    fn backlog(n: u32) -> Queue<Fifo<CoDel>> {
        let codel = CoDel::build(&Params::default(), &LINK);
        let mut queue = Queue::new(Fifo::new(codel), LINK, true, Rng::stream(1, "codel"));
        for slot in 0..n {
            queue.arrive(Packet { slot, len: 1000, ..Packet::default() }, Instant::ZERO);
        }
        queue
    }

    #[test]
    fn gaps_between_drops_shrink_with_sqrt_of_count() {
        let interval = Span::from_millis(100);
        assert_eq!(gap(interval, 1), interval);
        assert_eq!(gap(interval, 4), Span::from_millis(50));
        assert_eq!(gap(interval, 100), Span::from_millis(10));
        assert_eq!(gap(interval, 2), Span::from_nanos(70_710_678));
    }

    /// One Newton step from x = (1 + d)/sqrt(count) gives (1 - e)/sqrt(count) with e = 3/2 d^2 + d^3/2. Then the lower
    /// 16 bits are set to 0. x is 1/sqrt of the previous count, so d is at most 1/(2 (count - 1)). At count 2
    /// e is 29 %, which Linux accepts; at large counts e is about 3/8 count^-2.
    #[test]
    fn newton_step_of_inverse_root_has_quadratic_error() {
        let newton = |d: f64| (1.5 + 0.5 * d) * d * d;
        let mut x = 0xffff_0000;
        for count in 2..1000 {
            let root = libm::sqrt(f64::from(count));
            let bit = root / 65_536.0;
            let distance = |x: u32| f64::from(x) / 4_294_967_296.0 * root - 1.0;
            let d = distance(x);
            x = newton_step(x, count);
            let cut = -distance(x) - newton(d);
            // The bracket is truncated too, at 2^-32 of a number that is at most 3.
            assert!((-1e-6 * bit..=1.01 * bit).contains(&cut), "count {count}: {cut} against {bit}");
            let farthest = 0.5 / f64::from(count - 1);
            assert!(d.abs() <= farthest + 1.01 * bit, "count {count}: {d}");
        }
    }

    #[test]
    fn first_drop_comes_one_interval_after_target_excess() {
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
    fn no_drop_if_one_packet_remains() {
        let mut queue = backlog(3);
        let mut sent = |t| queue.depart(ms(t)).map(|p| p.slot);
        assert_eq!(sent(10), Some(0)); // two packets behind: above
        assert_eq!(sent(500), Some(1)); // one of maximum size behind: below
        assert_eq!(sent(900), Some(2));
        assert_eq!(sent(901), None);
    }

    #[test]
    fn empty_queue_ends_dropping_state_but_keeps_count() {
        for rules in [Rules::Rfc, Rules::Linux] {
            let mut rule = Rule::new(Params { rules, ..Params::default() });
            let linux = linux::Times { first_above: 1, drop_next: 2 };
            let mut state = State { first_above: Some(ms(1)), dropping: true, count: 7, linux, ..State::default() };
            let mut rng = Rng::stream(1, "codel");
            let sent = rule.deque(&mut state, MAIN, &mut Port::new(LINK, 1, true), &mut Cx::new(ms(9), &mut rng));
            assert!(sent.is_none() && !state.dropping && state.count == 7);
            assert!(state.first_above.is_none() || state.linux.first_above == 0);
        }
    }

    #[test]
    fn drop_that_empties_queue_ends_dropping_state() {
        for (rules, was_dropping) in
            [(Rules::Rfc, false), (Rules::Rfc, true), (Rules::Linux, false), (Rules::Linux, true)]
        {
            let mut rng = Rng::stream(1, "codel");
            let (mut port, mut cx) = (Port::new(LINK, 2, true), Cx::new(ms(0), &mut rng));
            // One packet in this list, and enough backlog in the other.
            for list in [MAIN, ListId(1), ListId(1)] {
                port.admit(list, packet(), Verdict::Accept, &mut DropTail, &mut cx);
            }
            cx.now = ms(200);
            let linux = linux::Times { first_above: 102_539, drop_next: 146_484 }; // 105 and 150 ms
            let times = State { first_above: Some(ms(105)), drop_next: ms(150), linux, ..State::default() };
            let mut state = State { dropping: was_dropping, ..times };
            let mut rule = Rule::new(Params { rules, ..Params::default() });
            assert!(rule.deque(&mut state, MAIN, &mut port, &mut cx).is_none());
            assert_eq!((port.discarded().len(), port.pkts()), (1, 2));
            // The next packet of the list starts a new interval.
            port.admit(MAIN, packet(), Verdict::Accept, &mut DropTail, &mut cx);
            cx.now = ms(400);
            assert!(rule.deque(&mut state, MAIN, &mut port, &mut cx).is_some() && !state.dropping);
        }
    }

    #[test]
    fn drop_rate_resumes_within_sixteen_intervals() {
        // Left at count 7, entered at 1: the next state starts at 6, unless it is too late or delta is 1.
        let count_of = |last_count, now| {
            let left = State { count: 7, last_count, drop_next: ms(1000), ..State::default() };
            let mut state = State { reciprocal: 0x6000_0000, ..left };
            state.enter(&Params::default(), ms(now));
            (state.count, state.drop_next.since(ms(now)))
        };
        assert_eq!(count_of(1, 2599), (6, gap(Span::from_millis(100), 6)));
        assert_eq!(count_of(1, 900).0, 6); // left before its next drop was due
        assert_eq!(count_of(1, 2600), (1, Span::from_millis(100)));
        assert_eq!(count_of(6, 1001).0, 1);
    }

    #[test]
    fn ce_threshold_marks_but_never_drops() {
        let params = Params { ce_threshold: Off::At(Span::from_millis(1)), ..Params::default() };
        for ecn_on in [true, false] {
            let codel = Fifo::new(CoDel::build(&params, &LINK));
            let mut queue = Queue::new(codel, LINK, ecn_on, Rng::stream(1, "codel"));
            for slot in 0..4 {
                let ecn = if slot == 1 { Ecn::NotEct } else { Ecn::Ect0 };
                queue.arrive(Packet { slot, len: 1000, ecn, ..Packet::default() }, Instant::ZERO);
            }
            let mut sent = |t| queue.depart(ms(t)).map(|p| (p.slot, p.ecn));
            assert_eq!(sent(1), Some((0, Ecn::Ect0)), "exactly the threshold is not above it");
            assert_eq!(sent(2), Some((1, Ecn::NotEct)));
            assert_eq!(sent(3), Some((2, Ecn::Ce)), "ecn={ecn_on}");
            assert_eq!(sent(4), Some((3, Ecn::Ce)));
            assert_eq!((queue.port.tally().marked.pkts, queue.port.tally().dropped_early.pkts), (2, 0));
        }
    }

    #[test]
    fn without_ecn_control_law_still_drops() {
        // In tc's form ecn is off by default.
        for (line, ecn_on, fates) in
            [("codel ce_threshold 1ms", false, (2, 1)), ("codel ce_threshold 1ms ecn", true, (2, 0))]
        {
            let spec = crate::Spec::parse(line).unwrap();
            assert_eq!(spec.ecn(), ecn_on);
            let mut queue = spec.queue(LINK, Rng::stream(1, "codel"));
            for slot in 0..9 {
                queue.arrive(Packet { slot, len: 1000, ecn: Ecn::Ect0, ..Packet::default() }, Instant::ZERO);
            }
            assert!([5, 105].iter().all(|t| queue.depart(ms(*t)).is_some_and(|p| p.ecn == Ecn::Ce)));
            let tally = queue.port.tally();
            assert_eq!((tally.marked.pkts, tally.dropped_early.pkts), fates, "{line}");
        }
    }
}
