//! PIE: a PI controller of the queuing delay sets the drop probability (RFC 8033).
//!
//! [`PieState`] follows the listing of RFC 8033 Appendix A: at an arrival (enque and drop_early), at a departure
//! (deque) and every T_UPDATE (calculate_drop_prob). The options of section 5 are switches in it. Variants of Linux and
//! ns-3 are selected by [`Burst`], [`Spare`], [`Empty`] and [`Decay`]. The file `pie/linux.rs` has PIE in Linux's
//! integers.

mod controller;
mod linux;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{ECN, Form, JIFFIES, LIMIT, PSCHED_TICK, Tail, Tc, Words, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Limit, Link};
use crate::base::verdict::Verdict;
use crate::parts::drain_time::DrainTime;
use crate::{choice, params, probes};

pub use crate::aqm::delay::pie::controller::Controller;
pub use crate::aqm::delay::pie::linux::{FIRST_UPDATE, Percent};

choice! {
    /// Whose PIE is followed.
    pub enum Rules {
        /// RFC 8033, with the options below.
        Rfc = "rfc8033",
        /// Linux 6.12 in its integers, packet by packet. It uses target, tupdate, alpha, beta, max_burst, ecn_cut, latency,
        /// bytes and mtu.
        Linux = "linux",
    }
}

choice! {
    /// How the queuing delay is estimated.
    pub enum Latency {
        /// Sojourn time of the packet that departed last.
        Timestamp = "timestamp",
        /// Backlog times the measured time per byte.
        Rate = "rate",
    }
}

choice! {
    /// The delay sample after a departure that empties the queue.
    pub enum Empty {
        /// 0: Linux, ns-3.
        Zero = "zero",
        /// Sojourn time of the departed packet, used until the next departure: Appendix A.
        Last = "last",
    }
}

choice! {
    /// When the burst allowance decreases and is reset.
    pub enum Burst {
        /// Each update subtracts tupdate; arrivals reset it if there is no congestion.
        Timer = "timer",
        /// Each departure subtracts the time since the last departure; with latency=rate, each measurement of the
        /// departure rate subtracts its duration. An update resets it if there is no congestion. Linux.
        Departure = "departure",
    }
}

choice! {
    /// The delay used by the rule 'no early drop below target/2 while p < 0.2'.
    pub enum Spare {
        /// Delay at the last update.
        Sample = "sample",
        /// Latest delay: Linux.
        Latest = "latest",
        /// The rule is off.
        Off = "off",
    }
}

choice! {
    /// Condition for p to decay: on the last two delay samples.
    pub enum Decay {
        /// Both are 0: section 4.2.
        Zero = "zero",
        /// Both are below target/2: Appendix B.
        Half = "half",
        /// p never decays.
        Off = "off",
    }
}

choice! {
    /// When PIE becomes inactive. A long queue activates it again.
    pub enum Sleep {
        /// Never.
        Off = "off",
        /// At p = 0 and two delay samples below target/2: section 5.3.
        Half = "half",
        /// At p = 0 and two delay samples of 0: Appendix B.
        Zero = "zero",
    }
}

