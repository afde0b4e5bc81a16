//! RAQM: p changes exponentially with the excess input rate (Wang, Li, Hou, Sohraby, Tang).
//!
//! Once per period p is multiplied by exp(alpha (r - r0)), with r the filtered input rate and r0 its target. In the
//! queue-dependent mode each arrival is signalled with p q/q0. The gain alpha is static, or adaptive: a fraction of the
//! bound alpha_hat(r) = c(x)/r0 of Theorem 1, with the function c of x = r/r0 (eq. 13). With the parameter phi, each
//! group of service classes (sub-aggregate) has its own target rate (expected rate) and p.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{ActOn, Actuation, Law, Sample, Signal};
use crate::base::packet::Packet;
use crate::base::params::{Auto, Off, PerClass, Value};
use crate::base::port::{Count, Tally};
use crate::base::text::{self, BadValue};
use crate::base::time::Span;
use crate::base::units::{Depth, Link, Rate};
use crate::base::verdict::{Fate, Reason};
use crate::{choice, params, probes};

choice! {
    /// Whether the queue length scales p.
    pub enum Mode {
        /// Eq. (12): p q/q0 at each arrival.
        QueueDependent = "queue-dependent",
        /// Eq. (3): p alone.
        QueueIndependent = "queue-independent",
    }
}

choice! {
    /// Which bytes count in the input rate.
    pub enum RateBasis {
        /// Every arrival: the paper's listing.
        Offered = "offered",
        /// Arrivals minus early drops.
        PostDrop = "post_drop",
        /// Packets that entered the buffer.
        Accepted = "accepted",
    }
}

choice! {
    /// Initial value of the rate filter.
    pub enum FilterStart {
        /// 0: the paper's listing.
        Zero = "zero",
        /// The rate of the first period.
        Sample = "sample",
    }
}

/// The gain: adaptive (eps alpha_hat) or static, given as m = alpha r0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gain {
    /// eps times the bound of Theorem 1, computed each period.
    Adaptive,
    /// m = alpha r0, dimensionless.
    Static(f64),
}

impl Value for Gain {
    const ACCEPTS: &'static str = "adaptive, or a number m = alpha*r0";
    const UNIT: &'static str = "1";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "adaptive" => Ok(Self::Adaptive),
            other => text::number(other).map(Self::Static).map_err(|_| BadValue::new(Self::ACCEPTS)),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Adaptive => "adaptive".to_string(),
            Self::Static(m) => m.to_string(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Adaptive => None,
            Self::Static(m) => Some(*m),
        }
    }
}

params! {
    /// Parameters of RAQM.
    pub struct Params {
        /// Reference queue length of the queue-dependent mode.
        q0: Depth = Depth::Packets(50.0), in 1.0 ..= 1e9, "q_0", "section 3.1";
        /// Whether the queue length scales p.
        mode: Mode = Mode::QueueDependent, in 0.0 ..= 1.0, "", "section 2.3";
        /// Gain as m = alpha r0 (stable for 0 < m < 4), or adaptive.
        alpha: Gain = Gain::Adaptive, in 1e-6 ..= 4.0, "alpha r_0", "section 2.4";
        /// Adaptive gain as a fraction of the bound alpha_hat; 0.5 converges fastest.
        eps: f64 = 0.5, in 1e-6 ..= 1.0, "epsilon", "section 2.4 says close to 1, which oscillates";
        /// Measurement period.
        period: Span = Span::from_millis(1000), in 1e-6 ..= 1e4, "T", "section 3";
        /// Weight of the old rate in the filter.
        f: f64 = 0.1, in 0.0 ..= 0.999, "f", "section 3";
        /// Initial value of the filter: 0, or the rate of the first period.
        r_init: FilterStart = FilterStart::Zero, in 0.0 ..= 1.0, "r(0)", "Fig. 1; sample is ours";
        /// Target input rate; auto: gamma C.
        r0: Auto<Rate> = Auto::Auto, in 1.0 ..= 1e15, "r_0", "section 2.1: C or gamma C";
        /// Expected rate of each group of classes (sub-aggregate) as a fraction of r0: 0.4/0.6. Class i is in group i
        /// modulo their number. off: all classes are one group.
        phi: Off<PerClass> = Off::Off, in 1e-6 ..= 1.0, "", "section 4: 'different expected rate value'";
        /// Fraction of the link's capacity used as r0 if r0=auto.
        gamma: f64 = 1.0, in 1e-3 ..= 1.0, "gamma", "section 2.1; 1 in section 3";
        /// Probability before the first period ends.
        p_init: f64 = 2e-4, in 0.0 ..= 1.0, "p_0", "Fig. 1";
        /// Smallest probability. It must exceed 0 for p to recover, because p changes by factors.
        p_min: f64 = 1e-6, in 0.0 ..= 1.0, "", "ours";
        /// Upper bound of c(x), and its value where c is infinite or undefined (x = 0 and x >= 2).
        c_max: f64 = 8.0, in 4.0 ..= 1e3, "", "ours: c at x = 0.042";
        /// Gain on the queue error, in 1/s: the target rate becomes r0 + kappa (q0 - q); 0 disables it.
        kappa: f64 = 0.0, in 0.0 ..= 1e3, "kappa", "ours: not in the paper";
        /// Which bytes count in the input rate.
        rate_basis: RateBasis = RateBasis::Offered, in 0.0 ..= 1.0, "", "Fig. 1 counts every arrival";
        /// Whether a period continues from p q/q0 of the previous one instead of from p.
        carry: bool = false, in 0.0 ..= 1.0, "", "Fig. 1 continues from p; section 2 can be read otherwise";
    }
}

