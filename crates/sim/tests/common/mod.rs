//! Case 1 of the RAQM paper's experiments and variants of it, for the tests of this folder.

use forebay_aqm::Spec;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{FlowSpec, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::parking_lot::Direction;
use forebay_sim::tcp::TcpOptions;
use forebay_sim::world::World;

pub(crate) use dumbbell::Dumbbell;

/// The recorded fingerprints and random connections choose among the first controls of `Variant::WORDS`, so that a new
/// control does not change them.
pub(crate) const RECORDED: usize = 8;

mod dumbbell;

/// The network of the ns-2 reference: 10 Mb/s everywhere, base round trip 60 ms.
pub(crate) fn dumbbell(aqm: &str, limit: u32, jitter: Span) -> Dumbbell {
    let rate = Rate(10_000_000);
    let ten = Span::from_millis(10);
    Dumbbell {
        rate,
        delay: ten,
        limit: Limit::Packets(limit),
        discipline: Spec::parse(aqm).unwrap(),
        reverse_limit: Limit::Packets(limit),
        reverse_discipline: Spec::parse("droptail").unwrap(),
        hosts: 5,
        access_rate: rate,
        access_delays: vec![ten],
        access_limit: Limit::Packets(10_000),
        jitter,
        egress_rate: rate,
        egress_delay: ten,
        packet: 500,
    }
}

/// `count` TCP flows that start within the first second.
pub(crate) fn case1(bell: &Dumbbell, count: usize, secs: u64, options: TcpOptions, seed: u64) -> Network {
    let ms = |s| Span::from_millis(1000 * s);
    let mut net = bell.network(ms(secs), ms(secs / 10), Span::from_millis(100));
    for i in 0..count {
        let at = bell.attach(i, Direction::Forward);
        let start = Rng::stream(seed, &format!("start/{i}")).uniform();
        net.flows.push(FlowSpec {
            group: 0,
            name: format!("ftp/{i}"),
            from: at.from,
            to: at.to,
            forward: at.forward,
            back: at.back,
            start: Instant::ZERO + Span::from_secs(start),
            stop: None,
            traffic: Traffic::Tcp(options),
            packet: 500,
            class: 0,
            dscp: 0,
            bundle: 0,
            ecn: Traffic::Tcp(options).codepoint(),
            pair: i as u32,
            marker: None,
        });
    }
    net
}

pub(crate) fn run(net: &Network, seed: u64) -> Outcome {
    World::new(net, seed).unwrap().run(&mut ()).unwrap()
}

/// Dropped over offered packets at the first link under study.
#[allow(dead_code, reason = "not every test binary asks for it")]
pub(crate) fn drop_ratio(outcome: &Outcome) -> f64 {
    let link = &outcome.links[0];
    (link.dropped_early + link.dropped_overflow) as f64 / link.offered_pkts as f64
}
