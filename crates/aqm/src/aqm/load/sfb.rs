//! SFB: BLUE in the bins of a Bloom filter, so that each flow has its own p without a table of flows (Feng, Kandlur,
//! Saha, Shin 2001). The rule is that of Linux sch_sfb.
//!
//! A flow is hashed to one bin per level and signalled with the smallest p of its bins. An unresponsive flow raises p
//! to 1 in all its bins and is then rate-limited by the penalty box. A flow that shares only some of these bins is not
//! rate-limited. The file `sfb/linux.rs` has the same rule in Linux's integers.

mod linux;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::aqm::load::sfb::linux::Linux;
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::rng::Rng;
use crate::base::tc::{Form, JIFFIES, Tc, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::{choice, params, probes};

choice! {
    /// In which numbers SFB computes.
    pub enum Rules {
        /// Floating point and exact times.
        Float = "float",
        /// The integers of Linux 6.12, packet by packet: p in steps of 1/65,535, times in jiffies.
        Linux = "linux",
    }
}

params! {
    /// Parameters of SFB.
    pub struct Params {
        /// Time after which the hash changes; 0: never.
        rehash: Span = Span::from_millis(600_000), in 0.0 ..= 1e6, "rehash", "tc sfb";
        /// During this time before a rehash, flows with p = 1 also update the bins of the next hash; 0: never.
        db: Span = Span::from_millis(60_000), in 0.0 ..= 1e6, "db", "tc sfb: double buffering";
        /// Largest backlog; auto: the buffer.
        limit: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "limit", "tc sfb";
        /// Arrivals are dropped while every bin of their flow holds this many packets; auto: 5/4 of target, or 25.
        max: Auto<u32> = Auto::Auto, in 1.0 ..= 65535.0, "max", "tc sfb";
        /// A bin's p rises at each arrival while the bin holds at least this many packets; auto: 4/5 of max.
        target: Auto<u32> = Auto::Auto, in 1.0 ..= 65535.0, "target", "tc sfb; the paper's bin_size";
        /// Increase of a bin's p at an arrival to a bin that holds at least target packets.
        increment: f64 = 0.0005, in 0.0 ..= 1.0, "d1", "tc sfb; the kernel's own default is 0.001";
        /// Decrease of a bin's p at an arrival to an empty bin.
        decrement: f64 = 0.00005, in 0.0 ..= 1.0, "d2", "tc sfb; the kernel's own default is 1/6000";
        /// Packets per second accepted from all flows with p = 1 together.
        penalty_rate: u32 = 10, in 0.0 ..= 1000000000.0, "penalty_rate", "tc sfb";
        /// Largest burst, in packets, accepted from all flows with p = 1 together.
        penalty_burst: u32 = 20, in 0.0 ..= 1000000000.0, "penalty_burst", "tc sfb";
        /// Number of levels, each with its own hash.
        levels: u32 = 8, in 1.0 ..= 16.0, "L", "Linux SFB_LEVELS";
        /// Number of bins per level.
        bins: u32 = 16, in 1.0 ..= 1024.0, "N", "Linux SFB_NUMBUCKETS";
        /// In which numbers SFB computes; linux needs 8 levels of 16 bins.
        rules: Rules = Rules::Float, in 0.0 ..= 1.0, "", "ours; Linux 6.12 sch_sfb.c";
        /// rules=linux: jiffies per second.
        hz: u32 = 250, in 1.0 ..= 10000.0, "HZ", "Linux: 100, 250 or 1000";
    }
}

/// Value of the parameter max, in packets per bin, if neither max nor target is given, as in tc.
const MAX: u32 = 25;
/// Above this p an ECT packet may be dropped instead of marked. Linux.
const MARKS_ONLY: f64 = 0.5;
/// Longest time for which the penalty box accumulates tokens. Linux.
const MAX_AGE: Span = Span::from_millis(10_000);

/// The values of the parameters max and target: where they are auto, whole packets as tc computes them.
fn bounds(max: Auto<u32>, target: Auto<u32>) -> (u32, u32) {
    let max = match (max, target) {
        (Auto::Auto, Auto::Given(target)) => (5 * target + 1) / 4,
        _ => max.or(MAX),
    };
    (max, target.or((4 * max + 3) / 5))
}

/// A 64-bit hash of `flow` with `seed`, never 0 (ours; Linux uses siphash).
fn hash(flow: u32, seed: u64) -> u64 {
    let mut z = (seed ^ u64::from(flow)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).max(1)
}

/// A random seed of 53 bits, so that a reference implementation can draw the same seed as a floating-point number.
fn seed(rng: &mut Rng) -> u64 {
    rng.bits() >> 11
}

#[derive(Clone, Copy, Default)]
struct Bin {
    packets: u32,
    p: f64,
}

/// The bins of all levels, and the seed of their hash.
#[derive(Clone)]
struct Filter {
    bins: Vec<Bin>,
    /// Bins per level.
    width: usize,
    /// Rotation of the hash, in bits, from one level to the next.
    stride: u32,
    seed: u64,
}

impl Filter {
    fn new(levels: u32, width: u32) -> Self {
        let bins = alloc::vec![Bin::default(); (levels * width) as usize];
        Self { bins, width: width as usize, stride: 64 / levels, seed: 0 }
    }

    /// Calls `visit` with the bin of `hash` in each level. The index in a level is the upper 32 bits of the hash,
    /// scaled to `width`; the hash is rotated after each level.
    #[inline]
    fn visit(&mut self, mut hash: u64, mut visit: impl FnMut(&mut Bin)) {
        let mut level = 0;
        while level < self.bins.len() {
            visit(&mut self.bins[level + (((hash >> 32) * self.width as u64) >> 32) as usize]);
            level += self.width;
            hash = hash.rotate_left(self.stride);
        }
    }

    /// Applies BLUE to every bin of `hash` at an arrival, and counts the arrival in these bins. Returns their smallest
    /// packet count before the arrival, and their smallest p. `settled` subtracts the packet again if it is dropped.
    #[inline]
    fn arrival(&mut self, hash: u64, target: u32, params: &Params) -> (u32, f64) {
        let &Params { increment, decrement, .. } = params;
        let (mut packets, mut p) = (u32::MAX, 1.0);
        // Plain comparisons: f64::min and max handle NaN, which would cost 50 % more time.
        self.visit(hash, |bin| {
            if bin.packets == 0 {
                bin.p = if bin.p > decrement { bin.p - decrement } else { 0.0 };
            } else if bin.packets >= target {
                bin.p = if bin.p + increment < 1.0 { bin.p + increment } else { 1.0 };
            }
            packets = bin.packets.min(packets);
            bin.packets += 1;
            if bin.p < p {
                p = bin.p;
            }
        });
        (packets, p)
    }
}

/// The penalty box: a token bucket for all flows with p = 1.
#[derive(Clone)]
struct PenaltyBox {
    tokens: u64,
    filled: Instant,
}

impl PenaltyBox {
    fn passes(&mut self, params: &Params, now: Instant) -> bool {
        if params.penalty_rate == 0 || params.penalty_burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let age = now.since(self.filled).min(MAX_AGE).nanos();
            self.tokens = (age * u64::from(params.penalty_rate) / 1_000_000_000).min(u64::from(params.penalty_burst));
            self.filled = now;
        }
        let passes = self.tokens > 0;
        self.tokens -= u64::from(passes);
        passes
    }
}

