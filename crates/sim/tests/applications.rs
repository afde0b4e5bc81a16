//! Applications over connections: completion times computed by hand, and the rate of an application.

use crate::common::{case1, dumbbell, run};
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::outcome::EndToEnd;
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{Stack, TcpOptions, Variant};

/// Three links of 10 Mb/s and 10 ms: a packet of 500 bytes takes 0.4 ms on each, one of 40 bytes 0.032 ms.
const DATA: f64 = 0.0312;
const ACK: f64 = 0.030_096;

const FILES: Files = Files {
    size: Draw::Constant(500.0),
    think: Draw::Constant(1.0),
    count: None,
    fresh: true,
    request: None,
    opening: Opening::Established,
};

/// `count` connections of this application, without jitter, all starting at 0.
fn network(count: usize, secs: u64, options: TcpOptions, work: &Work) -> Network {
    let mut net = case1(&dumbbell("droptail", 1000, Span::ZERO), count, secs, options, 1);
    net.warmup = Span::ZERO;
    for flow in &mut net.flows {
        flow.traffic = Traffic::Application(options, work.clone());
        flow.start = Instant::ZERO;
    }
    net
}

fn outcome(files: Files, options: TcpOptions) -> EndToEnd {
    run(&network(1, 20, options, &Work::Files(files)), 1).classes.remove(0)
}

#[track_caller]
fn takes(files: Files, secs: f64) {
    let class = outcome(files, TcpOptions::default());
    let took = class.completion_s.expect("some files are complete");
    assert!((took.mean - secs).abs() < 1e-6 && took.std < 1e-6, "{took:?}");
    // The first file starts at 0. Each other file starts after a pause and, without a request, after the delay of the
    // last acknowledgement.
    let cycle = secs + 1.0 + if files.request.is_some() { 0.0 } else { ACK };
    assert_eq!(class.files, (20.0 / cycle).ceil() as u64 - u64::from((20.0 % cycle) < secs));
}

#[test]
fn one_packet_file_takes_the_path_delay() {
    takes(FILES, DATA);
    takes(Files { request: Some(40), ..FILES }, ACK + DATA);
    takes(Files { request: Some(500), ..FILES }, DATA + DATA);
    takes(Files { size: Draw::Constant(501.0), ..FILES }, DATA + 0.0004);
}

/// A handshake takes one round trip of 40-byte packets before the data or the request.
#[test]
fn a_handshake_takes_a_round_trip() {
    takes(Files { opening: Opening::Handshake, ..FILES }, 2.0 * ACK + DATA);
    takes(Files { opening: Opening::Handshake, request: Some(40), ..FILES }, 2.0 * ACK + ACK + DATA);
    takes(Files { opening: Opening::Handshake, request: Some(500), ..FILES }, 2.0 * ACK + DATA + DATA);
}

/// ns-2's file ends when its acknowledgement arrives.
#[test]
fn file_of_ns2_ends_with_its_acknowledgement() {
    let files = Files { opening: Opening::Ns2, ..FILES };
    let class = outcome(files, TcpOptions::default());
    let (took, secs) = (class.completion_s.expect("some files are complete"), 2.0 * ACK + DATA + ACK);
    assert!((took.mean - secs).abs() < 1e-6 && took.std < 1e-6, "{took:?}");
    assert_eq!(class.files, (20.0 / (secs + 1.0)).ceil() as u64, "the next file starts one second later");
}

/// On a persistent connection only the first of two files has a handshake.
#[test]
fn persistent_connection_has_one_handshake() {
    for request in [None, Some(40)] {
        let once = Files { fresh: false, count: Some(2), request, ..FILES };
        let mean = |files| outcome(files, TcpOptions::default()).completion_s.unwrap().mean;
        let more = mean(Files { opening: Opening::Handshake, ..once }) - mean(once);
        assert!((more - ACK).abs() < 1e-6, "half of a round trip of two ACKs on average: {more}");
    }
}

/// Files of three packets, each on a new connection of the Linux stack with an initial window of one packet. With
/// a window of four packets the receiver acknowledges the first five packets of a connection at once, so it never delays the
/// acknowledgement of the first packet of a file. It would if it did not start to count again in a new connection.
#[test]
fn new_linux_connections_begin_with_quick_acknowledgements() {
    let files = Files { size: Draw::Constant(1500.0), think: Draw::Constant(0.05), ..FILES };
    let options = TcpOptions { initial_window: 1, window: Some(4), ..TcpOptions::of(Variant::LINUX, None) };
    let class = outcome(files, options);
    let (took, secs) = (class.completion_s.unwrap(), DATA + ACK + DATA + 0.0004);
    assert!((took.mean - secs).abs() < 1e-6 && took.std < 1e-6, "{took:?}");
}

