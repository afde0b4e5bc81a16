//! PIE: a PI controller of the queuing delay sets the drop probability (RFC 8033).
//!
//! [`PieState`] reads as the listing of RFC 8033 Appendix A does: what happens at an arrival (enque and drop_early), at a
//! departure (deque) and each T_UPDATE (calculate_drop_prob). The options of section 5 stand at their place in it, and
//! what Linux and ns-3 do otherwise is a choice of [`Burst`], [`Spare`], [`Empty`] or [`Decay`].

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{ECN, Form, LIMIT, Tail, Tc, Words, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Limit, Link};
use crate::base::verdict::Verdict;
use crate::parts::drain_time::DrainTime;
use crate::{choice, params, probes};

choice! {
    /// How the delay is known.
    pub enum Latency {
        /// The stay of the packet that left last.
        Timestamp = "timestamp",
        /// Backlog times the measured time for a byte.
        Rate = "rate",
    }
}

choice! {
    /// The stay that a departure tells of when it leaves nothing behind.
    pub enum Empty {
        /// None: an empty queue delays nobody. Linux, ns-3.
        Zero = "zero",
        /// Its own, until the next departure: Appendix A to the letter.
        Last = "last",
    }
}

choice! {
    /// What uses up the burst allowance.
    pub enum Burst {
        /// Each update takes its period; arrivals renew it when there is no congestion.
        Timer = "timer",
        /// Each departure takes the time since the last, or with latency=rate each measurement its own; updates renew
        /// it. Linux.
        Departure = "departure",
    }
}

choice! {
    /// The delay that must be below half the target for arrivals to be spared while p < 0.2.
    pub enum Spare {
        /// That of the last update.
        Sample = "sample",
        /// The latest. Linux.
        Latest = "latest",
        /// None: they are not spared.
        Off = "off",
    }
}

choice! {
    /// The delay that both this sample and the one before must have for p to decay.
    pub enum Decay {
        /// None at all: section 4.2.
        Zero = "zero",
        /// Less than half the target: Appendix B.
        Half = "half",
        /// It does not decay.
        Off = "off",
    }
}

choice! {
    /// When PIE goes to sleep, to be woken by a long queue.
    pub enum Sleep {
        /// Never: it is always active.
        Off = "off",
        /// At p = 0 with two samples below half the target: section 5.3.
        Half = "half",
        /// At p = 0 with two samples without delay: Appendix B.
        Zero = "zero",
    }
}

