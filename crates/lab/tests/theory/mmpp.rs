//! The MMPP queue model of a scenario compared with the simulator on the same scenario, and what the model refuses.

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_lab::load;
use forebay_lab::lower;
use forebay_lab::scenario::{Case, FlowKind, InputError, Overrides};
use forebay_lab::stats::Interval;
use forebay_lab::theory::fit;
use forebay_lab::theory::mmpp::{self, Model, Queue};
use forebay_sim::source::chain::Chain;
use forebay_sim::source::{Pattern, Sizes, Source};
use forebay_sim::world::World;
use forebay_theory::fit::TwoStates;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

const PRESET: &str = include_str!("../../../../examples/aaqm-model.toml");
const LEVELS: &str = include_str!("../../../../examples/aaqm-model-8.toml");

fn read(text: &str, sets: &[&str], aqm: &[&str]) -> Case {
    let own = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    let overrides = Overrides { sets: own(sets), aqm: own(aqm), ..Overrides::default() };
    load::parse("model.toml", text, &overrides).unwrap().remove(0)
}

/// The specification of this project (section D.6; it is not in this repository) has these values, computed before this
/// code was written, of a queue without the threshold marker: mean number of packets, mean wait in ms, losses. The
/// marker's threshold refers to the link's buffer, which does not contain the packet in transmission.
#[test]
fn model_of_aaqm_scenario_equals_specification_values() {
    let found = mmpp::of(&read(PRESET, &[], &[])).unwrap();
    assert_eq!((found.arrival_states, found.phases, found.queues.len()), (16, 2, 4));
    assert!((found.load - 0.8615).abs() < 5e-5 && (found.capacity_pkts_s - 975.04).abs() < 5e-3);
    assert_eq!(found.left_out, Vec::<String>::new());
    let plain = &found.queues[0];
    assert_eq!((plain.states, plain.room_pkts, plain.th), (3216, 100, None));
    assert!((plain.mean_pkts - 23.035).abs() < 6e-4 && (plain.delay_ms - 27.868).abs() < 1e-3);
    let losses: Vec<f64> = plain.groups.iter().map(|group| group.loss).collect();
    for (loss, printed) in losses.iter().zip([0.01359, 0.01448, 0.02646, 0.01282]) {
        assert!((loss - printed).abs() < 6e-6, "{losses:?}");
    }
    let names: Vec<&str> = plain.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!((names, (plain.loss * 1e5).round()), (vec!["video", "multimedia", "www", "ftp"], 1600.0));
    let losses: Vec<f64> = found.queues.iter().map(|queue| queue.loss).collect();
    assert!(
        losses.is_sorted() && found.queues[3].mean_pkts < found.queues[2].mean_pkts,
        "a lower threshold drops more"
    );
    assert_eq!(mmpp::of(&read(LEVELS, &[], &[])).unwrap().arrival_states, 8);
}

#[test]
fn random_sources_are_modelled_as_mmpps() {
    let flows = |kinds: &str| {
        let head = PRESET.split("[[flows]]").next().unwrap();
        format!("{head}{kinds}\n[compare]\naqm = [\"droptail\"]\n")
    };
    let solved = |kinds: &str| mmpp::of(&read(&flows(kinds), &[], &[])).unwrap();
    let poisson = solved("[[flows]]\nkind = \"cbr\"\nrate = \"9mbit\"\nspacing = \"poisson\"\nsizes = \"exponential\"");
    let one = solved("[[flows]]\nkind = \"mmpp\"\nrates = [\"9mbit\"]\nerlang = 1");
    let ten = solved("[[flows]]\nkind = \"mmpp\"\nrates = [\"900kbit\"]\nerlang = 1\ncount = 10");
    let near = |a: &Model, b: &Model| (a.queues[0].mean_pkts / b.queues[0].mean_pkts - 1.0).abs() < 1e-9;
    assert!(near(&poisson, &one) && near(&ten, &one));
    // M/M/1/100 at 0.9: 9 - 101 0.9^101 / (1 - 0.9^101).
    let tail = 0.9_f64.powi(101);
    assert!((one.queues[0].mean_pkts - (9.0 - 101.0 * tail / (1.0 - tail))).abs() < 1e-9);
    let bursts = solved("[[flows]]\nkind = \"onoff\"\nrate = \"2mbit\"\non = \"100ms\"\noff = \"100ms\"\ncount = 9");
    assert_eq!((bursts.arrival_states, bursts.phases, bursts.left_out.len()), (10, 12, 2));
}

fn refused(text: &str, sets: &[&str], aqm: &[&str]) -> InputError {
    mmpp::of(&read(text, sets, aqm)).unwrap_err()
}

