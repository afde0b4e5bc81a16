//! Seconds to solve MMPP/PH/1/L: the AAQM paper's four classes, 16 states, for rooms from 100 to 1000.
//!
//! Best of several rounds, because a shared machine only ever adds time.

use std::time::Instant;

use forebay_theory::mmpp::{Mmpp, Service, solve, threshold};

/// Packets per second: 10 Mb/s, 1282 bytes.
const SERVED: f64 = 975.04;
const ROUNDS: usize = 5;

fn main() {
    let classes = [
        ([0.5, 0.5], [260.0, 140.0]),
        ([0.8, 0.2], [250.0, 0.0]),
        ([1.0, 2.0], [360.0, 60.0]),
        ([5.0, 5.0], [320.0, 240.0]),
    ]
    .map(|(mean_s, rates)| Mmpp::two_state(mean_s, rates));
    let arrivals = Mmpp::together(&classes).expect("four classes");
    // Under `cargo test --benches` a small queue once shows that it still runs.
    let timed = std::env::args().any(|arg| arg == "--bench");
    let cases: &[(usize, usize)] = if timed { &[(1, 100), (4, 100), (1, 1000), (4, 1000)] } else { &[(2, 10)] };
    println!("{:>8} {:>6} {:>8} {:>10} {:>10}", "phases", "room", "states", "s", "mean, pkts");
    for &(phases, room) in cases {
        let service = Service::erlang(phases, SERVED);
        let (mut best, mut mean) = (f64::INFINITY, 0.0);
        for _ in 0..if timed { ROUNDS } else { 1 } {
            let begin = Instant::now();
            let found =
                solve(&arrivals, &service, room, |_, n| threshold(n, room, 0.95)).expect("a chain that reaches all");
            best = best.min(begin.elapsed().as_secs_f64());
            mean = found.mean();
        }
        println!("{phases:>8} {room:>6} {:>8} {best:>10.4} {mean:>10.3}", 16 * (1 + phases * room));
    }
}