params! {
    /// Knobs of PIE.
    pub struct Params {
        /// Delay that is aimed at.
        target: Span = Span::from_millis(15), in 1e-9 ..= 1e3, "QDELAY_REF", "RFC 8033 section 4.2";
        /// Time between updates of p.
        tupdate: Span = Span::from_millis(15), in 1e-6 ..= 1e3, "T_UPDATE", "RFC 8033 section 4.2";
        /// Integral gain in Hz: probability per second of delay above the target, each update.
        alpha: f64 = 0.125, in 0.0 ..= 1e6, "alpha", "RFC 8033 Appendix A";
        /// Proportional gain in Hz, on the growth of the delay.
        beta: f64 = 1.25, in 0.0 ..= 1e6, "beta", "RFC 8033 Appendix A";
        /// Gains divided by up to 2048 at low p.
        autotune: bool = true, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2";
        /// Which low delay makes p decay.
        decay: Decay = Decay::Zero, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; Appendix B has half";
        /// What a decay leaves of p.
        decay_to: f64 = 0.98, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; 1 - 1/64 suffices";
        /// Whose delay, if below target/2, spares arrivals while p < 0.2.
        spare: Spare = Spare::Sample, in 0.0 ..= 1.0, "", "RFC 8033 section 4.1; Linux has latest";
        /// Arrivals that meet no more than this are spared; auto is twice the mean packet.
        min_backlog: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "2 MEAN_PKTSIZE", "RFC 8033 section 4.1";
        /// Burst allowance: nothing is dropped for so long after a time without congestion; 0 is none.
        max_burst: Span = Span::from_millis(150), in 0.0 ..= 1e3, "MAX_BURST", "RFC 8033 section 4.4";
        /// What uses the allowance up.
        burst: Burst = Burst::Timer, in 0.0 ..= 1.0, "burst_allowance_", "RFC 8033 section 4.4; Linux has departure";
        /// ECT packets are dropped too once p is no longer below this; 0 drops always.
        ecn_cut: f64 = 0.1, in 0.0 ..= 1.0, "mark_ecnth", "RFC 8033 section 5.1";
        /// How the delay is known.
        latency: Latency = Latency::Timestamp, in 0.0 ..= 1.0, "current_qdelay", "RFC 8033 sections 4.3 and 5.2";
        /// latency=rate: bytes over which the departure rate is measured.
        dq_threshold: Bytes = Bytes(16_384), in 1.0 ..= 65536.0, "DQ_THRESHOLD", "RFC 8033 section 5.2";
        /// latency=timestamp: the delay once a departure leaves nothing behind.
        empty: Empty = Empty::Zero, in 0.0 ..= 1.0, "", "Linux, ns-3; Appendix A of RFC 8033 has last";
        /// When PIE goes to sleep.
        sleep: Sleep = Sleep::Off, in 0.0 ..= 1.0, "active_", "RFC 8033 section 5.3, optional";
        /// Share of the buffer that wakes it up.
        wake_at: f64 = 1.0 / 3.0, in 0.0 ..= 1.0, "", "RFC 8033 section 5.3";
        /// Drops are neither too close nor too far apart.
        derandomise: bool = false, in 0.0 ..= 1.0, "accu_prob_", "RFC 8033 section 5.4, optional";
        /// From p = 0.1 on an update adds at most 0.02.
        cap: bool = false, in 0.0 ..= 1.0, "", "RFC 8033 section 5.5, optional";
        /// A delay above 250 ms adds 0.02 to each update.
        boost: bool = false, in 0.0 ..= 1.0, "", "Linux";
        /// Packets shorter than mtu meet p in proportion to their length.
        bytes: bool = false, in 0.0 ..= 1.0, "bytemode", "RFC 8033 Appendix B, optional; Linux";
        /// bytes=on: length from which on a packet meets all of p; auto is the mean packet.
        mtu: Auto<Bytes> = Auto::Auto, in 1.0 ..= 65536.0, "psched_mtu", "ours: Appendix B asks for a bound; Linux has the MTU";
    }
}

/// While p is below this, a short delay spares arrivals: section 4.1.
const LOW_P: f64 = 0.2;
/// p below the first number divides the change by the second: section 4.2.
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// accu_prob_ below which nothing is dropped, and from which on every arrival is: section 5.4.
const SPACING: (f64, f64) = (0.85, 8.5);
/// From this p on, an update adds at most so much: section 5.5.
const CAP: (f64, f64) = (0.1, 0.02);
/// A delay above this many seconds adds so much more: Linux's `pie_calculate_probability`.
const BOOST: (f64, f64) = (0.25, 0.02);

/// The parameters and what follows from them on a link: the same for all queues under one PIE.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// As given.
    pub params: Params,
    /// QDELAY_REF in seconds.
    target: f64,
    min_backlog: Depth,
    /// Byte mode: length of a packet that meets all of p.
    whole: Option<f64>,
}

impl Rule {
    /// `params` on `link`.
    pub fn new(params: &Params, link: &Link) -> Self {
        let mean = link.mean_packet.0 as f64;
        Self {
            params: params.clone(),
            target: params.target.secs(),
            min_backlog: params.min_backlog.or(Depth::Bytes(2.0 * mean)),
            whole: params.bytes.then_some(params.mtu.or(link.mean_packet).0 as f64),
        }
    }

    /// Is it less than half the target?
    fn is_short(&self, delay: f64) -> bool {
        delay < self.target / 2.0
    }
}

/// What PIE remembers of one queue. Delays in seconds.
#[derive(Clone, Debug)]
pub struct PieState {
    /// drop_prob_.
    p: f64,
    /// current_qdelay.
    delay: f64,
    /// qdelay_old_: the delay of the last update.
    delay_old: f64,
    /// burst_allowance_.
    burst: Span,
    /// accu_prob_.
    spacing: f64,
    active: bool,
    /// Time of the last update, or of waking up.
    updated: Instant,
    /// Linux's burst allowance: time of the last departure.
    departed: Option<Instant>,
    /// latency=rate.
    drain: DrainTime,
}

impl PieState {
    /// A queue that nothing is known of.
    pub fn new(rule: &Rule) -> Self {
        Self {
            p: 0.0,
            delay: 0.0,
            delay_old: 0.0,
            burst: rule.params.max_burst,
            spacing: 0.0,
            active: rule.params.sleep == Sleep::Off,
            updated: Instant::ZERO,
            departed: None,
            drain: DrainTime::new(rule.params.dq_threshold.0),
        }
    }

