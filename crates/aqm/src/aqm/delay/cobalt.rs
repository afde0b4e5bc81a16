//! COBALT: CoDel with a signal rate that also falls gradually, plus BLUE against unresponsive flows (sch_cake).
//!
//! While the delay is above target, a signal is due every interval/sqrt(count) and count rises with each one. Below
//! target, count falls on the same schedule. BLUE drops packets, ECN-capable or not, with a probability that overflows
//! raise and an empty queue lowers.

use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link, Rate};
use crate::base::verdict::{Fate, Verdict};
use crate::{choice, params, probes};

choice! {
    /// Initial value of 1/sqrt(count), which sets the time of the first signal.
    pub enum Start {
        /// 1: the first signal comes one interval after the delay exceeds target.
        Interval = "interval",
        /// 0, as in the kernel, where the memory is zeroed: the first signal comes with the next packet.
        Kernel = "kernel",
    }
}

params! {
    /// Parameters of COBALT.
    pub struct Params {
        /// Acceptable standing delay, and minimum time between changes of BLUE's probability; at least 1.5 MTU
        /// transmission times.
        target: Span = Span::from_millis(5), in 1e-9 ..= 1e3, "target", "Linux sch_cake: 5 ms";
        /// Time from the delay exceeding target to the first signal. If a slow link raises target, interval rises by
        /// the same amount; it is at least twice target.
        interval: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "interval", "Linux sch_cake: rtt, 100 ms";
        /// Largest packet; a delay of at most four MTU transmission times is never too long.
        mtu: Bytes = Bytes(1514), in 0.0 ..= 65536.0, "mtu", "Linux sch_cake: psched_mtu";
        /// Increase of BLUE's probability per overflow.
        p_inc: f64 = 0.00390625, in 0.0 ..= 1.0, "p_inc", "Linux sch_cake: 1/256";
        /// Decrease of BLUE's probability at an empty queue.
        p_dec: f64 = 0.000244140625, in 0.0 ..= 1.0, "p_dec", "Linux sch_cake: 1/4096";
        /// Initial value of 1/sqrt(count), which sets the time of the first signal.
        start: Start = Start::Interval, in 0.0 ..= 1.0, "rec_inv_sqrt", "the comment in sch_cake; Linux";
    }
}

/// A delay is above target only if it also exceeds this number of MTU transmission times, as in sch_cake.
const MTU_TIMES: u64 = 4;
/// For counts below this 1/sqrt(count) is precomputed. For others one Newton step is exact enough, as in sch_cake.
const ROOTS: usize = 16;

/// COBALT's parameters for one link, shared by all its queues.
#[derive(Clone, Copy)]
pub struct Rule {
    target: Span,
    interval: Span,
    /// Largest delay that is not late: target, or 4 MTU times.
    tolerated: Span,
    mtu_time: Span,
    p_inc: f64,
    p_dec: f64,
    start: Start,
}

/// COBALT's state for one queue.
#[derive(Clone, Copy)]
pub struct State {
    drop_next: Instant,
    /// Time of the last change of BLUE's probability.
    blue_moved: Instant,
    /// BLUE's probability.
    p: f64,
    count: u32,
    /// 1/sqrt(count) as a fraction of 2^32.
    reciprocal: u32,
    dropping: bool,
}

/// State of COBALT.
pub struct Cobalt {
    rule: Rule,
    state: State,
    sojourn: Span,
}

/// One Newton step towards 1/sqrt(count): x (3 - count x^2)/2, with x a fraction of 2^32.
fn newton_step(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let bracket = (3_u64 << 32).wrapping_sub(count as u64 * ((x * x) >> 32));
    ((bracket >> 2).wrapping_mul(x) >> 31) as u32
}

/// 1/sqrt(count) for counts 0 to 15, as a fraction of 2^32 (`inv_sqrt_cache`). Counts 0 and 1 have the largest u32, nearly
/// 1.
static ROOT: [u32; ROOTS] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

impl State {
    /// Whether BLUE drops packets.
    pub fn is_blue(&self) -> bool {
        self.p > 0.0
    }

    /// Whether an empty queue has nothing left to decay.
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.drop_next
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.reciprocal = ROOT.get(count as usize).copied().unwrap_or_else(|| newton_step(self.reciprocal, count));
    }
}

impl Rule {
    /// COBALT's parameters for a link of `rate`: on a slow link target and interval are longer.
    pub fn new(params: &Params, rate: Rate) -> Self {
        Self::with(params, rate.time_for(params.mtu.0 as u32))
    }

