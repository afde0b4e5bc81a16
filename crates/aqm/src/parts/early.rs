//! RED as a machine that its relatives steer: average, curve, spacing, and what is done to packets.

use super::red_auto::{Known, packets_per_sec};
use super::red_curve::{Average, Curve};
use super::spacing::{Rule, Spacing, mean_spaced};
use crate::base::cx::Cx;
use crate::base::packet::{Ecn, Packet};
use crate::base::port::Level;
use crate::base::time::Instant;
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Reason, Verdict};

/// How it is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Thresholds and weight, given or automatic, and whose listing.
    pub known: Known,
    /// Probability at max_th.
    pub max_p: f64,
    /// Above max_th: up to 1 at twice that, or 1 at once.
    pub gentle: bool,
    /// After a signal none comes for 1/p_b packets.
    pub wait: bool,
    /// Time without packets lets the average decay.
    pub idle: bool,
    /// What a high average forces is a drop, of ECT packets too.
    pub harddrop: bool,
    /// With ECN on, packets that cannot be marked pass.
    pub nodrop: bool,
    /// ns-2's late rule: a high average forces nothing, and ECT packets are dropped from this p_b on.
    pub mark_p: Option<f64>,
}

/// ns-2 signals nothing to an arrival that meets no more than this, in the unit of the thresholds.
const SPARED: f64 = 1.0;

/// State of RED. Queue, average and thresholds share one unit.
#[derive(Clone)]
pub struct Early {
    config: Config,
    unit: Depth,
    /// The present curve; its owner may steer it.
    pub curve: Curve,
    average: Average,
    spacing: Spacing,
    /// ns-2: the gentle part keeps the max_p that it began with.
    gentle_p: Option<f64>,
    p_b: f64,
    p: f64,
}

impl Early {
    /// In front of an empty queue.
    pub fn new(config: Config, link: &Link) -> Self {
        let Config { known, max_p, gentle, wait, .. } = config;
        let (unit, max_th) = known.thresholds(link);
        let average = Average::new(known.weight((unit, max_th), link), packets_per_sec(link, known.mean_packet));
        Self {
            config,
            unit,
            curve: Curve::new(unit.value(), max_th, max_p, gentle),
            average,
            spacing: Spacing::new(known.rule, wait, known.bytes.then_some(known.mean_packet.0)),
            gentle_p: None,
            p_b: 0.0,
            p: 0.0,
        }
    }

    /// The same over the average that `before` has; none if that is in another unit.
    pub fn after(self, before: &Self) -> Option<Self> {
        let (average, spacing) = (self.average.after(&before.average), self.spacing.after(&before.spacing));
        let Self { gentle_p, p_b, p, .. } = *before;
        self.unit.is_like(before.unit).then_some(Self { average, spacing, gentle_p, p_b, p, ..self })
    }

    /// The gentle part stays as it is now, whatever becomes of max_p: ns-2.
    pub const fn freeze_gentle(&mut self) {
        self.gentle_p = Some(self.curve.max_p);
    }

    /// What becomes of an arrival. The average comes first; `steer` may then change the curve.
    #[inline(always)] // A call costs each arrival some two nanoseconds.
    pub fn arrival(
        &mut self,
        packet: &Packet,
        level: &Level,
        cx: &mut Cx,
        steer: impl FnOnce(&mut Curve, f64),
    ) -> Verdict {
        let u = cx.rng.uniform();
        let q = self.unit.measure(level);
        let avg = match self.config.known.rule {
            Rule::Ns2 => self.average.arrival(q, cx.now),
            Rule::Paper | Rule::Linux => self.average.arrival_or_decay(q, cx.now),
        };
        steer(&mut self.curve, avg);
        let p_b = self.base_probability(avg);
        self.p_b = p_b.unwrap_or(0.0);
        let p = p_b.filter(|_| q > SPARED || self.config.known.rule != Rule::Ns2);
        self.p = p.unwrap_or(0.0);
        if p.is_some() && self.is_forced(avg) {
            self.spacing.forced();
            return if self.config.harddrop { Verdict::Drop } else { self.signal(packet, level) };
        }
        if !self.spacing.arrival(p, packet.len, u) {
            return Verdict::Accept;
        }
        match self.config.mark_p {
            Some(mark_p) if self.p >= mark_p => Verdict::Drop,
            _ => self.signal(packet, level),
        }
    }

    /// The mean probability of a signal to a fluid of which so many packets came while `q` waited.
    pub fn flow(&mut self, q: f64, packets: u64) -> f64 {
        let avg = self.average.sample_many(q, packets as f64);
        match self.base_probability(avg) {
            None => 0.0,
            Some(_) if self.is_forced(avg) => 1.0,
            Some(p_b) => mean_spaced(p_b, self.config.wait),
        }
    }

    /// Inlined always: it is asked by packets and by fluids, and a call would cost each packet some nanoseconds.
    #[inline(always)]
    fn base_probability(&self, avg: f64) -> Option<f64> {
        match self.gentle_p {
            Some(max_p) if avg >= self.curve.max_th => self.curve.with(max_p).base_probability(avg),
            _ => self.curve.base_probability(avg),
        }
    }

    /// Is the average so high that every packet is signalled?
    #[inline(always)]
    fn is_forced(&self, avg: f64) -> bool {
        let Curve { max_th, gentle, .. } = self.curve;
        self.config.mark_p.is_none() && avg >= if gentle { 2.0 * max_th } else { max_th }
    }

    /// A signal, if `packet` is not to be spared by `nodrop`.
    fn signal(&self, packet: &Packet, level: &Level) -> Verdict {
        let marks_others = || level.marks(&Packet { ecn: Ecn::Ect0, ..*packet });
        if self.config.nodrop && !level.marks(packet) && marks_others() { Verdict::Accept } else { Verdict::Signal }
    }

    /// What really happened to a packet.
    #[inline]
    pub fn settled(&mut self, fate: Fate) {
        if fate == Fate::Dropped(Reason::Overflow) {
            self.spacing.overflowed();
        }
    }

    /// The queue has nothing to send.
    #[inline]
    pub fn emptied(&mut self, now: Instant) {
        if self.config.idle {
            self.average.emptied(now);
        }
    }

    /// The unit of the queue; its number is that of the first min_th.
    pub const fn unit(&self) -> Depth {
        self.unit
    }

    /// The average queue.
    pub const fn average(&self) -> &Average {
        &self.average
    }

    /// Base probability by the average alone, before anything spares an arrival.
    pub const fn p_b(&self) -> f64 {
        self.p_b
    }

    /// Base probability of the latest arrival, before it is spread.
    pub const fn p(&self) -> f64 {
        self.p
    }

    /// Probability of a signal to the latest arrival.
    pub const fn p_a(&self) -> f64 {
        self.spacing.p()
    }

    /// Packets since the last signal.
    pub const fn count(&self) -> f64 {
        self.spacing.count()
    }
}