    /// An arrival that meets `level`: enque(). Draws one random number, also when the buffer is full.
    pub fn arrival(&mut self, rule: &Rule, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let (u, fits) = (cx.rng.uniform(), level.fits(packet.len));
        if rule.params.sleep == Sleep::Off && rule.params.burst == Burst::Timer && self.is_calm(rule) {
            self.burst = rule.params.max_burst;
        }
        if !fits {
            self.spacing = 0.0;
        }
        if !self.active {
            self.wake(rule, if fits { packet.len } else { 0 }, level, cx.now);
            return Verdict::Accept;
        }
        match fits && self.drop_early(rule, packet, level, u) {
            false => Verdict::Accept,
            true if self.p < rule.params.ecn_cut => Verdict::Signal,
            true => Verdict::Drop,
        }
    }

    /// Section 4.1: is this packet dropped, or marked in its place? `u` is its random number.
    fn drop_early(&mut self, rule: &Rule, packet: &Packet, level: &Level, u: f64) -> bool {
        let in_burst = self.burst > Span::ZERO;
        if rule.params.burst == Burst::Departure && in_burst {
            return false;
        }
        let short = match rule.params.spare {
            Spare::Sample => rule.is_short(self.delay_old),
            Spare::Latest => rule.is_short(self.delay),
            Spare::Off => false,
        };
        if (short && self.p < LOW_P) || rule.min_backlog.measure(level) <= rule.min_backlog.value() {
            return false;
        }
        // Appendix B: byte mode.
        let p = rule.whole.map_or(self.p, |whole| self.p * (f64::from(packet.len) / whole).min(1.0));
        if !rule.params.derandomise {
            return u < p && !in_burst;
        }
        // Section 5.4.
        self.spacing = if p == 0.0 { 0.0 } else { self.spacing + p };
        let forced = self.spacing >= SPACING.1;
        let dropped = forced || (self.spacing >= SPACING.0 && u < p);
        // Appendix B: a packet chosen at random begins the spacing anew even if the burst allowance then saves it.
        if dropped && !(forced && in_burst) {
            self.spacing = 0.0;
        }
        dropped && !in_burst
    }

    /// A departure that leaves `level` behind: deque().
    pub fn departure(&mut self, rule: &Rule, packet: &Packet, level: &Level, now: Instant) {
        let took = match rule.params.latency {
            Latency::Timestamp => {
                let idle = level.pkts() == 0 && rule.params.empty == Empty::Zero;
                self.delay = if idle { 0.0 } else { now.since(packet.arrived).secs() };
                self.departed.replace(now).map(|last| now.since(last))
            }
            Latency::Rate => self.drain.departure(packet.len, level.bytes(), now),
        };
        if rule.params.burst == Burst::Departure {
            self.burst = self.burst - took.unwrap_or(Span::ZERO);
        }
    }

    /// T_UPDATE has passed and `backlog` bytes wait: calculate_drop_prob(), sections 4.2 and 4.4.
    pub fn update(&mut self, rule: &Rule, backlog: u64, now: Instant) {
        let params = &rule.params;
        // Woken since the last update: the first one comes a whole period later.
        if !self.active || (params.sleep != Sleep::Off && now.since(self.updated) < params.tupdate) {
            return;
        }
        if params.latency == Latency::Rate {
            self.delay = self.drain.delay(backlog);
        }
        let mut change = params.alpha * (self.delay - rule.target) + params.beta * (self.delay - self.delay_old);
        if params.autotune {
            change /= SCALES.iter().find(|(below, _)| self.p < *below).map_or(1.0, |(_, divisor)| *divisor);
        }
        if params.cap && self.p >= CAP.0 {
            change = change.min(CAP.1);
        }
        if params.boost && self.delay > BOOST.0 {
            change += BOOST.1;
        }
        self.p += change;
        if self.decays(rule) {
            self.p *= params.decay_to;
        }
        self.p = self.p.clamp(0.0, 1.0);

        let known = params.latency == Latency::Timestamp || self.drain.is_known();
        match params.burst {
            Burst::Timer => self.burst = self.burst - params.tupdate,
            Burst::Departure if known && self.is_calm(rule) => {
                (self.burst, self.departed, self.spacing) = (params.max_burst, None, 0.0);
                self.drain.forget();
            }
            Burst::Departure => (),
        }
        if known && self.falls_asleep(rule) {
            self.active = false;
            self.drain.stop();
        }
        (self.delay_old, self.updated) = (self.delay, now);
    }

