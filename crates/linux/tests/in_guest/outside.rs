//! Links outside of the kernel: the simulator's links, joined to the guest's devices. The results are compared with
//! those of the same disciplines as qdiscs in the kernel.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{self, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_linux::machine::{Fault, Start};
use forebay_linux::outside;
use forebay_linux::place::Kernel;
use forebay_linux::run::Finished;
use forebay_sim::network::{FlowSpec, Lane, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::schedule::{Schedule, Trace};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{TcpOptions, Variant};

use crate::in_guest::runs::every_kind_arrives;
use crate::{bulk, flow, kernel, network, run};

fn run_outside(kernel: &Kernel, net: &Network, seed: u64) -> Result<Finished, Fault> {
    // Tests run in parallel: each on another core.
    let worker = net.flows.len() + net.links.len();
    outside::run(kernel, net, seed, worker, &AtomicBool::new(false))
}

fn tcp(name: &str, options: TcpOptions) -> FlowSpec {
    flow(name, Traffic::Tcp(options))
}

fn cubic() -> TcpOptions {
    TcpOptions { variant: Variant::CUBIC, ..TcpOptions::default() }
}

/// Seconds of each run.
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

/// The network with starts of its flows that depend on the seed. Of the disciplines only PI uses random numbers.
fn staggered(net: &Network, seed: u64) -> Network {
    // With congestion windows over time.
    let mut net = Network { tracks: vec![vec![0], vec![1]], ..net.clone() };
    for (number, flow) in net.flows.iter_mut().enumerate() {
        flow.start = time::Instant::from_nanos(number as u64 * seed * 17_000_000);
    }
    net
}

/// Sums over the runs of a network.
#[derive(Debug, Default)]
struct Sums {
    /// Mean queues, packets.
    queue: f64,
    /// Goodput, bytes.
    goodput: f64,
    /// Packets dropped or marked.
    signals: f64,
    /// Mean round-trip times, s.
    round_trip: f64,
}

impl Sums {
    fn add(&mut self, found: &Finished) {
        let (outcome, link) = (&found.outcome, &found.outcome.links[0]);
        assert_eq!(found.faults, [""; 0]);
        self.queue += link.queue_pkts.mean;
        self.goodput += outcome.flows.iter().map(|flow| flow.goodput_bytes).sum::<u64>() as f64;
        let bundle = &outcome.bundles[0];
        self.round_trip += bundle.rtt_s.as_ref().map_or(0.0, |rtt| rtt.mean);
        self.signals += (link.dropped_early + link.dropped_overflow + link.marked) as f64;
    }
}

/// Which values the results have: times and columns of the series, lengths of lists.
fn shape(found: &Outcome) -> (Vec<f64>, Vec<(&'static str, usize)>, [usize; 6]) {
    let series = &found.links[0].series;
    let columns = series.probes.iter().map(|(name, column)| (*name, column.len())).collect();
    let tracks = found.tracks.iter().map(Vec::len).sum();
    let rows = [series.queue_pkts.len(), series.queue_mean_pkts.len()];
    let counts = [found.flows.len(), found.classes.len(), found.bundles.len(), tracks, rows[0], rows[1]];
    (series.time_s.clone(), columns, counts)
}

/// The links inside and outside differ in one point: the guest's clock has steps of 256 ns, outside it is exact. The two
/// runs therefore differ as runs with different seeds do. Bounds:
///
/// - goodput 2 %: the link is busy in both; the rest are the headers and what is on the way at the ends of the window;
/// - mean queue 10 %: with reverse traffic that of a run varies by 6 %, so there are more of these runs;
/// - mean round-trip time 8 %: mostly queue;
/// - drops and marks 20 %: at least 130 in all runs of a scenario; independent ones would vary by up to 9 %, the
///   difference of two by up to 12 %.
fn compare(name: &str, net: &Network, seeds: u64) {
    let Some(kernel) = kernel() else { return };
    let (mut inside, mut outside) = (Sums::default(), Sums::default());
    for seed in 1..=seeds {
        let net = &staggered(net, seed);
        let both = [run(&kernel, net, seed).unwrap(), run_outside(&kernel, net, seed).unwrap()];
        let [one, other] = [&both[0].outcome, &both[1].outcome].map(shape);
        assert_eq!(one, other);
        inside.add(&both[0]);
        outside.add(&both[1]);
    }
    println!("{name}: inside {inside:?}, outside {outside:?}");
    let near = |a: f64, b: f64, share: f64| (a / b - 1.0).abs() <= share;
    assert!(near(outside.goodput, inside.goodput, 0.02), "{name}: {inside:?} {outside:?}");
    assert!(near(outside.queue, inside.queue, 0.1), "{name}: {inside:?} {outside:?}");
    assert!(near(outside.round_trip, inside.round_trip, 0.08), "{name}: {inside:?} {outside:?}");
    assert!(near(outside.signals, inside.signals, 0.2), "{name}: {inside:?} {outside:?}");
}

#[test]
fn codel_outside_is_codel_inside() {
    compare("codel", &codel(), 2);
}

#[test]
fn reverse_traffic_outside_is_that_inside() {
    compare("droptail", &reverse(), 6);
}

#[test]
fn marks_of_pi_outside_are_those_inside() {
    compare("pi", &pi(), 2);
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
    every_kind_arrives(|net| run_outside(&kernel, net, 1));
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

/// More packets leave the link at one time than the guest's device has buffers (256).
#[test]
fn bursts_longer_than_the_ring_arrive_completely() {
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("droptail", 4, 10);
    net.links[0].lane.limit = Limit::Packets(2000);
    let trace = Trace::parse(&"40\n".repeat(600)).unwrap();
    net.links[0].lane.conditions.schedule = Some(Schedule::Trace(trace).into());
    net.flows.push(flow("cbr/0", Traffic::Datagrams(Pattern::Constant { every: Span::from_micros(500) })));
    let found = run_outside(&kernel, &net, 1).unwrap();
    let link = &found.outcome.links[0];
    let carried: u64 = found.outcome.flows.iter().map(|flow| flow.delivered_pkts).sum();
    assert!(link.queue_pkts.max > 600.0, "the link holds more than a burst: {}", link.queue_pkts.max);
    // What leaves the link arrives, but for a burst of 600 on its way at the end. The link also counts packets without
    // data: SYN, acknowledgement and FIN of four connections.
    assert!(carried.abs_diff(link.served_pkts) <= 600 + 3 * 4, "{carried} of {}", link.served_pkts);
}

#[test]
fn qdiscs_of_linux_are_refused_outside() {
    let mut net = bulk("codel", 1, 1);
    net.links[0].lane.discipline = crate::words::parse("linux:codel").unwrap().unwrap();
    assert!(outside::orders(&net, 1).unwrap_err().contains("--link inside"));
}

/// A kernel with another first program.
fn with_agent(kernel: &Kernel, name: &str, agent: &[u8]) -> (Kernel, PathBuf) {
    let path = std::env::temp_dir().join(format!("agent-of-a-test-{}-{name}", std::process::id()));
    std::fs::write(&path, agent).unwrap();
    (Kernel { agent: path.clone(), ..kernel.clone() }, path)
}

/// A program that jumps to itself for ever: ELF header, one loaded part, and two bytes of code.
fn endless() -> Vec<u8> {
    const AT: u64 = 0x40_0000;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0];
    // Entry, place of the program header, no sections; flags, sizes and numbers of headers.
    elf.extend([AT + 120, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // The complete file is loaded, to be read and executed.
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    elf.extend([0, AT, AT, 122, 122, 4096].into_iter().flat_map(u64::to_le_bytes));
    elf.extend([0xeb, 0xfe]);
    elf
}

#[test]
fn guest_that_dies_outside_ends_the_run() {
    let Some(kernel) = kernel() else { return };
    let (kernel, path) = with_agent(&kernel, "dies", b"not a program");
    let found = run_outside(&kernel, &bulk("droptail", 1, 5), 1);
    std::fs::remove_file(path).unwrap();
    let why = found.err().unwrap().to_string();
    assert!(why.contains("ended early") && why.contains("execute /init"), "{why}");
    let kernel = Kernel { program: "/bin/true".into(), ..kernel };
    let why = run_outside(&kernel, &bulk("droptail", 1, 5), 1).err().unwrap().to_string();
    assert!(why.contains("cannot") || why.contains("ended early"), "{why}");
}

#[test]
fn endless_loop_outside_ends_the_run() {
    let Some(kernel) = kernel() else { return };
    let (kernel, path) = with_agent(&kernel, "loops", &endless());
    let start = Start { seed: 1, core: None, silent_cpu_s: 2.0 };
    let found = outside::run_started(&kernel, &bulk("droptail", 1, 5), start, &AtomicBool::new(false), None);
    std::fs::remove_file(path).unwrap();
    let why = found.err().unwrap().to_string();
    assert!(why.contains("neither run nor answered"), "{why}");
}

#[test]
fn stopped_run_outside_ends_and_leaves_no_folder() {
    let Some(kernel) = kernel() else { return };
    let (stop, begun) = (AtomicBool::new(false), Instant::now());
    let (found, gone) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            // Also now: whatever ends the run leaves none.
            let gone = folders_are_gone();
            stop.store(true, Ordering::Relaxed);
            gone
        });
        let found = outside::run(&kernel, &bulk("droptail", 4, 2000), 1, 0, &stop);
        (found, looking.join().unwrap())
    });
    assert!(matches!(found, Err(Fault::Stopped)), "it was not stopped");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(gone);
}

/// Is there a time without folders of runs? Other tests of this process may be running.
fn folders_are_gone() -> bool {
    let own = format!("forebay-linux-{}-", std::process::id());
    let folders = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count()
    };
    (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        folders() == 0
    })
}
