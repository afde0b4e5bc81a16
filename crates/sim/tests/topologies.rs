//! Parking lots and graphs: the dumbbell is a special case of both, long routes get a lower rate, and narrow reverse
//! links reduce throughput.

use crate::common::{Dumbbell, case1, dumbbell, run};
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::graph::{Edge, Graph};
use forebay_sim::network::{Attachment, FlowSpec, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::parking_lot::{Bottleneck, Crossing, Direction, ParkingLot};
use forebay_sim::tcp::TcpOptions;

/// `n` bottlenecks like that of RAQM case 1, with through traffic over all of them and cross traffic over each.
fn lot(aqm: &str, n: usize) -> ParkingLot {
    let one = dumbbell(aqm, 100, Span::from_micros(10)).lot();
    let bottleneck = |i: usize| Bottleneck {
        name: format!("b{i}"),
        reverse_name: format!("b{i}-reverse"),
        ..one.bottlenecks[0].clone()
    };
    let crossing = |name: String, enter, leave| Crossing { name, enter, leave, ..one.crossings[0].clone() };
    let through = crossing("through".to_string(), 0, n - 1);
    let cross = (0..n).map(|i| crossing(format!("cross{i}"), i, i));
    ParkingLot {
        bottlenecks: (0..n).map(bottleneck).collect(),
        crossings: [through].into_iter().chain(cross).collect(),
        packet: 500,
    }
}

/// `each` flows on each crossing for 60 s, without statistics of the first 10 s.
fn network(lot: &ParkingLot, each: usize) -> Network {
    let mut net = lot.network(Span::from_millis(60_000), Span::from_millis(10_000), Span::from_millis(1000));
    for crossing in 0..lot.crossings.len() {
        for i in 0..each {
            let at = lot.attach(crossing, i, Direction::Forward);
            net.flows.push(flow(crossing as u32, format!("{crossing}/{i}"), at, lot.pair(crossing, i) as u32));
        }
    }
    net
}

fn flow(group: u32, name: String, at: Attachment, pair: u32) -> FlowSpec {
    FlowSpec {
        group,
        name,
        from: at.from,
        to: at.to,
        forward: at.forward,
        back: at.back,
        start: Instant::ZERO + Span::from_millis(17 * u64::from(pair)),
        stop: None,
        traffic: Traffic::Tcp(TcpOptions::default()),
        packet: 500,
        class: 0,
        dscp: 0,
        bundle: 0,
        ecn: Ecn::NotEct,
        pair,
        marker: None,
    }
}

fn goodput(outcome: &Outcome, group: u32) -> u64 {
    outcome.flows.iter().filter(|f| f.group == group).map(|f| f.goodput_bytes).sum()
}

/// Through traffic has losses and delays at every bottleneck. It gets a lower rate than the cross traffic at each of
/// them, and its rate decreases with the number of bottlenecks, which stay busy (Floyd 1991, "Connections with multiple
/// congested gateways").
#[test]
fn through_traffic_gets_less_with_more_bottlenecks() {
    for aqm in ["droptail", "raqm", "codel"] {
        let mut before = f64::INFINITY;
        for n in [1, 2, 4] {
            let outcome = run(&network(&lot(aqm, n), 5), 1);
            assert_eq!(outcome.links.len(), n, "every bottleneck is measured");
            let cross = (1..=n as u32).map(|group| goodput(&outcome, group)).min().unwrap();
            let share = goodput(&outcome, 0) as f64 / cross as f64;
            assert!(outcome.links.iter().all(|link| link.utilisation > 0.9), "{aqm} {n}");
            assert!(share < before * 0.9 && (n == 1 || share < 0.8), "{aqm} {n}: {share}, before {before}");
            before = share;
        }
        assert!(before > 0.02, "{aqm}: through traffic is not locked out, {before}");
    }
}

/// Cross traffic of the second bottleneck shares it with the through traffic, and has no losses at the first one.
#[test]
fn cross_traffic_uses_only_the_links_it_crosses() {
    let lot = lot("droptail", 3);
    let mut net = network(&lot, 2);
    net.flows.retain(|flow| flow.group == 2);
    let outcome = run(&net, 1);
    let offered: Vec<u64> = outcome.links.iter().map(|link| link.offered_pkts).collect();
    assert!(offered[0] == 0 && offered[1] > 1000 && offered[2] == 0, "{offered:?}");
}

/// A dumbbell with one pair of hosts equals a line of four nodes. There is no jitter, because its random numbers depend
/// on the names of hosts.
#[test]
fn graph_can_express_the_dumbbell() {
    for aqm in ["droptail", "raqm", "red"] {
        let bell = Dumbbell { hosts: 1, ..dumbbell(aqm, 20, Span::ZERO) };
        let options = TcpOptions::default();
        let expected = case1(&bell, 5, 20, options, 1);
        let ends = [(1, 2), (2, 1), (0, 1), (2, 3), (3, 2), (1, 0)];
        let lot = bell.lot();
        let access = lot.crossings[0].clone();
        let lane = |link: usize| match link {
            0 => lot.bottlenecks[0].forward.clone(),
            1 => lot.bottlenecks[0].reverse.clone(),
            _ => forebay_sim::network::Lane { limit: access.access.limit, ..lot.bottlenecks[0].reverse.clone() },
        };
        let edge = |(i, (from, to)): (usize, (usize, usize))| Edge {
            name: expected.links[i].name.clone(),
            from,
            to,
            weight: 1,
            lane: lane(i),
        };
        let graph = Graph {
            nodes: ["client", "r1", "r2", "server"].map(String::from).to_vec(),
            edges: ends.into_iter().enumerate().map(edge).collect(),
            jitter: Span::ZERO,
            packet: 500,
        };
        let mut net = graph.network(expected.duration, expected.warmup, expected.sample);
        let at = graph.attach(&mut net, 0, 3).unwrap();
        net.flows = expected.flows.clone();
        net.flows.iter_mut().for_each(|f| (f.from, f.to, f.forward, f.back) = (at.from, at.to, at.forward, at.back));
        assert!(run(&expected, 1) == run(&net, 1), "{aqm}");
    }
}

/// The reverse path has 0.5 % of the forward rate, and an acknowledgement has 8 % of the length of a data packet. The
/// acknowledgements fill their link and are delayed and lost, so the bottleneck is idle at times (Lakshman and Madhow
/// 1997).
#[test]
fn narrow_return_path_limits_forward_rate() {
    let at = |rate: u64, limit: u32| {
        let mut lot = dumbbell("droptail", 100, Span::from_micros(10)).lot();
        let reverse = &mut lot.bottlenecks[0].reverse;
        (reverse.rate, reverse.limit, reverse.study) = (Rate(rate), Limit::Packets(limit), true);
        run(&network(&lot, 5), 1)
    };
    let (wide, narrow) = (at(10_000_000, 100), at(50_000, 10));
    let [there, back] = narrow.links.as_slice() else { panic!("both ways are measured") };
    assert!(back.utilisation > 0.9 && back.dropped_overflow > 100, "{back:?}");
    assert!(wide.links[0].utilisation > 0.95 && wide.links[1].dropped_overflow == 0);
    // 50 kb/s are 156 acknowledgements per second, which also acknowledge packets whose acknowledgements were lost.
    let data_per_ack = there.delivered_pkts as f64 / back.delivered_pkts as f64;
    assert!(there.utilisation < 0.9 && data_per_ack > 1.5, "{} {data_per_ack}", there.utilisation);
}
