//! SFB with the integers of Linux 6.12: sch_sfb.c in our own words, with a filter of tc that makes the flow's number the
//! class id. Rust's standard library has the SipHash.
//!
//! Difference from Linux: the bins of the next hash also use the class id.

use std::collections::VecDeque;
use std::hash::Hasher;

use super::bounds;
use crate::reference::harness::*;
use forebay_aqm::base::rng::Rng;

const MAX_PROB: i64 = 65_535;

/// A hash key and the buckets (qlen, `p_mark`) of eight levels.
#[derive(Clone, Default)]
struct Bins {
    key: (u64, u64),
    buckets: [[(i64, i64); 16]; 8],
}

impl Bins {
    #[allow(deprecated, reason = "the only SipHash-2-4 of the standard library")]
    fn hash(&self, flow: u32) -> u32 {
        let mut hasher = std::hash::SipHasher::new_with_keys(self.key.0, self.key.1);
        hasher.write(&flow.to_le_bytes());
        match hasher.finish() % (1 << 32) {
            0 => 1,
            hash => hash as u32,
        }
    }

    fn buckets(&mut self, hash: u32) -> impl Iterator<Item = &mut (i64, i64)> {
        let digits = format!("{hash:08x}");
        let numbers: Vec<usize> = digits.chars().rev().map(|c| c.to_digit(16).unwrap_or(0) as usize).collect();
        self.buckets.iter_mut().zip(numbers).map(|(level, number)| &mut level[number])
    }
}

struct Sfb {
    net: Net,
    hz: u64,
    rehash_interval: u64,
    warmup_time: u64,
    max: i64,
    bin_size: i64,
    increment: i64,
    decrement: i64,
    penalty_rate: u64,
    penalty_burst: u64,
    tokens: u64,
    token_time: u64,
    rehash_time: u64,
    double_buffering: bool,
    slot: usize,
    bins: [Bins; 2],
    buffer: Buffer,
    hashes: VecDeque<[u32; 2]>,
    /// The library's stream: keys need all of its bits.
    stream: Option<Rng>,
    keyed: bool,
    seen: Seen,
    p_min: i64,
    penaltydrop: u64,
}

impl Sfb {
    fn random(&mut self) -> u64 {
        self.stream.as_mut().expect("the library's stream").bits()
    }

    fn draw_key(&mut self, slot: usize) {
        self.bins[slot].key = (self.random(), self.random());
    }

    /// BLUE in the buckets of `flow`: the least qlen and the least `p_mark`.
    fn blue(&mut self, slot: usize, flow: u32, hashes: &mut [u32; 2]) -> (i64, i64) {
        let (bin_size, increment, decrement) = (self.bin_size, self.increment, self.decrement);
        hashes[slot] = self.bins[slot].hash(flow);
        let mut least = (i64::MAX, i64::MAX);
        for (qlen, p_mark) in self.bins[slot].buckets(hashes[slot]) {
            let step = if *qlen == 0 { -decrement } else { i64::from(*qlen >= bin_size) * increment };
            *p_mark = (*p_mark + step).clamp(0, MAX_PROB);
            least = (least.0.min(*qlen), least.1.min(*p_mark));
        }
        least
    }

    fn keep_time(&mut self, jiffies: u64) {
        if !self.keyed {
            self.draw_key(0);
            self.draw_key(1);
            self.keyed = true;
        }
        let limit = self.rehash_time + self.rehash_interval;
        if self.rehash_interval > 0 && jiffies > limit {
            self.seen.note("rehashed", true);
            self.draw_key(self.slot);
            self.slot = 1 - self.slot;
            self.double_buffering = false;
            self.rehash_time = jiffies;
        } else if self.rehash_interval > 0 && self.warmup_time > 0 && jiffies + self.warmup_time > limit {
            self.double_buffering = true;
        }
    }

