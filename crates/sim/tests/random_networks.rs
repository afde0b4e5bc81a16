//! Twenty thousand random small networks with every topology, discipline, loss and schedule: all packets are accounted
//! for, order is kept, and runs are reproducible.
//!
//! `FOREBAY_SEEDS=20000..90000 cargo test -p forebay-sim --test all random_networks` runs other seeds.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Limit;
use forebay_sim::network::{FlowSpec, LinkSpec, Network, Traffic};
use forebay_sim::outcome::{ClassOutcome, LinkOutcome, Outcome};
use forebay_sim::source::Pattern;
use forebay_sim::world::World;

const SEEDS: Range<u64> = 0..20_000;

fn seeds() -> Range<u64> {
    let read = |text: String| {
        let (from, to) = text.split_once("..").expect("FOREBAY_SEEDS is FROM..TO");
        from.parse().unwrap()..to.parse().unwrap()
    };
    std::env::var("FOREBAY_SEEDS").map_or(SEEDS, read)
}

fn run(net: &Network, seed: u64) -> Outcome {
    World::new(net, seed).unwrap().run(&mut ()).unwrap()
}

/// Runs `check` with each seed; a failure prints the command that repeats it.
fn try_all(test: &str, seeds: impl Iterator<Item = u64>, check: impl Fn(u64)) {
    let failed: Vec<u64> = seeds.filter(|&seed| catch_unwind(AssertUnwindSafe(|| check(seed))).is_err()).collect();
    if let Some(first) = failed.first() {
        let net = crate::scenario::network(*first);
        let again =
            format!("FOREBAY_SEEDS={first}..{} cargo test -p forebay-sim --test all random_networks", first + 1);
        panic!("{test}: {} seeds fail, the first is {first}; repeat it with\n    {again}\n{net:#?}", failed.len());
    }
}

/// In debug builds every link also counts packets independently and compares the counters at each packet. At the end of
/// a run `crates/sim/src/world/audit.rs` checks the counters of the complete network.
#[test]
fn counters_are_consistent() {
    try_all("counters_are_consistent", seeds(), |seed| {
        let net = crate::scenario::network(seed);
        let outcome = run(&net, seed);
        let studied = net.links.iter().filter(|link| link.lane.study);
        studied.zip(&outcome.links).for_each(|(spec, link)| check_link(&net, spec, link));
        check_flows(&net, &outcome);
    });
}

fn check_link(net: &Network, spec: &LinkSpec, link: &LinkOutcome) {
    let limit = match spec.lane.limit {
        Limit::Packets(n) => f64::from(n),
        // The shortest packet has one byte.
        Limit::Bytes(b) => b as f64,
    };
    assert!(link.queue_pkts.max <= limit && (0.0..=1.0).contains(&link.utilisation));
    let gone = link.delivered_pkts + link.dropped_early + link.dropped_overflow;
    let waiting = *link.series.queue_pkts.last().expect("a sample at the end");
    if net.warmup.nanos() == 0 {
        assert_eq!(link.offered_pkts, gone + waiting as u64, "offered = delivered + dropped + waiting");
        assert_eq!(link.delivered_pkts, link.served_pkts);
    } else {
        // Packets that departed within the measured window may have arrived before it.
        assert!(link.offered_pkts <= gone + waiting as u64 && gone as f64 <= link.offered_pkts as f64 + limit);
    }
    assert!(link.lost_pkts <= link.served_pkts && (link.lost_pkts == 0 || spec.lane.conditions.loss.is_some()));
    let by_class = |figure: fn(&ClassOutcome) -> u64| link.classes.iter().map(figure).sum::<u64>();
    assert_eq!(by_class(|c| c.offered_pkts), link.offered_pkts);
    assert_eq!(by_class(|c| c.dropped_pkts), link.dropped_early + link.dropped_overflow);
    let shares: f64 = link.queue_shares.iter().sum();
    assert!(link.queue_shares.is_empty() || (shares - 1.0).abs() < 1e-9);
    let ecn = net.flows.iter().any(|f| f.traffic.tcp().is_some_and(|options| options.ecn_capable()));
    assert!(link.marked == 0 || ecn, "only ECN-capable packets are marked");
}

fn check_flows(net: &Network, outcome: &Outcome) {
    for (spec, flow) in net.flows.iter().zip(&outcome.flows) {
        let counts = &flow.sender;
        assert!(counts.retransmitted <= counts.sent && flow.delivered_pkts <= counts.sent - counts.retransmitted);
        if spec.traffic.tcp().is_some() {
            let once = counts.sent - counts.retransmitted;
            assert!(flow.received_bytes <= once * u64::from(spec.packet), "retransmitted packets count once");
            assert!(flow.goodput_bytes <= once * u64::from(spec.packet.saturating_sub(spec.traffic.headers())));
        }
    }
}

#[test]
fn runs_are_reproducible() {
    try_all("runs_are_reproducible", seeds().step_by(10), |seed| {
        let net = crate::scenario::network(seed);
        assert!(run(&net, seed) == run(&net, seed));
    });
}

/// Drop-tail computed directly gives the same run as the discipline; about one scenario in ten has drop-tail.
#[test]
fn drop_tail_fast_path_equals_discipline() {
    try_all("drop_tail_fast_path_equals_discipline", seeds(), |seed| {
        let mut net = crate::scenario::network(seed);
        if net.links[0].is_fast() {
            let fast = run(&net, seed);
            net.links[0].fast_path = false;
            let mut slow = run(&net, seed);
            slow.events = fast.events;
            assert!(fast == slow);
        }
    });
}

/// Links and hosts computed ahead of time give the same run as with events. To force events, all links are under study,
/// and every server gets a flow that starts after the end. Delays and starts differ, because the order of events would
/// break ties between hosts. Jitter is 0, because a host's link only has it when it is computed ahead of time.
#[test]
fn computation_ahead_of_time_does_not_change_results() {
    try_all("computation_ahead_of_time_does_not_change_results", seeds().step_by(10), |seed| {
        let mut fast = crate::scenario::network(seed);
        fast.hosts.iter_mut().for_each(|host| host.jitter = Span::ZERO);
        let odd = |i: usize, factor: u64| Span::from_nanos(1 + i as u64 * factor % 1009);
        fast.links.iter_mut().enumerate().for_each(|(i, link)| link.lane.delay = link.lane.delay + odd(i, 91));
        fast.flows.iter_mut().enumerate().for_each(|(i, flow)| flow.start += odd(i, 17));
        let mut slow = fast.clone();
        slow.links.iter_mut().for_each(|link| link.lane.study = true);
        let late = Instant::ZERO + fast.duration + Span::from_millis(1);
        slow.flows.extend(fast.flows.iter().map(|flow| FlowSpec {
            name: format!("late/{}", flow.name),
            from: flow.to,
            to: flow.from,
            forward: flow.back,
            back: flow.forward,
            start: late,
            stop: None,
            traffic: Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(1) }),
            ..flow.clone()
        }));
        let (fast, slow) = (run(&fast, seed), run(&slow, seed));
        assert_eq!(fast.fingerprint, slow.fingerprint);
        assert!(fast.flows[..] == slow.flows[..fast.flows.len()]);
    });
}