    /// Section 4.2 and Appendix B: is there so little delay that p decays?
    fn decays(&self, rule: &Rule) -> bool {
        match rule.params.decay {
            Decay::Zero => self.delay == 0.0 && self.delay_old == 0.0,
            Decay::Half => rule.is_short(self.delay) && rule.is_short(self.delay_old),
            Decay::Off => false,
        }
    }

    /// Section 4.4: no congestion, p is 0 and this delay and the one before are below half the target.
    fn is_calm(&self, rule: &Rule) -> bool {
        self.p == 0.0 && rule.is_short(self.delay) && rule.is_short(self.delay_old)
    }

    /// Section 5.3: is there nothing to do?
    fn falls_asleep(&self, rule: &Rule) -> bool {
        match rule.params.sleep {
            Sleep::Off => false,
            Sleep::Half => self.is_calm(rule),
            Sleep::Zero => self.p == 0.0 && self.delay == 0.0 && self.delay_old == 0.0,
        }
    }

    /// Section 5.3: wakes up if enough waits, with the `len` bytes that arrive.
    fn wake(&mut self, rule: &Rule, len: u32, level: &Level, now: Instant) {
        let enough = match level.link().limit {
            Limit::Packets(n) => f64::from(level.pkts() + u32::from(len > 0)) >= f64::from(n) * rule.params.wake_at,
            Limit::Bytes(n) => (level.bytes() + u64::from(len)) as f64 >= n as f64 * rule.params.wake_at,
        };
        if enough {
            (self.active, self.updated) = (true, now);
            (self.p, self.delay_old, self.spacing) = (0.0, 0.0, 0.0);
            self.burst = rule.params.max_burst;
            self.drain.restart(now);
        }
    }

    /// Would an update leave it as it is, while its queue is empty? Under Linux's burst allowance.
    pub fn is_at_rest(&self, rule: &Rule) -> bool {
        let calm = self.p == 0.0 && self.delay == 0.0 && self.delay_old == 0.0 && self.spacing == 0.0;
        calm && self.departed.is_none() && !self.drain.is_known() && self.burst == rule.params.max_burst
    }

    /// Signal probability.
    pub const fn p(&self) -> f64 {
        self.p
    }

    /// The latest delay known, in seconds.
    pub const fn delay(&self) -> f64 {
        self.delay
    }
}

/// PIE of one queue.
pub struct Pie {
    rule: Rule,
    state: PieState,
    due: Instant,
}

/// tc's words for the controller of PIE.
pub const CONTROLLER: Words = &[
    ("target", sets(Form::Time, "target").but_zero()),
    ("tupdate", sets(Form::Time, "tupdate").but_zero()),
    ("alpha", sets(Form::Count, "alpha").up_to(32).over(16).but_zero()),
    ("beta", sets(Form::Count, "beta").up_to(32).over(16).but_zero()),
];
/// tc's words for what PIE may count or measure.
pub const SWITCHES: Words = &[
    ("bytemode", Tail::Flag("bytes=on")),
    ("nobytemode", Tail::Flag("bytes=off")),
    ("dq_rate_estimator", Tail::Flag("latency=rate")),
    ("no_dq_rate_estimator", Tail::Flag("latency=timestamp")),
];