params! {
    /// Parameters of PIE.
    pub struct Params {
        /// Target queuing delay.
        target: Span = Span::from_millis(15), in 1e-9 ..= 1e3, "QDELAY_REF", "RFC 8033 section 4.2";
        /// Time between updates of p.
        tupdate: Span = Span::from_millis(15), in 1e-6 ..= 1e3, "T_UPDATE", "RFC 8033 section 4.2";
        /// Integral gain in Hz: probability per second of delay above the target, per update.
        alpha: f64 = 0.125, in 0.0 ..= 1e6, "alpha", "RFC 8033 Appendix A";
        /// Proportional gain in Hz, on the growth of the delay.
        beta: f64 = 1.25, in 0.0 ..= 1e6, "beta", "RFC 8033 Appendix A";
        /// Divides the gains by up to 2048 at low p.
        autotune: bool = true, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2";
        /// Delay condition for p to decay.
        decay: Decay = Decay::Zero, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; Appendix B has half";
        /// Factor by which p decays per update.
        decay_to: f64 = 0.98, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; 1 - 1/64 suffices";
        /// Delay used by the rule 'no early drop below target/2 while p < 0.2'.
        spare: Spare = Spare::Sample, in 0.0 ..= 1.0, "", "RFC 8033 section 4.1; Linux has latest";
        /// No early drop while the backlog is at most this; auto: twice the mean packet.
        min_backlog: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "2 MEAN_PKTSIZE", "RFC 8033 section 4.1";
        /// Burst allowance: no early drop for this long after a period without congestion; 0: none.
        max_burst: Span = Span::from_millis(150), in 0.0 ..= 1e3, "MAX_BURST", "RFC 8033 section 4.4";
        /// When the burst allowance decreases and is reset.
        burst: Burst = Burst::Timer, in 0.0 ..= 1.0, "burst_allowance_", "RFC 8033 section 4.4; Linux has departure";
        /// From this p on ECT packets are dropped, not marked; 0: always dropped.
        ecn_cut: f64 = 0.1, in 0.0 ..= 1.0, "mark_ecnth", "RFC 8033 section 5.1";
        /// How the queuing delay is estimated.
        latency: Latency = Latency::Timestamp, in 0.0 ..= 1.0, "current_qdelay", "RFC 8033 sections 4.3 and 5.2";
        /// latency=rate: number of bytes over which the departure rate is measured.
        dq_threshold: Bytes = Bytes(16_384), in 1.0 ..= 65536.0, "DQ_THRESHOLD", "RFC 8033 section 5.2";
        /// latency=timestamp: the delay sample after a departure that empties the queue.
        empty: Empty = Empty::Zero, in 0.0 ..= 1.0, "", "zero in Linux and ns-3; last in RFC 8033 Appendix A";
        /// When PIE becomes inactive.
        sleep: Sleep = Sleep::Off, in 0.0 ..= 1.0, "active_", "RFC 8033 section 5.3, optional";
        /// Fraction of the buffer in use that activates PIE again.
        wake_at: f64 = 1.0 / 3.0, in 0.0 ..= 1.0, "", "RFC 8033 section 5.3";
        /// Limits the distance between drops: no drop while the sum of p since the last one is below 0.85, a certain
        /// drop from 8.5 on.
        derandomise: bool = false, in 0.0 ..= 1.0, "accu_prob_", "RFC 8033 section 5.4, optional";
        /// Limits the increase of p per update to 0.02 from p = 0.1 on.
        cap: bool = false, in 0.0 ..= 1.0, "", "RFC 8033 section 5.5, optional";
        /// Adds 0.02 to p per update while the delay exceeds 250 ms.
        boost: bool = false, in 0.0 ..= 1.0, "", "Linux";
        /// Scales p by packet length for packets shorter than mtu.
        bytes: bool = false, in 0.0 ..= 1.0, "bytemode", "RFC 8033 Appendix B, optional; Linux";
        /// bytes=on: packet length from which p is not reduced; auto: the mean packet size. rules=linux: no early drop
        /// below two of it.
        mtu: Auto<Bytes> = Auto::Auto, in 1.0 ..= 65536.0, "psched_mtu", "ours; RFC 8033 Appendix B: MTU; Linux: the MTU";
        /// Whose PIE is followed: RFC 8033, with the options above, or Linux's integers. rules=linux uses only target,
        /// tupdate, alpha, beta, max_burst, ecn_cut, latency, bytes and mtu.
        rules: Rules = Rules::Rfc, in 0.0 ..= 1.0, "", "RFC 8033; Linux 6.12 sch_pie.c, net/pie.h";
    }
}

/// Below this p a delay under target/2 prevents early drops: section 4.1.
const LOW_P: f64 = 0.2;
/// If p is below the first number, its change is divided by the second: RFC 8033 section 4.2.
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// No drop while accu_prob_ is below the first; a certain drop from the second on: section 5.4.
const SPACING: (f64, f64) = (0.85, 8.5);
/// From the first number on, an update adds at most the second to p: section 5.5.
const CAP: (f64, f64) = (0.1, 0.02);
/// A delay above the first (seconds) adds the second to p: Linux's `pie_calculate_probability`.
const BOOST: (f64, f64) = (0.25, 0.02);

/// Parameters and values derived from them and the link; shared by all queues under one PIE.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The parameters as given.
    pub params: Params,
    /// QDELAY_REF in seconds.
    target: f64,
    min_backlog: Depth,
    /// Byte mode: packet length in bytes from which p is not reduced.
    whole: Option<f64>,
    /// The parameters in Linux's form.
    linux: linux::Set,
}

