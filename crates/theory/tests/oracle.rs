//! SciPy and python-control give the same values. `validation/theory/oracle.py` wrote theirs to
//! `validation/theory/oracle.txt`; `cargo xtask test` runs it again if both are installed.

use forebay_theory::dde::Past;
use forebay_theory::mmpp::{Mmpp, Service, solve};
use forebay_theory::nyquist;
use forebay_theory::tcp_loop::{Flows, TcpLoop};
use num_complex::Complex64;

const RECORD: &str = include_str!("../../../validation/theory/oracle.txt");

/// The recorded values under a name of two words.
fn record(name: &str) -> Vec<f64> {
    let line = RECORD.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let figures = line.unwrap_or_else(|| panic!("no {name}"))[name.len()..].split_whitespace();
    figures.map(|figure| figure.parse().unwrap()).collect()
}

/// All values are within this relative distance of the recorded ones.
fn agree(name: &str, found: &[f64], part: f64) {
    let want = record(name);
    assert_eq!(found.len(), want.len(), "{name}");
    for (found, want) in found.iter().zip(&want) {
        assert!((found / want - 1.0).abs() < part, "{name}: {found} for {want}");
    }
}

/// p += a (q - ref) - b (before - ref) every 1/160 s, held in between.
fn pi(w: f64) -> Complex64 {
    const PERIOD: f64 = 1.0 / 160.0;
    let late = Complex64::from_polar(1.0, -w * PERIOD);
    (1.857e-5 - 1.851e-5 * late) / Complex64::new(0.0, w * PERIOD)
}

/// Compares gain margin, phase margin and crossover. python-control read its values from a table of 40,000 frequencies,
/// so the tolerance is 0.1 %.
#[test]
fn margins_with_exact_delays_equal_python_control() {
    let loops: [(&str, &[(f64, f64)]); 4] = [
        ("pi-60", &[(60.0, 0.246)]),
        ("pi-40", &[(40.0, 0.246)]),
        ("pi-200", &[(200.0, 0.15)]),
        ("pi-unequal", &[(30.0, 0.2), (30.0, 0.35)]),
    ];
    for (name, flows) in loops {
        let flows = flows.iter().map(|&(count, rtt_s)| Flows { count, rtt_s }).collect();
        let plant = TcpLoop { capacity: 3750.0, drops: false, flows };
        let near = plant.near();
        let found = nyquist::margins(&|w| pi(w) * near.answer(w).queue, 1, 1e-4, 1e3);
        assert!(found.is_stable(), "{name}");
        let figures = [found.gain, found.phase_deg, found.crossover].map(Option::unwrap);
        agree(&format!("margins {name}"), &figures, 1e-3);
    }
}

/// Compares the mean number of packets in the system, and the loss. Both are exact except for rounding.
#[test]
fn mmpp_queues_equal_scipy_solutions() {
    let cases = [
        ("queue m-m-1-10", [1.0, 1.0], [0.8, 0.8], 1, 1.0, 10),
        ("queue mmpp-e2-1-20", [0.5, 0.7], [260.0, 140.0], 2, 250.0, 20),
        ("queue mmpp-e4-1-60", [2.0, 3.0], [500.0, 40.0], 4, 250.0, 60),
    ];
    for (name, mean_s, rates, phases, per_second, limit) in cases {
        let arrivals = Mmpp::two_state(mean_s, rates);
        let found = solve(&arrivals, &Service::erlang(phases, per_second), limit, |_, _| 0.0).unwrap();
        agree(name, &[found.mean(), found.loss(0)], 1e-7);
    }
}

/// Compares the final state. The step is a 200th of the delay: the error is proportional to the step's fourth power.
#[test]
fn trajectories_with_delay_match_scipy() {
    const LAG: usize = 200;
    let mut linear = Past::resting(&[1.0], 1.0, LAG);
    (0..10 * LAG).for_each(|_| linear.step(&|_, then, out| out[0] = -1.5 * then[0]));
    agree("delayed linear", linear.now(), 1e-6);
    let (n, c, r) = (60.0, 3750.0, 0.246);
    let mut tcp = Past::resting(&[15.0, 150.0], r, LAG);
    for _ in 0..20 * LAG {
        tcp.step(&|now, then, out| {
            let p = ((then[1] - 100.0) * 1e-4).clamp(0.0, 1.0);
            (out[0], out[1]) = (1.0 / r - now[0] * then[0] / (2.0 * r) * p, n * now[0] / r - c);
        });
    }
    agree("delayed tcp", tcp.now(), 1e-6);
}
