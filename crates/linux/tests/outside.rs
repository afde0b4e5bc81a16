//! Links outside of the kernel: the simulator's links, joined to the guest's devices. The results are compared with
//! those of the same disciplines as qdiscs in the kernel.

use std::sync::atomic::AtomicBool;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_linux::machine::Fault;
use forebay_linux::outside;
use forebay_linux::place::Kernel;
use forebay_linux::run::Finished;
use forebay_sim::app::{Files, Work};
use forebay_sim::draw::Draw;
use forebay_sim::network::{FlowSpec, Lane, Network, Traffic};
use forebay_sim::schedule::{Schedule, Trace};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{TcpOptions, Variant};

use crate::{bulk, flow, kernel, network, run};

fn run_outside(kernel: &Kernel, net: &Network, seed: u64) -> Result<Finished, Fault> {
    outside::run(kernel, net, seed, 0, &AtomicBool::new(false))
}

fn tcp(name: &str, options: TcpOptions) -> FlowSpec {
    flow(name, Traffic::Tcp(options))
}

fn cubic() -> TcpOptions {
    TcpOptions { variant: Variant::CUBIC, ..TcpOptions::default() }
}

/// Seeds that are compared, and seconds of each run.
const SEEDS: [u64; 2] = [1, 2];
const SECONDS: u64 = 20;

/// CoDel with four flows.
fn codel() -> Network {
    let flows = (0..4).map(|number| tcp(&format!("ftp/{number}"), cubic())).collect();
    Network { flows, ..network("codel", SECONDS) }
}

/// Drop-tail with flows of two round-trip times, and two flows in the other direction, whose data share links with
/// acknowledgements.
fn reverse() -> Network {
    let mut net = network("droptail", SECONDS);
    let far = Lane::plain(Rate(100_000_000), Span::from_millis(30), Limit::Packets(10_000)).link("far", 1500);
    net.links.push(far);
    net.routes.push(vec![2, 0]);
    let number = |number: usize| {
        let mut flow = tcp(&format!("ftp/{number}"), cubic());
        match number {
            2 | 3 => flow.forward = 2,
            4 | 5 => (flow.forward, flow.back) = (1, 0),
            _ => {}
        }
        flow
    };
    net.flows = (0..6).map(number).collect();
    net
}

/// PI with ECN.
fn pi() -> Network {
    let number = |number: usize| {
        let mut flow = tcp(&format!("ftp/{number}"), TcpOptions { ecn: true, ..cubic() });
        flow.ecn = Ecn::Ect0;
        flow
    };
    Network { flows: (0..4).map(number).collect(), ..network("pi ecn=on", SECONDS) }
}

/// Sums over the runs of a network.
#[derive(Debug, Default)]
struct Sums {
    /// Mean queue, packets.
    queue: f64,
    /// Goodput, bytes.
    goodput: f64,
    /// Packets dropped or marked.
    signals: f64,
}

impl Sums {
    fn add(&mut self, found: &Finished) {
        let (outcome, link) = (&found.outcome, &found.outcome.links[0]);
        assert_eq!(found.faults, [""; 0]);
        self.queue += link.queue_pkts.mean / SEEDS.len() as f64;
        self.goodput += outcome.flows.iter().map(|flow| flow.goodput_bytes).sum::<u64>() as f64;
        self.signals += (link.dropped_early + link.dropped_overflow + link.marked) as f64;
    }
}

/// The links inside and outside differ in two points: tbf lets the first packet of a busy period pass at once, which
/// the simulator's link sends in 1.2 ms; and netem delays packets in steps of the guest's clock. So the round-trip time
/// differs by about 1.3 ms of 22 to 100 ms, and each run is another realisation of the same process. Bounds:
///
/// - goodput 2 %: the link is busy in both; the rest are the headers and what is on the way at the ends of the window;
/// - mean queue 10 %: it is the sum of the windows minus what is on the way, of which the longer round trip takes up to
///   one or two packets; the mean over some 30 periods of the windows varies by 3 %;
/// - drops and marks 20 %: some 150 to 300 in both runs together; independent ones would vary by 6 to 8 %, the
///   difference of two by up to 11 %.
fn compare(name: &str, net: &Network) {
    let Some(kernel) = kernel() else { return };
    let (mut inside, mut outside) = (Sums::default(), Sums::default());
    for seed in SEEDS {
        inside.add(&run(&kernel, net, seed).unwrap());
        outside.add(&run_outside(&kernel, net, seed).unwrap());
    }
    println!("{name}: inside {inside:?}, outside {outside:?}");
    let near = |a: f64, b: f64, share: f64| (a / b - 1.0).abs() <= share;
    assert!(near(outside.goodput, inside.goodput, 0.02), "{name}: {inside:?} {outside:?}");
    assert!(near(outside.queue, inside.queue, 0.1), "{name}: {inside:?} {outside:?}");
    assert!(near(outside.signals, inside.signals, 0.2), "{name}: {inside:?} {outside:?}");
}

