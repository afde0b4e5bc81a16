//! RED: random early drops by the average queue (Floyd and Jacobson 1993).
//!
//! RED averages the queue slowly, so that it accepts bursts and reacts to standing queues. Between two thresholds the
//! base probability p_b of a drop or mark rises with the average to max_p. The probability p_a that is applied also
//! depends on the count of packets since the last signal, so that gaps between signals are uniformly distributed. With
//! `gentle`, p_b rises to 1 between the upper threshold and twice that threshold.
//!
//! [`Gateway`] follows Fig. 2 of the paper: average, base probability p_b, count and p_a at each arrival, and idle time
//! once the queue is empty. [`Average`] and [`Curve`] are its equations. [`Spacing`] has the count of the paper, ns-2
//! or Linux, selected by [`Rule`]. Variants of RED move the curve through [`Steer`]. RED itself follows Linux in
//! integers, [`KernelRed`].

mod auto;
mod spacing;

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Aqm, BareLaw, Fluid, Sample};
use crate::base::packet::{Ecn, Packet};
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::Tc;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::kernel_red::{Action, KernelRed};
use crate::parts::red_tc;
use crate::{choice, params, probes};

pub use crate::aqm::backlog::red::auto::{AutoWeight, TARGET_DELAY, packets_per_sec, tc_weight};
use crate::aqm::backlog::red::spacing::mean_spaced;
pub use crate::aqm::backlog::red::spacing::{Spacing, spaced};

choice! {
    /// Whose RED is followed where ns-2, the paper and Linux differ.
    pub enum Rule {
        /// ns-2.35.
        Ns2 = "ns2",
        /// Floyd and Jacobson 1993.
        Paper = "paper",
        /// Linux 6.12; `red` in the kernel's integers, packet by packet.
        Linux = "linux",
    }
}

params! {
    /// Parameters of RED.
    pub struct Params {
        /// Which source's rule is used for idle time, count and automatic values.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35; the paper, section IV; Linux net/red.h";
        /// Below this average nothing is signalled; auto: 5 packets, or if more, those that the link sends in 2.5 ms
        /// (ns2); 5 packets (paper); max_th/3 (linux).
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "ns-2.35 thresh_; tc min";
        /// Average at which the probability is max_p; auto: 3 min_th, at least min_th + 1 packet; linux: a quarter of
        /// the buffer.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "ns-2.35 maxthresh_; tc max";
        /// Probability at max_th.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_; tc probability";
        /// Weight of a new queue sample in the average; auto: from auto_w (ns2), 0.002 (paper), from burst (linux).
        /// rule=linux rounds it to a power of 2.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_";
        /// rule=ns2: averaging time of an automatic w_q.
        auto_w: AutoWeight = AutoWeight::Rtts, in 0.0 ..= 1.0, "", "ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay; auto_w=rtts uses RTT = max(100 ms, 3 (delay + packet time)).
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 uses the link's";
        /// rule=linux: burst size in packets that an automatic w_q accepts; auto: (2 min_th + max_th)/3.
        burst: Auto<u32> = Auto::Auto, in 0.0 ..= 1e6, "burst", "tc burst";
        /// Packet size that converts bytes to packets; auto: the scenario's packet size.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 always uses 500; tc avpkt";
        /// Above max_th the probability rises to 1 at 2 max_th; off: it jumps to 1.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "Floyd 2000; ns-2.35 default";
        /// After a drop, at least 1/p packets pass before the next drop.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts as its length divided by the mean packet size.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// Decays the average while the link is idle.
        idle: bool = true, in 0.0 ..= 1.0, "m", "the paper, section IV; ns-2.35, Linux";
        /// ECT packets are dropped, not marked, while the average is so high that every packet is signalled.
        harddrop: bool = true, in 0.0 ..= 1.0, "harddrop", "ns-2.35; tc harddrop";
        /// With ECN on, packets that cannot be marked are queued instead of dropped.
        nodrop: bool = false, in 0.0 ..= 1.0, "nodrop", "tc nodrop";
        /// ns-2's newer rule: a high average does not force drops; ECT packets are marked only while p_b < mark_p.
        use_mark_p: bool = false, in 0.0 ..= 1.0, "use_mark_p", "ns-2.35 has it on";
        /// use_mark_p=on: base probability from which ECT packets are dropped, not marked.
        mark_p: f64 = 0.1, in 0.0 ..= 1.0, "mark_p", "ns-2.35 default";
    }
}

