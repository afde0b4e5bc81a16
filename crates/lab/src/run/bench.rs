//! Benchmarks of this machine: standard simulations (cases), and each discipline and marker alone. A marker works in
//! addition to a discipline: the threshold marker signals packets (marks ECN-capable ones, drops others), the token
//! bucket colours packets IN or OUT of a traffic profile.

use std::time::Instant;

use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::testing::churn::Churn;
use forebay_aqm::testing::marked::Marked;
use forebay_aqm::{ENTRIES, Spec};
use forebay_sim::network::BadNetwork;
use forebay_sim::world::World;
use serde::{Deserialize, Serialize};

use crate::load;
use crate::scenario::{InputError, Overrides};
use crate::{build::lower, run::plan};

/// Rounds per discipline and marker. The result is the fastest round, because other load can only add time.
const ROUNDS: usize = 5;
/// The seed of every simulation.
const SEED: u64 = 1;
/// Packets per round.
const PACKETS: u64 = 200_000;

/// A standard simulation: long-lived flows over a drop-tail dumbbell with equal link rates.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name in tables.
    pub name: &'static str,
    tcp: &'static str,
    flows: u32,
    hosts: u32,
    rate: &'static str,
    packet: u32,
    queue: u32,
    delay: &'static str,
    near: &'static str,
    start: &'static str,
    duration: &'static str,
    warmup: &'static str,
}

const RAQM_1: Case = Case {
    name: "raqm-1-n40",
    tcp: "newreno",
    flows: 40,
    hosts: 5,
    rate: "10mbit",
    packet: 500,
    queue: 100,
    delay: "10ms",
    near: "10ms",
    start: "1s",
    duration: "200s",
    warmup: "20s",
};

const FAST: Case = Case {
    name: "1g-n1000",
    tcp: "newreno",
    flows: 1000,
    hosts: 10,
    rate: "1gbit",
    packet: 1500,
    queue: 3500,
    delay: "20ms",
    near: "1ms",
    start: "1s",
    duration: "10s",
    warmup: "0s",
};

const SCALING: Case = Case { rate: "100mbit", queue: 350, duration: "20s", ..FAST };

/// The simulations that `forebay bench` always runs.
pub const CASES: [Case; 4] = [
    RAQM_1,
    Case { name: "raqm-1-n400", flows: 400, ..RAQM_1 },
    FAST,
    Case { name: "10g-n1000", rate: "10gbit", queue: 10_000, start: "0.5s", duration: "2s", ..FAST },
];

/// Simulations with 10 to 100,000 flows, on a link of 1 Gbit/s and on one of 100 Mbit/s. The one with 1000 flows on
/// 1 Gbit/s, `1g-n1000`, is among those that always run ([`CASES`]).
pub const SCALING_CASES: [Case; 9] = [
    Case { name: "1g-n10", flows: 10, ..FAST },
    Case { name: "1g-n100", flows: 100, ..FAST },
    Case { name: "1g-n10000", flows: 10_000, ..FAST },
    Case { name: "1g-n100000", flows: 100_000, ..FAST },
    Case { name: "100m-n10", flows: 10, ..SCALING },
    Case { name: "100m-n100", flows: 100, ..SCALING },
    Case { name: "100m-n1000", flows: 1_000, ..SCALING },
    Case { name: "100m-n10000", flows: 10_000, ..SCALING },
    Case { name: "100m-n100000", flows: 100_000, ..SCALING },
];

/// `raqm-1-n40` with other congestion controls; `forebay bench` always runs them.
pub const SENDER_CASES: [Case; 7] = [
    Case { name: "sender-cubic", tcp: "cubic", ..RAQM_1 },
    Case { name: "sender-dctcp", tcp: "dctcp", ..RAQM_1 },
    Case { name: "sender-bbr", tcp: "bbr", ..RAQM_1 },
    Case { name: "sender-bbr3", tcp: "bbr3", ..RAQM_1 },
    Case { name: "sender-prague", tcp: "prague", ..RAQM_1 },
    Case { name: "sender-linux", tcp: "linux", ..RAQM_1 },
    Case { name: "sender-l4s-linux", tcp: "l4s-linux", ..RAQM_1 },
];

/// All simulations, in the order in which they run.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(&SENDER_CASES).chain(&SCALING_CASES)
}

/// The simulation with that name; `None` if there is none.
pub fn case(name: &str) -> Option<&'static Case> {
    cases().find(|case| case.name == name)
}

impl Case {
    /// The simulation as a scenario file.
    pub fn scenario(&self) -> String {
        let Self { name, tcp, flows, hosts, rate, packet, queue, delay, near, start, duration, warmup } = self;
        format!(
            r#"version = 1
title = "{name}"
duration = "{duration}"
warmup = "{warmup}"
packet = {packet}

[topology]
kind = "dumbbell"
bottleneck = {{ rate = "{rate}", delay = "{delay}", queue = "{queue}p", aqm = "droptail" }}
access = {{ hosts = {hosts}, rate = "{rate}", delays = ["{near}"], queue = "10000p", jitter = "10us" }}
egress = {{ rate = "{rate}", delay = "{near}" }}

[[flows]]
kind = "ftp"
count = {flows}
tcp = "{tcp}"
start = {{ uniform = ["0s", "{start}"] }}
"#
        )
    }
}