/// m = alpha r0 of the first period, before any rate is known (section 3).
const FIRST_GAIN: f64 = 2.0;
/// Largest absolute exponent of one period: p changes by at most the factor e^5. The bound is not in the paper.
const EXPONENT_LIMIT: f64 = 5.0;

/// c(x) of eq. (13): 2 ln((2-x)/x)/(1-x) = 4 atanh(e)/e with e = 1-x; `cap` where that is larger or undefined.
pub fn c(x: f64, cap: f64) -> f64 {
    let e = (1.0 - x).abs();
    if e >= 1.0 {
        return cap;
    }
    let c = if e < 0.1 { 4.0 * (1.0 + e * e * (1.0 / 3.0 + e * e / 5.0)) } else { 4.0 * libm::atanh(e) / e };
    c.min(cap)
}

/// Eq. (3) with x = r/r0 and m = alpha r0: p exp(m (x - 1)), clamped to [p_min, 1].
pub fn step(p: f64, m: f64, x: f64, p_min: f64) -> f64 {
    let exponent = (m * (x - 1.0)).clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT);
    (p * libm::exp(exponent)).clamp(p_min, 1.0)
}

/// State of RAQM. Rates in bytes per second.
#[derive(Clone)]
pub struct Raqm {
    params: Params,
    r0: f64,
    r: f64,
    m: f64,
    p: f64,
    measured: bool,
    /// The sub-aggregates; empty if all flows are one aggregate.
    parts: Vec<Part>,
}

/// A sub-aggregate (section 4): its rate is measured and its probability computed separately.
#[derive(Clone)]
struct Part {
    law: Raqm,
    actuation: Actuation,
    period: Tally,
}

impl Part {
    /// A sub-aggregate with the expected rate phi r0, and with kappa times phi: relative to its rate, the gain on the
    /// queue error is the same.
    fn new(whole: &Raqm, phi: f64) -> Self {
        let params = Params { phi: Off::Off, kappa: phi * whole.params.kappa, ..whole.params.clone() };
        let law = Raqm { r0: phi * whole.r0, params, ..whole.clone() };
        Self { actuation: law.actuation(), law, period: Tally::default() }
    }

    /// This sub-aggregate with the state of `old`.
    fn after(&self, old: &Self) -> Self {
        Self { law: self.law.resumed(&old.law), actuation: old.actuation, period: old.period }
    }
}

impl Raqm {
    /// This law with the state of `old`.
    fn resumed(&self, old: &Self) -> Self {
        let parts = self.parts.iter().zip(&old.parts).map(|(part, old)| part.after(old)).collect();
        Self { r: old.r, m: old.m, p: old.p, measured: old.measured, parts, ..self.clone() }
    }

    /// The index of the sub-aggregate of a class; `None` if all flows are one aggregate.
    #[inline]
    fn part(&self, class: u8) -> Option<usize> {
        usize::from(class).checked_rem(self.parts.len())
    }

    fn bytes(&self, period: &Tally) -> f64 {
        (match self.params.rate_basis {
            RateBasis::Offered => period.offered,
            RateBasis::PostDrop => period.post_drop(),
            RateBasis::Accepted => period.accepted,
        })
        .bytes as f64
    }