    fn has_token(&mut self, jiffies: u64) -> bool {
        if self.penalty_rate * self.penalty_burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let age = (jiffies - self.token_time).min(10 * self.hz);
            self.tokens = (age * self.penalty_rate / self.hz).min(self.penalty_burst);
            self.token_time = jiffies;
        }
        let token = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        token
    }

    /// Whether the packet is queued, and whether it is marked.
    fn verdict(&mut self, pkt: &Pkt, jiffies: u64, hashes: &mut [u32; 2]) -> (bool, bool) {
        let (minqlen, p_min) = self.blue(self.slot, pkt.flow, hashes);
        self.p_min = p_min;
        if minqlen >= self.max {
            self.seen.note("all bins full", true);
            return (false, false);
        }
        if p_min == MAX_PROB {
            if self.double_buffering {
                self.seen.note("both learn", true);
                self.blue(1 - self.slot, pkt.flow, hashes);
            }
            let token = self.has_token(jiffies);
            self.seen.note("token", token);
            self.seen.note("penalty", !token);
            self.penaltydrop += u64::from(!token);
            return (token, false);
        }
        let r = (self.random() >> 48) as i64;
        let ect = self.net.setbit && pkt.ect;
        let early = r < (p_min - MAX_PROB / 2) * 2;
        self.seen.note("dropped for p above a half", r < p_min && early && ect);
        self.seen.note("marked", r < p_min && !early && ect);
        (r >= p_min || (!early && ect), r < p_min)
    }

    fn count(&mut self, hashes: [u32; 2], by: i64) {
        for (bins, hash) in self.bins.iter_mut().zip(hashes).filter(|(_, hash)| *hash > 0) {
            bins.buckets(hash).for_each(|(qlen, _)| *qlen += by);
        }
    }
}

impl Listing for Sfb {
    usual!(seen, backlog = buffer);

    fn adopt(&mut self, stream: &Rng) {
        self.stream = Some(stream.clone());
    }

    fn enque(&mut self, pkt: Pkt, now: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        if self.buffer.full(&self.net, &pkt) {
            self.seen.note("queuedrop", true);
            return Outcome::Overflow;
        }
        let jiffies = (u128::from(now) * u128::from(self.hz) / SECOND as u128) as u64;
        self.keep_time(jiffies);
        let mut hashes = [0; 2];
        let (queued, marked) = self.verdict(&pkt, jiffies, &mut hashes);
        if !queued {
            return Outcome::Early;
        }
        self.buffer.q.push_back(pkt);
        self.hashes.push_back(hashes);
        self.count(hashes, 1);
        if marked { Outcome::Marked } else { Outcome::Queued }
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        if let Some(hashes) = self.hashes.pop_front() {
            self.count(hashes, -1);
        }
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let all = || self.bins[self.slot].buckets.iter().flatten();
        let most = |of: fn(&(i64, i64)) -> i64| all().map(of).max().unwrap_or(0) as f64;
        let one = MAX_PROB as f64;
        vec![
            ("p", self.p_min as f64 / one, 0.0),
            ("max_p", most(|bucket| bucket.1) / one, 0.0),
            ("max_q", most(|bucket| bucket.0), 0.0),
            ("punished", self.penaltydrop as f64, 0.0),
        ]
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let hz = dice.pick(&[100, 250, 1000]);
    let rehash = if dice.odds(0.2) { 0 } else { dice.upto(2, 2000) };
    let db = if dice.odds(0.2) { 0 } else { dice.upto(1, 2500) };
    let (max, bin_size, bounds) = bounds(dice);
    let (increment, decrement) = (dice.upto(1, 20_000) as i64, dice.upto(1, 5000) as i64);
    let penalty_burst = dice.pick(&[0, 1, 20]);
    let penalty_rate = dice.pick(&[0, 10, 1000]);
    let jiffies = |ms: u64| (ms * hz).div_ceil(1000);
    let sfb = Sfb {
        net: trace.net,
        hz,
        rehash_interval: jiffies(rehash),
        warmup_time: jiffies(db),
        max: max.into(),
        bin_size: bin_size.into(),
        increment,
        decrement,
        penalty_rate,
        penalty_burst,
        tokens: penalty_burst,
        token_time: 0,
        rehash_time: 0,
        double_buffering: false,
        slot: 0,
        bins: Default::default(),
        buffer: Buffer::default(),
        hashes: VecDeque::default(),
        stream: None,
        keyed: false,
        seen: Seen::default(),
        p_min: 0,
        penaltydrop: 0,
    };
    let words = format!(
        "rules=linux hz={hz} rehash={rehash}ms db={db}ms {bounds} increment={} decrement={} penalty_rate={penalty_rate} \
         penalty_burst={penalty_burst}",
        increment as f64 / MAX_PROB as f64,
        decrement as f64 / MAX_PROB as f64,
    );
    (words, Box::new(sfb))
}

#[test]
fn sfb_handles_packets_as_linux_in_integers() {
    let branches = [
        "queuedrop",
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
