//! SFB, as in Linux: `sfb_enqueue`, `sfb_dequeue`, `sfb_swap_slot` and `sfb_rate_limit`.
//!
//! Deliberate differences from Linux: floating-point probabilities, times in nanoseconds, one uniform number at every
//! arrival, and the hash of the library (Linux does not prescribe one). Each queued packet carries its two hashes.
//! `sfb/linux.rs` is the listing in integers.

mod linux;

use std::collections::VecDeque;

use crate::reference::harness::*;

#[derive(Clone, Copy, Default)]
struct Bucket {
    qlen: u32,
    p_mark: f64,
}

#[derive(Clone, Default)]
struct Bins {
    perturbation: u64,
    bins: Vec<Vec<Bucket>>,
}

#[derive(Default)]
struct Sfb {
    net: Net,
    rehash_interval: u64,
    warmup_time: u64,
    limit: Option<(f64, Unit)>,
    max: u32,
    bin_size: u32,
    increment: f64,
    decrement: f64,
    penalty_rate: u64,
    penalty_burst: u64,
    levels: usize,
    numbuckets: u64,
    buffer: Buffer,
    /// The hashes of each queued packet.
    cb: VecDeque<[u64; 2]>,
    seen: Seen,
    tokens_avail: u64,
    rehash_time: u64,
    token_time: u64,
    slot: usize,
    double_buffering: bool,
    bins: [Bins; 2],
    first: bool,
    p_min: f64,
    penaltydrop: u64,
}

/// The library's hash: the finaliser of `SplitMix64` over seed and flow.
fn hash(flow: u32, perturbation: u64) -> u64 {
    let mut z = u128::from(perturbation ^ u64::from(flow));
    let mask = u128::from(u64::MAX);
    z = (z * 0x9e37_79b9_7f4a_7c15) & mask;
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        z = ((z ^ (z >> shift)) * factor) & mask;
    }
    let hash = (z ^ (z >> 31)) as u64;
    if hash == 0 { 1 } else { hash }
}

impl Sfb {
    fn draw_key(uniform: &mut dyn FnMut() -> f64) -> u64 {
        (uniform() * 9_007_199_254_740_992.0) as u64
    }

    /// The bucket of level `i`: the hash is rotated by `i * (64 / levels)` bits, and its upper 32 bits are scaled to
    /// the number of buckets.
    fn bucket(&mut self, slot: usize, hash: u64, i: usize) -> &mut Bucket {
        let bits = hash.rotate_left((i * (64 / self.levels)) as u32) >> 32;
        let share = bits as f64 / 4_294_967_296.0;
        &mut self.bins[slot].bins[i][(share * self.numbuckets as f64).floor() as usize]
    }

    fn update(&mut self, slot: usize, hash: u64) -> (u32, f64) {
        let (mut minqlen, mut p_min) = (u32::MAX, f64::INFINITY);
        let (bin_size, increment, decrement) = (self.bin_size, self.increment, self.decrement);
        for i in 0..self.levels {
            let b = self.bucket(slot, hash, i);
            if b.qlen == 0 {
                b.p_mark -= decrement;
                if b.p_mark < 0.0 {
                    b.p_mark = 0.0;
                }
            } else if b.qlen >= bin_size {
                b.p_mark += increment;
                if b.p_mark > 1.0 {
                    b.p_mark = 1.0;
                }
            }
            if minqlen > b.qlen {
                minqlen = b.qlen;
            }
            if p_min > b.p_mark {
                p_min = b.p_mark;
            }
        }
        (minqlen, p_min)
    }

    fn rehash(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) {
        if self.first {
            self.first = false;
            self.bins[0].perturbation = Self::draw_key(uniform);
            self.bins[1].perturbation = Self::draw_key(uniform);
        }
        if self.rehash_interval == 0 {
            return;
        }
        let limit = self.rehash_time + self.rehash_interval;
        if now > limit {
            self.seen.note("rehashed", true);
            self.bins[self.slot].perturbation = Self::draw_key(uniform);
            self.slot = 1 - self.slot;
            self.double_buffering = false;
            self.rehash_time = now;
        } else if !self.double_buffering
            && self.warmup_time > 0
            && now as i128 > i128::from(limit) - i128::from(self.warmup_time)
        {
            self.double_buffering = true;
        }
    }

    /// Whether no token is available.
    fn rate_limit(&mut self, now: u64) -> bool {
        if self.penalty_rate == 0 || self.penalty_burst == 0 {
            return true;
        }
        if self.tokens_avail < 1 {
            let mut age = now - self.token_time;
            if age > 10_000_000_000 {
                age = 10_000_000_000;
            }
            self.tokens_avail = (u128::from(age) * u128::from(self.penalty_rate) / SECOND as u128) as u64;
            if self.tokens_avail > self.penalty_burst {
                self.tokens_avail = self.penalty_burst;
            }
            self.token_time = now;
            if self.tokens_avail < 1 {
                return true;
            }
        }
        self.tokens_avail -= 1;
        false
    }