    fn actuation(&self) -> Actuation {
        let signal = match self.params.mode {
            Mode::QueueIndependent => Signal::Bernoulli(self.p),
            Mode::QueueDependent => Signal::Scaled { p: self.p, q0: self.params.q0 },
        };
        Actuation { signal, per_byte: None, act_on: ActOn::Arrival }
    }
}

impl Design for Raqm {
    type Params = Params;
    const ABOUT: About = About {
        summary: "rate-based: p changes exponentially with the input rate, scaled by the queue",
        source: "Wang, Li, Hou, Sohraby, Tang: Design and Analysis of a Rate-based Algorithm for AQM",
        rule: "every period:  r = (1-f) I/T + f r;  p = clamp(p exp(alpha (r - r0)), p_min, 1);  I = 0\n\
               carry=on:      p q/q0 in place of p on the right\n\
               phi:           the same for each sub-aggregate i, with r_i, p_i and phi_i r0 in place of r, p and r0\n\
               arrival:       I += size;  if u < p (q/q0 in the queue-dependent mode): mark or drop\n\
               alpha:         m/r0, or eps c(r/r0)/r0 with c(x) = 2 ln((2-x)/x)/(1-x)",
        deviations: &[
            "the update differs from the listing, which omits alpha in exp(mismatch): we use alpha, as in eq. (3)",
            "the function c(x) differs from the paper: it is capped at c_max; the paper leaves it undefined for x <= \
             0 and x >= 2",
            "the exponent of one period differs from the paper: it is limited to -5..5",
            "p_min differs from the listing (p_min=0): it keeps p above 0, because p changes by factors and cannot \
             leave 0",
            "eps differs from the paper: the default 0.5 converges fastest; the paper's 'close to 1' (preset=paper: \
             0.9) oscillates",
            "kappa is ours; raqm_plus sets it",
            "phi is section 4's extension to sub-aggregates, of which the paper gives no details: each has its own rate, \
             gain and p, with r0 = phi_i r0; all share the queue and q0. The number of values is the number of \
             sub-aggregates, at most 32",
            "rate_basis other than offered is ours; raqm_plus uses post_drop",
            "carry=on differs from the listing: the p of eq. (12), scaled by the queue at the end of a period, is the \
             p_(k-1) of eq. (3); section 2 says that the queue refines p 'more each time'. With p_min=0 an empty queue \
             makes p 0 for ever",
            "r_init=sample is ours: it starts the filter with the first sample; the listing's r = 0 makes r too low by \
             the fraction f in the first period, which lowers p",
            "rate_basis=offered is the listing: once p has saturated at 1, the queue settles at q0 times the drop \
             ratio, not at q0",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off q0=50 mode=queue-dependent alpha=adaptive eps=0.9 period=1s f=0.1 r_init=zero r0=auto \
                       phi=off gamma=1 p_init=0.0002 p_min=0 c_max=8 kappa=0 rate_basis=offered carry=off",
            source: "section 3 and Fig. 1; the paper says eps is 'smaller than 1 but close to 1'; c_max is ours",
        },
        Preset {
            name: "plus",
            settings: "rate_basis=post_drop alpha=2 kappa=5",
            source: "ours: counts packets that pass early drops, and pulls towards q0",
        },
        Preset {
            name: "fast",
            settings: "p_min=0.0002",
            source: "ours: p never falls below its initial value, so it recovers fast",
        },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        let r0 = match params.r0 {
            Auto::Given(rate) => rate.bytes_per_sec(),
            Auto::Auto => params.gamma * link.rate.bytes_per_sec(),
        };
        let (m, p, measured, parts) = (FIRST_GAIN, params.p_init, false, Vec::new());
        let whole = Self { r0, r: 0.0, m, p, measured, parts, params: params.clone() };
        let parts = match &params.phi {
            Off::Off => Vec::new(),
            Off::At(phi) => phi.values().iter().map(|&phi| Part::new(&whole, phi)).collect(),
        };
        Self { parts, ..whole }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        (fresh.parts.len() == self.parts.len()).then(|| fresh.resumed(self))
    }

    fn has_classes(params: &Params) -> bool {
        params.phi != Off::Off
    }
}

impl Law for Raqm {
    fn period(&self, _: usize) -> Span {
        self.params.period
    }