#[test]
fn linux_acknowledges_the_end_of_a_file_at_once() {
    let files = Files { think: Draw::Constant(0.05), fresh: false, ..FILES };
    // One packet is not two, for which a delayed acknowledgement would be sent. Later than the first five.
    let options = TcpOptions { window: Some(4), ..TcpOptions::of(Variant::LINUX, None) };
    let cycle = DATA + ACK + 0.05;
    assert_eq!(outcome(files, options).files, (20.0 / cycle).ceil() as u64);
}

/// If the SYN or its answer was retransmitted, the connection starts with one packet (RFC 5681 section 3.1). Here the
/// timer is shorter than the round trip.
#[test]
fn lost_syn_means_initial_window_of_one_packet() {
    let slow = TcpOptions { initial_window: 7, ..TcpOptions::default() };
    let files = Files { opening: Opening::Handshake, size: Draw::Constant(3500.0), count: Some(1), ..FILES };
    let mut net = network(1, 20, slow, &Work::Files(files));
    let took = |net: &Network| run(net, 1).classes[0].completion_s.unwrap().mean;
    let at_once = took(&net);
    assert!((at_once - (2.0 * ACK + DATA + 6.0 * 0.0004)).abs() < 1e-6, "{at_once}");
    let short = Span::from_millis(50);
    let hasty = TcpOptions { initial_rto: Some(short), min_rto: short, ..slow };
    net.flows[0].traffic = Traffic::Application(hasty, Work::Files(files));
    let repeated = took(&net);
    let rounds = 2.0 * ACK + 2.0 * (DATA + ACK) + DATA + 3.0 * 0.0004;
    assert!((repeated - rounds).abs() < 1e-6, "1, 2 and 4 packets: {repeated} {rounds}");
    // In ns-2 the loss of the SYN ends slow start at two packets, and the last acknowledgement ends the file.
    net.flows[0].traffic = Traffic::Application(hasty, Work::Files(Files { opening: Opening::Ns2, ..files }));
    let of_ns2 = took(&net);
    let rounds = 2.0 * ACK + 4.0 * (DATA + ACK) + 0.0004;
    assert!((of_ns2 - rounds).abs() < 1e-6, "1, 2, 2 and 2 packets: {of_ns2} {rounds}");
}

/// The Linux stack keeps the initial window if the SYN was retransmitted once. The third packet of the handshake is before the
/// data.
#[test]
fn linux_keeps_window_after_one_lost_syn() {
    let linux = TcpOptions { initial_window: 7, ..TcpOptions::of(Variant::LINUX, Some(Stack::Linux)) };
    let files = Files { opening: Opening::Handshake, size: Draw::Constant(3500.0), count: Some(1), ..FILES };
    let mut net = network(1, 20, linux, &Work::Files(files));
    let took = |net: &Network| run(net, 1).classes[0].completion_s.unwrap().mean;
    let at_once = took(&net);
    assert!((at_once - (2.0 * ACK + 0.000_032 + DATA + 6.0 * 0.0004)).abs() < 1e-6, "{at_once}");
    let hasty = TcpOptions { initial_rto: Some(Span::from_millis(50)), ..linux };
    net.flows[0].traffic = Traffic::Application(hasty, Work::Files(files));
    assert!((took(&net) - at_once).abs() < 1e-6, "{}", took(&net));
}

/// RED marks ECN-capable packets and drops the others: with the Linux stack DCTCP's handshakes are marked, so no file takes
/// a timeout of 1 s longer.
#[test]
fn linux_dctcp_has_ecn_capable_handshakes() {
    let files = Files { opening: Opening::Handshake, size: Draw::Constant(18_000.0), ..FILES };
    let longest = |stack: Stack| {
        let options = TcpOptions::of(Variant::DCTCP, Some(stack));
        let options = TcpOptions { initial_rto: Some(Span::from_millis(1000)), ..options };
        let bell = dumbbell("red rule=paper min_th=1p max_th=30p max_p=0.5 w_q=1 wait=off ecn=on", 1000, Span::ZERO);
        let mut net = case1(&bell, 60, 40, options, 1);
        for flow in &mut net.flows {
            flow.traffic = Traffic::Application(options, Work::Files(files));
        }
        run(&net, 1).classes[0].completion_s.unwrap().max
    };
    let [rfc, linux] = [Stack::Rfc, Stack::Linux].map(longest);
    assert!(linux < 1.0 && rfc > 1.0, "{linux} s, {rfc} s");
}