    /// `None`: dropped; else whether it is marked.
    fn verdict(&mut self, pkt: &Pkt, now: u64, u: f64, hashes: &mut [u64; 2]) -> Option<bool> {
        let slot = self.slot;
        hashes[slot] = hash(pkt.flow, self.bins[slot].perturbation);
        let (minqlen, p_min) = self.update(slot, hashes[slot]);
        self.p_min = p_min;
        if minqlen >= self.max {
            self.seen.note("all bins full", true);
            return None;
        }
        if p_min >= 1.0 {
            if self.double_buffering {
                self.seen.note("both learn", true);
                let other = 1 - slot;
                hashes[other] = hash(pkt.flow, self.bins[other].perturbation);
                self.update(other, hashes[other]);
            }
            let limited = self.rate_limit(now);
            self.seen.note("penalty", limited);
            self.seen.note("token", !limited);
            self.penaltydrop += u64::from(limited);
            return if limited { None } else { Some(false) };
        }
        if u < p_min {
            if p_min > 0.5 && u < (p_min - 0.5) * 2.0 {
                self.seen.note("dropped for p above a half", self.net.setbit && pkt.ect);
                return None;
            }
            if self.net.setbit && pkt.ect {
                return Some(true);
            }
            return None;
        }
        Some(false)
    }
}

impl Listing for Sfb {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        if self.buffer.full(&self.net, &pkt) {
            self.seen.note("queuedrop", true);
            return Outcome::Overflow;
        }
        let over = self.limit.is_some_and(|(limit, unit)| {
            let one = if unit == Unit::Pkts { 1.0 } else { f64::from(pkt.size) };
            self.buffer.length(unit) + one > limit
        });
        self.seen.note("limit", over);
        if over {
            return Outcome::Early;
        }
        self.rehash(now, uniform);
        let mut hashes = [0; 2];
        let Some(marked) = self.verdict(&pkt, now, u, &mut hashes) else { return Outcome::Early };
        self.buffer.q.push_back(pkt);
        self.cb.push_back(hashes);
        for (slot, hash) in hashes.into_iter().enumerate().filter(|(_, hash)| *hash > 0) {
            (0..self.levels).for_each(|i| self.bucket(slot, hash, i).qlen += 1);
        }
        self.seen.note("marked", marked);
        if marked { Outcome::Marked } else { Outcome::Queued }
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if let Some(hashes) = self.cb.pop_front() {
            for (slot, hash) in hashes.into_iter().enumerate().filter(|(_, hash)| *hash > 0) {
                (0..self.levels).for_each(|i| self.bucket(slot, hash, i).qlen -= 1);
            }
        }
        departure
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let all = || self.bins[self.slot].bins.iter().flatten();
        let maxprob = all().map(|bucket| bucket.p_mark).fold(0.0, f64::max);
        let maxqlen = all().map(|bucket| bucket.qlen).max().unwrap_or(0);
        vec![
            ("p", self.p_min, 0.01),
            ("max_p", maxprob, 0.01),
            ("max_q", f64::from(maxqlen), 1.0),
            ("punished", self.penaltydrop as f64, 1.0),
        ]
    }
}

/// Random max and `bin_size` (tc's target), with their text. If only one is given, the other is computed as in tc.
fn bounds(dice: &mut Dice) -> (u32, u32, String) {
    let (opt_max, opt_target) = (dice.upto(1, 30) as u32, dice.upto(1, 20) as u32);
    match dice.upto(0, 5) {
        0 => (25, 20, "max=auto target=auto".into()),
        1 => (opt_max, (opt_max * 4 + 3) / 5, format!("max={opt_max}")),
        2 => ((opt_target * 5 + 1) / 4, opt_target, format!("target={opt_target}")),
        _ => (opt_max, opt_target, format!("max={opt_max} target={opt_target}")),
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let rehash_interval = if dice.odds(0.2) { 0 } else { dice.upto(2, 2000) * MS };
    let warmup_time = if dice.odds(0.2) { 0 } else { dice.upto(1, 2500) * MS };
    let (levels, numbuckets) = dice.pick(&[(8, 16), (8, 16), (2, 23), (1, 5), (3, 60), (16, 2)]);
    let (max, bin_size, bounds) = bounds(dice);
    let limit = dice.odds(0.2).then(|| {
        let unit = dice.pick(&UNITS);
        let packets = dice.upto(1, 60) as f64;
        (if unit == Unit::Pkts { packets } else { packets * net.mean_pktsize as f64 }, unit)
    });
    let increment = dice.scale(5e-4, 0.3);
    let penalty_burst = dice.pick(&[0, 1, 20]);
    let sfb = Sfb {
        net,
        rehash_interval,
        warmup_time,
        limit,
        max,
        bin_size,
        increment,
        decrement: increment * dice.pick(&[0.1, 0.5, 1.0]),
        penalty_rate: dice.pick(&[0, 10, 1000]),
        penalty_burst,
        levels,
        numbuckets,
        tokens_avail: penalty_burst,
        bins: [(); 2]
            .map(|()| Bins { perturbation: 0, bins: vec![vec![Bucket::default(); numbuckets as usize]; levels] }),
        first: true,
        ..Sfb::default()
    };
    let words = format!(
        "rehash={rehash_interval}ns db={warmup_time}ns limit={} {bounds} increment={increment} \
         decrement={} penalty_rate={} penalty_burst={penalty_burst} levels={levels} bins={numbuckets}",
        limit.map_or("auto".to_string(), |(limit, unit)| depth(limit, unit)),
        sfb.decrement,
        sfb.penalty_rate,
    );
    (words, Box::new(sfb))
}

#[test]
fn sfb_handles_packets_as_linux_in_floating_point() {
    let branches = [
        "queuedrop",
        "limit",
        "rehashed",
        "all bins full",
        "both learn",
        "penalty",
        "token",
        "dropped for p above a half",
        "marked",
    ];
    differ("sfb", case, &branches);
}