impl Rule {
    /// `params` with the values derived from them and `link`.
    pub fn new(params: &Params, link: &Link) -> Self {
        let mean = link.mean_packet.0 as f64;
        Self {
            params: params.clone(),
            target: params.target.secs(),
            min_backlog: params.min_backlog.or(Depth::Bytes(2.0 * mean)),
            whole: params.bytes.then_some(params.mtu.or(link.mean_packet).0 as f64),
            linux: linux::Set::new(params, link, Percent::OfOne),
        }
    }

    /// The same for the PIE of a flow: with rules=linux, ecn_cut is rounded as in sch_fq_pie.
    pub fn of_flow(params: &Params, link: &Link) -> Self {
        Self { linux: linux::Set::new(params, link, Percent::Hundredths), ..Self::new(params, link) }
    }

    /// Time from the start to the first update.
    pub fn first_update(&self) -> Span {
        match self.params.rules {
            Rules::Rfc => self.params.tupdate,
            Rules::Linux => FIRST_UPDATE,
        }
    }

    /// Whether `delay` (seconds) is below target/2.
    fn is_short(&self, delay: f64) -> bool {
        delay < self.target / 2.0
    }
}

/// PIE's state for one queue. Delays in seconds.
#[derive(Clone, Debug)]
pub struct PieState {
    /// drop_prob_ in RFC 8033: the signal probability.
    p: f64,
    /// current_qdelay in RFC 8033: the latest delay sample.
    delay: f64,
    /// qdelay_old_ in RFC 8033: the delay of the last update.
    delay_old: f64,
    /// burst_allowance_ in RFC 8033: what is left of the burst allowance.
    burst: Span,
    /// accu_prob_ in RFC 8033: the sum of p since the last drop or mark.
    spacing: f64,
    active: bool,
    /// Time of the last update or activation.
    updated: Instant,
    /// Time of the last departure; only Linux's burst allowance uses it.
    departed: Option<Instant>,
    /// Rate estimator for latency=rate.
    drain: DrainTime,
}

impl PieState {
    /// PIE's state for a new queue.
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

    /// An arrival at a queue of `level`: enque(). Draws one random number, also if the buffer is full.
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

    /// Section 4.1: whether this packet is dropped or marked. `u` is its random number.
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
        // Appendix B: a packet selected at random resets accu_prob_ even if the burst allowance then prevents the drop.
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