    /// COBALT's parameters for a link on which the largest packet takes `mtu_time`.
    pub fn with(params: &Params, mtu_time: Span) -> Self {
        let target = params.target.max(Span::from_nanos(mtu_time.nanos() * 3 / 2));
        let grown = Span::from_nanos((params.interval + target).nanos() - params.target.nanos());
        let Params { p_inc, p_dec, start, .. } = *params;
        Self {
            target,
            interval: grown.max(target * 2),
            tolerated: target.max(mtu_time * MTU_TIMES),
            mtu_time,
            p_inc,
            p_dec,
            start,
        }
    }

    /// Acceptable standing delay on this link.
    pub const fn target(&self) -> Span {
        self.target
    }

    /// Time from the delay exceeding target to the first signal, on this link.
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// Transmission time of the largest packet.
    pub const fn mtu_time(&self) -> Span {
        self.mtu_time
    }

    /// The state of a new queue.
    pub fn state(&self) -> State {
        let reciprocal = if self.start == Start::Kernel { 0 } else { u32::MAX };
        State { drop_next: Instant::ZERO, blue_moved: Instant::ZERO, p: 0.0, count: 0, reciprocal, dropping: false }
    }

    fn gap(&self, state: &State) -> Span {
        Span::from_nanos(((u128::from(self.interval.nanos()) * u128::from(state.reciprocal)) >> 32) as u64)
    }

    /// `cobalt_queue_full`: an overflow drop of this queue.
    pub fn overflowed(&self, state: &mut State, now: Instant) {
        if now.since(state.blue_moved) > self.target {
            state.p = (state.p + self.p_inc).min(1.0);
            state.blue_moved = now;
        }
        state.dropping = true;
        state.drop_next = now;
        state.count = state.count.max(1);
    }

    /// `cobalt_queue_empty`: a dequeue found this queue empty.
    #[inline]
    pub fn emptied(&self, state: &mut State, now: Instant) {
        state.dropping = false;
        if state.p > 0.0 || state.count > 0 {
            self.decay(state, now);
        }
    }

    /// The rest of [`emptied`](Self::emptied), if there is something to decay.
    fn decay(&self, state: &mut State, now: Instant) {
        if state.p > 0.0 && now.since(state.blue_moved) > self.target {
            state.p = (state.p - self.p_dec).max(0.0);
            state.blue_moved = now;
        }
        if state.count > 0 && now >= state.drop_next {
            state.set_count(state.count - 1);
            state.drop_next += self.gap(state);
        }
    }

    /// CoDel's part of `cobalt_should_drop`: whether a signal is due, and whether `drop_next` is already past.
    /// Only a delay above `least` is late.
    fn advance(&self, state: &mut State, (sojourn, least): (Span, Span), now: Instant) -> (bool, bool) {
        let mut due = state.count > 0 && now >= state.drop_next;
        let mut behind = now > state.drop_next;
        if sojourn > self.tolerated && sojourn > least {
            if !state.dropping {
                state.dropping = true;
                state.drop_next = now + self.gap(state);
            }
            state.count = state.count.max(1);
        } else {
            state.dropping = false;
        }
        if due && state.dropping {
            state.set_count(state.count.saturating_add(1));
            state.drop_next += self.gap(state);
            return (true, now > state.drop_next);
        }
        while due {
            state.set_count(state.count - 1);
            state.drop_next += self.gap(state);
            behind = now > state.drop_next;
            due = state.count > 0 && now >= state.drop_next;
        }
        (false, behind)
    }

    /// `cobalt_should_drop`: the verdict on a packet at departure. The last packet of a queue is never dropped.
    pub fn judge(&self, state: &mut State, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.judge_above(Span::ZERO, state, packet, level, cx)
    }

    /// As [`judge`](Self::judge), but only a delay above `least` is late: CAKE's term for ingress mode.
    #[inline]
    pub fn judge_above(&self, least: Span, state: &mut State, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let (signal, behind) = self.advance(state, (cx.now.since(packet.arrived), least), cx.now);
        let marked = signal && level.marks(packet);
        let blue = state.p > 0.0 && cx.rng.uniform() < state.p;
        let dropped = blue || (signal && !marked);
        if state.count == 0 {
            // While packets keep arriving, the next signal is at least one interval away.
            state.drop_next = cx.now + self.interval;
        } else if behind && !dropped {
            state.drop_next = cx.now;
        }
        match (dropped && level.pkts() > 0, marked) {
            (true, _) => Verdict::Drop,
            (false, true) => Verdict::Signal,
            (false, false) => Verdict::Accept,
        }
    }
}