/// State of SFB.
#[derive(Clone)]
pub struct Sfb {
    params: Params,
    max: u32,
    target: u32,
    filters: [Filter; 2],
    /// Index of the filter that decides about arrivals.
    active: usize,
    /// Whether the other filter is updated too.
    doubled: bool,
    /// Whether the filters have seeds.
    seeded: bool,
    rehashed: Instant,
    penalty: PenaltyBox,
    /// Hash of the latest arrival in the active filter; 0 if the arrival is not counted there.
    arriving: u64,
    /// Hash of the latest arrival in the other filter; 0 if the arrival is not counted there.
    learning: u64,
    /// For each queued packet, in FIFO order, its hashes in the two filters; 0 if it is not counted in a filter.
    waiting: VecDeque<[u64; 2]>,
    p: f64,
    punished: u64,
    /// rules=linux: Linux's SFB, which then decides alone.
    linux: Option<Box<Linux>>,
}

impl Sfb {
    /// Draws the initial seeds. Swaps the filters when a rehash is due. Sets `doubled` from `db` before a rehash on.
    fn keep_time(&mut self, cx: &mut Cx) {
        let Params { rehash, db, .. } = self.params;
        if !self.seeded {
            self.filters.iter_mut().for_each(|filter| filter.seed = seed(cx.rng));
            self.seeded = true;
        }
        if rehash == Span::ZERO {
            return;
        }
        let due = self.rehashed + rehash;
        if cx.now > due {
            self.filters[self.active].seed = seed(cx.rng);
            self.active = 1 - self.active;
            self.doubled = false;
            self.rehashed = cx.now;
        } else if db > Span::ZERO && cx.now + db > due {
            self.doubled = true;
        }
    }