/// Moves the curve of a RED (its thresholds and max_p) at arrivals or at ticks.
pub trait Steer {
    /// Called at each arrival, after the average is updated and before p_b is computed.
    #[inline]
    fn steer(&mut self, _curve: &mut Curve, _avg: f64, _now: Instant) {}

    /// Called at each arrival, after its verdict. `_p_b` is the base probability, which depends only on the average
    /// queue. The p of `_spacing` is the probability that was applied.
    #[inline]
    fn judged(&mut self, _p_b: f64, _spacing: &Spacing) {}

    /// Time of the next [`tick`](Self::tick); `None`: no timer.
    #[inline]
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Called when due; `avg` includes the decay while the link is idle.
    fn tick(&mut self, _curve: &mut Curve, _avg: f64, _now: Instant) {}

    /// Takes over the state of `_before`. Copies to `_curve` the values that `_before` has moved in its curve
    /// `_steered`.
    fn resume(&mut self, _before: &Self, _curve: &mut Curve, _steered: &Curve) {}
}

/// A constant curve: plain RED.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl Steer for Fixed {}

/// A RED gateway whose curve is moved by `S`. Queue, average and thresholds share one unit.
#[derive(Clone)]
pub struct Gateway<S> {
    params: Params,
    unit: Depth,
    curve: Curve,
    average: Average,
    spacing: Spacing,
    steering: S,
    /// The constant max_p that ns-2 uses while the average is above max_th. `None`: the adapted max_p applies there
    /// too.
    gentle_p: Option<f64>,
    p_b: f64,
    p: f64,
    /// Plain RED with rule=linux: the kernel's integers, which then decide alone.
    kernel: Option<Box<KernelRed>>,
}

/// State of RED.
pub type Red = Gateway<Fixed>;

/// ns-2 never signals an arrival at a queue of at most this, in the unit of the thresholds.
const NEVER_SIGNALLED: f64 = 1.0;

impl<S: Steer> Aqm for Gateway<S> {
    /// Fig. 2, "for each packet arrival".
    #[inline(always)] // A call costs 1 ns per arrival.
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let q = self.unit.measure(level);
        let avg = match self.params.rule {
            Rule::Ns2 => self.average.arrival(q, cx.now),
            Rule::Linux if self.kernel.is_some() => return self.kernel_arrival(packet, level, cx),
            Rule::Paper | Rule::Linux => self.average.arrival_or_decay(q, cx.now),
        };
        let u = cx.rng.uniform();
        self.steering.steer(&mut self.curve, avg, cx.now);
        let p_b = self.base_probability(avg);
        self.p_b = p_b.unwrap_or(0.0);
        let p_b = p_b.filter(|_| q > NEVER_SIGNALLED || self.params.rule != Rule::Ns2);
        self.p = p_b.unwrap_or(0.0);
        if p_b.is_some() && self.is_forced(avg) {
            self.spacing.forced();
            self.steering.judged(self.p_b, &self.spacing);
            return if self.params.harddrop { Verdict::Drop } else { self.signal(packet, level) };
        }
        let signalled = self.spacing.arrival(p_b, packet.len, u);
        self.steering.judged(self.p_b, &self.spacing);
        if !signalled {
            return Verdict::Accept;
        }
        if self.params.use_mark_p && self.p >= self.params.mark_p {
            return Verdict::Drop;
        }
        self.signal(packet, level)
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        if fate == Fate::Dropped(Reason::Overflow) {
            self.spacing.overflowed();
        }
    }

    /// Fig. 2, "when queue becomes empty".
    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        if self.params.idle {
            self.average.emptied(cx.now);
            if let Some(kernel) = &mut self.kernel {
                kernel.emptied(cx);
            }
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        self.steering.due()
    }

    fn tick(&mut self, _: &Level, cx: &mut Cx) {
        let avg = self.average.at(cx.now);
        self.steering.tick(&mut self.curve, avg, cx.now);
    }
}