    fn initial(&self) -> Actuation {
        self.actuation()
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        for part in &mut self.parts {
            let period = core::mem::take(&mut part.period);
            part.actuation = part.law.update(0, &Sample { period, ..*sample });
        }
        if let Some(Part { law, actuation, .. }) = self.parts.first() {
            (self.r, self.m, self.p) = (law.r, law.m, law.p);
            return *actuation;
        }
        let Params { f, alpha, eps, c_max, p_min, kappa, q0, mode, carry, .. } = self.params;
        let measured = self.bytes(&sample.period) / sample.dt.secs();
        if !self.measured && self.params.r_init == FilterStart::Sample {
            self.r = measured;
        }
        self.r = (1.0 - f) * measured + f * self.r;
        let x = self.r / self.r0;
        self.m = match alpha {
            Gain::Static(m) => m,
            Gain::Adaptive if !self.measured => FIRST_GAIN,
            Gain::Adaptive => eps * c(x, c_max),
        };
        self.measured = true;
        // raqm_plus: the target r0 + kappa (q0 - q), as a fraction of r0 in q0's own unit.
        let unit = match q0 {
            Depth::Packets(_) => sample.link.mean_packet.0 as f64,
            Depth::Bytes(_) => 1.0,
        };
        let pull = kappa * (q0.value() - sample.backlog(q0)) / (self.r0 / unit);
        let scale = if carry && mode == Mode::QueueDependent { sample.backlog(q0) / q0.value() } else { 1.0 };
        self.p = step((self.p * scale).min(1.0), self.m, x - pull, p_min);
        self.actuation()
    }

    #[inline]
    fn of_class(&self, class: u8) -> Option<&Actuation> {
        self.part(class).map(|part| &self.parts[part].actuation)
    }

    #[inline]
    fn count(&mut self, packet: &Packet, fate: Fate) {
        let Some(part) = self.part(packet.class) else { return };
        let period = &mut self.parts[part].period;
        let one = Count { pkts: 1, bytes: u64::from(packet.len) };
        match fate {
            Fate::Delivered { .. } => return,
            Fate::Queued { .. } => period.accepted = period.accepted.plus(one),
            Fate::Dropped(Reason::Overflow) => {}
            Fate::Dropped(Reason::Early | Reason::Marker) => period.dropped_early = period.dropped_early.plus(one),
        }
        period.offered = period.offered.plus(one);
    }
}

