//! PIE: RFC 8033 Appendix A and, depending on `Settings`, Appendix B.
//!
//! Difference from the text: deactivation is decided at updates with a known delay. Appendix B decides it at arrivals,
//! and would never stay active. Added from Linux's sch_pie.c: `linux_burst`, `linux_spare`, `boost`, `bytemode`, and a
//! delay of 0 after a departure that leaves the queue empty. `pie/linux.rs` is the listing of Linux in integers.

pub(crate) mod linux;

use crate::reference::harness::*;
use crate::reference::shared::drain_time::DrainTime;

/// The highest delay that counts as low: none, zero, or half the target.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Low {
    Never,
    Zero,
    Half,
}

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Nanoseconds.
    pub(crate) qdelay_ref: u64,
    /// Nanoseconds.
    pub(crate) t_update: u64,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    /// Nanoseconds.
    pub(crate) max_burst: u64,
    pub(crate) max_ecnth: f64,
    pub(crate) autotune: bool,
    pub(crate) decay: Low,
    pub(crate) decay_to: f64,
    /// Delay used by the rule "no drop below half the target". True: the latest one, as in Linux. False: the sample of
    /// Appendix A. None: no such rule.
    pub(crate) linux_spare: Option<bool>,
    pub(crate) few: (f64, Unit),
    pub(crate) linux_burst: bool,
    pub(crate) rate: bool,
    pub(crate) dq_threshold: u64,
    pub(crate) empty_is_zero: bool,
    pub(crate) sleep: Low,
    pub(crate) wake_at: f64,
    pub(crate) derandomise: bool,
    pub(crate) cap: bool,
    pub(crate) boost: bool,
    pub(crate) bytemode: bool,
    /// None: the mean packet.
    pub(crate) mtu: Option<u64>,
}

pub(crate) struct Pie {
    net: Net,
    set: Settings,
    pub(crate) buffer: Buffer,
    pub(crate) seen: Seen,
    qdelay_ref: f64,
    timer: u64,
    active_: bool,
    burst_allowance_: u64,
    drop_prob_: f64,
    pub(crate) accu_prob_: f64,
    current_qdelay: f64,
    qdelay_old_: f64,
    last_timestamp_: u64,
    drain: DrainTime,
    dq_tstamp: Option<u64>,
}