/// Timing of one simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimRow {
    /// Name of the simulation.
    pub case: String,
    /// The discipline of the bottleneck.
    pub aqm: String,
    /// Packets served by the bottleneck.
    pub packets: u64,
    /// Packets offered to the bottleneck after the warm-up. The warm-up is 0 s in some cases.
    pub offered: u64,
    /// Events that the simulator processed, warm-up included.
    pub events: u64,
    /// CPU seconds of the process so far, including set-up.
    pub cpu_seconds: f64,
    /// CPU seconds before the simulation began: reading the scenario, building the network.
    pub setup_seconds: f64,
    /// `packets / cpu_seconds`.
    pub packets_per_cpu_second: f64,
    /// `1e9 * cpu_seconds / packets`.
    pub ns_per_packet: f64,
    /// Peak memory of the process, if the system reports it.
    pub peak_rss_bytes: Option<u64>,
}

/// Timing of one discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DisciplineRow {
    /// Name of the discipline, timed with its default parameters.
    pub name: String,
    /// One enqueue and its dequeue, in nanoseconds.
    pub ns_per_packet: f64,
    /// Fraction of the load that it dropped. Random drops add to `ns_per_packet`: the CPU mispredicts their branches.
    pub loss_ratio: f64,
    /// Fraction of the load that it marked.
    pub mark_ratio: f64,
}

/// Timing of one marker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkerRow {
    /// Name of the marker.
    pub name: String,
    /// Nanoseconds for one packet. For a marker in front of a queue: one enqueue and its dequeue, with drop-tail. For a
    /// marker at the edge: colouring the packet.
    pub ns_per_packet: f64,
    /// Fraction of the load that it dropped.
    pub loss_ratio: f64,
    /// Fraction of the load that it marked.
    pub mark_ratio: f64,
    /// Fraction of the load that it coloured OUT.
    pub out_ratio: f64,
}

/// Why a simulation did not run.
#[derive(Debug)]
pub enum BenchError {
    /// Its scenario is invalid.
    Input(InputError),
    /// Its network cannot run.
    Run(BadNetwork),
}

impl std::fmt::Display for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BenchError {}

/// Runs `case` on this thread. The results are CPU time and memory since the start of the process. Therefore call it
/// once, in a new process without other threads.
pub fn measure(case: &Case) -> Result<SimRow, BenchError> {
    // Where the system has no thread CPU time, this call starts the clock.
    plan::thread_cpu_seconds();
    let cases = load::parse(case.name, &case.scenario(), &Overrides::default()).map_err(BenchError::Input)?;
    let scenario = &cases[0].scenario;
    let net = lower::network(scenario, &scenario.compare[0].spec, SEED);
    let world = World::new(&net, SEED).map_err(BenchError::Run)?;
    let setup_seconds = plan::thread_cpu_seconds();
    let outcome = world.run(&mut ()).ok_or_else(|| BenchError::Run(BadNetwork("it was ended".into())))?;
    let cpu_seconds = plan::thread_cpu_seconds();
    let link = &outcome.links[0];
    let packets = link.served_pkts;
    Ok(SimRow {
        case: case.name.to_string(),
        aqm: "droptail".to_string(),
        packets,
        offered: link.offered_pkts,
        events: outcome.events,
        cpu_seconds,
        setup_seconds,
        packets_per_cpu_second: packets as f64 / cpu_seconds,
        ns_per_packet: cpu_seconds * 1e9 / packets.max(1) as f64,
        peak_rss_bytes: peak_rss_bytes(),
    })
}

fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Times every discipline of the registry with its defaults, with a steady load.
pub fn disciplines() -> Vec<DisciplineRow> {
    let specs = ENTRIES.iter().filter_map(|entry| Spec::parse(entry.name).ok());
    specs.map(|spec| discipline(&spec)).collect()
}

fn discipline(spec: &Spec) -> DisciplineRow {
    let mut queue = spec.queue(Churn::LINK, Rng::stream(1, spec.name()));
    let mut churn = Churn::default();
    let ns_per_packet = best(|| {
        churn.run(&mut queue, PACKETS);
    });
    let tally = queue.port.tally();
    let share = |count: u64| count as f64 / tally.offered.pkts as f64;
    DisciplineRow {
        name: spec.name().to_string(),
        ns_per_packet,
        loss_ratio: share(tally.dropped_early.pkts + tally.dropped_overflow.pkts),
        mark_ratio: share(tally.marked.pkts),
    }
}

/// Times every marker with packets that it signals or colours.
pub fn markers() -> Vec<MarkerRow> {
    MARKERS.iter().filter_map(marker).collect()
}

fn marker(marker: &MarkerEntry) -> Option<MarkerRow> {
    let mut marked = Marked::of(marker)?;
    let ns_per_packet = best(|| marked.run(PACKETS));
    let shares = marked.shares();
    Some(MarkerRow {
        name: marker.name.to_string(),
        ns_per_packet,
        loss_ratio: shares.dropped,
        mark_ratio: shares.marked,
        out_ratio: shares.out,
    })
}

/// Nanoseconds per packet in the fastest of several rounds, after one warm-up round.
fn best(mut round: impl FnMut()) -> f64 {
    round();
    let all = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / PACKETS as f64
    });
    all.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_simulation_is_a_valid_scenario() {
        for case in super::cases() {
            let cases = load::parse(case.name, &case.scenario(), &Overrides::default()).unwrap();
            assert_eq!(cases[0].scenario.compare[0].spec.name(), "droptail");
            assert!(super::case(case.name).is_some());
        }
    }

    #[test]
    fn raqm_benchmark_has_parameters_of_papers_case_1() {
        let text = CASES[0].scenario();
        for words in ["10mbit", "\"100p\"", "packet = 500", "count = 40", "hosts = 5", "duration = \"200s\""] {
            assert!(text.contains(words), "{words}");
        }
    }
}
