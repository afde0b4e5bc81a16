//! Nanoseconds for one enqueue and its dequeue, for every line of the registry.
//!
//! 1024 flows keep some 50 packets waiting; a rule that drops is offered up to twice the link's rate.
//! `cargo bench -- NAME..` runs only those. Best of several rounds, because a shared machine only ever adds time.

use std::time::Instant;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::testing::churn::Churn;
use forebay_aqm::{ENTRIES, Spec};

const ROUNDS: usize = 15;
const PACKETS: u64 = 200_000;

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    // Under `cargo test --benches` one short round shows that every line still runs.
    let (rounds, packets) = if std::env::args().any(|arg| arg == "--bench") { (ROUNDS, PACKETS) } else { (1, 1_000) };
    println!("{:<16} {:>12} {:>10} {:>8} {:>8}", "discipline", "ns/packet", "sent", "dropped", "marked");
    for entry in ENTRIES.iter().filter(|entry| named.is_empty() || named.iter().any(|name| name == entry.name)) {
        let spec = Spec::parse(entry.name).expect("a registered name with its defaults");
        let mut queue = spec.queue(Churn::LINK, Rng::stream(1, entry.name));
        let mut churn = Churn::default();
        churn.run(&mut queue, packets);
        let best = (0..rounds).map(|_| {
            let start = Instant::now();
            churn.run(&mut queue, packets);
            start.elapsed().as_nanos() as f64 / packets as f64
        });
        let best = best.fold(f64::INFINITY, f64::min);
        let tally = queue.port.tally();
        let share = |count: u64| format!("{:.1} %", 100.0 * count as f64 / tally.offered.pkts as f64);
        let dropped = tally.dropped_early.pkts + tally.dropped_overflow.pkts;
        println!(
            "{:<16} {best:>12.1} {:>10} {:>8} {:>8}",
            entry.name,
            share(tally.departed.pkts),
            share(dropped),
            share(tally.marked.pkts),
        );
    }
}