impl Pie {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        Self {
            net,
            set,
            buffer: Buffer::default(),
            seen: Seen::default(),
            qdelay_ref: set.qdelay_ref as f64 / SECOND,
            timer: set.t_update,
            active_: set.sleep == Low::Never,
            burst_allowance_: set.max_burst,
            drop_prob_: 0.0,
            accu_prob_: 0.0,
            current_qdelay: 0.0,
            qdelay_old_: 0.0,
            last_timestamp_: 0,
            drain: DrainTime::default(),
            dq_tstamp: None,
        }
    }

    fn low(&self, which: Low) -> bool {
        match which {
            Low::Never => false,
            Low::Zero => self.current_qdelay == 0.0 && self.qdelay_old_ == 0.0,
            Low::Half => self.current_qdelay < self.qdelay_ref / 2.0 && self.qdelay_old_ < self.qdelay_ref / 2.0,
        }
    }

    /// Whether to drop.
    fn drop_early(&mut self, pkt: &Pkt, u: f64) -> bool {
        if self.set.linux_burst && self.burst_allowance_ > 0 {
            return false;
        }
        let qdelay = match self.set.linux_spare {
            None => f64::INFINITY,
            Some(false) => self.qdelay_old_,
            Some(true) => self.current_qdelay,
        };
        if qdelay < self.qdelay_ref / 2.0 && self.drop_prob_ < 0.2 {
            self.seen.note("spared by a short delay", u < self.drop_prob_);
            return false;
        }
        let (few, unit) = self.set.few;
        if self.buffer.length(unit) <= few {
            self.seen.note("spared by a short queue", u < self.drop_prob_);
            return false;
        }
        let mut prob = self.drop_prob_;
        let mtu = self.set.mtu.unwrap_or(self.net.mean_pktsize);
        if self.set.bytemode && u64::from(pkt.size) <= mtu {
            self.seen.note("smaller than the mtu", prob > 0.0);
            prob *= f64::from(pkt.size) / mtu as f64;
        }
        if !self.set.derandomise {
            return u < prob;
        }
        if prob == 0.0 {
            self.accu_prob_ = 0.0;
        }
        self.accu_prob_ += prob;
        if self.accu_prob_ < 0.85 {
            self.seen.note("too close to the last drop", u < prob);
            return false;
        }
        if self.accu_prob_ >= 8.5 {
            // Once in 2000 drops: too rare for the list of branches below.
            return true;
        }
        if u < prob {
            self.accu_prob_ = 0.0;
            return true;
        }
        false
    }

    fn enough(&self) -> bool {
        let tail_drop = self.net.limit as f64;
        self.buffer.length(self.net.limit_in) >= tail_drop * self.set.wake_at
    }

    fn autotune(&mut self, p: &mut f64) {
        let seen = &mut self.seen;
        if self.drop_prob_ < 0.000001 {
            *p /= 2048.0;
        } else if self.drop_prob_ < 0.00001 {
            seen.note("by 512", true);
            *p /= 512.0;
        } else if self.drop_prob_ < 0.0001 {
            seen.note("by 128", true);
            *p /= 128.0;
        } else if self.drop_prob_ < 0.001 {
            seen.note("by 32", true);
            *p /= 32.0;
        } else if self.drop_prob_ < 0.01 {
            seen.note("by 8", true);
            *p /= 8.0;
        } else if self.drop_prob_ < 0.1 {
            seen.note("by 2", true);
            *p /= 2.0;
        } else {
            seen.note("by nothing", true);
        }
    }

    pub(crate) fn calculate_drop_prob(&mut self, now: u64) {
        let set = self.set;
        if set.sleep != Low::Never && !(now - self.last_timestamp_ >= set.t_update && self.active_) {
            self.seen.note("woken less than a period ago", self.active_);
            return;
        }
        if set.rate {
            self.current_qdelay = self.drain.delay(self.buffer.bytes(), set.dq_threshold);
        }
        let mut p =
            set.alpha * (self.current_qdelay - self.qdelay_ref) + set.beta * (self.current_qdelay - self.qdelay_old_);
        if set.autotune {
            self.autotune(&mut p);
        }
        if set.cap && self.drop_prob_ >= 0.1 && p > 0.02 {
            self.seen.note("capped", true);
            p = 0.02;
        }
        if set.boost && self.current_qdelay > 0.25 {
            self.seen.note("more than 250 ms", true);
            p += 0.02;
        }
        self.drop_prob_ += p;
        if self.low(set.decay) {
            self.seen.note("decay", self.drop_prob_ > 0.0);
            self.drop_prob_ *= set.decay_to;
        }
        self.seen.note("p at 1", self.drop_prob_ > 1.0);
        if self.drop_prob_ < 0.0 {
            self.drop_prob_ = 0.0;
        }
        if self.drop_prob_ > 1.0 {
            self.drop_prob_ = 1.0;
        }
        self.after_update(now);
    }

    fn after_update(&mut self, now: u64) {
        let set = self.set;
        let known = !set.rate || self.drain.avg_dq_time > 0.0;
        if set.linux_burst {
            if self.drop_prob_ == 0.0 && self.low(Low::Half) && known {
                self.seen.note("allowance renewed at an update", self.burst_allowance_ < set.max_burst);
                self.burst_allowance_ = set.max_burst;
                self.dq_tstamp = None;
                self.accu_prob_ = 0.0;
                self.seen.note("rate forgotten", self.drain.avg_dq_time > 0.0);
                self.drain.in_measurement = false;
                self.drain.avg_dq_time = 0.0;
            }
        } else {
            self.burst_allowance_ = self.burst_allowance_.saturating_sub(set.t_update);
        }
        if self.drop_prob_ == 0.0 && self.low(set.sleep) {
            self.seen.note("no sleep without a known delay", !known);
            self.seen.note("goes to sleep", known);
            if known {
                self.active_ = false;
                self.drain.in_measurement = false;
            }
        }
        self.qdelay_old_ = self.current_qdelay;
        self.last_timestamp_ = now;
    }

    fn reduce_burst_allowance(&mut self, dtime: u64) {
        if self.burst_allowance_ > dtime {
            self.burst_allowance_ -= dtime;
        } else {
            let what =
                if self.set.rate { "allowance used up by a measurement" } else { "allowance used up by departures" };
            self.seen.note(what, self.burst_allowance_ > 0);
            self.burst_allowance_ = 0;
        }
    }
}

