//! RED+Tail: short TCP and UDP in a drop-tail queue, long TCP under Adaptive RED, one memory.
//!
//! Dropping packets of short connections slows them without relieving the link; the delay they see
//! is kept near max_th1/C by giving their queue a rate in proportion to its length. Long connections
//! get the rest, and slow down through their RTT before they are dropped.

use alloc::format;
use alloc::string::{String, ToString};

use crate::aqm::droptail::DropTail;
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::{Aqm, Discipline};
use crate::base::packet::{Packet, Proto};
use crate::base::params::Value;
use crate::base::port::{Level, ListId, Port};
use crate::base::text::{self, BadValue};
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link, Rate};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::pair_table::PairTable;
use crate::parts::red_curve::{Aimd, Average, Curve, Spacer, auto_weight};
use crate::{choice, params, probes};

choice! {
    /// How C1 and C2 are kept.
    pub enum Scheduler {
        /// A virtual clock for each queue: the head that would finish first goes first.
        Clocks = "clocks",
        /// Deficit round robin with quanta in the proportion C1 : C2.
        Drr = "drr",
    }
}

choice! {
    /// Whose packets are counted together.
    pub enum Key {
        /// Those of a source-destination pair.
        Pair = "pair",
        /// Those of a flow (5-tuple).
        Flow = "flow",
    }
}

/// A part of the link: a rate, or a fraction of C.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Share {
    /// C min_th1/max_th1, where the two branches of C1 meet.
    Auto,
    /// Of C.
    Fraction(f64),
    /// As it is.
    Rate(Rate),
}

impl Share {
    /// In bits per second, `auto` being the automatic fraction; never more than C.
    fn of(self, capacity: f64, auto: f64) -> f64 {
        match self {
            Self::Auto => auto * capacity,
            Self::Fraction(fraction) => fraction * capacity,
            Self::Rate(rate) => rate.0 as f64,
        }
        .min(capacity)
    }
}

impl Value for Share {
    const ACCEPTS: &'static str = "auto, a rate such as 2mbit, or a fraction of the link's rate";
    const UNIT: &'static str = "of C, or bit/s";
    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = |_| BadValue::new(Self::ACCEPTS);
        match text.trim() {
            "auto" => Ok(Self::Auto),
            text if text.ends_with("bit") => text::rate(text).map(Self::Rate).map_err(|e| BadValue { accepts: Self::ACCEPTS.into(), ..e }),
            text => text::number(text).map(Self::Fraction).map_err(bad),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_string(),
            Self::Fraction(fraction) => fraction.to_string(),
            Self::Rate(rate) => text::show_rate(*rate),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Fraction(fraction) => Some(*fraction),
            Self::Auto | Self::Rate(_) => None,
        }
    }
}

params! {
    /// Knobs of RED+Tail.
    pub struct Params {
        /// Packets of a pair that go to queue 1; the next is the first for queue 2.
        n: u32 = 64, in 0.0 ..= 4294967295.0, "N", "not printed; 64 keeps false alarms below 0.02 (section III)";
        /// Silence after which a pair is new again.
        t: Span = Span::from_millis(5000), in 0.0 ..= 1e9, "T", "not printed; above an RTO, below the think time";
        /// Rate of queue 1 while it is below min_th1.
        c1_min: Share = Share::Auto, in 0.0 ..= 1.0, "C1_min", "not printed; auto makes C1 continuous";
        /// Largest rate of queue 1.
        c1_max: Share = Share::Fraction(0.75), in 0.0 ..= 1.0, "C1_max", "not printed; the delays of Table III fit 0.6 to 0.9 C";
        /// Length of queue 1 from which its rate grows with it.
        min_th1: Depth = Depth::Bytes(2_000.0), in 0.0 ..= 1e9, "minth_1", "Table II";
        /// Length of queue 1 that would earn it all of C.
        max_th1: Depth = Depth::Bytes(30_000.0), in 1.0 ..= 1e9, "maxth_1", "Table II";
        /// Average of queue 2 below which nothing is signalled.
        min_th2: Depth = Depth::Bytes(20_000.0), in 0.0 ..= 1e9, "minth_2", "Table II";
        /// Average of queue 2 at which the probability reaches max_p.
        max_th2: Depth = Depth::Bytes(80_000.0), in 1.0 ..= 1e9, "maxth_2", "Table II";
        /// Dynamic thresholds: they sink while the average drop probability is below this.
        p_l: f64 = 0.0, in 0.0 ..= 1.0, "P_L", "section V; 0.005 there";
        /// Dynamic thresholds: they rise while it is above this; 0 keeps them fixed.
        p_u: f64 = 0.0, in 0.0 ..= 1.0, "P_U", "section V; 0.010 there";
        /// How C1 and C2 are kept.
        scheduler: Scheduler = Scheduler::Clocks, in 0.0 ..= 1.0, "", "ours: the paper says nothing";
        /// Whose packets are counted together.
        key: Key = Key::Pair, in 0.0 ..= 1.0, "", "section III: source-destination pair";
        /// Most pairs remembered at once.
        pairs: u32 = 65_536, in 1.0 ..= 1048576.0, "", "ours: a router's memory is finite";
    }
}