#[test]
fn unsupported_scenario_is_refused_with_reason() {
    for (sets, aqm, key, words) in [
        (&["flows.ftp.erlang=4"][..], &[][..], "flows.ftp.packet", "the model has one size distribution"),
        (&["flows.www.ecn=ect1"], &["raqm th=0.8"], "flows.www.ecn", "in the model signals are drops"),
        (&["flows.ftp.packet=1000"], &[], "flows.ftp.packet", "Erlang-2 sizes of mean 1282"),
        (
            &["flows.ftp.active=[\"10s\", \"end\"]"],
            &[],
            "flows.ftp.active",
            "flows that are active in the complete run",
        ),
        (&["topology.bottleneck.queue=99kb"], &[], "compare.aqm", "a buffer in packets"),
        (&["topology.bottleneck.rate_steps=[[\"50s\", \"2mbit\"]]"], &[], "topology.bottleneck", "a constant rate"),
        (&["flows.*.count=9"], &[], "flows.www", "at most 512 states together"),
        (&["topology.bottleneck.queue=1000000p"], &[], "compare.aqm", "a smaller buffer"),
        (&[], &["red"], "compare.aqm", "droptail, or a discipline behind a threshold marker"),
        (&[], &["droptail front=on"], "compare.aqm", "droptail, or a discipline behind a threshold marker"),
        (&[], &["droptail th=0.95/125s:0.5"], "compare.aqm th", "a constant threshold"),
    ] {
        let error = refused(PRESET, sets, aqm);
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.file, "AAQM: the queue model of section 5");
    }
    let tcp = PRESET.replacen("kind     = \"mmpp\"\nclass    = 0\nerlang   = 2\n", "kind = \"ftp\"\n", 1);
    let lines = |line: &&str| !line.contains("[\"260/s\"") && !line.contains("[\"500ms\"");
    let tcp: Vec<&str> = tcp.lines().filter(lines).collect();
    let error = refused(&tcp.join("\n"), &[], &[]);
    assert!(error.key == "flows.video.kind" && error.to_string().contains("datagrams"), "{error}");
    let others = mmpp::of(&read(PRESET, &["flows.ftp.direction=reverse"], &["red th=0.5"])).unwrap();
    assert!(others.left_out[0].contains("flows.ftp") && others.queues[0].left_out.is_some());
}

/// A tenth of the preset's mean times, so a run has ten times as many bursts.
fn faster() -> String {
    let times = [
        ("[\"500ms\", \"500ms\"]", "[\"50ms\", \"50ms\"]"),
        ("[\"800ms\", \"200ms\"]", "[\"80ms\", \"20ms\"]"),
        ("[\"1s\", \"2s\"]", "[\"100ms\", \"200ms\"]"),
        ("[\"5s\", \"5s\"]", "[\"500ms\", \"500ms\"]"),
    ];
    times.iter().fold(PRESET.to_string(), |text, (from, to)| text.replacen(from, to, 1))
}

/// Room, phases, discipline, and seconds of a run: drop-tail, and two with a marker. With a room of 100 a full buffer
/// is so rare that 20 runs of 800 s had intervals too wide for the rule below. Two systems have a room of 40 instead, so
/// that shorter runs suffice.
const SYSTEMS: [(u32, u32, &str, u32); 8] = [
    (20, 1, "droptail", 410),
    (20, 2, "droptail", 410),
    (20, 4, "droptail", 410),
    (40, 1, "droptail", 810),
    (100, 2, "droptail", 3210),
    (40, 4, "droptail", 810),
    (20, 1, "droptail th=0.25", 410),
    (100, 2, "droptail th=0.5", 810),
];
/// Number of seeds.
const SEEDS: u64 = 40;
/// Probability that some interval of all systems misses.
const ERROR: f64 = 0.05;
/// Queue lengths above that with this probability count as one.
const RARE: f64 = 1e-3;

/// A quantity by the model and in the runs.
struct Cell {
    name: String,
    exact: f64,
    measured: Interval,
    /// Number of quantities that share its error probability.
    among: usize,
}

/// The quantities of one run: waiting, wait in ms, busy, loss, losses by class, then the distribution function.
fn run(case: &Case, seed: u64, states: usize) -> Vec<f64> {
    let net = lower::network(&case.scenario, &case.scenario.compare[0].spec, seed);
    let outcome = World::new(&net, seed).unwrap().run(&mut ()).unwrap();
    let link = &outcome.links[0];
    let lost = |offered: u64, dropped: u64| dropped as f64 / offered as f64;
    let dropped = link.dropped_early + link.dropped_overflow;
    let wait = link.sojourn_s.map_or(0.0, |s| s.mean);
    let mut figures = vec![link.queue_pkts.mean, 1e3 * wait, link.utilisation, lost(link.offered_pkts, dropped)];
    for class in 0..4 {
        let of = || link.classes.iter().filter(|it| it.class == class);
        figures.push(lost(of().map(|it| it.offered_pkts).sum(), of().map(|it| it.dropped_pkts).sum()));
    }
    figures.extend((1..=states).map(|n| link.queue_shares.iter().take(n).sum::<f64>()));
    figures
}