probes! { Raqm {
    /// Signal probability before scaling by the queue. With the parameter phi: of the first
    /// group of classes.
    p ["1"] probability = |s| s.p;
    /// Filtered input rate. With the parameter phi: of the first group of classes.
    r ["bit/s"] = |s| s.r * 8.0;
    /// Gain m = alpha r0. With the parameter phi: of the first group of classes.
    m ["1"] = |s| s.m;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    use crate::base::adapters::{Fifo, Ticked};
    use crate::base::host::Queue;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit};

    #[test]
    fn factor_c_of_eq_13_matches_hand_calculation() {
        for (x, want) in [(0.1, 6.543), (0.5, 4.394_449), (0.9, 4.0134), (0.99, 4.00013), (1.0, 4.0)] {
            assert!((c(x, 1e3) - want).abs() < 5e-4, "c({x}) = {}", c(x, 1e3));
            assert!((c(2.0 - x, 1e3) - c(x, 1e3)).abs() < 6e-7, "symmetry at {x}, up to the series' end");
        }
        assert!((c(0.5, 1e3) - 4.0 * libm::log(3.0)).abs() < 1e-12);
        assert_eq!(c(0.0, 8.0), 8.0);
        assert_eq!(c(2.5, 8.0), 8.0);
        // The series up to e^4 is within 4 e^6/7 of atanh at the switch-over.
        assert!((c(1.0 - 0.0999, 8.0) - 4.0 * libm::atanh(0.0999) / 0.0999).abs() < 6e-7);
    }

    #[test]
    fn p_grows_exponentially_from_its_minimum() {
        // From 1e-6 at x = 1.2, m = 2, ln p grows 0.4 a period: 0.01 after 24 steps, not before 23.
        let after = |n| (0..n).fold(1e-6, |p, _| step(p, 2.0, 1.2, 1e-6));
        assert!(after(23) < 0.01 && after(24) > 0.01);
    }

    /// RAQM at 1 MB/s after periods of 1 s, each with its bytes and its queue in packets.
    fn after(settings: &str, periods: [(u64, f64); 2]) -> Raqm {
        let mut raqm = Raqm::build(&crate::testing::by_hand::params(settings), &LINK);
        for (bytes, backlog_pkts) in periods {
            let period = Tally { offered: Count { pkts: 1, bytes }, ..Tally::default() };
            let (now, dt) = (Instant::ZERO, Span::from_millis(1000));
            raqm.update(0, &Sample { now, dt, link: LINK, backlog_pkts, backlog_bytes: 0.0, period });
        }
        raqm
    }

    #[test]
    fn rate_filter_starts_at_zero_or_first_sample() {
        let after = |settings: &str, bytes: [u64; 2]| {
            let raqm = after(settings, bytes.map(|bytes| (bytes, 0.0)));
            (raqm.r, raqm.r0)
        };
        // f = 0.1: 0.9 x 1 MB/s, then 0.9 x 2 + 0.1 x 0.9; with r_init=sample 1, then 0.9 x 2 + 0.1 x 1.
        let near = |(r, r0): (f64, f64), want: (f64, f64)| (r - want.0).abs() < 1e-6 && r0 == want.1;
        assert!(near(after("", [1_000_000, 2_000_000]), (1_890_000.0, 1e6)));
        assert!(near(after("r_init=sample", [1_000_000, 2_000_000]), (1_900_000.0, 1e6)));
        assert!(near(after("r_init=sample gamma=0.75", [1_000_000, 1_000_000]), (1_000_000.0, 7.5e5)));
        assert!(near(after("r0=4mbit gamma=0.75 f=0", [1_000_000, 8]), (8.0, 5e5)));
    }

    /// With `carry=on` the new p of a period is computed from the p that eq. (12) has scaled by q/q0, the queue over
    /// its target; otherwise from the p before this scaling.
    #[test]
    fn parameter_carry_lets_queue_scale_p_each_period() {
        // The rate is r0 exactly, so that eq. (3) leaves p as it is.
        let after = |settings: &str, queues: [f64; 2]| after(settings, queues.map(|queue| (1_000_000, queue))).p;
        // 0.0002 x 75/50 x 25/50, and the listing's 0.0002.
        assert!((after("q0=50 f=0 alpha=2 carry=on", [75.0, 25.0]) - 1.5e-4).abs() < 1e-12);
        assert!((after("q0=50 f=0 alpha=2", [75.0, 25.0]) - 2e-4).abs() < 1e-12);
        assert!((after("f=0 alpha=2 carry=on mode=queue-independent", [75.0, 25.0]) - 2e-4).abs() < 1e-12);
        assert_eq!(after("f=0 alpha=2 carry=on p_min=0", [0.0, 90.0]), 0.0, "p stays 0");
    }

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };

    /// RAQM at 1 MB/s after a period of 1 s in which packets of these classes and lengths had these fates.
    fn counted(settings: &str, packets: &[(u8, u32, Fate)]) -> Raqm {
        let mut raqm = Raqm::build(&crate::testing::by_hand::params(settings), &LINK);
        packets.iter().for_each(|&(class, len, fate)| {
            raqm.count(&Packet { class, len, ..Packet::default() }, fate);
        });
        end_period(&mut raqm);
        raqm
    }

    fn end_period(raqm: &mut Raqm) {
        let (now, dt, period) = (Instant::ZERO, Span::from_millis(1000), Tally::default());
        raqm.update(0, &Sample { now, dt, link: LINK, backlog_pkts: 0.0, backlog_bytes: 0.0, period });
    }

    /// p of each class.
    fn of_classes<const N: usize>(raqm: &Raqm, classes: [u8; N]) -> [f64; N] {
        classes.map(|class| match raqm.of_class(class).map(|actuation| actuation.signal) {
            Some(Signal::Scaled { p, .. } | Signal::Bernoulli(p)) => p,
            None => f64::NAN,
        })
    }

    const QUEUED: Fate = Fate::Queued { marked: false };

    #[test]
    fn each_sub_aggregate_follows_its_expected_rate() {
        // Classes 0 and 2 send 375 kB/s of expected 250, class 1 sends 675 of 750; m = 2.
        let packets = [(0, 300_000, QUEUED), (1, 675_000, QUEUED), (2, 75_000, QUEUED)];
        let mut raqm = counted("phi=0.25/0.75 f=0 alpha=2", &packets);
        let near = |got: [f64; 4], want: [f64; 4]| {
            assert!(got.iter().zip(want).all(|(got, want)| (got / want - 1.0).abs() < 1e-12), "{got:?}, not {want:?}");
        };
        let [over, under] = [2e-4 * libm::exp(1.0), 2e-4 * libm::exp(-0.2)];
        near(of_classes(&raqm, [0, 1, 2, 3]), [over, under, over, under]);
        assert_eq!((raqm.p, raqm.r), (raqm.parts[0].law.p, 375_000.0));
        // Both send nothing in the next period: x = 0.
        end_period(&mut raqm);
        let [over, under] = [over, under].map(|p| p * libm::exp(-2.0));
        near(of_classes(&raqm, [0, 1, 2, 3]), [over, under, over, under]);
        // The gain on the queue error is in relation to each rate: 5 x 50 packets/s of 2000, so x + 0.125 less.
        let raqm = counted("phi=0.25/0.75 f=0 alpha=2 kappa=5", &packets);
        let [over, under] = [2e-4 * libm::exp(0.75), 2e-4 * libm::exp(-0.45)];
        near(of_classes(&raqm, [0, 1, 2, 3]), [over, under, over, under]);
    }

    #[test]
    fn rate_basis_selects_packets_counted_per_sub_aggregate() {
        let fates = [QUEUED, Fate::Dropped(Reason::Early), Fate::Dropped(Reason::Overflow)];
        let packets = [(0, 250_000, fates[0]), (0, 125_000, fates[1]), (0, 50_000, fates[2])];
        let left = (0, 999, Fate::Delivered { marked: false });
        for (basis, bytes) in [("offered", 425_000.0), ("post_drop", 300_000.0), ("accepted", 250_000.0)] {
            let raqm = counted(&format!("phi=0.25/0.75 f=0 rate_basis={basis}"), &[&packets[..], &[left]].concat());
            assert_eq!(raqm.parts[0].law.r, bytes, "{basis}");
        }
    }

    #[test]
    fn only_sub_aggregate_above_rate_is_dropped() {
        let settings = "phi=0.5/0.5 mode=queue-independent alpha=4 f=0 p_init=0.5 p_min=0";
        let mut queue: Queue<Fifo<Ticked<Raqm>>> = {
            let raqm = Raqm::build(&crate::testing::by_hand::params(settings), &LINK);
            Queue::new(Fifo::new(Ticked::new(raqm)), LINK, false, Rng::stream(1, "queue"))
        };
        // Class 0 sends 1 MB/s of expected 0.5 for 4 s: p is 0.5 e^4, limited to 1. That of class 1 is 0.5 e^-16.
        for second in 0..4_u64 {
            let at = |ms: u64| Instant::from_nanos((1000 * second + ms) * 1_000_000);
            queue.arrive(Packet { len: 1_000_000, ..Packet::default() }, at(1));
            queue.depart(at(2));
            queue.tick(at(1000));
        }
        let mut arrives = |class| {
            queue.arrive(Packet { len: 500, class, ..Packet::default() }, Instant::from_nanos(4_000_000_001));
            queue.port.pkts()
        };
        assert_eq!([0, 1, 0, 1, 1].map(&mut arrives), [0, 1, 1, 2, 3]);
    }

    #[test]
    fn new_expected_rates_keep_each_sub_aggregates_p() {
        let raqm = counted("phi=0.25/0.75 f=0 alpha=2", &[(0, 375_000, QUEUED), (1, 675_000, QUEUED)]);
        let retuned = |settings: &str| raqm.retuned(&crate::testing::by_hand::params(settings), &LINK);
        let new = retuned("phi=0.5/0.5").unwrap();
        assert_eq!(of_classes(&new, [0, 1]), of_classes(&raqm, [0, 1]));
        let [old, new] = [raqm.clone(), new].map(|raqm| raqm.parts.into_iter().map(|part| (part.law.r, part.law.r0)));
        assert!(old.eq([(375_000.0, 250_000.0), (675_000.0, 750_000.0)]));
        assert!(new.eq([(375_000.0, 500_000.0), (675_000.0, 500_000.0)]));
        assert!(retuned("phi=0.2/0.3/0.5").is_none() && retuned("").is_none());
    }

    #[test]
    fn p_saturates_at_bounds_and_recovers_from_1() {
        assert_eq!(step(0.5, 4.0, 100.0, 1e-6), 1.0);
        assert!(step(1.0, 2.0, 0.5, 1e-6) < 0.4);
        assert_eq!(step(1e-6, 2.0, 0.0, 1e-6), 1e-6);
    }
}