/// Drop-tail: short TCP and UDP.
const SHORT: ListId = ListId(0);
/// Adaptive RED: long TCP.
const LONG: ListId = ListId(1);
/// Table II; initial and largest max_p as in ns-2.35.
const MAX_P: f64 = 0.1;
const AIMD: Aimd = Aimd { alpha: 0.01, beta: 0.9, bottom: 0.01, top: 0.5 };
/// ns-2.35 lets max_p sink to this over C in bits per second on fast links.
const BOTTOM_RATE: f64 = 80_000.0;
/// Time between two steps of max_p, and of dynamic thresholds.
const INTERVAL: Span = Span::from_millis(500);
/// Relative step of the dynamic thresholds (section V).
const GAMMA: f64 = 0.05;
/// Weight of an arrival in the average drop probability. Ours.
const W_P: f64 = 0.02;
/// Dynamic thresholds keep min_th2 at this or above, in packets. Ours.
const LEAST_MIN_TH2: f64 = 5.0;
/// What one round of DRR hands out, in mean packets.
const ROUND: f64 = 2.0;

/// Section III: the rate of queue 1 while it holds `q1`, in the unit of the rates.
pub fn c1(q1: f64, capacity: f64, bounds: (f64, f64), thresholds: (f64, f64)) -> f64 {
    if q1 <= 0.0 {
        0.0
    } else if q1 < thresholds.0 {
        bounds.0
    } else {
        (capacity * q1 / thresholds.1).min(bounds.1)
    }
}

/// When a head with `left` bytes to go would be finished at `rate`, from now.
fn finish(left: f64, rate: f64) -> f64 {
    if rate > 0.0 { left / rate } else { f64::INFINITY }
}

/// Adaptive RED over queue 2; its average, thresholds and queue in the unit of `unit`.
struct Ared {
    unit: Depth,
    curve: Curve,
    aimd: Aimd,
    average: Average,
    spacer: Spacer,
    stepped: Instant,
    p: f64,
    dynamic: Option<Dynamic>,
}

/// Section V: thresholds that follow the average drop probability.
struct Dynamic {
    band: (f64, f64),
    /// Bounds of min_th2.
    within: (f64, f64),
    p_avg: f64,
}

impl Dynamic {
    fn step(&self, curve: &mut Curve) {
        let distance = curve.max_th - curve.min_th;
        let factor = match self.p_avg {
            p if p > self.band.1 => 1.0 + GAMMA,
            p if p < self.band.0 => 1.0 - GAMMA,
            _ => return,
        };
        curve.min_th = (curve.min_th * factor).min(self.within.1).max(self.within.0);
        curve.max_th = curve.min_th + distance;
    }
}

impl Ared {
    fn new(params: &Params, link: &Link) -> Self {
        let (unit, rate) = (params.max_th2.with(0.0), link.pkts_per_sec());
        let (mean, buffer) = match unit {
            Depth::Packets(_) => (1.0, link.limit_pkts()),
            Depth::Bytes(_) => (link.mean_packet.0 as f64, link.limit_bytes()),
        };
        let (min_th, max_th) = (params.min_th2.value(), params.max_th2.value());
        let within = (LEAST_MIN_TH2 * mean, buffer - (max_th - min_th));
        let dynamic = Dynamic { band: (params.p_l, params.p_u), within, p_avg: 0.0 };
        Self {
            unit,
            curve: Curve { min_th, max_th, max_p: MAX_P, gentle: true },
            aimd: Aimd { bottom: AIMD.bottom.min(BOTTOM_RATE / link.rate.0 as f64), ..AIMD },
            average: Average::new(auto_weight(rate), rate),
            spacer: Spacer::default(),
            stepped: Instant::ZERO,
            p: 0.0,
            dynamic: (params.p_u > 0.0).then_some(dynamic),
        }
    }

