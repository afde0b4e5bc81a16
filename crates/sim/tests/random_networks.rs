//! Random small dumbbells, every discipline: nothing is lost or invented, nothing happens twice differently.

mod common;

use common::{case1, dumbbell, run};
use forebay_aqm::ENTRIES;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::dumbbell::Direction;
use forebay_sim::network::{FlowSpec, Network, Traffic};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{TcpOptions, Variant};
use proptest::prelude::*;

/// What varies.
#[derive(Clone, Copy, Debug)]
struct Shape {
    discipline: usize,
    limit: u32,
    flows: usize,
    datagrams: usize,
    jitter_us: u64,
    variant: usize,
    delayed_ack: bool,
    ecn: bool,
    seed: u64,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let options = (0..Variant::WORDS.len(), any::<bool>(), any::<bool>());
    (0..ENTRIES.len(), 1u32..40, 0usize..8, 0usize..4, 0u64..500, options, any::<u64>()).prop_map(
        |(discipline, limit, flows, datagrams, jitter_us, (variant, delayed_ack, ecn), seed)| Shape {
            discipline,
            limit,
            flows,
            datagrams,
            jitter_us,
            variant,
            delayed_ack,
            ecn,
            seed,
        },
    )
}

fn options(shape: Shape) -> TcpOptions {
    TcpOptions {
        variant: Variant::WORDS[shape.variant].1,
        delayed_ack: shape.delayed_ack,
        ecn: shape.ecn,
        ..TcpOptions::default()
    }
}

fn network(shape: Shape) -> Network {
    let bell = dumbbell(ENTRIES[shape.discipline].name, shape.limit, Span::from_micros(shape.jitter_us));
    let mut net = case1(&bell, shape.flows, 5, options(shape), shape.seed);
    for i in 0..shape.datagrams {
        let direction = if i % 2 == 0 { Direction::Forward } else { Direction::Reverse };
        let at = bell.attach(i, direction);
        let (on, off) = (Span::from_millis(100), Span::from_millis(50));
        net.flows.push(FlowSpec {
            group: 1,
            name: format!("udp/{i}"),
            from: at.from,
            to: at.to,
            forward: at.forward,
            back: at.back,
            start: Instant::ZERO + Span::from_millis(100 * i as u64),
            stop: (i == 0).then(|| Instant::ZERO + Span::from_millis(3000)),
            traffic: Traffic::Datagrams(Pattern::OnOff { every: Span::from_micros(900), on, off }),
            packet: 700,
            ack: 40,
            class: i as u8,
            pair: i as u32,
        });
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// In these builds the end of every run also asserts conservation at each discipline's port, and every
    /// event that time runs forward.
    #[test]
    fn counts_add_up(shape in shapes()) {
        let net = network(shape);
        let outcome = run(&net, shape.seed);
        let link = &outcome.links[0];
        prop_assert!(link.queue_pkts.max <= f64::from(shape.limit));
        prop_assert!((0.0..=1.0).contains(&link.utilisation));
        let dropped = link.dropped_early + link.dropped_overflow;
        // What was offered in the window left in it, was dropped in it, or waits; what left may have come before.
        let waiting = u64::from(shape.limit);
        prop_assert!(link.offered_pkts <= link.delivered_pkts + dropped + waiting);
        prop_assert!(link.delivered_pkts + dropped <= link.offered_pkts + waiting);
        prop_assert!(link.marked == 0 || options(shape).ecn_capable());
        let by_class: u64 = link.classes.iter().map(|c| c.offered_pkts).sum();
        prop_assert_eq!(by_class, link.offered_pkts);
        let shares: f64 = link.queue_shares.iter().sum();
        prop_assert!(link.queue_shares.is_empty() || (shares - 1.0).abs() < 1e-9);
        for flow in &outcome.flows {
            prop_assert!(flow.delivered_pkts <= flow.sender.sent);
            prop_assert!(flow.sender.retransmitted <= flow.sender.sent);
        }
    }

    #[test]
    fn the_same_twice(shape in shapes()) {
        let net = network(shape);
        prop_assert!(run(&net, shape.seed) == run(&net, shape.seed));
    }
}
