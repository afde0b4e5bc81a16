//! SFB with the numbers of Linux 6.12 (`rules=linux`): sch_sfb.c. Probabilities are multiples of 1/65,535, times are
//! jiffies, and a hash of 32 bits gives each of the 8 levels four bits.
//!
//! Random numbers: four of 64 bits at the start, two for each of the two hashes; two at each rehash; and one of 16 bits
//! for an arrival that is neither dropped by its bins nor of a flow with p = 1.

use alloc::collections::VecDeque;

use super::{Params, bounds};
use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::rng::Rng;
use crate::base::time::{Instant, Span};
use crate::base::units::Depth;
use crate::base::verdict::{Fate, Verdict};

/// Levels and bins per level: 32 bits of a hash, four for each level.
pub(super) const LEVELS: usize = 8;
pub(super) const BINS: usize = 16;
/// A probability of 1: `SFB_MAX_PROB`.
const ONE: u32 = 0xffff;
/// Above this p an ECT packet may be dropped instead of marked.
const HALF: u32 = ONE / 2;
/// Longest time for which the penalty box accumulates tokens, in seconds.
const MAX_AGE: u64 = 10;

#[derive(Clone, Copy, Default)]
struct Bin {
    packets: u16,
    p: u16,
}

/// A key of 128 bits, and the bins to which its hash leads.
#[derive(Clone, Copy, Default)]
struct Filter {
    key: [u64; 2],
    bins: [[Bin; BINS]; LEVELS],
}

/// One round of SipHash (Aumasson and Bernstein 2012).
const fn sip_round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    (a, c) = (a.wrapping_add(b), c.wrapping_add(d));
    (b, d) = (b.rotate_left(13) ^ a, d.rotate_left(16) ^ c);
    a = a.rotate_left(32);
    (c, a) = (c.wrapping_add(b), a.wrapping_add(d));
    (b, d) = (b.rotate_left(17) ^ c, d.rotate_left(21) ^ a);
    [a, b, c.rotate_left(32), d]
}