    /// The verdict on an arrival of a flow with p = 1.
    fn punish(&mut self, flow: u32, now: Instant) -> Verdict {
        if self.doubled {
            let other = &mut self.filters[1 - self.active];
            self.learning = hash(flow, other.seed);
            other.arrival(self.learning, self.target, &self.params);
        }
        if self.penalty.passes(&self.params, now) {
            return Verdict::Accept;
        }
        self.punished += 1;
        Verdict::Drop
    }

    /// Largest p and largest packet count of a bin of the active filter.
    fn largest(&self) -> (f64, u32) {
        if let Some(linux) = &self.linux {
            return linux.largest();
        }
        let largest = |(p, packets): (f64, u32), bin: &Bin| (bin.p.max(p), bin.packets.max(packets));
        self.filters[self.active].bins.iter().fold((0.0, 0), largest)
    }
}

impl Design for Sfb {
    type Params = Params;
    const ABOUT: About = About {
        summary: "stochastic fair BLUE: a p for each flow from the bins of a Bloom filter, and a penalty box",
        source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue, a Queue Management Algorithm for Enforcing Fairness, \
                 INFOCOM 2001; Linux sch_sfb",
        rule: "arrival:  full: drop\n\
               \u{20}         each level's bin of the flow:  empty: p_m = max(0, p_m - d2)\n\
               \u{20}                                        >= target packets: p_m = min(1, p_m + d1)\n\
               \u{20}         p = smallest p_m;  smallest packet count >= max: drop\n\
               \u{20}         p = 1: update the other bins too, from db before a rehash;  no token left: drop\n\
               \u{20}         u < p: mark or drop;  u < 2 (p - 0.5): drop\n\
               every rehash:  the other bins become active;  these get another hash",
        deviations: &[
            "the rule differs from the paper: it is Linux's; the paper drops at full bins and rate-limits by time (we \
             did not have its text)",
            "rules=float differs from Linux: p is in floating point, times in ns; Linux has steps of 1/65,535 and jiffies",
            "rules=float: the hash differs from Linux: levels times the bits of a bin's index may be up to 64; Linux \
             splits 32 bits",
            "rules=linux: as Linux 6.12 packet by packet with a filter of tc that makes the flow's number the class id. \
             It then hashes this number with SipHash, as Linux does. Without a filter Linux hashes header fields; and \
             it always does for the bins of the next hash, so rehash=0s avoids the difference",
            "rules=linux draws random numbers where the kernel does: four of 64 bits for the two hashes at the start, two \
             at each rehash, and one of 16 bits for an arrival unless the buffer or its bins are full or its p is 1",
            "the penalty box, as in Linux: an attempt without a token restarts its time, so a flow that sends more \
             often than penalty_rate gets nothing after its burst",
            "a rehash, as in Linux: bins keep their p_m when their hash changes",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "linux",
            settings: "rehash=600s db=60s limit=auto max=auto target=auto increment=0.0005 decrement=0.00005 \
                       penalty_rate=10 penalty_burst=20 levels=8 bins=16 rules=linux",
            source: "tc sfb",
        },
        Preset {
            name: "paper",
            settings: "levels=2 bins=23 target=13 max=auto increment=0.005 decrement=0.001",
            source: "bins as cited in the literature, for a buffer of 200 packets; steps of the authors' ns code as \
                     cited by XNU; not checked against the paper",
        },
    ];
    const TC: Option<Tc> = Some(Tc::new(
        // Without a limit tc uses the interface's queue length.
        "preset=linux hard_limit=1000p",
        &[&[
            ("rehash", sets(Form::Millis, "rehash").in_steps(JIFFIES).tail()),
            ("db", sets(Form::Millis, "db").in_steps(JIFFIES).tail()),
            ("limit", sets(Form::Packets, "hard_limit").but_zero()),
            ("max", sets(Form::Count, "max").but_zero()),
            ("target", sets(Form::Count, "target").but_zero()),
            ("increment", sets(Form::Probability, "increment").tail()),
            ("decrement", sets(Form::Probability, "decrement").tail()),
            ("penalty_rate", sets(Form::Count, "penalty_rate").tail()),
            ("penalty_burst", sets(Form::Count, "penalty_burst").tail()),
        ]],
    ));
    const COST: Cost = Cost::Heavy;