impl Listing for Pie {
    usual!(seen, backlog = buffer, next_timer = timer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let set = self.set;
        if set.sleep == Low::Never && !set.linux_burst && self.drop_prob_ == 0.0 && self.low(Low::Half) {
            self.seen.note("allowance renewed at an arrival", self.burst_allowance_ < set.max_burst);
            self.burst_allowance_ = set.max_burst;
        }
        let full = self.buffer.full(&self.net, &pkt);
        let drop = !full && self.active_ && self.drop_early(&pkt, u);
        self.seen.note("saved by the allowance", drop && self.burst_allowance_ > 0);
        let outcome = if full {
            self.accu_prob_ = 0.0;
            Outcome::Overflow
        } else if drop && self.burst_allowance_ == 0 {
            self.accu_prob_ = 0.0;
            let ecn = self.net.setbit && pkt.ect;
            self.seen.note("too much for a mark", ecn && self.drop_prob_ >= set.max_ecnth);
            if self.drop_prob_ < set.max_ecnth && ecn { Outcome::Marked } else { Outcome::Early }
        } else {
            Outcome::Queued
        };
        self.seen.note("marked", outcome == Outcome::Marked);
        self.seen.note("dropped", outcome == Outcome::Early);
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            self.buffer.q.push_back(pkt);
        }
        if !self.active_ && self.enough() {
            self.seen.note("woken", true);
            self.active_ = true;
            self.qdelay_old_ = 0.0;
            self.drop_prob_ = 0.0;
            self.drain = DrainTime { in_measurement: true, measurement_start: now, dq_count: 0, avg_dq_time: 0.0 };
            self.last_timestamp_ = now;
            self.burst_allowance_ = set.max_burst;
            self.accu_prob_ = 0.0;
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let Some(pkt) = self.buffer.q.pop_front() else { return Departure::default() };
        if self.set.rate {
            let waiting = self.buffer.bytes();
            let took = self.drain.process(pkt.size, waiting, self.set.dq_threshold, now, &mut self.seen);
            if let (Some(dtime), true) = (took, self.set.linux_burst) {
                self.reduce_burst_allowance(dtime);
            }
        } else {
            self.current_qdelay = (now - pkt.tstamp) as f64 / SECOND;
            if self.set.empty_is_zero && self.buffer.q.is_empty() {
                self.seen.note("nothing left behind", self.current_qdelay > 0.0);
                self.current_qdelay = 0.0;
            }
        }
        if self.set.linux_burst && !self.set.rate {
            let dtime = self.dq_tstamp.map_or(0, |dq_tstamp| now - dq_tstamp);
            self.dq_tstamp = Some(now);
            self.reduce_burst_allowance(dtime);
        }
        Departure { dropped: vec![], sent: Some((pkt.id, false)) }
    }

    fn timer(&mut self) {
        let now = self.timer;
        self.calculate_drop_prob(now);
        self.timer = now + self.set.t_update;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let dq_rate = self.set.dq_threshold as f64 * 8.0 / self.drain.avg_dq_time;
        vec![
            ("p", self.drop_prob_, 0.01),
            ("delay", self.current_qdelay, 1e-3),
            ("burst", self.burst_allowance_ as f64 / SECOND, 1e-3),
            ("spacing", self.accu_prob_, 0.1),
            ("awake", f64::from(u8::from(self.active_)), 1.0),
            ("rate", if self.drain.avg_dq_time > 0.0 { dq_rate } else { 0.0 }, 1.0),
        ]
    }
}