impl Design for Cobalt {
    type Params = Params;
    const ABOUT: About = About {
        summary: "CoDel with gradual release, plus BLUE: the AQM of CAKE on one queue",
        source: "Linux net/sched/sch_cake.c: cobalt_should_drop, cobalt_queue_full, cobalt_queue_empty; ns-3 \
                 CobaltQueueDisc",
        rule: "departure:  due = count > 0 and now >= drop_next;  late = delay > target and > 4 MTU times\n\
               \u{20}           late, first time:  drop_next = now + interval/sqrt(count);  count at least 1\n\
               \u{20}           late and due:  mark, else drop; count += 1; drop_next += interval/sqrt(count)\n\
               \u{20}           not late:  while due: count -= 1; drop_next += interval/sqrt(count)\n\
               \u{20}           u < p:  drop, ECN or not\n\
               overflow:   p += p_inc; count at least 1, drop_next = now\n\
               empty:      p -= p_dec; due: count -= 1; drop_next += interval/sqrt(count)\n\
               \u{20}           (p once a target at most)",
        deviations: &[
            "an overflow differs from CAKE: it drops the arrival, as in ns-3; CAKE drops the head of its longest queue",
            "an empty queue differs from CAKE: each dequeue from an idle queue counts, as in ns-3; CAKE polls a queue \
             only while other queues hold packets",
            "1/sqrt(count) before the first count differs from the kernel: it is 1, as the comment in sch_cake says; \
             the kernel has 0 (start=kernel)",
            "ingress mode is not implemented: its term of 2 MTU times per bulk flow is off by default in CAKE",
            "BLUE's probability differs from sch_cake: a number from 0 to 1, not a fraction of 2^32; its steps are \
             exact in both",
            "the MTU transmission time differs from CAKE: it is computed from the link's initial rate",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "linux",
        settings: "ecn=on target=5ms interval=100ms mtu=1514b p_inc=0.00390625 p_dec=0.000244140625 start=kernel",
        source: "Linux sch_cake: cake_init, cake_set_rate",
    }];
    const COST: Cost = Cost::Heavy;

    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn build(params: &Params, link: &Link) -> Self {
        let rule = Rule::new(params, link.rate);
        Self { state: rule.state(), rule, sojourn: Span::ZERO }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { state: self.state, sojourn: self.sojourn, ..Self::build(params, link) })
    }
}

impl Aqm for Cobalt {
    fn settled(&mut self, _: &Packet, fate: Fate, cx: &mut Cx) {
        if fate.is_loss() {
            self.rule.overflowed(&mut self.state, cx.now);
        }
    }

    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.sojourn = cx.now.since(packet.arrived);
        self.rule.judge(&mut self.state, packet, level, cx)
    }

    fn emptied(&mut self, cx: &mut Cx) {
        self.rule.emptied(&mut self.state, cx.now);
    }
}

