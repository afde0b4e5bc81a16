//! PIE with the integers of Linux 6.12: sch_pie.c and net/pie.h in our own words.
//!
//! A time is a count of 64 ns. A probability is a count of 2^-56, kept modulo 2^64. The gains are computed here as the
//! change of p per tick, in 128 bits.

use crate::reference::harness::*;

/// The largest number of 56 bits: a probability of 1.
const MAX_PROB: u64 = (1 << 56) - 1;
const QUEUE_THRESHOLD: u64 = 16_384;

/// Settings of a run; times in nanoseconds, gains in sixteenths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) target: u64,
    pub(crate) tupdate: u64,
    pub(crate) alpha: u64,
    pub(crate) beta: u64,
    pub(crate) burst: u64,
    /// Largest p at which packets are marked.
    pub(crate) mark_to: u64,
    pub(crate) mtu: u64,
    pub(crate) bytemode: bool,
    pub(crate) dq_rate_estimator: bool,
}

pub(crate) struct Pie {
    net: Net,
    set: Settings,
    pub(crate) buffer: Buffer,
    pub(crate) seen: Seen,
    timer: u64,
    prob: u64,
    pub(crate) accu_prob: u64,
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    dq_tstamp: Option<u64>,
    dq_count: Option<u64>,
    avg_dq_rate: u64,
}

fn tick(ns: u64) -> u64 {
    ns / 64
}

impl Pie {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        Self {
            net,
            set,
            buffer: Buffer::default(),
            seen: Seen::default(),
            timer: 500 * MS,
            prob: 0,
            accu_prob: 0,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: tick(set.burst),
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }

    fn drop_early(&mut self, pkt: &Pkt, uniform: &mut dyn FnMut() -> f64) -> bool {
        let set = self.set;
        if self.burst_time > 0 {
            return false;
        }
        if self.qdelay < tick(set.target) / 2 && self.prob < MAX_PROB / 5 {
            self.seen.note("spared by a short delay", self.prob > 0);
            return false;
        }
        if self.buffer.bytes() < 2 * set.mtu {
            self.seen.note("spared by a short queue", self.prob > 0);
            return false;
        }
        let size = u64::from(pkt.size);
        let small = set.bytemode && size <= set.mtu;
        self.seen.note("smaller than the mtu", small && self.prob > 0);
        let prob = if small { self.prob / set.mtu * size } else { self.prob };
        self.accu_prob = if prob > 0 { self.accu_prob.wrapping_add(prob) } else { 0 };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            self.seen.note("certain", true);
            return true;
        }
        // 53 of the 56 bits: the others decide once in 2^53.
        let random = (uniform() * (1_u64 << 53) as f64) as u64 * 8;
        self.seen.note("a random number", true);
        if random < prob {
            self.accu_prob = 0;
            return true;
        }
        false
    }

    /// Mark up to ecn_prob, else drop.
    fn mark_or_drop(&mut self, pkt: &Pkt) -> Outcome {
        let ecn = self.net.setbit && pkt.ect;
        if ecn && self.prob <= self.set.mark_to {
            self.seen.note("marked", true);
            return Outcome::Marked;
        }
        self.seen.note("too much for a mark", ecn);
        self.seen.note("dropped", true);
        self.accu_prob = 0;
        Outcome::Early
    }

    fn measure(&mut self, size: u32, now: u64) -> u64 {
        let backlog = self.buffer.bytes();
        if self.dq_count.is_none() && backlog >= QUEUE_THRESHOLD {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        let Some(count) = self.dq_count.map(|count| count + u64::from(size)) else { return 0 };
        self.dq_count = Some(count);
        let dtime = now - self.dq_tstamp.unwrap_or(now);
        if count < QUEUE_THRESHOLD || dtime == 0 {
            return 0;
        }
        let rate = (count * 256 % (1 << 32)) / dtime;
        self.seen.note("departure rate averaged", self.avg_dq_rate > 0);
        self.avg_dq_rate =
            if self.avg_dq_rate == 0 { rate } else { self.avg_dq_rate - self.avg_dq_rate / 8 + rate / 8 };
        self.dq_count = (backlog >= QUEUE_THRESHOLD).then_some(0);
        if self.dq_count.is_some() {
            self.dq_tstamp = Some(now);
        }
        dtime
    }

    /// Change of p for a delay of `alpha`/16 and a growth of `beta`/16 times 1 per second, at the present p.
    fn change(&self, above: i128, growth: i128) -> i128 {
        let per_tick = i128::from(MAX_PROB / 15_625_000);
        let mut shift = 0;
        let hundredths = [10, 100, 1000, 10_000, 100_000, 1_000_000];
        for (i, part) in hundredths.into_iter().enumerate() {
            if self.prob < MAX_PROB / part {
                shift = 1 + 2 * i as u32;
            }
        }
        let gain = |sixteenths: u64| ((i128::from(sixteenths) * per_tick) >> 4) >> shift;
        gain(self.set.alpha) * above + gain(self.set.beta) * growth
    }

    pub(crate) fn calculate_probability(&mut self) {
        let (set, backlog) = (self.set, self.buffer.bytes());
        let (qdelay, qdelay_old) = match set.dq_rate_estimator {
            true => {
                self.qdelay_old = self.qdelay;
                let known = self.avg_dq_rate > 0;
                (if known { backlog * 256 / self.avg_dq_rate } else { 0 }, self.qdelay)
            }
            false => (self.qdelay, self.qdelay_old),
        };
        let signed = |later: u64, earlier: u64| i128::from(later) - i128::from(earlier);
        let mut delta = self.change(signed(qdelay, tick(set.target)), signed(qdelay, qdelay_old));
        if self.prob >= MAX_PROB / 10 && delta > i128::from(MAX_PROB / 50) {
            self.seen.note("capped", true);
            delta = i128::from(MAX_PROB / 100 * 2);
        }
        if qdelay > tick(250 * MS) {
            self.seen.note("more than 250 ms", true);
            delta += i128::from(MAX_PROB / 50);
        }
        let prob = i128::from(self.prob) + delta;
        self.prob = if prob < 0 { 0 } else { u64::try_from(prob).unwrap_or(MAX_PROB) };
        self.seen.note("p above 1", self.prob > MAX_PROB);
        if qdelay == 0 && qdelay_old == 0 {
            self.seen.note("no decay with a backlog", backlog > 0 && self.prob > 0);
            if backlog == 0 {
                self.seen.note("decay", self.prob > 63);
                self.prob -= self.prob / 64;
            }
        }
        self.qdelay = qdelay;
        let half = tick(set.target) / 2;
        let known = !set.dq_rate_estimator || self.avg_dq_rate > 0;
        if qdelay < half && self.qdelay_old < half && self.prob == 0 && known {
            self.seen.note("allowance renewed at an update", self.burst_time < tick(set.burst));
            self.seen.note("rate forgotten", self.avg_dq_rate > 0);
            self.burst_time = tick(set.burst);
            (self.dq_tstamp, self.dq_count) = (None, None);
            (self.accu_prob, self.avg_dq_rate) = (0, 0);
        }
        if !set.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }
}