impl<S: Steer> Gateway<S> {
    /// A gateway with an empty queue; an automatic min_th follows the queueing delay `target`.
    pub fn new(params: &Params, target: Span, steering: S, link: &Link) -> Self {
        let mean_packet = params.mean_packet.or(link.mean_packet);
        let params = Params { mean_packet: Auto::Given(mean_packet), ..params.clone() };
        let Params { rule, wait, bytes, max_p, gentle, .. } = params;
        let (unit, max_th) = auto::thresholds(&params, target, link);
        let weight = auto::weight(&params, unit, max_th, link);
        Self {
            unit,
            curve: Curve::new(unit.value(), max_th, max_p, gentle),
            average: Average::new(weight, packets_per_sec(link, mean_packet)),
            spacing: Spacing::new(rule, wait, bytes.then_some(mean_packet.0)),
            steering,
            gentle_p: None,
            p_b: 0.0,
            p: 0.0,
            kernel: None,
            params,
        }
    }

    /// `red_enqueue` of Linux.
    #[inline(never)]
    fn kernel_arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let Some(kernel) = &mut self.kernel else { return Verdict::Accept };
        kernel.average(self.unit.measure(level) as u64, cx.now);
        match kernel.action(cx.rng) {
            Action::Pass => Verdict::Accept,
            Action::Forced if self.params.harddrop => Verdict::Drop,
            Action::Signal | Action::Forced => self.signal(packet, level),
        }
    }

    /// This gateway with the state of `before`; `None` if the units differ.
    pub fn after(mut self, before: &Self) -> Option<Self> {
        self.steering.resume(&before.steering, &mut self.curve, &before.curve);
        let (average, spacing) = (self.average.after(&before.average), self.spacing.after(&before.spacing));
        let Self { gentle_p, p_b, p, .. } = *before;
        let kernel = match (self.kernel.take(), &before.kernel) {
            (Some(kernel), Some(before)) => Some(Box::new(kernel.after(before))),
            (None, None) => None,
            _ => return None,
        };
        self.unit.is_like(before.unit).then_some(Self { average, spacing, gentle_p, p_b, p, kernel, ..self })
    }

    /// Keeps the slope above max_th (`gentle`) constant while max_p moves, as ns-2 does.
    #[must_use]
    pub fn with_frozen_gentle(self) -> Self {
        Self { gentle_p: Some(self.curve.max_p), ..self }
    }

    /// The mean signal probability for a fluid of `packets` packets that arrive at a queue of `q`.
    fn flow(&mut self, q: f64, packets: u64) -> f64 {
        let avg = self.average.sample_many(q, packets as f64);
        match self.base_probability(avg) {
            None => 0.0,
            Some(_) if self.is_forced(avg) => 1.0,
            Some(p_b) => mean_spaced(p_b, self.params.wait),
        }
    }

    /// p_b at the average `avg`; `None` below min_th. Always inlined: it has two callers (packets and fluids), and a
    /// call would cost each packet some nanoseconds.
    #[inline(always)]
    fn base_probability(&self, avg: f64) -> Option<f64> {
        match self.gentle_p {
            Some(max_p) if avg >= self.curve.max_th => self.curve.with(max_p).base_probability(avg),
            _ => self.curve.base_probability(avg),
        }
    }

    /// Whether the average is so high that every packet is signalled.
    #[inline(always)]
    fn is_forced(&self, avg: f64) -> bool {
        let Curve { max_th, gentle, .. } = self.curve;
        !self.params.use_mark_p && avg >= if gentle { 2.0 * max_th } else { max_th }
    }

    /// A signal, unless `nodrop` accepts `packet`.
    fn signal(&self, packet: &Packet, level: &Level) -> Verdict {
        let marks_others = || level.marks(&Packet { ecn: Ecn::Ect0, ..*packet });
        if self.params.nodrop && !level.marks(packet) && marks_others() { Verdict::Accept } else { Verdict::Signal }
    }

    /// The initial min_th, whose unit is that of the queue.
    pub const fn unit(&self) -> Depth {
        self.unit
    }

    /// The average queue, in the unit of the thresholds.
    pub fn average(&self) -> f64 {
        self.kernel.as_ref().map_or(self.average.value(), |kernel| kernel.avg())
    }

    /// The current curve.
    pub const fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The object that moves the curve.
    pub const fn steering(&self) -> &S {
        &self.steering
    }

    /// Sets `max_p` of the curve.
    #[cfg(test)]
    pub fn steer_to(&mut self, max_p: f64) {
        self.curve.max_p = max_p;
    }

    /// The object that moves the curve, for tests that call it directly.
    #[cfg(test)]
    pub fn steering_mut(&mut self) -> &mut S {
        &mut self.steering
    }

    /// Base probability of the latest arrival from the average alone. ns-2's rule, which never signals at a short
    /// queue, does not change it.
    pub const fn p_b(&self) -> f64 {
        self.p_b
    }

    /// Base probability of the latest arrival without the effect of the count; 0 if ns-2's rule does not signal because
    /// the queue is short.
    pub fn p(&self) -> f64 {
        self.kernel.as_ref().map_or(self.p, |kernel| kernel.p())
    }

    /// Signal probability of the latest arrival.
    pub const fn p_a(&self) -> f64 {
        self.spacing.p()
    }

    /// Packets since the last signal.
    pub fn count(&self) -> f64 {
        self.kernel.as_ref().map_or(self.spacing.count(), |kernel| kernel.count())
    }
}

