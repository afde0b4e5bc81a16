//! AAQM: p rises by a fixed step while more packets arrive than depart, and falls by a fixed step otherwise.
//!
//! Once per period AAQM computes U, the packets that entered the queue divided by those that left it. There is no
//! target queue length. U is 1 while the queue stays empty and while it stays full, so there are two equilibria. With
//! equal steps and many flows the queue stays nearly full. With larger steps up it is nearly empty until many flows
//! fill it. The paper's threshold marker (eq. 18) is the parameter `th` of every discipline.

use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Actuation, Law, Sample};
use crate::base::port::Tally;
use crate::base::time::Span;
use crate::base::units::Link;
use crate::{params, probes};

params! {
    /// Parameters of AAQM.
    pub struct Params {
        /// Time between two steps.
        dt: Span = Span::from_millis(50), in 1e-6 ..= 1e4, "dt", "section 4.5 goes from 10 to 90 ms";
        /// Increase of p per period.
        p1: f64 = 0.001, in 0.0 ..= 1.0, "P_1", "ours: Table 1 is unreadable";
        /// Decrease of p per period.
        p2: f64 = 0.001, in 0.0 ..= 1.0, "P_2", "ours: Table 1 is unreadable";
        /// Value of U in a period with arrivals but no departure.
        u_when_no_departure: f64 = 1.0, in 0.0 ..= 1e9, "U", "section 4.4; its value is unreadable, 1 is neutral";
    }
}

/// Threshold of U: above it p rises, otherwise p falls.
const BALANCE: f64 = 1.0;

/// U: packets that entered the queue divided by packets that left it.
fn quotient(period: &Tally, u_when_no_departure: f64) -> f64 {
    match (period.accepted.pkts, period.departed.pkts) {
        (0, 0) => 0.0,
        (_, 0) => u_when_no_departure,
        (arrivals, departures) => arrivals as f64 / departures as f64,
    }
}

/// The new p after one period: p + p1 if U exceeds 1, else p - p2, clamped to 0..1.
fn step(p: f64, u: f64, p1: f64, p2: f64) -> f64 {
    if u > BALANCE { (p + p1).min(1.0) } else { (p - p2).max(0.0) }
}

/// State of AAQM.
#[derive(Clone)]
pub struct Aaqm {
    params: Params,
    p: f64,
    u: f64,
}

impl Design for Aaqm {
    type Params = Params;
    const ABOUT: About = About {
        summary: "p rises by a fixed step if more packets entered the queue than left it, else it falls",
        source: "AAQM (adaptive AQM for heterogeneous networks), sections 4.1-4.4; its symbols are unreadable, the \
                 rule is reconstructed",
        rule: "arrival:   if u < p: mark or drop;  what enters the queue: n_arr += 1\n\
               departure: n_dep += 1\n\
               every dt:  U = n_arr/n_dep;  n_dep = 0: U = u_when_no_departure;  both 0: U = 0\n\
               \u{20}          p = min(1, p + p1) if U > 1, else max(0, p - p2);  n_arr = n_dep = 0",
        deviations: &[
            "the paper's formulas are unreadable: p rising at U > 1 and falling at U = 1 is our reconstruction; if p \
             rose at U = 1 it would reach 1 on an uncongested link",
            "arrivals differ from one reading of section 4.2: we count packets that enter the queue; if packets \
             dropped by p counted too, U would exceed 1 whenever p > 0 and p would reach 1",
            "u_when_no_departure: the paper's value is unreadable; 1 is neutral",
            "dt, p1 and p2: Tables 1 and 2 are unreadable; our dt is within the printed range",
            "departures: a packet counts when its transmission begins",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off th=0.95 dt=50ms p1=0.001 p2=0.001 u_when_no_departure=1",
            source: "sections 4.4 and 5.3, the steps as in preset=figure",
        },
        Preset {
            name: "figure",
            settings: "dt=50ms p1=0.001 p2=0.001",
            source: "ours: with many flows the queue stays near the top of the buffer, as Fig. 15 shows",
        },
        Preset {
            name: "lowdelay",
            settings: "dt=10ms p1=0.002 p2=0.001",
            source: "ours: the queue is nearly empty and the link underused until many flows fill it",
        },
        Preset {
            name: "mid",
            settings: "dt=90ms p1=0.002 p2=0.001",
            source: "ours: between figure and lowdelay; the number of flows decides",
        },
    ];

    fn build(params: &Params, _: &Link) -> Self {
        Self { params: params.clone(), p: 0.0, u: 0.0 }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { p: self.p, u: self.u, ..Self::build(params, link) })
    }
}

impl Law for Aaqm {
    fn period(&self, _: usize) -> Span {
        self.params.dt
    }

    fn initial(&self) -> Actuation {
        Actuation::bernoulli(self.p)
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        self.u = quotient(&sample.period, self.params.u_when_no_departure);
        self.p = step(self.p, self.u, self.params.p1, self.params.p2);
        Actuation::bernoulli(self.p)
    }
}

probes! { Aaqm {
    /// Signal probability.
    p ["1"] probability = |s| s.p;
    /// Packets that entered divided by packets that left, in the last period.
    u ["1"] = |s| s.u;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::discipline::Signal;
    use crate::base::port::Count;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Rate};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(101), mean_packet: Bytes(1282) };

    fn period(accepted: u64, departed: u64) -> Tally {
        let count = |pkts| Count { pkts, bytes: 1282 * pkts };
        // Dropped packets count only as offered.
        Tally { offered: count(3 * accepted), accepted: count(accepted), departed: count(departed), ..Tally::default() }
    }

    #[test]
    fn quotient_is_defined_without_arrivals_or_departures() {
        assert_eq!(quotient(&period(49, 48), 1.0), 49.0 / 48.0);
        assert_eq!(quotient(&period(0, 48), 1.0), 0.0);
        assert_eq!(quotient(&period(5, 0), 1.0), 1.0);
        assert_eq!(quotient(&period(5, 0), 7.0), 7.0);
        assert_eq!(quotient(&period(0, 0), 7.0), 0.0);
    }

    #[test]
    fn p_rises_only_if_quotient_exceeds_one() {
        assert_eq!(step(0.5, 1.001, 0.25, 0.125), 0.75);
        assert_eq!(step(0.5, 1.0, 0.25, 0.125), 0.375);
        assert_eq!(step(0.5, 0.0, 0.25, 0.125), 0.375);
        assert_eq!(step(0.875, 2.0, 0.25, 0.125), 1.0);
        assert_eq!(step(0.0625, 0.5, 0.25, 0.125), 0.0);
    }

    #[test]
    fn p_reaches_one_after_1000_overloaded_periods() {
        let mut aaqm = Aaqm::build(&Params::default(), &LINK);
        let dt = aaqm.period(0);
        let sample =
            |period| Sample { now: Instant::ZERO, dt, link: LINK, backlog_pkts: 0.0, backlog_bytes: 0.0, period };
        assert_eq!(aaqm.initial(), Actuation::bernoulli(0.0));
        let after = (0..1000).map(|_| aaqm.update(0, &sample(period(60, 48)))).last();
        assert!(matches!(after.map(|a| a.signal), Some(Signal::Bernoulli(p)) if p > 0.999_999));
        // As many in as out, as at a full buffer: p falls, half as fast with half the step.
        aaqm.params.p2 = 0.0005;
        for _ in 0..1000 {
            aaqm.update(0, &sample(period(48, 48)));
        }
        assert!((aaqm.p - 0.5).abs() < 1e-9);
    }
}
