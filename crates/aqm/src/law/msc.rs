//! MSC: the arrival rate sets the probability on a large time scale; the queue corrects it on a small one.
//!
//! Every ts_l the load rho (filtered arrival rate / C) gives the rate term p_a = 1 - gamma/rho. With this drop
//! probability the admitted rate is gamma C. Every ts_s the signal probability becomes p_a plus alpha times the
//! relative queue error (Q - Qref)/Qref, so it is higher in bursts. With gamma = 1 and rho > 1 the equilibrium queue is
//! q_ref.

use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Actuation, Law, Sample, Trigger};
use crate::base::time::Span;
use crate::base::units::{Depth, Link};
use crate::{params, probes};

params! {
    /// Parameters of MSC.
    pub struct Params {
        /// Reference queue length, in packets or bytes. The queue length Q is measured in the same unit.
        q_ref: Depth = Depth::Packets(40.0), in 1.0 ..= 1e9, "Qref", "section 4, experiments 1-3";
        /// Weight of the relative queue error.
        alpha: f64 = 0.1, in 0.0 ..= 1.0, "alpha", "section 4 says 'a small value'; the listing starts at 1.0";
        /// Target utilisation in the rate term p_a = 1 - gamma/rho.
        gamma: f64 = 1.0, in 1e-3 ..= 1.0, "gamma", "section 4";
        /// Small time scale: time between queue samples.
        ts_s: Span = Span::from_millis(10), in 1e-6 ..= 1e3, "ts_s", "section 3.3, example";
        /// Large time scale: time between rate estimates. It should exceed the round-trip time.
        ts_l: Span = Span::from_millis(200), in 1e-6 ..= 1e4, "ts_l", "ours: the paper says 'greater than RTT'";
        /// Weight of a new sample in the filtered arrival rate.
        r_w: f64 = 0.5, in 1e-6 ..= 1.0, "r_w", "ours: not printed";
        /// Value of p_a while the load is at most gamma.
        p_floor: f64 = 0.01, in 0.0 ..= 1.0, "p_a", "section 3.3: 0.01 as default, or zero";
        /// Makes p_a rise from p_floor without the jump at rho = gamma.
        smooth_switch: bool = false, in 0.0 ..= 1.0, "", "ours";
    }
}

/// Index of the update every ts_s, which uses the queue. If the update every ts_l, which measures the rate, is due at
/// the same time, it comes second, as in the paper's listing.
const QUEUE_CLOCK: usize = 0;

/// Eq. (3): the fraction of the load rho that exceeds gamma, 1 - gamma/rho; `p_floor` if there is no excess.
fn rate_term(rho: f64, gamma: f64, p_floor: f64, smooth: bool) -> f64 {
    if rho <= gamma {
        return p_floor;
    }
    let over = 1.0 - gamma / rho;
    if smooth { over.max(p_floor) } else { over }
}

/// p_a plus the weighted relative queue error, clamped to 0..1.
fn drop_probability(p_a: f64, q: f64, q_ref: f64, alpha: f64) -> f64 {
    (p_a + alpha * (q - q_ref) / q_ref).clamp(0.0, 1.0)
}

/// State of MSC. Rates in bytes per second.
#[derive(Clone)]
pub struct Msc {
    params: Params,
    rate: f64,
    rho: f64,
    p_a: f64,
    p_d: f64,
}

impl Design for Msc {
    type Params = Params;
    const ABOUT: About = About {
        summary: "multi-scale control: the load sets the probability, the queue corrects it",
        source: "MSC (Multi-Scale Control), section 3.3; journal version Ji and Dong, JCST 2006",
        rule: "arrival:  every ts_s:  p_d = clamp(p_a + alpha (Q - Qref)/Qref, 0, 1)\n\
               \u{20}         every ts_l:  A = r_w bytes/dt + (1 - r_w) A;  rho = A/C;  bytes = 0\n\
               \u{20}                      p_a = 1 - gamma/rho if rho > gamma, else p_floor\n\
               \u{20}         bytes += size;  if u < p_d: mark or drop",
        deviations: &[
            "alpha differs from the listing: its initial value is 1.0, but the text asks for a 'small value'; we take \
             0.1",
            "gamma differs from the listing: it tests rho <= 1 and computes 1 - 1/rho; we use the text's gamma in both",
            "a load of rho = 0 differs from the listing: it computes 1 - 1/0; without traffic we use p_floor",
            "p_d differs from the listing: it bounds p_d by 1 only; we bound it by 0 too",
            "initial values are ours: A starts at C, because rho starts at 1; p_d is 0 until the first ts_s has passed",
            "smooth_switch is ours: on gives p_a = max(p_floor, 1 - gamma/rho)",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off q_ref=40 alpha=0.1 gamma=1 ts_s=10ms ts_l=200ms r_w=0.5 p_floor=0.01 smooth_switch=off",
            source: "section 4; ts_l, r_w and the size of alpha are not printed and are ours",
        },
        Preset {
            name: "listing",
            settings: "ecn=off alpha=1 gamma=1 p_floor=0.01 smooth_switch=off",
            source: "section 3.3, the listing's initial values",
        },
        Preset {
            name: "exp4",
            settings: "q_ref=20 alpha=0.1 gamma=1 ts_s=10ms ts_l=200ms r_w=0.5 p_floor=0.01 smooth_switch=off",
            source: "section 4, experiment 4, with ECN and without; the rest as in preset=paper",
        },
        Preset { name: "zero", settings: "p_floor=0", source: "section 3.3: 'or zero'" },
        Preset { name: "smooth", settings: "smooth_switch=on", source: "ours" },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        Self { rate: link.rate.bytes_per_sec(), rho: 1.0, p_a: params.p_floor, p_d: 0.0, params: params.clone() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { rate: self.rate, rho: self.rho, p_a: self.p_a, p_d: self.p_d, ..Self::build(params, link) })
    }
}

