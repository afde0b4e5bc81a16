//! Results of runs, and that they repeat.

use std::sync::atomic::{AtomicBool, Ordering};

use forebay_aqm::ENTRIES;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_linux::machine::Fault;
use forebay_linux::measure::Measure;
use forebay_linux::records::{Event, FORWARD, Kind, PAYLOAD, Record, TCP};
use forebay_linux::run::Finished;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::network::{Lane, Network, Traffic};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::TcpOptions;

use crate::{bulk, flow, kernel, network, run};

#[test]
fn busy_machine_gives_the_same_packets() {
    let Some(kernel) = kernel() else { return };
    let net = bulk("codel", 4, 5);
    let idle = run(&kernel, &net, 1).unwrap().outcome;
    let over = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let found = run(&kernel, &net, 1);
        over.store(true, Ordering::Relaxed);
        found
    });
    assert_eq!(idle, busy.unwrap().outcome);
    assert_ne!(idle.fingerprint, run(&kernel, &net, 2).unwrap().outcome.fingerprint, "another seed");
}

#[test]
fn connections_fill_the_link_and_packets_are_conserved() {
    let Some(kernel) = kernel() else { return };
    let found = run(&kernel, &bulk("droptail", 4, 10), 1).unwrap();
    let link = &found.outcome.links[0];
    assert!(link.utilisation > 0.99, "{}", link.utilisation);
    assert!(link.dropped_overflow > 0 && link.dropped_early == 0, "{} {}", link.dropped_overflow, link.dropped_early);
    let waiting = link.queue_pkts.max as u64;
    let accounted = link.delivered_pkts + link.dropped_overflow;
    assert!(link.offered_pkts.abs_diff(accounted) <= waiting, "{} and {accounted}", link.offered_pkts);
    let goodput: u64 = found.outcome.flows.iter().map(|flow| flow.goodput_bytes).sum();
    // 9.5 s at 10 Mb/s, with 66 bytes of headers in 1500.
    let share = goodput as f64 / (9.5 * 1.25e6 * 1434.0 / 1500.0);
    assert!((0.96..1.03).contains(&share), "{share}");
    assert_eq!(found.faults, [""; 0]);
}

#[test]
fn a_thousand_connections_run_to_the_end() {
    let Some(kernel) = kernel() else { return };
    let found = run(&kernel, &bulk("droptail", 1000, 2), 1).unwrap();
    assert_eq!(found.faults, [""; 0]);
    assert!(found.outcome.links[0].utilisation > 0.9, "{}", found.outcome.links[0].utilisation);
}

#[test]
fn data_that_arrives_twice_counts_once() {
    let net = bulk("droptail", 1, 5);
    let mut measure = Measure::new(&net);
    let mut note = |kind, flags, value, at| {
        let event = Event { kind, link: 0, ecn: 0, flags: TCP | flags, len: 1500, flow: 0, id: 1, value, at };
        measure.take(&Record::Event(event));
    };
    let data = FORWARD | PAYLOAD;
    for (kind, flags, value) in [
        (Kind::Left, data, 2000),
        (Kind::Left, data, 1000),
        (Kind::Left, data, 2000),
        (Kind::Entered, 0, 2000),
        (Kind::Left, data, 1000),
        (Kind::Left, data, 3000),
    ] {
        note(kind, flags, value, 1_000_000_000);
    }
    assert_eq!(measure.finish().flows[0].received_bytes, 3 * 1500);
}

/// The specification's fault: the kernel's default stack of 16 KiB is too small for the construction of a discipline.
#[test]
fn construction_of_disciplines_fills_a_default_stack() {
    const DEFAULT: u64 = 16 << 10;
    const RESERVE: u64 = 16 << 10;
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("droptail", 1, 1);
    // A link for each discipline; packets cross the first alone.
    let others = ENTRIES.iter().map(|entry| network(entry.name, 1).links[0].clone());
    net.links.extend(others.enumerate().map(|(number, mut link)| {
        link.name = format!("link-{number}");
        link
    }));
    let stacks = run(&kernel, &net, 1).unwrap().stacks;
    // One more for the bottleneck, and one for the way back.
    assert_eq!(stacks.len(), ENTRIES.len() + 2);
    let most = stacks.iter().map(|(used, _)| *used).max().unwrap();
    println!("the construction of a discipline takes up to {most} bytes of a kernel stack");
    // With a default stack less than 4 KiB would be left for the kernel's own functions.
    assert!(most > DEFAULT - (4 << 10), "{most}: is the larger stack still needed?");
    assert!(stacks.iter().all(|(used, before)| used + RESERVE < *before), "{stacks:?}");
}

#[test]
fn every_kind_of_traffic_reaches_its_receiver() {
    let Some(kernel) = kernel() else { return };
    every_kind_arrives(|net| run(&kernel, net, 1));
}

/// Files, pages and datagrams of a run all arrive.
pub(crate) fn every_kind_arrives(run: impl Fn(&Network) -> Result<Finished, Fault>) {
    let files = |request, fresh| {
        let files = Files {
            size: Draw::Constant(30_000.0),
            think: Draw::Exponential(0.1),
            count: None,
            fresh,
            request,
            opening: Opening::Handshake,
        };
        Traffic::Application(TcpOptions::default(), Work::Files(files))
    };
    let cbr = || Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(20) });
    let flows = vec![
        flow("push/0", files(None, false)),
        flow("push/1", files(None, true)),
        flow("pull/0", files(Some(200), false)),
        flow("pull/1", files(Some(200), true)),
        flow("cbr/0", cbr()),
    ];
    let net = Network { flows, ..network("codel", 10) };
    let found = run(&net).unwrap();
    assert_eq!(found.faults, [""; 0]);
    for (number, flow) in found.outcome.flows.iter().enumerate().take(4) {
        let files = found.outcome.completions.iter().filter(|file| file.flow as usize == number).count() as u64;
        assert!(files > 10, "flow {number}: {files} files");
        let packets = flow.goodput_bytes / 1434;
        // Files of 20 packets; one may be on its way at either end of the window.
        assert!(packets.abs_diff(20 * files) <= 20, "flow {number}: {packets} packets, {files} files");
    }
    let packets = found.outcome.flows[4].delivered_pkts;
    assert!((495..=500).contains(&packets), "{packets} datagrams in 10 s");
    let in_window = found.outcome.flows[4].goodput_bytes / (1500 - 42);
    assert!((470..=475).contains(&in_window), "{in_window} datagrams in 9.5 s");
}

/// A link is the first one of a route and the second one of another.
#[test]
fn packets_enter_a_network_of_several_links_once() {
    let Some(kernel) = kernel() else { return };
    let mut net = network("droptail", 5);
    let far = Lane::plain(Rate(100_000_000), Span::from_millis(30), Limit::Packets(10_000)).link("far", 1500);
    net.links.push(far);
    net.routes.push(vec![2, 0]);
    let cbr = || Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(20) });
    net.flows = vec![flow("near/0", cbr()), flow("far/0", cbr())];
    net.flows[1].forward = 2;
    (net.flows[1].bundle, net.flows[1].class) = (1, 1);
    let found = run(&kernel, &net, 1).unwrap().outcome;
    let sent = [0, 1].map(|flow: usize| found.flows[flow].sender.sent);
    assert!(sent.iter().all(|sent| (249..=250).contains(sent)), "{sent:?} datagrams in 5 s");
    let delays = [0, 1].map(|class: usize| found.classes[class].owd_s.as_ref().unwrap().mean);
    // 30 ms, and 0.12 ms of transmission.
    assert!((0.0300..0.0305).contains(&(delays[1] - delays[0])), "{delays:?}");
}
