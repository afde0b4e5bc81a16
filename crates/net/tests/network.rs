//! Times, marks, drops, losses and order of packets, by hand; and determinism.

use std::time::Duration;

use forebay_net::{Arrival, Counters, Ecn, Happened, Limit, Link, LossModel, Net, NetError, Payload, Rate, Topology};

const MS: Duration = Duration::from_millis(1);

/// A link on which a packet of 1000 bytes, with the overhead of 28, takes 1 ms.
fn link(delay: Duration) -> Link {
    Link::new(Rate(8 * 1_028_000), delay)
}

/// Everything that arrives, until the network is empty.
fn arrivals(net: &mut Net) -> Vec<Arrival> {
    let mut all = Vec::new();
    while let Some(now) = net.next_time() {
        all.extend(std::iter::from_fn(|| net.poll(now)));
    }
    all
}

#[test]
fn packets_take_transmission_and_propagation_times() {
    let mut net = Net::new(&Topology::path(link(10 * MS), link(20 * MS)).unwrap(), 1);
    let (a, b) = net.connect("a", "b").unwrap();
    for _ in 0..3 {
        net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
    }
    net.send(5 * MS, b, vec![7; 486], Ecn::NotEct);
    let got: Vec<_> = arrivals(&mut net).iter().map(|it| (it.at, it.to, it.packet, it.payload.len())).collect();
    // 514 bytes take half a millisecond.
    let back = Duration::from_micros(25_500);
    assert_eq!(got, [(11 * MS, b, 0, 1000), (12 * MS, b, 1, 1000), (13 * MS, b, 2, 1000), (back, a, 3, 486)]);
    assert_eq!((net.next_time(), net.poll(Duration::from_secs(9))), (None, None));
}

#[test]
fn delayed_packet_is_overtaken() {
    let there = link(10 * MS).reorder(1.0, 5 * MS).unwrap();
    let topology = Topology::path(there, link(MS)).unwrap();
    let mut net = Net::new(&topology, 1).with_log();
    let (a, _) = net.connect("a", "b").unwrap();
    net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
    assert_eq!(arrivals(&mut net)[0].at, 16 * MS, "all are delayed");
    assert!(net.log().iter().any(|event| event.what == Happened::Delayed { link: "a-b".into() }));
    let topology = Topology::path(link(10 * MS).reorder(0.1, 5 * MS).unwrap(), link(MS)).unwrap();
    let mut net = Net::new(&topology, 1);
    let (one, _) = net.connect("a", "b").unwrap();
    for n in 0..1000 {
        net.send(n * MS, one, 1000, Ecn::NotEct);
    }
    let got: Vec<_> = arrivals(&mut net).iter().map(|it| (it.packet, it.at)).collect();
    assert!(got.windows(2).all(|pair| pair[0].1 <= pair[1].1), "in the order of time");
    let delayed = got.iter().filter(|(packet, at)| *at == (*packet as u32 + 16) * MS).count();
    // 1,000 packets with probability 0.1: four standard deviations are 38.
    assert!((62..=138).contains(&delayed) && got.len() == 1000, "{delayed}");
    assert!(got.windows(2).any(|pair| pair[0].0 > pair[1].0), "some are overtaken");
    let counters = net.counters("a", "b").unwrap();
    assert_eq!((counters.delayed, counters.sent), (delayed as u64, 1000));
}

#[test]
fn duplicated_packets_arrive_twice() {
    let there = link(10 * MS).duplicate(0.5).unwrap();
    let mut net = Net::new(&Topology::path(there, link(MS)).unwrap(), 1).with_log();
    let (a, _) = net.connect("a", "b").unwrap();
    for n in 0..1000 {
        net.send(n * MS, a, b"payload", Ecn::NotEct);
    }
    let got = arrivals(&mut net);
    let twice = got.windows(2).filter(|pair| pair[0].packet == pair[1].packet && pair[0] == pair[1]).count() as u64;
    assert_eq!(net.counters("a", "b").unwrap().duplicated, twice);
    assert_eq!(got.len() as u64, 1000 + twice);
    assert!((437..=563).contains(&twice), "{twice}: four standard deviations of 500 are 63");
    let delivered = net.log().iter().filter(|event| event.what == Happened::Delivered).count();
    assert_eq!(delivered, got.len());
}