fn cells(room: u32, phases: u32, aqm: &str, seconds: u32) -> Vec<Cell> {
    let sets = [
        format!("flows.*.erlang={phases}"),
        format!("topology.bottleneck.queue={}p", room - 1),
        format!("duration={seconds}s"),
        "warmup=10s".to_string(),
    ];
    let case = read(&faster(), &sets.each_ref().map(String::as_str), &[aqm]);
    let queue: Queue = mmpp::of(&case).unwrap().queues.remove(0);
    let waiting = queue.waiting();
    let up_to = |n: usize| waiting.iter().take(n).sum::<f64>();
    let states = (1..waiting.len()).take_while(|n| 1.0 - up_to(*n) > RARE).count();
    let mut exact = vec![queue.waiting_pkts, queue.wait_ms, queue.utilisation, queue.loss];
    exact.extend(queue.groups.iter().map(|group| group.loss));
    exact.extend((1..=states).map(up_to));
    let runs: Vec<Vec<f64>> = (1..=SEEDS).into_par_iter().map(|seed| run(&case, seed, states)).collect();
    let names = ["waiting", "wait", "busy", "loss", "video", "multimedia", "www", "ftp"].map(str::to_string);
    let names = names.into_iter().chain((1..=states).map(|n| format!("below {n}")));
    let cell = |(i, (name, exact)): (usize, (String, f64))| Cell {
        name: format!("L = {room}, r = {phases}, {aqm}: {name}"),
        exact,
        measured: Interval::of(&runs.iter().map(|run| run[i]).collect::<Vec<_>>()),
        among: if i < 8 { 1 } else { states },
    };
    names.zip(exact).enumerate().map(cell).collect()
}

/// Two criteria, fixed before the first comparison. Every value of the model is within the interval of the simulation;
/// the intervals hold for all quantities together with 95 % (Bonferroni; a distribution counts as one quantity). The
/// half-width of a single 95 % interval is at most 5 % of queue and wait, 1 % of the utilisation and 10 % of a loss;
/// the length and the number of runs are chosen for these widths.
#[test]
fn simulator_agrees_with_model_for_same_mmpp() {
    let all: Vec<Vec<Cell>> = SYSTEMS.iter().map(|&(room, r, aqm, seconds)| cells(room, r, aqm, seconds)).collect();
    let each = ERROR / (9 * SYSTEMS.len()) as f64;
    let t = |error: f64| StudentsT::new(0.0, 1.0, SEEDS as f64 - 1.0).unwrap().inverse_cdf(1.0 - error / 2.0);
    let mut faults = Vec::new();
    for system in &all {
        for (i, cell) in system.iter().enumerate() {
            let band = cell.measured.half * t(each / cell.among as f64) / t(0.05);
            let off = (cell.measured.mean - cell.exact).abs();
            let widest = [0.05, 0.05, 0.01].get(i).copied().unwrap_or(0.10);
            if off > band || (i < 8 && cell.measured.half > widest * cell.exact) {
                let Interval { mean, half, .. } = cell.measured;
                faults.push(format!("{}: {} in the model, {mean} +- {half} measured", cell.name, cell.exact));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The simulator's MMPP source makes a recording of 4000 s, and the fit uses 2000 windows of 2 s. The tolerances were
/// fixed before the first run: mean rate 5 %, rates and mean times of the states 25 %.
#[test]
fn mmpp_fit_recovers_parameters_of_its_recording() {
    let chain =
        Chain::new(&[vec![0.0, 2.0], vec![1.0 / 1.5, 0.0]], &[vec![300.0, 0.0], vec![0.0, 50.0]], &[0.25, 0.75]);
    let pattern = Pattern::Chain { chain: Arc::new(chain), sizes: Sizes::Erlang(4) };
    let mut source = Source::new(pattern, 800, Rng::stream(1, "recording"));
    source.start(Instant::ZERO);
    let mut packets = Vec::new();
    while let Some(at) = source.next().filter(|at| at.nanos() < 4_000_000_000_000) {
        packets.push(format!("{} {}", at.nanos(), source.send(at)));
    }
    let head = PRESET.split("[[flows]]").next().unwrap();
    let recorded = format!("{head}[[flows]]\nkind = \"trace\"\npackets = \"{}\"\n", packets.join(", "));
    let case = read(&recorded, &[], &[]);
    let recorded = case.scenario.flows[0].kind.recorded().unwrap().clone();
    let fitted = fit::of(&recorded, Span::from_millis(100), Span::from_millis(2000)).unwrap();
    let near = |a: f64, b: f64, part: f64| (a / b - 1.0).abs() < part;
    let TwoStates { mean_s: [busy, idle], rates: [fast, slow], .. } = fitted.arrivals;
    assert!(near(busy, 0.5, 0.25) && near(idle, 1.5, 0.25) && near(fast, 300.0, 0.25) && near(slow, 50.0, 0.25));
    assert_eq!(fitted.erlang, Some(4));
    let again = read(&format!("{head}[[flows]]\n{}", fitted.keys()), &[], &[]);
    let FlowKind::Mmpp(mmpp) = &again.scenario.flows[0].kind else { panic!("an MMPP") };
    assert!(near(mmpp.chain.0.mean_rate(), 112.5, 0.05));
    assert!(near(mmpp::of(&again).unwrap().load, 112.5 * 800.0 * 8.0 / 10e6, 0.05));
}