    fn check(params: &Params) -> Result<(), String> {
        let hashes = u128::from(params.bins).checked_pow(params.levels);
        if hashes.is_none_or(|hashes| hashes > 1 << 64) {
            return Err("bins to the power of levels at most 2^64".to_string());
        }
        if params.rules == Rules::Linux
            && (params.levels as usize, params.bins as usize) != (linux::LEVELS, linux::BINS)
        {
            return Err("levels=8 and bins=16 with rules=linux".to_string());
        }
        Ok(())
    }

    fn build(params: &Params, _: &Link) -> Self {
        let (max, target) = bounds(params.max, params.target);
        Self {
            params: params.clone(),
            max,
            target,
            filters: [(); 2].map(|()| Filter::new(params.levels, params.bins)),
            active: 0,
            doubled: false,
            seeded: false,
            rehashed: Instant::ZERO,
            penalty: PenaltyBox { tokens: u64::from(params.penalty_burst), filled: Instant::ZERO },
            arriving: 0,
            learning: 0,
            waiting: VecDeque::new(),
            p: 0.0,
            punished: 0,
            linux: (params.rules == Rules::Linux).then(|| Box::new(Linux::new(params))),
        }
    }

    fn retuned(&self, params: &Params, _: &Link) -> Option<Self> {
        let kept = |params: &Params| (params.levels, params.bins, params.rules, params.hz);
        let (max, target) = bounds(params.max, params.target);
        let linux = self.linux.as_ref().map(|before| Box::new(Linux::new(params).after(before)));
        (kept(params) == kept(&self.params)).then(|| Self {
            params: params.clone(),
            max,
            target,
            linux,
            ..self.clone()
        })
    }
}

impl Aqm for Sfb {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        if let Some(linux) = &mut self.linux {
            return linux.arrival(self.params.limit, packet, level, cx);
        }
        let u = cx.rng.uniform();
        (self.arriving, self.learning) = (0, 0);
        let over = match self.params.limit {
            Auto::Auto => false,
            Auto::Given(limit) => limit.is_passed(level, packet),
        };
        if over || !level.fits(packet.len) {
            return Verdict::Drop;
        }
        self.keep_time(cx);
        let filter = &mut self.filters[self.active];
        self.arriving = hash(packet.flow, filter.seed);
        let (packets, p) = filter.arrival(self.arriving, self.target, &self.params);
        self.p = p;
        if packets >= self.max {
            Verdict::Drop
        } else if p >= 1.0 {
            self.punish(packet.flow, cx.now)
        } else if u >= p {
            Verdict::Accept
        } else if u < 2.0 * (p - MARKS_ONLY) {
            Verdict::Drop
        } else {
            Verdict::Signal
        }
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        if let Some(linux) = &mut self.linux {
            return linux.settled(fate);
        }
        let arrival = if self.active == 0 { [self.arriving, self.learning] } else { [self.learning, self.arriving] };
        let gone = match fate {
            Fate::Queued { .. } => return self.waiting.push_back(arrival),
            Fate::Delivered { .. } => self.waiting.pop_front().unwrap_or_default(),
            // Always the arrival: queued packets are never dropped here.
            Fate::Dropped(_) => arrival,
        };
        for (filter, hash) in self.filters.iter_mut().zip(gone).filter(|(_, hash)| *hash > 0) {
            filter.visit(hash, |bin| bin.packets -= 1);
        }
    }
}