#[test]
fn delay_steps_and_jitter_keep_the_order() {
    let there = link(10 * MS).delays(&[(5 * MS, 30 * MS), (50 * MS, MS)]).unwrap().jitter(MS);
    let mut net = Net::new(&Topology::path(there, link(MS)).unwrap(), 1);
    let (a, _) = net.connect("a", "b").unwrap();
    for n in 0..60 {
        net.send(n * MS, a, 1000, Ecn::NotEct);
    }
    let got: Vec<_> = arrivals(&mut net).iter().map(|it| (it.packet, it.at)).collect();
    assert!(got.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    // The transmission of packet 0 ends at 1 ms, that of packet 10 at 11 ms.
    assert!((11 * MS..=12 * MS).contains(&got[0].1) && (41 * MS..=42 * MS).contains(&got[10].1), "{got:?}");
    let refused = |steps: &[(Duration, Duration)]| link(MS).delays(steps).is_err();
    assert!(refused(&[]) && refused(&[(MS, MS), (MS, MS)]) && link(MS).duplicate(1.5).is_err());
    assert!(link(MS).reorder(f64::NAN, MS).is_err());
}

#[test]
fn payloads_arrive_as_they_were_sent() {
    let mut net = Net::new(&Topology::path(link(MS), link(MS)).unwrap(), 1);
    let (a, b) = net.connect("a", "b").unwrap();
    net.send(Duration::ZERO, a, b"one", Ecn::NotEct);
    net.send(Duration::ZERO, a, 5, Ecn::NotEct);
    let got: Vec<_> = arrivals(&mut net).into_iter().map(|it| (it.to, it.payload)).collect();
    assert_eq!(got, [(b, Payload::Bytes(b"one".to_vec())), (b, Payload::Length(5))]);
}

#[test]
fn packets_cross_several_links_by_the_shortest_path() {
    let mut topology = Topology::new();
    for (from, to) in [("a", "r"), ("r", "b"), ("b", "r"), ("r", "a"), ("a", "x"), ("x", "y"), ("y", "b")] {
        topology.link(from, to, link(10 * MS)).unwrap();
    }
    let mut net = Net::new(&topology, 1).with_log();
    let (a, _) = net.connect("a", "b").unwrap();
    net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
    assert_eq!(arrivals(&mut net)[0].at, 22 * MS);
    let reached = |link: &str| Happened::Reached { link: link.into() };
    let log: Vec<_> = net.log().iter().map(|event| (event.at, event.what.clone())).collect();
    assert_eq!(
        log,
        [
            (Duration::ZERO, Happened::Sent { length: 1028, ecn: Ecn::NotEct }),
            (Duration::ZERO, reached("a-r")),
            (11 * MS, reached("r-b")),
            (22 * MS, Happened::Delivered),
        ]
    );
}

#[test]
fn packets_take_the_path_with_the_least_weight() {
    let mut topology = Topology::new();
    topology.link("a", "b", link(MS).weight(3).unwrap()).unwrap();
    for (from, to) in [("a", "r"), ("r", "b"), ("b", "a")] {
        topology.link(from, to, link(10 * MS)).unwrap();
    }
    let mut net = Net::new(&topology, 1);
    let (a, b) = net.connect("a", "b").unwrap();
    net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
    net.send(Duration::ZERO, b, 1000, Ecn::NotEct);
    let times: Vec<_> = arrivals(&mut net).iter().map(|it| it.at).collect();
    assert_eq!(times, [11 * MS, 22 * MS]);
    assert!(link(MS).weight(0).unwrap_err().to_string().contains("at least 1"));
}

#[test]
fn full_buffer_drops_arrivals() {
    let short = link(MS).buffer(Limit::Packets(2));
    let mut net = Net::new(&Topology::path(short, link(MS)).unwrap(), 1).with_log();
    let (a, _) = net.connect("a", "b").unwrap();
    for _ in 0..5 {
        net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
    }
    let got: Vec<u64> = arrivals(&mut net).iter().map(|it| it.packet).collect();
    assert_eq!(got, [0, 1, 2], "one in transmission, two in the buffer");
    let counters = net.counters("a", "b").unwrap();
    assert_eq!([counters.arrived, counters.dropped, counters.sent, counters.lost], [5, 2, 3, 0]);
    assert!(net.counters("a", "c").is_none());
    let dropped: Vec<u64> =
        net.log().iter().filter(|it| matches!(it.what, Happened::Dropped { .. })).map(|it| it.packet).collect();
    assert_eq!(dropped, [3, 4]);
}

/// CoDel with a standing queue of 20 ms and more: marks or drops.
fn signals(ecn: Ecn) -> (Vec<Arrival>, Counters) {
    let down = link(MS).buffer(Limit::Packets(1000)).discipline("codel").unwrap();
    let mut net = Net::new(&Topology::path(down, link(MS)).unwrap(), 1);
    let (a, _) = net.connect("a", "b").unwrap();
    for at in 0..400 {
        net.send(at * MS, a, 1000, ecn);
        net.send(at * MS, a, if at < 20 { 1000 } else { 1 }, ecn);
    }
    let all = arrivals(&mut net);
    (all, net.counters("a", "b").unwrap())
}

#[test]
fn codel_marks_capable_packets_and_drops_others() {
    let (marked, counters) = signals(Ecn::Ect1);
    let ce = marked.iter().filter(|it| it.ecn == Ecn::Ce).count() as u64;
    assert!(ce > 2 && counters.marked == ce && counters.dropped == 0, "{counters:?}");
    assert!(marked.iter().all(|it| it.ecn != Ecn::Ect0));
    let (rest, counters) = signals(Ecn::NotEct);
    assert!(counters.dropped > 2 && counters.marked == 0 && rest.len() as u64 == 800 - counters.dropped);
}

#[test]
fn wire_loses_its_share_and_rate_steps_hold() {
    let lossy = link(MS).loss(LossModel::Bernoulli(0.25)).unwrap();
    let mut net = Net::new(&Topology::path(lossy, link(MS)).unwrap(), 7);
    let (a, _) = net.connect("a", "b").unwrap();
    for at in 0..4000 {
        net.send(at * 2 * MS, a, 1000, Ecn::NotEct);
    }
    let lost = 4000 - arrivals(&mut net).len() as u64;
    // Four standard deviations of 27.
    assert!(lost.abs_diff(1000) < 110 && net.counters("a", "b").unwrap().lost == lost, "{lost}");
    let slow = [(Duration::ZERO, Rate(8 * 1_028_000)), (5 * MS, Rate(0)), (20 * MS, Rate(4 * 1_028_000))];
    let mut net = Net::new(&Topology::path(link(MS).rates(&slow).unwrap(), link(MS)).unwrap(), 1);
    let (a, _) = net.connect("a", "b").unwrap();
    for at in [0, 10, 11] {
        net.send(at * MS, a, 1000, Ecn::NotEct);
    }
    let times: Vec<Duration> = arrivals(&mut net).iter().map(|it| it.at).collect();
    assert_eq!(times, [2 * MS, 23 * MS, 25 * MS], "down until 20 ms, then half of the rate");
}

/// The log of ten flows through a discipline, with random losses.
fn logged(discipline: &str, seed: u64) -> String {
    let down = link(5 * MS).discipline(discipline).unwrap().loss(LossModel::Bernoulli(0.01)).unwrap();
    let mut net = Net::new(&Topology::path(down, link(5 * MS)).unwrap(), seed).with_log();
    let ends: Vec<_> = (0..10).map(|_| net.connect("a", "b").unwrap().0).collect();
    for at in 0..2000_u32 {
        net.send(at * MS / 2, ends[(at * at) as usize % 10], 1000, Ecn::Ect0);
    }
    arrivals(&mut net);
    format!("{:?}", net.log())
}

#[test]
fn one_seed_gives_the_same_log() {
    for discipline in ["droptail", "red", "pie", "codel", "fq_codel", "fq_pie", "dualpi2", "cake", "sfb"] {
        let log = logged(discipline, 1);
        assert_eq!(log, logged(discipline, 1), "{discipline}");
        assert_ne!(log, logged(discipline, 2), "{discipline}: other losses");
    }
}

#[test]
fn every_packet_is_delivered_dropped_or_lost() {
    for discipline in ["red", "codel", "fq_codel", "cake bandwidth=6mbit", "choke", "dualpi2"] {
        let down = link(5 * MS).discipline(discipline).unwrap().loss(LossModel::Bernoulli(0.05)).unwrap();
        let mut net = Net::new(&Topology::path(down, link(MS)).unwrap(), 3);
        let (a, _) = net.connect("a", "b").unwrap();
        for at in 0..3000 {
            net.send(at * MS / 2, a, 1000, Ecn::NotEct);
        }
        let delivered = arrivals(&mut net).len() as u64;
        let Counters { arrived, dropped, lost, sent, marked, .. } = net.counters("a", "b").unwrap();
        assert_eq!((arrived, dropped + lost + sent, sent, marked), (3000, 3000, delivered, 0), "{discipline}");
    }
}

#[test]
fn late_calls_lose_no_capacity() {
    let times = |calls: &[u32]| {
        let mut net = Net::new(&Topology::path(link(MS), link(MS)).unwrap(), 1);
        let (a, _) = net.connect("a", "b").unwrap();
        for _ in 0..9 {
            net.send(Duration::ZERO, a, 1000, Ecn::NotEct);
        }
        let polled = calls.iter().flat_map(|at| std::iter::from_fn(|| net.poll(*at * MS)).collect::<Vec<_>>());
        polled.map(|it| it.at).collect::<Vec<_>>()
    };
    assert_eq!(times(&[2, 3, 4, 5, 6, 7, 8, 9, 10]), times(&[100]));
}

#[test]
fn errors_name_what_is_accepted() {
    let text = |error: NetError| error.to_string();
    let unknown = text(link(MS).discipline("fq_code").unwrap_err());
    assert!(unknown.contains("fq_code") && unknown.contains("fq_codel"), "{unknown}");
    assert!(text(link(MS).loss(LossModel::Bernoulli(1.5)).unwrap_err()).contains("0 to 1"));
    assert!(text(link(MS).rates(&[(MS, Rate(1))]).unwrap_err()).contains("a first step at time 0"));
    assert!(text(link(MS).trace("1\nx").unwrap_err()).contains("line 2"));
    let mut topology = Topology::path(link(MS), link(MS)).unwrap();
    assert!(text(topology.link("a", "b", link(MS)).unwrap_err()).contains("two links"));
    assert!(text(topology.link("a", "a", link(MS)).unwrap_err()).contains("itself"));
    assert!(text(topology.link("b", "c", Link::new(Rate(0), MS)).unwrap_err()).contains("rate of 0"));
    topology.link("b", "c", link(MS)).unwrap();
    let mut net = Net::new(&topology, 1);
    assert_eq!(text(net.connect("a", "d").unwrap_err()), "no node 'd'; there are: a, b, c");
    assert_eq!(text(net.connect("a", "c").unwrap_err()), "no path from 'c' to 'a'");
    assert!(text(net.connect_with("a", "b", 64, 0).unwrap_err()).contains("0 to 63"));
    let (a, b) = net.connect("a", "b").unwrap();
    net.send(Duration::ZERO, a, 1, Ecn::NotEct);
    assert_eq!((a.connection(), arrivals(&mut net)[0].to), (0, b), "nothing is left of the failed ones");
}