impl Design for Pie {
    type Params = Params;
    const ABOUT: About = About {
        summary: "proportional-integral controller of the queuing delay, with gains that grow with p",
        source: "Pan, Natarajan, Baker, White: RFC 8033, sections 4 and 5, Appendices A and B",
        rule: "every tupdate:  p += (alpha (delay - target) + beta (delay - before)) / (2048 .. 1, by p);  p in 0..1\n\
               \u{20}               p *= 0.98 if delay = before = 0;  burst -= tupdate;  before = delay\n\
               arrival:        burst = max_burst if p = 0 and delay and before < target/2\n\
               \u{20}               pass if burst > 0, or before < target/2 and p < 0.2, or backlog <= 2 mean packets\n\
               \u{20}               if u < p: mark if ECT and p < ecn_cut, else drop\n\
               departure:      delay = its stay, or backlog times the measured time per byte\n\
               derandomise:    a += p;  pass if a < 0.85, drop if a >= 8.5, else u < p;  a = 0 after a drop or mark",
        deviations: &[
            "defaults are the basic PIE of Appendix A with ECN of section 5.1; each option of section 5 has its switch",
            "a departure that leaves the queue empty makes the delay 0, as in Linux and ns-3; by the letter of Appendix A \
             (empty=last) an idle queue keeps its last delay, and p goes on rising if that was long",
            "section 5.3 with Appendix B: it looks whether to sleep at updates, from the first one with a known delay on. \
             Appendix B looks at each arrival, also at the one that wakes it, and would never stay awake",
            "section 5.3 compares two samples with target/2 (sleep=half), Appendix B with 0 (sleep=zero); \
             section 4.2 lets p decay at two delays of 0, Appendix B below target/2 (decay=half)",
            "accu_prob_ begins anew after a mark as after a drop; Appendix B's indentation leaves that open, Linux and \
             ns-3 go on after a forced mark",
            "the departure rate is measured as in Appendix B; the listing of section 5.2 would measure every other time",
            "alpha and beta stay as given: section 4.2 advises to scale both as target shrinks, and to give half of alpha \
             with beta + alpha/4 at half of tupdate",
            "section 5.2's design for platforms that see arrivals alone is left out",
            "of Linux not: its integers, the first update after 0.5 s, that p does not decay while a delay of 0 stands \
             against a backlog, its mean of departure rates, that a measurement of theirs counts the departure that begins it, \
             marks at p = ecn_cut exactly",
            "of ns-3 not: its burst state, which renews the allowance only after 1.5 s without congestion and holds p \
             at 0 meanwhile, byte mode by the buffer's unit, u <= p",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc8033",
            settings: "target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms ecn_cut=0.1 latency=timestamp \
                       sleep=off derandomise=off cap=off",
            source: "RFC 8033 section 4 and Appendix A, with ECN of section 5.1",
        },
        Preset {
            name: "rfc8033-full",
            settings: "target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms ecn_cut=0.1 latency=rate \
                       dq_threshold=16384b sleep=half derandomise=on cap=on decay=half",
            source: "RFC 8033 section 5 and Appendix B: every option",
        },
        Preset {
            name: "linux",
            settings: "ecn=off hard_limit=1000p target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms \
                       burst=departure spare=latest min_backlog=3027b decay_to=0.984375 derandomise=on cap=on boost=on \
                       mtu=1514b",
            source: "Linux net/sched/sch_pie.c, include/net/pie.h on Ethernet: fewer than 2 x 1514 bytes are spared",
        },
        Preset {
            name: "ns3",
            settings: "ecn=off hard_limit=25p target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=15ms \
                       min_backlog=2p derandomise=off cap=on",
            source: "ns-3 pie-queue-disc.cc: MaxBurstAllowance, MaxSize, UseCapDropAdjustment",
        },
    ];
    const TC: Option<Tc> = Some(Tc::new("preset=linux", &[LIMIT, CONTROLLER, ECN, SWITCHES]));
    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn build(params: &Params, link: &Link) -> Self {
        let rule = Rule::new(params, link);
        Self { state: PieState::new(&rule), due: Instant::ZERO + params.tupdate, rule }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { state: self.state.clone(), due: self.due, ..Self::build(params, link) })
    }
}

impl Aqm for Pie {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.state.arrival(&self.rule, packet, level, cx)
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.state.departure(&self.rule, packet, level, cx.now);
        Verdict::Accept
    }

    fn next_tick(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        self.state.update(&self.rule, level.bytes(), cx.now);
        self.due = cx.now + self.rule.params.tupdate;
    }
}

probes! { Pie {
    /// Signal probability.
    p ["1"] probability = |s| s.state.p;
    /// The latest queuing delay known.
    delay ["s"] = |s| s.state.delay;
    /// What is left of the burst allowance.
    burst ["s"] = |s| s.state.burst.secs();
    /// Probability accumulated since the last drop or mark.
    spacing ["1"] = |s| s.state.spacing;
    /// 1 while active.
    awake ["1"] switch = |s| f64::from(u8::from(s.state.active));
    /// Measured departure rate, 0 while unknown.
    rate ["bit/s"] = |s| s.state.drain.rate();
} }

#[cfg(test)]
mod tests;
