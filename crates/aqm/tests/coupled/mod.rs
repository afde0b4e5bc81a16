//! Helpers for the tests of RFC 9331 and RFC 9332: DualQ Coupled AQMs at a given base probability p'.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, Spec};

/// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
pub(crate) const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100_000), mean_packet: Bytes(1000) };
pub(crate) const BOTH: [&str; 2] = ["dualpi2", "curvy_red"];
pub(crate) const KINDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
/// Packets per measurement.
pub(crate) const N: u32 = 10_000;

pub(crate) fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6).round() as u64)
}

pub(crate) fn packet(ecn: Ecn, class: u8) -> Packet {
    Packet { len: 1000, ecn, class, ..Packet::default() }
}

pub(crate) fn spec(words: &str) -> Spec {
    Spec::parse(words).unwrap_or_else(|e| panic!("{words}: {e}"))
}

pub(crate) fn queue(words: &str) -> Queue<AnyDiscipline> {
    spec(words).queue(LINK, Rng::stream(1, "queue"))
}

pub(crate) fn probe(queue: &Queue<AnyDiscipline>, words: &str, name: &str) -> f64 {
    let index = spec(words).entry().probes.iter().position(|probe| probe.name == name);
    queue.discipline().probe(index.expect("a probe of that name"))
}

/// Settings for a base probability p' = `p` at a sojourn time of 20 ms in both queues, without a native AQM of the L
/// queue.
pub(crate) fn based(name: &str, p: f64) -> String {
    match name {
        "dualpi2" => format!("dualpi2 target=10ms tupdate=20ms beta=0 alpha={} min_th=1000s", p / 0.010),
        _ => format!("curvy_red g=0 min_th=0s range={}s t=1000s", 0.020 / p),
    }
}

/// `N` packets arrive at 0 and leave at 20 ms, when p' is the base probability of `words`. Returns the numbers of marks
/// and early drops.
pub(crate) fn signals(words: &str, ecn: Ecn, class: u8) -> (u64, u64) {
    let mut queue = queue(words);
    (0..N).for_each(|_| queue.arrive(packet(ecn, class), at(0.0)));
    if queue.next_tick().is_some() {
        queue.tick(at(20.0));
    }
    while queue.depart(at(20.0)).is_some() {}
    let tally = queue.port.tally();
    (tally.marked.pkts, tally.dropped_early.pkts)
}

/// Whether `count` is within five standard deviations (plus 1) of the mean of `N` trials with probability `p`.
pub(crate) fn near(count: u64, p: f64) -> bool {
    let expected = f64::from(N) * p;
    (count as f64 - expected).abs() <= 5.0 * (expected * (1.0 - p)).sqrt() + 1.0
}

/// Slots of the packets in order of departure at `ms`.
pub(crate) fn order(queue: &mut Queue<AnyDiscipline>, ms: f64) -> Vec<u32> {
    std::iter::from_fn(|| queue.depart(at(ms))).map(|packet| packet.slot).collect()
}