impl Listing for Pie {
    usual!(seen, backlog = buffer, next_timer = timer);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        if self.buffer.full(&self.net, &pkt) {
            self.accu_prob = 0;
            return Outcome::Overflow;
        }
        let outcome = match self.drop_early(&pkt, uniform) {
            true => self.mark_or_drop(&pkt),
            false => Outcome::Queued,
        };
        if outcome != Outcome::Early {
            self.buffer.q.push_back(pkt);
        }
        outcome
    }

    fn deque(&mut self, at: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let Some(pkt) = self.buffer.q.pop_front() else { return Departure::default() };
        let now = tick(at);
        let dtime = if self.set.dq_rate_estimator {
            self.measure(pkt.size, now)
        } else {
            self.qdelay = if self.buffer.q.is_empty() { 0 } else { now - tick(pkt.tstamp) };
            let last = self.dq_tstamp.replace(now);
            last.map_or(0, |last| now - last)
        };
        self.seen.note("allowance used up", self.burst_time > 0 && dtime >= self.burst_time);
        self.burst_time = self.burst_time.saturating_sub(dtime);
        Departure { dropped: vec![], sent: Some((pkt.id, false)) }
    }

    fn timer(&mut self) {
        self.calculate_probability();
        self.timer += self.set.tupdate;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let of_one = |prob: u64| prob as f64 / MAX_PROB as f64;
        let p = of_one(self.prob);
        vec![
            ("p", if p > 1.0 { 1.0 } else { p }, 0.0),
            ("delay", (self.qdelay * 64) as f64 / SECOND, 1e-3),
            ("burst", (self.burst_time * 64) as f64 / SECOND, 1e-3),
            ("spacing", of_one(self.accu_prob), 0.0),
            ("rate", self.avg_dq_rate as f64 * 15_625_000.0 * 8.0 / 256.0, 1.0),
        ]
    }
}

impl Settings {
    /// Random settings with their text. `hundredths`: ecn_prob as in sch_fq_pie, else the 10 % of sch_pie.
    pub(crate) fn random(dice: &mut Dice, trace: &Trace, hundredths: bool) -> (Self, String) {
        let grid = trace.grid;
        let percent = if hundredths { dice.pick(&[10, 10, 2, 50, 99]) } else { dice.pick(&[10, 10, 50]) };
        let set = Self {
            target: if grid { dice.pick(&[2, 5, 15]) * MS } else { dice.scale(1e6, 5e7) as u64 },
            tupdate: if grid { dice.pick(&[5, 15]) * MS } else { dice.scale(5e6, 5e7) as u64 },
            alpha: dice.upto(1, 32),
            beta: dice.upto(1, 32) * dice.pick(&[1, 10]),
            burst: if dice.odds(0.2) { 0 } else { dice.pick(&[15, 40, 150]) * MS },
            mark_to: match hundredths {
                true => MAX_PROB / 100 * percent,
                false => MAX_PROB / (100 / percent),
            },
            mtu: dice.pick(&[1514, 400, 4000]),
            bytemode: dice.odds(0.3),
            dq_rate_estimator: dice.odds(0.3),
        };
        let words = format!(
            "rules=linux target={}ns tupdate={}ns alpha={} beta={} max_burst={}ns ecn_cut={} mtu={}b bytes={} latency={}",
            set.target,
            set.tupdate,
            set.alpha as f64 / 16.0,
            set.beta as f64 / 16.0,
            set.burst,
            percent as f64 / 100.0,
            set.mtu,
            on(set.bytemode),
            if set.dq_rate_estimator { "rate" } else { "timestamp" },
        );
        (set, words)
    }
}

/// Branches that the traces must take.
pub(crate) const BRANCHES: [&str; 17] = [
    "spared by a short delay",
    "spared by a short queue",
    "smaller than the mtu",
    "certain",
    "a random number",
    "marked",
    "too much for a mark",
    "dropped",
    "departure rate averaged",
    "capped",
    "more than 250 ms",
    "p above 1",
    "decay",
    "no decay with a backlog",
    "allowance renewed at an update",
    "rate forgotten",
    "allowance used up",
];

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (set, words) = Settings::random(dice, trace, false);
    (words, Box::new(Pie::new(trace.net, set)))
}

#[test]
fn pie_handles_packets_as_linux() {
    differ("pie", case, &BRANCHES);
}