probes! { Cobalt {
    /// BLUE's probability.
    p ["1"] probability = |s| s.state.p;
    /// CoDel's count, which sets the rate of its signals.
    count ["1"] = |s| f64::from(s.state.count);
    /// Sojourn time of the packet dequeued last.
    sojourn ["s"] = |s| s.sojourn.secs();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::units::Limit;
    use crate::testing::by_hand::ms;

    /// 1 ms for a packet of 1000 bytes; 4 MTU times are 6.1 ms.
    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    /// A queue after one packet has departed and then `n` packets of 1000 bytes were offered, all at time 0.
    fn backlog(params: &Params, n: u32, ecn: Ecn) -> Queue<Fifo<Cobalt>> {
        let cobalt = Fifo::new(Cobalt::build(params, &LINK));
        let mut queue = Queue::new(cobalt, LINK, true, Rng::stream(1, "cobalt"));
        for slot in 0..=n {
            queue.arrive(Packet { slot, len: 1000, ecn, ..Packet::default() }, Instant::ZERO);
        }
        assert_eq!(queue.depart(Instant::ZERO).map(|packet| packet.slot), Some(0));
        queue
    }

    fn state(queue: &Queue<Fifo<Cobalt>>) -> &State {
        &queue.discipline().aqm().state
    }

    #[test]
    fn inverse_roots_are_nearly_exact() {
        for (count, root) in ROOT.iter().enumerate().skip(1) {
            let exact = 1.0 / libm::sqrt(count as f64);
            assert!((f64::from(*root) / 4_294_967_296.0 - exact).abs() < 1e-9 * exact, "{count}: {root:x}");
        }
        let mut state = Rule::new(&Params::default(), LINK.rate).state();
        for count in 1..1000 {
            state.set_count(count);
            let exact = 1.0 / libm::sqrt(f64::from(count));
            assert!((f64::from(state.reciprocal) / 4_294_967_296.0 - exact).abs() < 0.01 * exact, "{count}");
        }
    }

    #[test]
    fn slow_links_stretch_target_and_interval() {
        // 1514 bytes at 1 Mb/s take 12.112 ms: target 18.168, interval 113.168; at 100 kb/s twice 181.68.
        let times = |rate| {
            let rule = Rule::new(&Params::default(), Rate(rate));
            (rule.target.nanos(), rule.interval.nanos())
        };
        assert_eq!(times(1_000_000), (18_168_000, 113_168_000));
        assert_eq!(times(100_000), (181_680_000, 363_360_000));
        assert_eq!(times(1_000_000_000), (5_000_000, 100_000_000));
    }

    #[test]
    fn signals_start_after_one_interval_and_accelerate() {
        let mut queue = backlog(&Params::default(), 50, Ecn::NotEct);
        let mut sent = |t| queue.depart(ms(t)).map(|packet| packet.slot);
        assert_eq!(sent(6), Some(1)); // above 5 ms, not above 4 MTU times
        assert_eq!(sent(7), Some(2)); // above: due at 107
        assert_eq!(sent(106), Some(3));
        assert_eq!(sent(107), Some(5)); // 4 is dropped: next in 100/sqrt(2)
        assert_eq!(sent(177), Some(6));
        assert_eq!(sent(178), Some(8)); // at 177.71; next in 100/sqrt(3)
        assert_eq!(sent(235), Some(9));
        assert_eq!(sent(236), Some(11)); // at 235.45
    }

    /// With `start=kernel`, as in Linux, the first signal does not wait for an interval above target.
    #[test]
    fn with_start_kernel_first_signal_comes_at_once() {
        let params = Params { start: Start::Kernel, ..Params::default() };
        let mut queue = backlog(&params, 50, Ecn::NotEct);
        let mut sent = |t| queue.depart(ms(t)).map(|packet| packet.slot);
        assert_eq!((sent(7), sent(8)), (Some(1), Some(3)));
    }

    #[test]
    fn count_decreases_gradually_below_target() {
        let rule = Rule::new(&Params::default(), LINK.rate);
        let left = |now| {
            let mut state = State { drop_next: ms(1000), dropping: true, ..rule.state() };
            state.set_count(4);
            let signal = rule.advance(&mut state, (Span::from_millis(1), Span::ZERO), ms(now)).0;
            (signal, state.count)
        };
        assert_eq!(left(999), (false, 4));
        // From 1000 on: 3 at once, 2 after 57.7 ms, 1 after 70.7 more, 0 after 100 more.
        assert_eq!([1000, 1057, 1058, 1128, 1129, 1228, 1229].map(|t| left(t).1), [3, 3, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn blue_changes_p_at_most_once_per_target() {
        let params = Params { p_inc: 0.25, p_dec: 0.125, ..Params::default() };
        let rule = Rule::new(&params, LINK.rate);
        let mut state = rule.state();
        let mut overflow = |t| {
            rule.overflowed(&mut state, ms(t));
            state.p
        };
        assert_eq!([5, 6, 11, 12].map(&mut overflow), [0.0, 0.25, 0.25, 0.5], "more than 5 ms since the last step");
        assert!(state.dropping && state.count == 1 && state.drop_next == ms(12));
        let mut empty = |t| {
            rule.emptied(&mut state, ms(t));
            state.p
        };
        assert_eq!([17, 18, 23, 24].map(&mut empty), [0.5, 0.375, 0.375, 0.25]);
        assert!(!state.dropping && state.count == 0);
    }

    #[test]
    fn blue_drops_ect_but_never_the_last_packet() {
        let mut queue = backlog(&Params { p_inc: 1.0, ..Params::default() }, 99, Ecn::Ect0);
        for slot in [200, 201] {
            queue.arrive(Packet { slot, len: 1000, ecn: Ecn::Ect0, ..Packet::default() }, ms(6));
        }
        assert_eq!((queue.port.discarded().len(), state(&queue).p), (1, 1.0));
        let packet = queue.depart(ms(7)).unwrap();
        assert_eq!((packet.slot, queue.port.pkts()), (200, 0));
    }
}