    /// The update every T_UPDATE with `backlog` bytes queued: calculate_drop_prob(), sections 4.2 and 4.4.
    pub fn update(&mut self, rule: &Rule, backlog: u64, now: Instant) {
        let params = &rule.params;
        // Activated less than one period ago: the first update comes one full period after activation.
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

    /// Section 4.2 and Appendix B: whether p decays.
    fn decays(&self, rule: &Rule) -> bool {
        match rule.params.decay {
            Decay::Zero => self.delay == 0.0 && self.delay_old == 0.0,
            Decay::Half => rule.is_short(self.delay) && rule.is_short(self.delay_old),
            Decay::Off => false,
        }
    }

    /// Section 4.4: no congestion, that is p = 0 and the last two delays are below target/2.
    fn is_calm(&self, rule: &Rule) -> bool {
        self.p == 0.0 && rule.is_short(self.delay) && rule.is_short(self.delay_old)
    }

    /// Section 5.3: whether PIE becomes inactive.
    fn falls_asleep(&self, rule: &Rule) -> bool {
        match rule.params.sleep {
            Sleep::Off => false,
            Sleep::Half => self.is_calm(rule),
            Sleep::Zero => self.p == 0.0 && self.delay == 0.0 && self.delay_old == 0.0,
        }
    }

    /// Section 5.3: activates PIE if the backlog, including the `len` arriving bytes, is large enough.
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

    /// Whether an update with an empty queue would leave the state unchanged. Valid for Linux's burst allowance
    /// (burst=departure).
    pub fn is_at_rest(&self, rule: &Rule) -> bool {
        let calm = self.p == 0.0 && self.delay == 0.0 && self.delay_old == 0.0 && self.spacing == 0.0;
        calm && self.departed.is_none() && !self.drain.is_known() && self.burst == rule.params.max_burst
    }
}

/// PIE for a single queue.
pub struct Pie {
    rule: Rule,
    state: Controller,
    due: Instant,
}

/// tc's arguments for PIE's controller.
pub const CONTROLLER: Words = &[
    ("target", sets(Form::Time, "target").in_steps(PSCHED_TICK).but_zero()),
    ("tupdate", sets(Form::Time, "tupdate").in_steps(JIFFIES).but_zero()),
    ("alpha", sets(Form::Count, "alpha").up_to(32).over(16).but_zero()),
    ("beta", sets(Form::Count, "beta").up_to(32).over(16).but_zero()),
];
/// tc's arguments for byte mode and delay estimation.
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
               departure:      delay = its sojourn time, or backlog times the measured time per byte\n\
               derandomise:    a += p;  pass if a < 0.85, drop if a >= 8.5, else u < p;  a = 0 after a drop or mark",
        deviations: &[
            "defaults: the basic PIE of Appendix A plus ECN of section 5.1; each option of section 5 has a switch",
            "an emptied queue differs from Appendix A: a departure that empties the queue sets the delay to 0, as in \
             Linux and ns-3; in Appendix A (empty=last) an idle queue keeps its last delay, and p keeps rising if it \
             was long",
            "deactivation (section 5.3) differs from Appendix B: it is checked at updates, from the first one with a \
             known delay on; Appendix B checks at each arrival, including the one that activates PIE, so PIE would \
             never stay active",
            "the sleep condition differs within the RFC: section 5.3 compares two samples with target/2 (sleep=half), \
             Appendix B with 0 (sleep=zero)",
            "the decay condition differs within the RFC: section 4.2 requires two delays of 0 (decay=zero), Appendix \
             B two delays below target/2 (decay=half)",
            "accu_prob_ differs from Linux and ns-3: it is reset after a mark as after a drop; they do not reset it \
             after a forced mark; Appendix B's indentation is ambiguous",
            "rate measurement differs from section 5.2: it follows Appendix B; the listing of section 5.2 would \
             measure only every other time",
            "alpha and beta differ from section 4.2: they are used as given; section 4.2 recommends scaling both with \
             a smaller target, and alpha/2 with beta + alpha/4 at half of tupdate",
            "not implemented: section 5.2's design for platforms that see arrivals only",
            "rules=linux: as Linux 6.12 packet by packet. It draws one random number of 64 bits where the kernel does: \
             if the sum of p is at least 0.85 and below 8.5 and no rule spares the packet",
            "rules=linux differs from Linux: updates are exactly tupdate apart, the first after 0.5 s; the kernel's \
             timer rounds both up to its jiffies. A host that runs the updates at the kernel's times gets Linux's p",
            "rules=linux differs from Linux: max_burst and ecn_cut are parameters, in Linux constants of 150 ms and 10 %",
            "preset=ns3 differs from ns-3: no burst state; ns-3 resets the allowance only after 1.5 s without \
             congestion and holds p at 0 meanwhile",
            "preset=ns3 differs from ns-3: byte mode is a parameter; ns-3 takes it from the buffer's unit",
            "preset=ns3 differs from ns-3: u < p, not u <= p",
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
                       mtu=1514b rules=linux",
            source: "Linux net/sched/sch_pie.c, include/net/pie.h on Ethernet: no early drop below 2 x 1514 bytes",
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
        Self { state: Controller::new(&rule), due: Instant::ZERO + rule.first_update(), rule }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let same = params.rules == self.rule.params.rules;
        same.then(|| Self { state: self.state.clone(), due: self.due, ..Self::build(params, link) })
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
    p ["1"] probability = |s| s.state.p();
    /// Latest estimate of the queuing delay.
    delay ["s"] = |s| s.state.delay();
    /// Remaining burst allowance.
    burst ["s"] = |s| s.state.burst();
    /// Probability accumulated since the last drop or mark.
    spacing ["1"] = |s| s.state.spacing();
    /// 1 while PIE is active.
    awake ["1"] switch = |s| f64::from(u8::from(s.state.is_active()));
    /// Measured departure rate; 0 while unknown.
    rate ["bit/s"] = |s| s.state.rate();
} }

#[cfg(test)]
mod tests;