probes! { Sfb {
    /// Signal probability of the latest arrival's flow.
    p ["1"] probability = |s| s.linux.as_ref().map_or(s.p, |linux| linux.p());
    /// Largest p of a bin.
    max_p ["1"] probability = |s| s.largest().0;
    /// Largest packet count of a bin.
    max_q ["packets"] = |s| f64::from(s.largest().1);
    /// Arrivals dropped in the penalty box.
    punished ["packets"] = |s| s.linux.as_ref().map_or(s.punished, |linux| linux.punished()) as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{params, us as at};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(200), mean_packet: Bytes(500) };

    fn queue(settings: &str) -> Queue<Fifo<Sfb>> {
        let params = params(&alloc::format!("max=25 {settings}"));
        Sfb::check(&params).unwrap();
        Queue::new(Fifo::new(Sfb::build(&params, &LINK)), LINK, true, Rng::stream(1, "queue"))
    }

    fn sfb(queue: &Queue<Fifo<Sfb>>) -> &Sfb {
        queue.discipline().aqm()
    }

    /// Offers a packet of `flow` at `us` microseconds. Returns whether it was queued, marked or dropped, and p.
    fn offer(queue: &mut Queue<Fifo<Sfb>>, us: u64, flow: u32, ecn: Ecn) -> (&'static str, f64) {
        let marked = queue.port.tally().marked.pkts;
        queue.arrive(Packet { len: 500, flow, ecn, ..Packet::default() }, at(us));
        let dropped = !core::mem::take(queue.port.discarded()).is_empty();
        let fate = match queue.port.tally().marked.pkts > marked {
            _ if dropped => "dropped",
            true => "marked",
            false => "queued",
        };
        (fate, sfb(queue).p)
    }

    fn drain(queue: &mut Queue<Fifo<Sfb>>) {
        while queue.depart(at(0)).is_some() {}
    }

    /// A queue in which flow 7 has p = 1 and no queued packet.
    fn inelastic(settings: &str) -> Queue<Fifo<Sfb>> {
        let mut queue = queue(&alloc::format!("target=1 increment=1 decrement=0 {settings}"));
        offer(&mut queue, 0, 7, Ecn::NotEct);
        // One packet is queued: p becomes 1 at the next arrival, which takes a token.
        offer(&mut queue, 0, 7, Ecn::NotEct);
        drain(&mut queue);
        queue
    }

    #[test]
    fn p_rises_at_target_falls_when_empty() {
        let mut queue = queue("target=2 increment=0.25 decrement=0.125 penalty_rate=0");
        let mut p = || offer(&mut queue, 0, 7, Ecn::Ect0).1;
        assert_eq!([p(), p(), p(), p()], [0.0, 0.0, 0.25, 0.5], "the third arrival finds two");
        assert_eq!([p(), p(), p()], [0.75, 1.0, 1.0]);
        drain(&mut queue);
        let (_, p) = offer(&mut queue, 0, 7, Ecn::Ect0);
        assert_eq!((p, sfb(&queue).largest()), (0.875, (0.875, sfb(&queue).waiting.len() as u32)));
        // Flow 8 shares no more than a few bins with flow 7.
        assert_eq!(offer(&mut queue, 0, 8, Ecn::NotEct), ("queued", 0.0));
    }

    #[test]
    fn p_stays_between_0_and_1() {
        let mut queue = queue("target=1 increment=0.7 decrement=0.8 penalty_rate=0");
        for _ in 0..3 {
            offer(&mut queue, 0, 7, Ecn::Ect0);
        }
        assert_eq!(sfb(&queue).p, 1.0);
        for want in [0.2, 0.0] {
            drain(&mut queue);
            assert!((offer(&mut queue, 0, 7, Ecn::Ect0).1 - want).abs() < 1e-12);
        }
    }

    #[test]
    fn flow_with_only_full_bins_is_dropped() {
        let mut queue = queue("max=3 increment=0");
        let fates: Vec<_> = (0..5).map(|_| offer(&mut queue, 0, 7, Ecn::Ect0).0).collect();
        assert_eq!(fates, ["queued", "queued", "queued", "dropped", "dropped"]);
        assert_eq!(offer(&mut queue, 0, 8, Ecn::NotEct).0, "queued");
    }

    #[test]
    fn drops_at_packet_or_byte_limits_keep_p() {
        for limit in ["limit=2p", "limit=1000b", "limit=1499b"] {
            let mut queue = queue(&alloc::format!("{limit} target=1 increment=0.01"));
            let fates: Vec<_> = (0..4).map(|_| offer(&mut queue, 0, 7, Ecn::Ect0)).collect();
            assert_eq!(fates[2..], [("dropped", 0.01); 2], "{limit}");
            assert_eq!(queue.port.tally().dropped_early.pkts, 2, "{limit}: the buffer has room");
        }
        let mut queue = queue("max=1000 target=1000");
        for _ in 0..201 {
            offer(&mut queue, 0, 7, Ecn::Ect0);
        }
        assert_eq!((queue.port.tally().dropped_overflow.pkts, sfb(&queue).largest()), (1, (0.0, 200)));
    }

    #[test]
    fn above_p_0_5_marks_become_drops() {
        // p = 0.75: a quarter is accepted, u from 0.5 to 0.75 marks, below 0.5 drops. 20,000 packets: 5 sigma.
        let mut queue = queue("target=1 increment=0.75 decrement=0 max=1000");
        offer(&mut queue, 0, 7, Ecn::NotEct);
        offer(&mut queue, 0, 7, Ecn::NotEct);
        drain(&mut queue);
        let mut counts = [0.0; 3];
        for _ in 0..20_000 {
            let (fate, p) = offer(&mut queue, 0, 7, Ecn::Ect0);
            assert_eq!(p, 0.75);
            counts[["queued", "marked", "dropped"].iter().position(|word| *word == fate).unwrap()] += 1.0;
            drain(&mut queue);
        }
        for (count, want) in counts.into_iter().zip([5000.0, 5000.0, 10_000.0]) {
            assert!(f64::abs(count - want) < 355.0, "{counts:?}");
        }
    }

    #[test]
    fn penalty_box_accepts_burst_then_rate() {
        let mut queue = inelastic("penalty_rate=1000 penalty_burst=3");
        let mut fate = |us| offer(&mut queue, us, 7, Ecn::Ect0).0;
        // One of the three tokens is used.
        assert_eq!([fate(0), fate(0), fate(0)], ["queued", "queued", "dropped"]);
        assert_eq!([fate(999), fate(1998), fate(2997)], ["dropped"; 3], "every attempt restarts the millisecond");
        assert_eq!([fate(3997), fate(3997)], ["queued", "dropped"]);
        assert_eq!([fate(7000), fate(7000), fate(7000), fate(7000)], ["queued", "queued", "queued", "dropped"]);
        assert_eq!(sfb(&queue).punished, 6);
        for closed in ["penalty_rate=0", "penalty_burst=0"] {
            assert_eq!(offer(&mut inelastic(closed), 5_000_000, 7, Ecn::Ect0).0, "dropped", "{closed}");
        }
        // Tokens accumulate for at most ten seconds.
        let mut queue = inelastic("penalty_rate=1 penalty_burst=100 max=1000");
        for _ in 0..99 {
            offer(&mut queue, 0, 7, Ecn::Ect0);
        }
        let passed = (0..20).filter(|_| offer(&mut queue, 60_000_000, 7, Ecn::Ect0).0 == "queued").count();
        assert_eq!(passed, 10);
    }

    #[test]
    fn double_buffering_preserves_p_across_rehash() {
        for (db, before, after) in [("5ms", 6_000, 1.0), ("5ms", 4_999, 0.0), ("0s", 6_000, 0.0)] {
            let mut queue = inelastic(&alloc::format!("rehash=10ms db={db} penalty_burst=1000"));
            // Twice, so that the second finds the first queued in the other bins too.
            (0..2).for_each(|_| assert_eq!(offer(&mut queue, before, 7, Ecn::Ect0), ("queued", 1.0)));
            assert_eq!(offer(&mut queue, 10_000, 7, Ecn::Ect0).1, 1.0, "not yet");
            assert_eq!(sfb(&queue).active, 0);
            drain(&mut queue);
            assert_eq!(offer(&mut queue, 10_001, 7, Ecn::Ect0).1, after, "db={db}, learning at {before} us");
            assert_eq!((sfb(&queue).active, sfb(&queue).doubled), (1, false));
        }
    }

    #[test]
    fn bins_count_queued_packets_across_rehashes() {
        let mut queue = queue("rehash=1ms db=500us target=1 increment=0.3 decrement=0.1");
        let mut rng = Rng::stream(3, "traffic");
        for n in 0..20_000_u64 {
            let (us, flow) = (n * 100, rng.below(30) as u32);
            if rng.below(2) == 0 {
                offer(&mut queue, us, flow, Ecn::Ect0);
            } else {
                queue.depart(at(us));
            }
            let waiting = queue.port.pkts() as usize;
            assert_eq!(sfb(&queue).waiting.len(), waiting);
            let counted = |i: usize| sfb(&queue).filters[i].bins.iter().map(|bin| bin.packets as usize).sum::<usize>();
            assert!(counted(0) % 8 == 0 && counted(1) % 8 == 0 && counted(0) + counted(1) >= 8 * waiting);
        }
        drain(&mut queue);
        assert!(sfb(&queue).filters.iter().all(|filter| filter.bins.iter().all(|bin| bin.packets == 0)));
    }

    #[test]
    fn levels_hash_evenly_and_independently() {
        for (levels, width) in [(8, 16), (2, 23), (1, 1024), (16, 16), (3, 1)] {
            let mut filter = Filter::new(levels, width);
            // 400 flows per bin are expected, standard deviation 20; allow six.
            let flows = 400 * width;
            (0..flows).for_each(|flow| filter.visit(hash(flow, 12_345), |bin| bin.packets += 1));
            assert_eq!(filter.bins.len(), (levels * width) as usize);
            assert!(filter.bins.iter().all(|bin| bin.packets.abs_diff(400) <= 120), "{levels} levels of {width}");
            // Two flows that collide on one level rarely collide on the next.
            if levels > 1 && width > 1 {
                let mut places = |flow| {
                    let mut filter = Filter::new(levels, width);
                    filter.visit(hash(flow, 6789), |bin| bin.packets = 1);
                    let of =
                        |level: u32| filter.bins.iter().skip((level * width) as usize).position(|bin| bin.packets == 1);
                    (of(0), of(1))
                };
                let first = places(0);
                let met: Vec<_> = (1..6000).map(&mut places).filter(|place| place.0 == first.0).collect();
                let again = met.iter().filter(|place| place.1 == first.1).count();
                let want = met.len() as f64 / f64::from(width);
                assert!((again as f64 - want).abs() < 6.0 * libm::sqrt(want) + 1.0, "{again} of {}", met.len());
            }
        }
    }

    #[test]
    fn max_and_target_defaults_match_tc() {
        use Auto::{Auto as Own, Given};
        let all =
            [(Own, Own), (Own, Given(13)), (Given(30), Own), (Given(7), Given(9)), (Given(1), Own), (Own, Given(1))];
        let bounds = all.map(|(max, target)| bounds(max, target));
        assert_eq!(bounds, [(25, 20), (16, 13), (30, 24), (7, 9), (1, 1), (1, 1)]);
    }

    #[test]
    fn tc_arguments_are_parsed() {
        let tc = "sfb rehash 5000 db 500 limit 300 max 30 increment 0.01 penalty_rate 100";
        let ours = "sfb preset=linux rehash=5s db=500ms hard_limit=300p max=30 increment=0.01 penalty_rate=100";
        let canonical = |text| crate::Spec::parse(text).unwrap().canonical();
        assert_eq!(canonical(tc), canonical(ours));
    }

    #[test]
    fn too_many_bins_are_rejected() {
        let refused = |settings| Sfb::check(&params(settings)).is_err();
        assert!(refused("levels=7 bins=1024") && refused("levels=16 bins=17") && refused("levels=16 bins=1024"));
        assert!(!refused("levels=6 bins=1024") && !refused("levels=16 bins=16"));
    }
}