/// The exponentially weighted moving average of the queue, with decay during idle time.
#[derive(Clone, Debug)]
pub struct Average {
    value: f64,
    weight: f64,
    pkts_per_sec: f64,
    idle_since: Option<Instant>,
}

impl Average {
    /// An average of 0 for a queue that is idle from time 0. Idle time counts `pkts_per_sec` samples of 0 per second.
    pub const fn new(weight: f64, pkts_per_sec: f64) -> Self {
        Self { value: 0.0, weight, pkts_per_sec, idle_since: Some(Instant::ZERO) }
    }

    /// This average with the value and idle time of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { value: before.value, idle_since: before.idle_since, ..self }
    }

    /// Updates the average with an arrival at a queue of `q`, the arrival not included. After idle time the average
    /// first decays by the whole packets that could have been sent meanwhile: ns-2.
    #[inline]
    pub fn arrival(&mut self, q: f64, now: Instant) -> f64 {
        if let Some(since) = self.idle_since {
            self.idle_since = None;
            let missed = libm::floor(self.packets_since(since, now));
            if missed > 0.0 {
                self.value *= self.decay(missed);
            }
        }
        self.sample(q)
    }

    /// Like [`arrival`](Self::arrival), with the rule of the paper of 1993 and Linux: the decay also counts fractions
    /// of packets, and the arrival that ends idle time adds no sample.
    #[inline]
    pub fn arrival_or_decay(&mut self, q: f64, now: Instant) -> f64 {
        match self.idle_since.take() {
            None => self.sample(q),
            Some(since) => {
                self.value *= self.decay(self.packets_since(since, now));
                self.value
            }
        }
    }

    /// Adds one sample `q`, ignoring idle time.
    #[inline]
    pub fn sample(&mut self, q: f64) -> f64 {
        self.value = (1.0 - self.weight) * self.value + self.weight * q;
        self.value
    }

    /// Adds `times` samples of `q`.
    pub fn sample_many(&mut self, q: f64, times: f64) -> f64 {
        self.value = q + (self.value - q) * self.decay(times);
        self.value
    }

    /// The average at `now`, decayed by idle time.
    pub fn at(&self, now: Instant) -> f64 {
        self.idle_since.map_or(self.value, |since| self.value * self.decay(self.packets_since(since, now)))
    }

    fn packets_since(&self, since: Instant, now: Instant) -> f64 {
        self.pkts_per_sec * now.since(since).secs()
    }

    fn decay(&self, packets: f64) -> f64 {
        libm::pow(1.0 - self.weight, packets)
    }

    /// The queue is empty: idle time starts. Repeated calls keep the first time.
    #[inline]
    pub fn emptied(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// Restarts idle time at `now`.
    #[inline]
    pub const fn restart_idle(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }

    /// Ends idle time without decay.
    #[inline]
    pub const fn forget_idle(&mut self) {
        self.idle_since = None;
    }

    /// The average without decay since the last update.
    pub const fn value(&self) -> f64 {
        self.value
    }
}