/// Slow start from two packets on a new connection: seven packets are sent as 2 + 4 + 1.
#[test]
fn a_new_connection_begins_with_slow_start() {
    takes(Files { size: Draw::Constant(3500.0), ..FILES }, 2.0 * (DATA + ACK) + DATA);
}

/// The first file, of 2 + 4 + 1 packets, leaves a window of 5: it does not grow while the file, not the window, limits
/// the packets outstanding (RFC 7661). The second file takes 5 + 2. After an idle second, longer than the timeout of
/// 200 ms, a connection starts with the restart window, unless that is disabled.
#[test]
fn persistent_connection_keeps_its_window() {
    let files = Files { size: Draw::Constant(3500.0), fresh: false, count: Some(2), ..FILES };
    let keeps = TcpOptions { idle_restart: false, ..TcpOptions::default() };
    let kept = outcome(files, keeps).completion_s.unwrap();
    let (first, second) = (2.0 * (DATA + ACK) + DATA, DATA + ACK + DATA + 0.0004);
    assert!((kept.mean - 0.5 * (first + second)).abs() < 1e-6, "{kept:?}");
    let restarted = outcome(files, TcpOptions::default()).completion_s.unwrap();
    assert!((restarted.mean - first).abs() < 1e-6, "{restarted:?}");
}

#[test]
fn every_file_completes_despite_losses() {
    for variant in Variant::all() {
        let by_request =
            [None, Some(400)].map(|request| [Opening::Established, Opening::Handshake].map(|it| (request, it)));
        for (request, opening) in by_request.into_iter().flatten().chain([(None, Opening::Ns2)]) {
            for fresh in [false, true] {
                let options = TcpOptions { variant, ..TcpOptions::default() };
                let think = Draw::Exponential(0.1);
                let files = Files { size: Draw::Constant(10_000.0), think, count: Some(10), fresh, request, opening };
                let mut net = network(5, 400, options, &Work::Files(files));
                for link in &mut net.links {
                    link.lane.conditions.loss = Some(LossModel::Bernoulli(0.03));
                }
                let outcome = run(&net, 1);
                assert_eq!(outcome.classes[0].files, 50, "{variant:?} {request:?} {opening:?} {fresh}");
                assert!(outcome.flows.iter().all(|flow| flow.delivered_pkts == 200), "{variant:?}");
            }
        }
    }
}

#[test]
fn paced_writes_arrive_at_their_rate() {
    // 100 packets per second, far below what the window allows; and 5000, of which the link carries half.
    for (every, secs, low, high) in [(10_000, 50, 4990, 5001), (200, 20, 49_000, 50_000)] {
        let work = Work::Written(Pattern::Constant { every: Span::from_micros(every) });
        // A window above the path's capacity, but without the losses of an unlimited slow start.
        let options = TcpOptions { window: Some(300), ..TcpOptions::default() };
        let flow = run(&network(1, secs, options, &work), 1).flows.remove(0);
        assert!((low..=high).contains(&flow.delivered_pkts), "{}", flow.delivered_pkts);
    }
}

#[test]
fn stopped_application_sends_no_further_files() {
    let mut net = network(1, 20, TcpOptions::default(), &Work::Files(Files { request: Some(40), ..FILES }));
    net.flows[0].stop = Some(Instant::from_nanos(1_500_000_000));
    assert_eq!(run(&net, 1).classes[0].files, 2);
    net.flows[0].stop = Some(Instant::from_nanos(1_000_000));
    assert_eq!(run(&net, 1).classes.iter().map(|class| class.files).sum::<u64>(), 0);
}

#[test]
fn completions_list_every_file_in_order() {
    let outcome = run(&network(3, 20, TcpOptions::default(), &Work::Files(FILES)), 1);
    let (files, took) = (outcome.all[0].files, outcome.all[0].completion_s.unwrap());
    assert_eq!(outcome.completions.len() as u64, files);
    assert!(outcome.completions.is_sorted_by_key(|file| file.at));
    assert!((0..3).all(|flow| outcome.completions.iter().any(|file| file.flow == flow)));
    let mean = outcome.completions.iter().map(|file| file.took.secs()).sum::<f64>() / files as f64;
    assert!((mean - took.mean).abs() < 1e-9, "{mean} {took:?}");
}