impl Law for Msc {
    const CLOCKS: usize = 2;
    const TRIGGER: Trigger = Trigger::Arrival;

    fn period(&self, clock: usize) -> Span {
        if clock == QUEUE_CLOCK { self.params.ts_s } else { self.params.ts_l }
    }

    fn initial(&self) -> Actuation {
        Actuation::bernoulli(self.p_d)
    }

    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation {
        let Params { q_ref, alpha, gamma, r_w, p_floor, smooth_switch, .. } = self.params;
        if clock == QUEUE_CLOCK {
            self.p_d = drop_probability(self.p_a, sample.backlog(q_ref), q_ref.value(), alpha);
        } else {
            // Offered, not accepted: measured on accepted packets, rho could never stay above gamma.
            let measured = sample.period.offered.bytes as f64 / sample.dt.secs();
            self.rate = r_w * measured + (1.0 - r_w) * self.rate;
            self.rho = self.rate / sample.link.rate.bytes_per_sec();
            self.p_a = rate_term(self.rho, gamma, p_floor, smooth_switch);
        }
        Actuation::bernoulli(self.p_d)
    }
}

probes! { Msc {
    /// Signal probability.
    p ["1"] probability = |s| s.p_d;
    /// Rate term of the signal probability.
    p_a ["1"] probability = |s| s.p_a;
    /// Load: filtered arrival rate over capacity.
    rho ["1"] = |s| s.rho;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::port::{Count, Tally};
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Rate};

    const LINK: Link = Link { rate: Rate(15_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };

    fn sample(backlog_pkts: f64, offered_bytes: u64) -> Sample {
        let offered = Count { pkts: offered_bytes / 500, bytes: offered_bytes };
        Sample {
            now: Instant::ZERO,
            dt: Span::from_millis(200),
            link: LINK,
            backlog_pkts,
            backlog_bytes: backlog_pkts * 500.0,
            period: Tally { offered, ..Tally::default() },
        }
    }

    #[test]
    fn rate_term_is_the_excess_fraction_of_load() {
        // Experiment 1 with N = 300 offers 1.5 C: a third is in excess, and q = q_ref adds no correction.
        assert!((rate_term(1.5, 1.0, 0.01, false) - 1.0 / 3.0).abs() < 1e-15);
        assert!((drop_probability(1.0 / 3.0, 40.0, 40.0, 0.1) - 1.0 / 3.0).abs() < 1e-15);
        // gamma = 0.95 at rho = 1: 5 % are in excess.
        assert!((rate_term(1.0, 0.95, 0.01, false) - 0.05).abs() < 1e-15);
        assert_eq!(rate_term(0.0, 1.0, 0.01, false), 0.01);
    }

    #[test]
    fn parameter_smooth_switch_makes_rate_term_continuous() {
        // Just above gamma the paper's p_a falls from 0.01 to almost 0.
        assert_eq!(rate_term(1.0, 1.0, 0.01, false), 0.01);
        assert!(rate_term(1.001, 1.0, 0.01, false) < 0.001);
        assert_eq!(rate_term(1.001, 1.0, 0.01, true), 0.01);
        assert_eq!(rate_term(2.0, 1.0, 0.01, true), 0.5);
    }

    #[test]
    fn drop_probability_stays_between_0_and_1() {
        // With alpha = 1 an empty queue gives p_a - 1 and a queue of 3 q_ref gives p_a + 2, before clamping.
        assert_eq!(drop_probability(0.01, 0.0, 40.0, 1.0), 0.0);
        assert_eq!(drop_probability(0.01, 120.0, 40.0, 1.0), 1.0);
        assert!((drop_probability(0.01, 80.0, 40.0, 0.1) - 0.11).abs() < 1e-15);
    }

    /// The rate term p_a is computed every ts_l; the signal probability includes it from the next update of the queue
    /// on.
    #[test]
    fn new_rate_term_applies_at_next_queue_sample() {
        let mut msc = Msc::build(&Params::default(), &LINK);
        // 1.875 MB/s is capacity; 1.125 MB in 0.2 s is 3 C; half weight on A = C gives rho = 2.
        assert_eq!(msc.update(1, &sample(40.0, 1_125_000)), Actuation::bernoulli(0.0));
        assert!((msc.rho - 2.0).abs() < 1e-12);
        assert!((msc.p_a - 0.5).abs() < 1e-12);
        msc.update(QUEUE_CLOCK, &sample(40.0, 0));
        assert!((msc.p_d - 0.5).abs() < 1e-12);
        // Without traffic A halves at each large step: 2, 1, 1/2.
        msc.update(1, &sample(0.0, 0));
        msc.update(1, &sample(0.0, 0));
        assert!((msc.rho - 0.5).abs() < 1e-12 && msc.p_a == 0.01);
    }
}
