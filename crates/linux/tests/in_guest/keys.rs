//! The keys of a sender that apply on Linux.

use forebay_aqm::base::time::Span;
use forebay_linux::place::Kernel;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::tcp::{Stack, TcpOptions, Variant};

use crate::{bulk, flow, kernel, network, run};

/// Options of CUBIC in the Linux stack, whose defaults are those of a Linux host.
fn cubic() -> TcpOptions {
    TcpOptions::of(Variant::parse("cubic").unwrap(), Some(Stack::Linux))
}

/// A connection with these options sends for 5 s.
fn outcome(kernel: &Kernel, options: TcpOptions) -> Outcome {
    let mut net = bulk("droptail", 1, 5);
    net.flows[0].traffic = Traffic::Tcp(options);
    run(kernel, &net, 1).unwrap().outcome
}

/// Files of this number of packets over links with a delay of 100 ms: the seconds that each takes, and the longest queue
/// in packets.
fn transfers(kernel: &Kernel, options: TcpOptions, packets: u32) -> (Vec<f64>, f64) {
    let size = Draw::Constant(f64::from(packets) * 1500.0);
    let files = Files {
        size,
        think: Draw::Constant(1.0),
        count: None,
        fresh: true,
        request: None,
        opening: Opening::Handshake,
    };
    let flows = vec![flow("files/0", Traffic::Application(options, Work::Files(files)))];
    let mut net = Network { flows, ..network("droptail", 40) };
    net.links.iter_mut().for_each(|link| link.lane.delay = Span::from_millis(100));
    let found = run(kernel, &net, 1).unwrap().outcome;
    (found.completions.iter().map(|file| file.took.secs()).collect(), found.links[0].queue_pkts.max)
}

#[test]
fn receive_window_limits_the_throughput() {
    let Some(kernel) = kernel() else { return };
    let utilisation =
        |window| outcome(&kernel, TcpOptions { window: Some(window), ..TcpOptions::default() }).links[0].utilisation;
    // With an unlimited window the utilisation is 1.
    let [one, two, four] = [1, 2, 4].map(utilisation);
    assert!(one < 0.6 * two && two < 0.6 * four && four < 0.5, "{one} {two} {four}");
}

/// A file of 20 packets takes a round trip of 201 ms for the handshake, and one per window: 1 of 20 packets, 2 of 10 and
/// 10 more, 5 of 1, 2, 4, 8 and 5 more.
#[test]
fn initial_window_decides_the_round_trips_of_files() {
    let Some(kernel) = kernel() else { return };
    let seconds = |initial_window| {
        let (all, _) = transfers(&kernel, TcpOptions { initial_window, ..cubic() }, 20);
        all.iter().sum::<f64>() / all.len() as f64
    };
    let [all, ten, one] = [20, 10, 1].map(seconds);
    let [more, most] = [ten - all, one - all].map(|longer| longer / 0.201);
    assert!((0.9..1.1).contains(&more) && (3.8..4.2).contains(&most), "{all} {ten} {one} s");
}

/// Data packets per acknowledgement: 1 if each is acknowledged at once, else about 2.
#[test]
fn delayed_acknowledgements_can_be_switched_off() {
    let Some(kernel) = kernel() else { return };
    let acknowledgements = |delayed_ack| {
        let mut net = bulk("droptail", 1, 5);
        net.flows[0].traffic = Traffic::Tcp(TcpOptions { delayed_ack, ..cubic() });
        net.links[1].lane.study = true;
        let links = run(&kernel, &net, 1).unwrap().outcome.links;
        links[0].delivered_pkts as f64 / links[1].delivered_pkts as f64
    };
    let [each, delayed] = [false, true].map(acknowledgements);
    assert!((0.95..1.1).contains(&each) && delayed > 1.5, "{each} {delayed}");
}

/// A third of the packets is lost, so timeouts decide the throughput. A timeout of Linux is at least 200 ms above the round
/// trip; with `min_rto` = 2 s it is at least 2 s.
#[test]
fn least_timeout_applies() {
    let Some(kernel) = kernel() else { return };
    let packets = |ms| {
        let mut net = bulk("droptail", 1, 100);
        net.flows[0].traffic = Traffic::Tcp(TcpOptions { min_rto: Span::from_millis(ms), ..cubic() });
        net.links[0].lane.conditions.loss = Some(LossModel::Bernoulli(0.33));
        run(&kernel, &net, 1).unwrap().outcome.flows[0].delivered_pkts
    };
    let [own, longer] = [200, 2000].map(packets);
    assert!(own > 2 * longer, "{own} {longer} packets");
}

/// Without pacing, slow start sends bursts, which queue. With pacing it spreads them over the round trip. Linux never paces
/// the first ten packets.
#[test]
fn pacing_shortens_the_queue_of_slow_start() {
    let Some(kernel) = kernel() else { return };
    let queue = |pacing| transfers(&kernel, TcpOptions { pacing, ..cubic() }, 150).1;
    let [bursts, paced] = [false, true].map(queue);
    assert!(bursts >= 25.0 && paced <= 0.5 * bursts, "{bursts} {paced} packets");
}

#[test]
fn kernel_tcp_replaces_the_congestion_control() {
    let Some(kernel) = kernel() else { return };
    let fingerprint = |name: &str, kernel_tcp| {
        let variant = Variant::parse(name).unwrap();
        outcome(&kernel, TcpOptions { kernel_tcp, ..TcpOptions::of(variant, None) }).fingerprint
    };
    let cubic = fingerprint("cubic", None);
    assert_eq!(fingerprint("newreno", Some("cubic")), cubic);
    assert_ne!(fingerprint("cubic", Some("vegas")), cubic);
}

/// Keys with the default value of their stack are left to Linux: with `stack = "rfc"` the initial window is that of Linux.
#[test]
fn defaults_of_a_stack_are_the_kernels_own() {
    let Some(kernel) = kernel() else { return };
    let [rfc, linux] = [Stack::Rfc, Stack::Linux]
        .map(|stack| outcome(&kernel, TcpOptions::of(Variant::parse("cubic").unwrap(), Some(stack))).fingerprint);
    assert_eq!(rfc, linux);
}