fn settings(dice: &mut Dice, trace: &Trace) -> Settings {
    let grid = trace.grid;
    let few = dice.pick(&UNITS);
    Settings {
        qdelay_ref: if grid { dice.pick(&[2, 5, 15]) * MS } else { dice.scale(1e6, 5e7) as u64 },
        t_update: if grid { dice.pick(&[5, 15]) * MS } else { dice.scale(2e6, 5e7) as u64 },
        alpha: dice.scale(0.03, 30.0),
        beta: dice.scale(0.3, 100.0),
        max_burst: if dice.odds(0.2) { 0 } else { dice.pick(&[15, 40, 150]) * MS },
        max_ecnth: dice.pick(&[0.1, 0.1, 0.02, 0.5, 1.0, 0.0]),
        autotune: dice.odds(0.8),
        decay: dice.pick(&[Low::Zero, Low::Half, Low::Never]),
        decay_to: dice.pick(&[0.98, 63.0 / 64.0]),
        linux_spare: dice.pick(&[Some(false), Some(true), None]),
        few: (threshold(dice, &trace.net, few, 0.0, 4.0), few),
        linux_burst: dice.odds(0.3),
        rate: dice.odds(0.4),
        dq_threshold: dice.pick(&[16_384, 4_000, 65_536, 1]),
        empty_is_zero: dice.odds(0.6),
        sleep: dice.pick(&[Low::Never, Low::Never, Low::Zero, Low::Half]),
        wake_at: dice.pick(&[1.0 / 3.0, 0.1]),
        derandomise: dice.odds(0.5),
        cap: dice.odds(0.5),
        boost: dice.odds(0.3),
        bytemode: dice.odds(0.2),
        mtu: dice.odds(0.5).then(|| dice.pick(&[1514, 400, 4000])),
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let set = settings(dice, trace);
    let low = |low| match low {
        Low::Never => "off",
        Low::Zero => "zero",
        Low::Half => "half",
    };
    let words = format!(
        "target={}ns tupdate={}ns alpha={} beta={} max_burst={}ns ecn_cut={} autotune={} decay={} decay_to={} spare={} \
         min_backlog={} burst={} latency={} dq_threshold={}b empty={} sleep={} wake_at={} derandomise={} cap={} \
         boost={} bytes={} mtu={}",
        set.qdelay_ref,
        set.t_update,
        set.alpha,
        set.beta,
        set.max_burst,
        set.max_ecnth,
        on(set.autotune),
        low(set.decay),
        set.decay_to,
        set.linux_spare.map_or("off", |linux| if linux { "latest" } else { "sample" }),
        depth(set.few.0, set.few.1),
        if set.linux_burst { "departure" } else { "timer" },
        if set.rate { "rate" } else { "timestamp" },
        set.dq_threshold,
        if set.empty_is_zero { "zero" } else { "last" },
        low(set.sleep),
        set.wake_at,
        on(set.derandomise),
        on(set.cap),
        on(set.boost),
        on(set.bytemode),
        set.mtu.map_or("auto".to_string(), |mtu| format!("{mtu}b")),
    );
    (words, Box::new(Pie::new(trace.net, set)))
}

/// Branches that the traces must take, also in FQ-PIE.
pub(crate) const BRANCHES: [&str; 23] = [
    "spared by a short delay",
    "spared by a short queue",
    "smaller than the mtu",
    "too close to the last drop",
    "by 512",
    "by 128",
    "by 32",
    "by 8",
    "by 2",
    "by nothing",
    "capped",
    "more than 250 ms",
    "decay",
    "p at 1",
    "allowance renewed at an update",
    "allowance used up by departures",
    "allowance used up by a measurement",
    "rate forgotten",
    "departure rate averaged",
    "too much for a mark",
    "marked",
    "dropped",
    "nothing left behind",
];
/// Branches of PIE without flow queueing.
const ALONE: [&str; 6] = [
    "woken less than a period ago",
    "allowance renewed at an arrival",
    "saved by the allowance",
    "no sleep without a known delay",
    "goes to sleep",
    "woken",
];

#[test]
fn pie_handles_packets_as_rfc8033_and_linux() {
    let branches = [&BRANCHES[..], &ALONE[..]].concat();
    differ("pie", case, &branches);
}