/// The base probability as a function of the average.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// Below this average nothing is signalled.
    pub min_th: f64,
    /// Average at which the base probability is `max_p`.
    pub max_th: f64,
    /// Base probability at `max_th`.
    pub max_p: f64,
    /// Above `max_th` the probability rises to 1 at twice `max_th`; off: it is 1.
    pub gentle: bool,
    /// Cached 1 / (max_th - min_th), as in ns-2: it saves a division per packet. It stays valid because both thresholds
    /// move together.
    v_a: f64,
}

impl Curve {
    /// The curve through these points.
    pub const fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Self {
        Self { min_th, max_th, max_p, gentle, v_a: 1.0 / (max_th - min_th) }
    }

    /// This curve with another `max_p`.
    pub const fn with(self, max_p: f64) -> Self {
        Self { max_p, ..self }
    }

    /// p_b, or `None` while the average is below `min_th`.
    #[inline]
    pub fn base_probability(&self, avg: f64) -> Option<f64> {
        let Self { min_th, max_th, max_p, gentle, v_a } = *self;
        if avg < min_th {
            None
        } else if avg < max_th {
            Some(max_p * (avg - min_th) * v_a)
        } else if gentle && avg < 2.0 * max_th {
            Some((max_p + (1.0 - max_p) * (avg - max_th) / max_th).min(1.0))
        } else {
            Some(1.0)
        }
    }
}

/// Checks the thresholds against each other, and options against the rule. For RED and its variants.
pub fn consistent(params: &Params) -> Result<(), String> {
    match (params.min_th, params.max_th) {
        (Auto::Given(Depth::Packets(_)), Auto::Given(Depth::Bytes(_)))
        | (Auto::Given(Depth::Bytes(_)), Auto::Given(Depth::Packets(_))) => {
            return Err("min_th and max_th both in packets, or both in bytes".to_string());
        }
        (Auto::Given(min), Auto::Given(max)) if min.value() >= max.value() => {
            return Err("min_th below max_th".to_string());
        }
        (Auto::Auto, Auto::Given(max)) if max.value() <= 0.0 => return Err("max_th above 0".to_string()),
        _ => {}
    }
    match params.rule {
        Rule::Linux if params.wait || params.bytes => {
            Err("rule=linux with wait=off and bytes=off: preset=linux".to_string())
        }
        Rule::Linux | Rule::Paper if params.use_mark_p => Err("use_mark_p=off unless rule=ns2".to_string()),
        _ => Ok(()),
    }
}