#[test]
fn codel_outside_is_codel_inside() {
    compare("codel", &codel());
}

#[test]
fn reverse_traffic_outside_is_that_inside() {
    compare("droptail", &reverse());
}

#[test]
fn marks_of_pi_outside_are_those_inside() {
    compare("pi", &pi());
}

#[test]
fn same_seed_outside_gives_the_same_results() {
    let Some(kernel) = kernel() else { return };
    let mut net = reverse();
    net.duration = Span::from_millis(5000);
    net.flows.push(flow("cbr/0", Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(7) })));
    net.tracks = vec![vec![0, 6]];
    let results = |seed| run_outside(&kernel, &net, seed).unwrap().outcome;
    let one = results(1);
    assert_eq!(one, results(1));
    assert_ne!(one.fingerprint, results(2).fingerprint, "another seed");
}

#[test]
fn every_kind_of_traffic_crosses_links_outside() {
    let Some(kernel) = kernel() else { return };
    let files = |request, fresh| {
        let files = Files {
            size: Draw::Constant(30_000.0),
            think: Draw::Exponential(0.1),
            count: None,
            fresh,
            request,
            handshake: true,
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
    let found = run_outside(&kernel, &net, 1).unwrap();
    assert_eq!(found.faults, [""; 0]);
    for (number, flow) in found.outcome.flows.iter().enumerate().take(4) {
        let files = found.outcome.completions.iter().filter(|file| file.flow as usize == number).count() as u64;
        assert!(files > 10, "flow {number}: {files} files");
        let packets = flow.goodput_bytes / 1434;
        // Files of 20 packets; one may be on its way at either end of the window.
        assert!(packets.abs_diff(20 * files) <= 20, "flow {number}: {packets} packets, {files} files");
    }
    let packets = found.outcome.flows[4].delivered_pkts;
    assert!((470..=475).contains(&packets), "{packets} datagrams in 9.5 s");
    assert_eq!(found.outcome.flows[4].goodput_bytes, packets * (1500 - 42));
}

/// A radio link: opportunities for 1500 bytes at 10 in 20 ms, the others at once. The kernel alone cannot have it.
#[test]
fn trace_of_a_radio_link_works_outside() {
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("codel", 2, 10);
    let opportunities: String = (1..=10).chain([20; 6]).map(|at| format!("{at}\n")).collect();
    let trace = Trace::parse(&opportunities).unwrap();
    // 16 opportunities in 20 ms.
    assert_eq!(trace.mean(), Rate(9_600_000));
    net.links[0].lane.conditions.schedule = Some(Schedule::Trace(trace).into());
    assert!(matches!(run(&kernel, &net, 1), Err(Fault::Failed(why)) if why.contains("traces")));
    let found = run_outside(&kernel, &net, 1).unwrap();
    assert_eq!(found.faults, [""; 0]);
    let link = &found.outcome.links[0];
    assert!(link.utilisation > 0.95, "{}", link.utilisation);
    let goodput: u64 = found.outcome.flows.iter().map(|flow| flow.goodput_bytes).sum();
    // 9.5 s at 9.6 Mb/s, with 66 bytes of headers in 1500.
    let share = goodput as f64 / (9.5 * 1.2e6 * 1434.0 / 1500.0);
    assert!((0.93..1.03).contains(&share), "{share}");
    let columns: Vec<&str> = link.series.probes.iter().map(|(name, _)| *name).collect();
    assert_eq!((link.series.time_s.len(), columns.contains(&"count")), (100, true), "{columns:?}");
    assert!(link.series.probes.iter().all(|(_, column)| column.len() == 100));
}

#[test]
fn qdiscs_of_linux_are_refused_outside() {
    let mut net = bulk("codel", 1, 1);
    net.links[0].lane.discipline = crate::words::parse("linux:codel").unwrap().unwrap();
    assert!(outside::orders(&net, 1).unwrap_err().contains("--link inside"));
}