/// SipHash-2-4 of the four bytes of `word`: `siphash_1u32`.
fn sip_hash(word: u32, key: [u64; 2]) -> u64 {
    let block = 4_u64 << 56 | u64::from(word);
    let text = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut v: [u64; 4] = core::array::from_fn(|i| text[i] ^ key[i % 2]);
    v[3] ^= block;
    v = sip_round(sip_round(v));
    v[0] ^= block;
    v[2] ^= 0xff;
    (0..4).for_each(|_| v = sip_round(v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

impl Filter {
    /// The hash of `flow`, never 0.
    fn hash(&self, flow: u32) -> u32 {
        (sip_hash(flow, self.key) as u32).max(1)
    }

    /// Calls `visit` with the bin of `hash` in each level.
    fn visit(&mut self, hash: u32, mut visit: impl FnMut(&mut Bin)) {
        for (level, bins) in self.bins.iter_mut().enumerate() {
            visit(&mut bins[(hash >> (4 * level)) as usize % BINS]);
        }
    }
}

/// State of Linux's SFB. Times in jiffies.
#[derive(Clone)]
pub(super) struct Linux {
    hz: u64,
    rehash: u64,
    db: u64,
    max: u32,
    target: u32,
    increment: u16,
    decrement: u16,
    penalty_rate: u64,
    penalty_burst: u64,
    filters: [Filter; 2],
    active: usize,
    doubled: bool,
    seeded: bool,
    rehashed: u64,
    tokens: u64,
    filled: u64,
    /// The latest arrival's hashes in both filters; 0: it is not counted there.
    arriving: [u32; 2],
    /// The hashes of the queued packets in FIFO order.
    waiting: VecDeque<[u32; 2]>,
    p: u32,
    punished: u64,
}

/// Milliseconds as jiffies, rounded up.
const fn jiffies_for(span: Span, hz: u64) -> u64 {
    (span.nanos() / 1_000_000).saturating_mul(hz).div_ceil(1000)
}

impl Linux {
    pub(super) fn new(params: &Params) -> Self {
        let (max, target) = bounds(params.max, params.target);
        let hz = u64::from(params.hz);
        let fraction = |p: f64| libm::floor(p * f64::from(ONE) + 0.5) as u16;
        Self {
            hz,
            rehash: jiffies_for(params.rehash, hz),
            db: jiffies_for(params.db, hz),
            max,
            target,
            increment: fraction(params.increment),
            decrement: fraction(params.decrement),
            penalty_rate: u64::from(params.penalty_rate),
            penalty_burst: u64::from(params.penalty_burst),
            filters: [Filter::default(); 2],
            active: 0,
            doubled: false,
            seeded: false,
            rehashed: 0,
            tokens: u64::from(params.penalty_burst),
            filled: 0,
            arriving: [0; 2],
            waiting: VecDeque::new(),
            p: 0,
            punished: 0,
        }
    }

    /// This SFB with the state of `before`.
    pub(super) fn after(self, before: &Self) -> Self {
        let Self { hz, rehash, db, max, target, increment, decrement, penalty_rate, penalty_burst, .. } = self;
        let before = before.clone();
        Self { hz, rehash, db, max, target, increment, decrement, penalty_rate, penalty_burst, ..before }
    }

    const fn jiffies(&self, now: Instant) -> u64 {
        (now.nanos() as u128 * self.hz as u128 / 1_000_000_000) as u64
    }

    fn keep_time(&mut self, jiffies: u64, rng: &mut Rng) {
        if !self.seeded {
            self.filters.iter_mut().for_each(|filter| filter.key = [rng.bits(), rng.bits()]);
            self.seeded = true;
        }
        if self.rehash == 0 {
            return;
        }
        let due = self.rehashed.saturating_add(self.rehash);
        if jiffies > due {
            self.filters[self.active].key = [rng.bits(), rng.bits()];
            self.active = 1 - self.active;
            (self.doubled, self.rehashed) = (false, jiffies);
        } else if self.db > 0 && jiffies.saturating_add(self.db) > due {
            self.doubled = true;
        }
    }

    /// BLUE in each bin of `flow` in filter `slot`. Returns the smallest packet count and the smallest p.
    fn learn(&mut self, slot: usize, flow: u32) -> (u32, u32) {
        let Self { target, increment, decrement, .. } = *self;
        let filter = &mut self.filters[slot];
        let hash = filter.hash(flow);
        self.arriving[slot] = hash;
        let (mut packets, mut p) = (u16::MAX, u16::MAX);
        filter.visit(hash, |bin| {
            if bin.packets == 0 {
                bin.p = bin.p.saturating_sub(decrement);
            } else if u32::from(bin.packets) >= target {
                bin.p = bin.p.saturating_add(increment);
            }
            (packets, p) = (packets.min(bin.packets), p.min(bin.p));
        });
        (u32::from(packets), u32::from(p))
    }

    /// `sfb_rate_limit`: whether a token is available.
    fn passes(&mut self, jiffies: u64) -> bool {
        if self.penalty_rate == 0 || self.penalty_burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let age = (jiffies - self.filled).min(MAX_AGE * self.hz);
            self.tokens = (age * self.penalty_rate / self.hz).min(self.penalty_burst);
            self.filled = jiffies;
        }
        let passes = self.tokens > 0;
        self.tokens -= u64::from(passes);
        passes
    }

    /// `sfb_enqueue`.
    #[inline(never)]
    pub(super) fn arrival(&mut self, limit: Auto<Depth>, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.arriving = [0; 2];
        let over = matches!(limit, Auto::Given(limit) if limit.is_passed(level, packet));
        if over || !level.fits(packet.len) {
            return Verdict::Drop;
        }
        let jiffies = self.jiffies(cx.now);
        self.keep_time(jiffies, cx.rng);
        let (packets, p) = self.learn(self.active, packet.flow);
        self.p = p;
        if packets >= self.max {
            return Verdict::Drop;
        }
        if p >= ONE {
            if self.doubled {
                self.learn(1 - self.active, packet.flow);
            }
            if self.passes(jiffies) {
                return Verdict::Accept;
            }
            self.punished += 1;
            return Verdict::Drop;
        }
        let r = cx.rng.bits32() >> 16;
        if r >= p {
            Verdict::Accept
        } else if p > HALF && r < (p - HALF) * 2 {
            Verdict::Drop
        } else {
            Verdict::Signal
        }
    }

    pub(super) fn settled(&mut self, fate: Fate) {
        let (hashes, enters) = match fate {
            Fate::Queued { .. } => {
                self.waiting.push_back(self.arriving);
                (self.arriving, true)
            }
            Fate::Delivered { .. } => (self.waiting.pop_front().unwrap_or_default(), false),
            Fate::Dropped(_) => return,
        };
        for (filter, hash) in self.filters.iter_mut().zip(hashes).filter(|(_, hash)| *hash > 0) {
            filter.visit(hash, |bin| {
                bin.packets = if enters { bin.packets.saturating_add(1) } else { bin.packets.saturating_sub(1) };
            });
        }
    }

    /// Signal probability of the latest arrival's flow.
    pub(super) fn p(&self) -> f64 {
        f64::from(self.p) / f64::from(ONE)
    }

    /// Largest p and largest packet count of a bin of the active filter.
    pub(super) fn largest(&self) -> (f64, u32) {
        let all = || self.filters[self.active].bins.iter().flatten();
        let p = all().map(|bin| bin.p).max().unwrap_or(0);
        (f64::from(p) / f64::from(ONE), all().map(|bin| u32::from(bin.packets)).max().unwrap_or(0))
    }

    /// Arrivals dropped in the penalty box.
    pub(super) const fn punished(&self) -> u64 {
        self.punished
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sfb;
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::port::{MAIN, Port};
    use crate::base::units::{Bytes, Limit, Link, Rate};
    use crate::testing::by_hand::{fifo, ms};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(200), mean_packet: Bytes(500) };

    fn queue(settings: &str) -> Queue<Fifo<Sfb>> {
        fifo(&alloc::format!("rules=linux hz=100 {settings}"), LINK, true)
    }

    fn offer(queue: &mut Queue<Fifo<Sfb>>, at: Instant, flow: u32) -> bool {
        queue.arrive(Packet { len: 500, flow, ecn: Ecn::NotEct, ..Packet::default() }, at);
        core::mem::take(queue.port.discarded()).is_empty()
    }

    fn linux(queue: &Queue<Fifo<Sfb>>) -> &Linux {
        queue.discipline().aqm().linux.as_ref().unwrap()
    }

    #[test]
    fn hash_equals_published_test_vector() {
        // Appendix A of the SipHash paper: key 00 01 .. 0f, message 00 01 02 03.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(sip_hash(0x0302_0100, key), 0xcf27_94e0_2771_87b7);
    }

    #[test]
    fn steps_of_p_are_those_of_tc() {
        let linux = linux(&queue("")).clone();
        // 0.0005 x 65,535 is 32.8, 0.00005 x 65,535 is 3.3.
        assert_eq!((linux.increment, linux.decrement, linux.rehash, linux.db), (33, 3, 60_000, 6000));
    }

    #[test]
    fn p_saturates_at_both_ends() {
        let mut queue = queue("max=1000 target=1 increment=0.6 decrement=0.7 penalty_rate=0");
        for _ in 0..3 {
            offer(&mut queue, ms(0), 7);
        }
        assert_eq!(linux(&queue).p, ONE, "0.6 and 0.6");
        while queue.depart(ms(0)).is_some() {}
        offer(&mut queue, ms(0), 7);
        assert_eq!(linux(&queue).p, ONE - 45_875, "0.7 x 65,535 + 0.5");
    }

    /// The numbers drawn by an arrival at an empty port, with every bin holding `packets` packets and this p.
    fn draws(settings: &str, packets: u16, p: u16) -> usize {
        let mut linux = linux(&queue(settings)).clone();
        linux.seeded = true;
        linux.filters = [Filter { key: [1, 2], bins: [[Bin { packets, p }; BINS]; LEVELS] }; 2];
        let (port, mut rng, mut raw) = (Port::new(LINK, 1, true), Rng::stream(1, "sfb"), Rng::stream(1, "sfb"));
        let packet = Packet { len: 500, flow: 7, ..Packet::default() };
        linux.arrival(Auto::Auto, &packet, &port.level(MAIN), &mut Cx::new(ms(0), &mut rng));
        let next = rng.bits();
        (0..9).position(|_| raw.bits() == next).unwrap()
    }

    #[test]
    fn random_number_is_drawn_only_if_it_decides() {
        assert_eq!(draws("max=9 target=5", 4, 0), 1, "also for p = 0");
        assert_eq!(draws("max=9 target=5", 9, 0), 0, "full bins");
        assert_eq!(draws("max=9 target=5", 8, u16::MAX), 0, "p = 1");
    }

    #[test]
    fn penalty_box_counts_jiffies() {
        let mut queue = queue("max=1000 target=1 increment=1 decrement=0 penalty_rate=100 penalty_burst=1");
        offer(&mut queue, ms(0), 7);
        // The second arrival finds p = 1 and takes the token. A jiffy is 10 ms, and brings one.
        assert!(offer(&mut queue, ms(0), 7));
        assert!(!offer(&mut queue, ms(9), 7) && offer(&mut queue, ms(10), 7));
        assert!(!offer(&mut queue, ms(19), 7) && offer(&mut queue, ms(21), 7));
    }
}