impl Design for Red {
    type Params = Params;
    const ABOUT: About = About {
        summary: "random early detection: average queue between two thresholds sets p",
        source: "Floyd, Jacobson: Random Early Detection Gateways, IEEE/ACM ToN 1993; details of ns-2.35",
        rule: "arrival:  avg = (1-w)^(m+1) avg + w q,  m packet times idle;  count += 1\n\
               \u{20}         p_b = max_p (avg - min)/(max - min);  gentle: on to 1 at 2 max\n\
               \u{20}         p_a = p_b/(1 - count p_b);  wait: 0 while count p_b < 1, then p_b/(2 - count p_b)\n\
               \u{20}         avg < min or q <= 1: accept;  avg >= max (gentle: 2 max): drop;\n\
               \u{20}         first of these: count = 1, accept;  else if u < p_a: mark or drop\n\
               signal or overflow:  count = 0\n\
               use_mark_p:  never drop for avg alone;  signal: mark only if p_b < mark_p, else drop\n\
               paper:    idle: avg = (1-w)^m avg;  avg < min: count = -1;  else count += 1, u < p_a: mark or drop\n\
               linux:    idle and count like that;  count = 0: r = u;  count p_b >= r: mark or drop, count = 0, r = u",
        deviations: &[
            "the signal test differs from ns-2: u < p, not u <= p; one u is drawn at every arrival",
            "automatic w_q differs from ns-2: the link's delay counts as 0 unless `delay` is given",
            "automatic thresholds differ from ns-2: min_th is at most a third of a given max_th, and max_th at least \
             one packet above a given min_th; in ns-2 they can cross",
            "use_mark_p differs from ns-2: it is off unless preset=ns2, so a high average drops all packets, and \
             below it ECT packets are always marked",
            "idle time differs from ns-2: polling an empty queue again does not restart it",
            "the test q <= 1 uses the unit of the thresholds, as in ns-2: in bytes it means an empty queue",
            "not implemented: ns-2's experimental cautious_ and idle_pktsize_, and drop_front_ and drop_rand_; the \
             arriving packet is dropped",
            "a buffer in bytes differs from ns-2: a packet must fit; ns-2 accepts it if any byte is free",
            "rule=paper differs from the paper: idle time starts when the link finds the queue empty, after the last \
             transmission",
            "rule=paper differs from the paper: byte mode scales by the mean packet size, not the largest",
            "rule=linux: as Linux 6.12 packet by packet with thresholds in bytes, a buffer in bytes and tc's parameters. \
             It draws one random number of 32 bits where the kernel does: when a gap between signals begins, that is at \
             the first arrival between the thresholds and after each random signal",
            "rule=linux: idle time, as in Linux, is read in microseconds from a table that tc computes in ticks of 64 ns",
            "rule=linux differs from Linux: max_p = 1 is 1 - 2^-32; in tc it becomes 0, and the kernel uses another p",
            "rule=linux differs from Linux: thresholds may also be in packets",
            "rule=linux differs from tc: adaptive is ared; bandwidth is the link's rate; limit is the link's buffer or \
             hard_limit",
            "rule=linux differs from tc: a burst that tc rejects counts as min_th",
            "rule=linux in fluid models is in floating point",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "rule=ns2 ecn=off min_th=auto max_th=auto max_p=0.1 w_q=auto auto_w=rtts mean_packet=500b \
                       gentle=on wait=on bytes=on idle=on harddrop=on nodrop=off use_mark_p=on mark_p=0.1",
            source: "ns-2.35 defaults: queue and drops in bytes, drops instead of marks",
        },
        Preset {
            name: "paper",
            settings: "rule=paper ecn=off min_th=5p max_th=15p max_p=0.02 w_q=0.002 gentle=off wait=off bytes=off \
                       idle=on harddrop=off nodrop=off use_mark_p=off",
            source: "Floyd, Jacobson 1993: Fig. 2, sections IV and VIII",
        },
        Preset {
            name: "linux",
            settings: "rule=linux ecn=off min_th=auto max_th=auto max_p=0.02 w_q=auto burst=auto gentle=off wait=off \
                       bytes=off idle=on harddrop=off nodrop=off use_mark_p=off",
            source: "Linux sch_red.c and red.h, tc's defaults; ecn=on, harddrop=on and nodrop=on are tc's flags",
        },
    ];

    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux",
        groups: &[red_tc::WORDS],
        needs: &["limit", "avpkt"],
        together: Some(red_tc::red),
        late: None,
    });
    fn spares_empty(params: &Params) -> bool {
        // ns-2's rule accepts an arrival at a queue of at most one packet.
        params.rule == Rule::Ns2
    }

    fn check(params: &Params) -> Result<(), String> {
        consistent(params)
    }

    fn build(params: &Params, link: &Link) -> Self {
        let kernel = (params.rule == Rule::Linux).then(|| Box::new(KernelRed::new(&auto::kernel(params, link))));
        Self { kernel, ..Self::new(params, TARGET_DELAY, Fixed, link) }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Self::build(params, link).after(self)
    }

    fn fluid(params: &Params, link: &Link) -> Option<Box<dyn BareLaw>> {
        let mut red = Self::build(params, link);
        let p = move |sample: &Sample| red.flow(sample.backlog(red.unit), sample.period.offered.pkts);
        Some(Box::new(Fluid::new(p)))
    }
}

probes! { Red {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.average();
    /// Base probability p_b of the latest arrival, before the spacing of signals.
    p ["1"] probability = |s| s.p();
    /// Packets since the last signal.
    count ["packets"] signed = |s| s.count();
} }

#[cfg(test)]
mod tests;
