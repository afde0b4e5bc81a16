//! CPU time in ns of one enqueue and dequeue, for every registered discipline and every marker.
//!
//! 1024 flows keep a backlog of about 50 packets. A discipline that drops is offered up to twice the link's rate. The
//! threshold marker runs in front of drop-tail; the token bucket runs alone, without a queue.
//! `cargo bench -- NAME..` runs only these. The result is the best of several rounds, because load on a shared machine
//! only adds time.

use std::time::Instant;

use forebay_aqm::base::markers::MARKERS;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::testing::churn::Churn;
use forebay_aqm::testing::marked::Marked;
use forebay_aqm::{ENTRIES, Spec};

const ROUNDS: usize = 15;
const PACKETS: u64 = 200_000;

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let asked = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    // Under `cargo test --benches` one short round checks that every entry runs.
    let (rounds, packets) = if std::env::args().any(|arg| arg == "--bench") { (ROUNDS, PACKETS) } else { (1, 1_000) };
    println!("{:<16} {:>12} {:>10} {:>8} {:>8}", "discipline", "ns/packet", "sent", "dropped", "marked");
    for entry in ENTRIES.iter().filter(|entry| asked(entry.name)) {
        let spec = Spec::parse(entry.name).expect("a registered name with its defaults");
        let mut queue = spec.queue(Churn::LINK, Rng::stream(1, entry.name));
        let mut churn = Churn::default();
        let best = best(rounds, packets, || {
            churn.run(&mut queue, packets);
        });
        let tally = queue.port.tally();
        let share = |count: u64| percent(count as f64 / tally.offered.pkts as f64);
        let dropped = tally.dropped_early.pkts + tally.dropped_overflow.pkts;
        println!(
            "{:<16} {best:>12.1} {:>10} {:>8} {:>8}",
            entry.name,
            share(tally.departed.pkts),
            share(dropped),
            share(tally.marked.pkts),
        );
    }
    println!("{:<16} {:>12} {:>10} {:>8} {:>8}", "marker", "ns/packet", "out", "dropped", "marked");
    for marker in MARKERS.iter().filter(|marker| asked(marker.name)) {
        let mut marked = Marked::of(marker).expect("a load for every marker");
        let best = best(rounds, packets, || marked.run(packets));
        let shares = marked.shares();
        let [out, dropped, marked] = [shares.out, shares.dropped, shares.marked].map(percent);
        println!("{:<16} {best:>12.1} {out:>10} {dropped:>8} {marked:>8}", marker.name);
    }
}

/// Nanoseconds per packet in the best of `rounds`, after a warm-up round.
fn best(rounds: usize, packets: u64, mut round: impl FnMut()) -> f64 {
    round();
    let all = (0..rounds).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / packets as f64
    });
    all.fold(f64::INFINITY, f64::min)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