    /// max_p and the thresholds move at the first arrival after each interval, as in ns-2.
    fn step(&mut self, now: Instant) {
        if now.since(self.stepped) > INTERVAL {
            self.stepped = now;
            self.curve.max_p = self.aimd.step(&self.curve, self.average.value());
            if let Some(dynamic) = &self.dynamic {
                dynamic.step(&mut self.curve);
            }
        }
    }
}

impl Aqm for Ared {
    fn arrival(&mut self, _: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        let q = self.unit.measure(level);
        let avg = self.average.arrival(q, cx.now);
        self.step(cx.now);
        let p_b = self.curve.base_probability(avg);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.p_avg += W_P * (p_b.unwrap_or(0.0) - dynamic.p_avg);
        }
        self.p = self.spacer.arrival(p_b.filter(|_| q > 1.0), 1.0, true);
        match p_b {
            Some(1.0) if q > 1.0 => Verdict::Drop,
            _ if u < self.p => Verdict::Signal,
            _ => Verdict::Accept,
        }
    }

    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        if matches!(fate, Fate::Dropped(_) | Fate::Queued { marked: true }) {
            self.spacer.reset();
        }
    }

    fn emptied(&mut self, cx: &mut Cx) {
        self.average.emptied(cx.now);
    }
}

/// The two queues' claims on the link. Rates in bytes per second.
struct Split {
    scheduler: Scheduler,
    /// C1 and C2.
    rates: [f64; 2],
    /// Clocks: bytes of each head that its rate has not yet paid for. DRR: deficits.
    credit: [f64; 2],
    /// Clocks: when `credit` was true. DRR: not used.
    at: Instant,
    /// DRR: whose turn it is.
    turn: usize,
    round: f64,
}

impl Split {
    /// Clocks: pays each head with its rate for the time since the last call.
    fn advance(&mut self, now: Instant) {
        let dt = now.since(self.at).secs();
        self.at = now;
        if self.scheduler == Scheduler::Clocks {
            for (left, rate) in self.credit.iter_mut().zip(self.rates) {
                *left -= rate * dt;
            }
        }
    }

    /// A packet of `len` bytes becomes the head of a queue that was empty.
    fn begun(&mut self, list: usize, len: u32) {
        self.credit[list] = match self.scheduler {
            Scheduler::Clocks => f64::from(len),
            Scheduler::Drr => 0.0,
        };
    }

    /// Both queues hold packets, with heads of `heads` bytes: which goes first?
    fn pick(&mut self, heads: [u32; 2]) -> usize {
        match self.scheduler {
            Scheduler::Clocks => {
                let finish = [0, 1].map(|i| finish(self.credit[i], self.rates[i]));
                usize::from(finish[1] < finish[0])
            }
            Scheduler::Drr => {
                while self.credit[self.turn] < f64::from(heads[self.turn]) {
                    self.turn = 1 - self.turn;
                    self.credit[self.turn] += self.round * self.rates[self.turn] / (self.rates[0] + self.rates[1]);
                }
                self.turn
            }
        }
    }

    /// `list` gave a packet of `len` bytes, `contended` if the other held one too; `next` is its new head.
    /// A queue that had the link to itself owes nothing for that.
    fn served(&mut self, list: usize, len: u32, contended: bool, next: Option<u32>) {
        let kept = if contended { self.credit[list] } else { 0.0 };
        self.credit[list] = match (self.scheduler, next) {
            (_, None) => 0.0,
            (Scheduler::Clocks, Some(next)) => kept + f64::from(next),
            (Scheduler::Drr, Some(_)) if contended => kept - f64::from(len),
            (Scheduler::Drr, Some(_)) => 0.0,
        };
    }
}
