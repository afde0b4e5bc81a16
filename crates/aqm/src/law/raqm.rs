//! RAQM: p changes exponentially with the excess input rate (Wang, Li, Hou, Sohraby, Tang).
//!
//! Once per period p is multiplied by exp(alpha (r - r0)), with r the filtered input rate. In the queue-dependent mode
//! each arrival is signalled with p q/q0. The gain alpha is static, or adaptive: a fraction of the bound
//! alpha_hat(r) = c(r/r0)/r0 of Theorem 1.

use alloc::string::{String, ToString};

use crate::base::design::{About, Design, Preset};
use crate::base::ladder::{ActOn, Actuation, Law, Sample, Signal};
use crate::base::params::{Auto, Value};
use crate::base::port::Tally;
use crate::base::text::{self, BadValue};
use crate::base::time::Span;
use crate::base::units::{Depth, Link, Rate};
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
        /// Reference queue of the queue-dependent mode.
        q0: Depth = Depth::Packets(50.0), in 1.0 ..= 1e9, "q_0", "section 3.1";
        /// Whether the queue scales p.
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
}

impl Raqm {
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
                       gamma=1 p_init=0.0002 p_min=0 c_max=8 kappa=0 rate_basis=offered carry=off",
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
        Self { r0, r: 0.0, m: FIRST_GAIN, p: params.p_init, measured: false, params: params.clone() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { r: self.r, m: self.m, p: self.p, measured: self.measured, ..Self::build(params, link) })
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
}

probes! { Raqm {
    /// Probability before scaling by the queue.
    p ["1"] probability = |s| s.p;
    /// Filtered input rate.
    r ["bit/s"] = |s| s.r * 8.0;
    /// Gain m = alpha r0.
    m ["1"] = |s| s.m;
} }

#[cfg(test)]
mod tests {
    use super::*;

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
    fn recovery_from_p_min_takes_24_periods() {
        // From 1e-6 at x = 1.2, m = 2, ln p grows 0.4 a period: 0.01 after 24 steps, not before 23.
        let after = |n| (0..n).fold(1e-6, |p, _| step(p, 2.0, 1.2, 1e-6));
        assert!(after(23) < 0.01 && after(24) > 0.01);
    }

    /// RAQM at 1 MB/s after periods of 1 s, each with its bytes and its queue in packets.
    fn after(settings: &str, periods: [(u64, f64); 2]) -> Raqm {
        use crate::base::port::Count;
        use crate::base::time::Instant;
        use crate::base::units::{Bytes, Limit};
        let link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };
        let mut raqm = Raqm::build(&crate::testing::by_hand::params(settings), &link);
        for (bytes, backlog_pkts) in periods {
            let period = Tally { offered: Count { pkts: 1, bytes }, ..Tally::default() };
            let (now, dt) = (Instant::ZERO, Span::from_millis(1000));
            raqm.update(0, &Sample { now, dt, link, backlog_pkts, backlog_bytes: 0.0, period });
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

    #[test]
    fn with_carry_queue_scales_p_in_every_period() {
        // The rate is r0 exactly, so that eq. (3) leaves p as it is.
        let after = |settings: &str, queues: [f64; 2]| after(settings, queues.map(|queue| (1_000_000, queue))).p;
        // 0.0002 x 75/50 x 25/50, and the listing's 0.0002.
        assert!((after("q0=50 f=0 alpha=2 carry=on", [75.0, 25.0]) - 1.5e-4).abs() < 1e-12);
        assert!((after("q0=50 f=0 alpha=2", [75.0, 25.0]) - 2e-4).abs() < 1e-12);
        assert!((after("f=0 alpha=2 carry=on mode=queue-independent", [75.0, 25.0]) - 2e-4).abs() < 1e-12);
        assert_eq!(after("f=0 alpha=2 carry=on p_min=0", [0.0, 90.0]), 0.0, "p stays 0");
    }

    #[test]
    fn p_saturates_at_bounds_and_recovers_from_1() {
        assert_eq!(step(0.5, 4.0, 100.0, 1e-6), 1.0);
        assert!(step(1.0, 2.0, 0.5, 1e-6) < 0.4);
        assert_eq!(step(1e-6, 2.0, 0.0, 1e-6), 1e-6);
    }
}
