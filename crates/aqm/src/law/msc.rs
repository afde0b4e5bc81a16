//! MSC: a rate on the large time scale sets the probability, the queue on the small one corrects it.
//!
//! The load rho of the last ts_l says which share of the traffic is too much: p_a = 1 - gamma/rho
//! would make admitted = gamma C. Every ts_s the mismatch of the queue is added to it, so bursts
//! meet more drops and lulls fewer; with gamma = 1 and rho > 1 the queue comes to rest at q_ref.

use crate::base::design::{About, Design, Preset};
use crate::base::ladder::{Actuation, Law, Sample, Trigger};
use crate::base::time::Span;
use crate::base::units::{Depth, Link};
use crate::{params, probes};

params! {
    /// Knobs of MSC.
    pub struct Params {
        /// Reference queue; its unit (packets or bytes) is that of Q.
        q_ref: Depth = Depth::Packets(40.0), in 1.0 ..= 1e9, "Qref", "section 4, experiments 1-3";
        /// Weight of the relative queue mismatch.
        alpha: f64 = 0.1, in 0.0 ..= 1.0, "alpha", "section 4 says 'a small value'; the listing starts at 1.0";
        /// Utilisation that the rate term aims at.
        gamma: f64 = 1.0, in 1e-3 ..= 1.0, "gamma", "section 4";
        /// Small time scale: time between two looks at the queue.
        ts_s: Span = Span::from_millis(10), in 1e-6 ..= 1e3, "ts_s", "section 3.3, example";
        /// Large time scale: time between two estimates of the rate; above the round-trip time.
        ts_l: Span = Span::from_millis(200), in 1e-6 ..= 1e4, "ts_l", "ours: the paper says 'greater than RTT'";
        /// Weight of the new rate sample.
        r_w: f64 = 0.5, in 1e-6 ..= 1.0, "r_w", "ours: not printed";
        /// p_a while the load does not exceed gamma.
        p_floor: f64 = 0.01, in 0.0 ..= 1.0, "p_a", "section 3.3: 0.01 as default, or zero";
        /// Let p_a rise from p_floor without the jump at rho = gamma.
        smooth_switch: bool = false, in 0.0 ..= 1.0, "", "ours";
    }
}

/// The clock that looks at the queue; it runs before the other, as in the listing.
const QUEUE_CLOCK: usize = 0;

/// Eq. (3): the share of load rho that gamma leaves over; `p_floor` where nothing is over.
fn rate_term(rho: f64, gamma: f64, p_floor: f64, smooth: bool) -> f64 {
    if rho <= gamma {
        return p_floor;
    }
    let over = 1.0 - gamma / rho;
    if smooth { over.max(p_floor) } else { over }
}

/// p_a corrected by the relative queue mismatch, kept a probability.
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
        summary: "multi-scale control: load sets the probability, the queue corrects it",
        source: "MSC (Multi-Scale Control), section 3.3; journal version Ji and Dong, JCST 2006",
        rule: "arrival:  every ts_s:  p_d = clamp(p_a + alpha (Q - Qref)/Qref, 0, 1)\n\
               \u{20}         every ts_l:  A = r_w bytes/dt + (1 - r_w) A;  rho = A/C;  bytes = 0\n\
               \u{20}                      p_a = 1 - gamma/rho if rho > gamma, else p_floor\n\
               \u{20}         bytes += size;  if u < p_d: mark or drop",
        deviations: &[
            "the listing starts with alpha = 1.0, the text asks for a 'small value': 0.1 here",
            "the listing tests rho <= 1 and takes 1 - 1/rho; the text's gamma is used in both",
            "the listing's test 0 < rho sends rho = 0 to 1 - 1/0; no traffic means p_floor here",
            "p_d is kept above 0 too; the listing only keeps it below 1",
            "A starts at C, as rho starts at 1; p_d is 0 until the first ts_s has passed",
            "smooth_switch=on (ours) makes p_a = max(p_floor, 1 - gamma/rho)",
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
            // Offered, not accepted: with what was let in, rho could never stay above gamma.
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
    /// Its part due to the rate.
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
    fn load_sets_the_rate_term() {
        // Experiment 1 with N = 300 offers 1.5 C: a third is too much, and q = q_ref takes it as it is.
        assert!((rate_term(1.5, 1.0, 0.01, false) - 1.0 / 3.0).abs() < 1e-15);
        assert!((drop_probability(1.0 / 3.0, 40.0, 40.0, 0.1) - 1.0 / 3.0).abs() < 1e-15);
        // gamma = 0.95 at rho = 1: 5 % are too much already.
        assert!((rate_term(1.0, 0.95, 0.01, false) - 0.05).abs() < 1e-15);
        assert_eq!(rate_term(0.0, 1.0, 0.01, false), 0.01);
    }

    #[test]
    fn jump_at_full_load_is_the_papers_and_optional() {
        // Just above gamma the paper's p_a falls from 0.01 to almost 0.
        assert_eq!(rate_term(1.0, 1.0, 0.01, false), 0.01);
        assert!(rate_term(1.001, 1.0, 0.01, false) < 0.001);
        assert_eq!(rate_term(1.001, 1.0, 0.01, true), 0.01);
        assert_eq!(rate_term(2.0, 1.0, 0.01, true), 0.5);
    }

    #[test]
    fn queue_term_stays_a_probability() {
        // alpha = 1 on an empty queue asks for p_a - 1; a queue of 3 q_ref for p_a + 2.
        assert_eq!(drop_probability(0.01, 0.0, 40.0, 1.0), 0.0);
        assert_eq!(drop_probability(0.01, 120.0, 40.0, 1.0), 1.0);
        assert!((drop_probability(0.01, 80.0, 40.0, 0.1) - 0.11).abs() < 1e-15);
    }

    #[test]
    fn new_rate_counts_one_queue_clock_later() {
        let mut msc = Msc::build(&Params::default(), &LINK);
        // 1.875 MB/s is capacity; 1.125 MB in 0.2 s is 3 C; half weight on A = C gives rho = 2.
        assert_eq!(msc.update(1, &sample(40.0, 1_125_000)), Actuation::bernoulli(0.0));
        assert!((msc.rho - 2.0).abs() < 1e-12);
        assert!((msc.p_a - 0.5).abs() < 1e-12);
        msc.update(QUEUE_CLOCK, &sample(40.0, 0));
        assert!((msc.p_d - 0.5).abs() < 1e-12);
        // Silence halves A at each large step: 2, 1, 1/2.
        msc.update(1, &sample(0.0, 0));
        msc.update(1, &sample(0.0, 0));
        assert!((msc.rho - 0.5).abs() < 1e-12 && msc.p_a == 0.01);
    }
}
