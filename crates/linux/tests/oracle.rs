//! An oracle: the same arrivals at a qdisc of Linux and at Forebay's discipline, both below tbf in one kernel. The
//! verdict and the departure of every packet are compared.

use std::sync::atomic::AtomicBool;

use forebay_agent::Work;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_linux::machine::{self, SILENT_CPU_S, Start};
use forebay_linux::network;
use forebay_linux::place::Kernel;
use forebay_linux::records::{Event, Kind, Record};
use forebay_sim::network::{Network, Traffic};
use forebay_sim::source::Pattern;

use crate::{flow, kernel, words};

/// Disciplines that are compared: the words of tc(8), and Forebay's.
const PAIRS: [(&str, &str); 4] = [
    ("codel limit 1000 ecn", "codel preset=linux ecn=on"),
    ("codel limit 1000 noecn", "codel preset=linux ecn=off"),
    ("fq_codel limit 1000", "fq_codel preset=linux"),
    ("pfifo limit 100", "droptail"),
];
const FLOWS: usize = 8;
/// Rate of the line, bit/s.
const RATE: f64 = 10e6;
/// Packets between changes of the load, and the loads.
const PERIOD: usize = 1000;
const LOADS: [f64; 2] = [0.8, 1.3];

/// What became of a packet: the time of its departure and whether it was marked; `None`: it was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Fate {
    arrived: u64,
    departed: Option<(u64, bool)>,
}

/// The fates of the packets at a link, in order of arrival.
fn fates(events: &[Event], link: u8) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::new();
    for event in events.iter().filter(|event| event.link == link) {
        match event.kind {
            Kind::Arrived => fates.push(Fate { arrived: event.at, departed: None }),
            Kind::Departed => fates[event.id as usize].departed = Some((event.at, event.ecn == 3)),
            _ => {}
        }
    }
    fates
}

/// A network with a line for each of the two disciplines, and a way back.
fn twins(linux: &str, ours: &str, packets: usize) -> Network {
    let mut net = crate::network(ours, 1);
    let mut other = net.links[0].clone();
    other.lane.discipline = words::parse(&format!("linux:{linux}")).unwrap().unwrap();
    net.links[0].name = "ours".to_string();
    other.name = "linux".to_string();
    net.links.push(other);
    net.routes.push(vec![2]);
    let seconds = packets as f64 * 1240.0 * 8.0 / RATE + 5.0;
    net.duration = Span::from_millis((seconds * 1e3) as u64);
    let cbr = || Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(20) });
    let one = |number: usize| {
        let mut flow = flow(&format!("udp/{number}"), cbr());
        flow.ecn = if number.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
        flow
    };
    net.flows = (0..FLOWS).map(one).collect();
    // Nothing is sent on it: it makes the second line a part of the network.
    let mut second = one(1);
    (second.name, second.forward, second.start) = ("none/0".into(), 2, Instant::ZERO + net.duration);
    net.flows.push(second);
    net
}

/// Poisson arrivals at loads in turn, of two sizes, of flows at random: times and payloads for each flow.
fn arrivals(packets: usize) -> Vec<Vec<(u64, u64)>> {
    let mut rng = Rng::stream(1, "oracle");
    let mut flows = vec![Vec::new(); FLOWS];
    let mut at = 1e8;
    for number in 0..packets {
        let size = if rng.uniform() < 0.8 { 1500 } else { 200 };
        at += rng.exponential(1240.0 * 8e9 / RATE / LOADS[number / PERIOD % LOADS.len()]);
        flows[rng.below(FLOWS as u64) as usize].push((at as u64, size - 42));
    }
    flows
}

/// The fates of all packets at both lines.
fn compare(kernel: &Kernel, (linux, ours): (&str, &str), packets: usize) -> [Vec<Fate>; 2] {
    let net = twins(linux, ours, packets);
    let mut orders = network::orders_with_copies(&net, 1, Some(2)).unwrap();
    for (flow, arrivals) in orders.flows.iter_mut().zip(arrivals(packets)) {
        flow.work = Work::Datagrams(arrivals);
    }
    let start = Start { seed: 1, core: None, silent_cpu_s: SILENT_CPU_S };
    let mut events = Vec::new();
    let take = |record: Record| {
        if let Record::Event(event) = record {
            events.push(event);
        }
    };
    machine::run(kernel, &orders, start, &AtomicBool::new(false), take).unwrap();
    [0, 1].map(|link| fates(&events, link))
}

/// Compares every pair of [`PAIRS`], or those whose words contain `FOREBAY_ORACLE`, and prints the number of
/// differences. `FOREBAY_ORACLE_PACKETS`: number of packets.
#[test]
fn oracle_probe() {
    let Some(kernel) = kernel() else { return };
    let number = std::env::var("FOREBAY_ORACLE_PACKETS").ok().and_then(|text| text.parse().ok());
    let packets = number.unwrap_or(10_000);
    let only = std::env::var("FOREBAY_ORACLE").unwrap_or_default();
    for pair in PAIRS.into_iter().filter(|pair| pair.0.contains(&only)) {
        let [ours, linux] = compare(&kernel, pair, packets);
        assert_eq!((ours.len(), linux.len()), (packets, packets), "arrivals of {}", pair.0);
        let late = ours.iter().zip(&linux).filter(|(ours, linux)| ours.arrived != linux.arrived).count();
        let both: Vec<(usize, (&Fate, &Fate))> = ours.iter().zip(&linux).enumerate().collect();
        let differ = |(_, (ours, linux)): &&(usize, (&Fate, &Fate))| ours.departed != linux.departed;
        let verdict = |fate: &Fate| fate.departed.map(|(_, marked)| marked);
        let verdicts = both.iter().filter(|(_, (ours, linux))| verdict(ours) != verdict(linux)).count();
        let count = both.iter().filter(differ).count();
        let [drops, marks] =
            [|fate: &Fate| fate.departed.is_none(), |fate: &Fate| fate.departed.is_some_and(|(_, marked)| marked)]
                .map(|is: fn(&Fate) -> bool| [&ours, &linux].map(|all| all.iter().filter(|fate| is(fate)).count()));
        println!(
            "{} | {}: {count} of {packets} differ ({verdicts} in their verdict), {late} arrived at other times; \
             drops ours {} linux {}; marks ours {} linux {}; first {:?}",
            pair.0,
            pair.1,
            drops[0],
            drops[1],
            marks[0],
            marks[1],
            both.iter().find(differ)
        );
        assert_eq!(late, 0);
        if pair.1 == "droptail" {
            assert_eq!(count, 0, "drop-tail has no state that could differ");
        }
    }
}
