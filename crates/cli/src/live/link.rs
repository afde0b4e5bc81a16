//! `forebay link`: runs a command behind an emulated link. The link has two directions, `up` (from client to server)
//! and `down`.

use std::ffi::OsString;
use std::path::Path;

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_lab::commands::report;
use forebay_lab::disk;
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::lower;
use forebay_lab::plan::Plan;
use forebay_lab::record::{self, RunSummary, Spread};
use forebay_lab::results::meta::Meta;
use forebay_lab::results::timing::{Seen, Timing, Timings};
use forebay_lab::scenario::{Case, FlowKind};
use forebay_lab::store::{self, Store, StoreError};
use forebay_live::emulator::{self, EmulatorOptions, Outcome, Times};
use forebay_live::fabric::{Carried, Completed, FAR, Fabric, NEAR, Report, Way};
use forebay_live::frame;
use forebay_live::namespaces::{Site, SiteOptions, TcpEcn};
use forebay_live::nat::Nat;
use forebay_live::sys::clock;
use forebay_live::sys::process::{Ended, Signals};
use forebay_sim::bundles::Bundles;
use forebay_sim::histogram::Histogram;
use forebay_sim::lone::Rows;
use forebay_sim::network::{FlowSpec, LinkSpec, Network};
use forebay_sim::outcome;
use serde::Serialize;
use serde_json::json;

use crate::args::link::LinkArgs;
use crate::failure::{Exit, Failure};
use crate::live::capture::Capture;
use crate::live::journal;
use crate::render::output::Ui;
use forebay_lab::metric::{METRICS, Metric};
use forebay_lab::render::digits::significant;
use forebay_lab::render::text_table::Table;
use forebay_lab::results::traffic::{ALL, TrafficSummary};

/// Upper bound on the duration of the command behind the link: 366 days.
pub(super) const MAX_DURATION: Span = Span::from_millis(366 * 24 * 3_600_000);

/// Runs the command behind the emulated link.
pub(crate) fn command(args: &LinkArgs, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(dir) = &args.replay {
        return replay(dir, ui);
    }
    let case = args.case()?;
    let (rows, options) = (rows(args)?, EmulatorOptions { spins: args.spin, late_ns: args.late()?.nanos() });
    args.output.as_deref().map_or(Ok(()), free)?;
    let net = network(&case, args.seed);
    let ecn = if args.ecn { TcpEcn::Classic } else { TcpEcn::Default };
    let nat = args.nat.then(Nat::prepare).transpose().map_err(|error| {
        Failure::unavailable(format!("--nat: {error}; it needs the packages slirp4netns and nftables"))
    })?;
    let unavailable = |failure: forebay_live::namespaces::Failure| Failure::unavailable(failure.to_string());
    let options_of_site = SiteOptions { ecn, quiet: ui.json(), port: args.port.kind(), opens: args.nat };
    let site = Site::new(options_of_site).map_err(unavailable)?;
    nat.as_ref().map_or(Ok(()), |nat| site.open(nat)).map_err(unavailable)?;
    let named = |link: &LinkSpec| (link.name.clone(), link.lane.discipline.name().to_string());
    let links: Vec<_> = net.links.iter().map(named).collect();
    let fabric = Fabric::new(&net, args.seed, &bundles(), (rows, MAX_DURATION), args.record).with_completions();
    // Frames from the client side (end 0) take the flow `up`, the first.
    let router = |end: usize, bytes: &[u8]| {
        let (flow, about) = (end, frame::about(bytes));
        Some(Way { route: net.flows[flow].forward, flow: Some(flow), bundle: bundle(about.class, end), about })
    };
    let failed = |what: &'static str| move |error: std::io::Error| Failure::run(format!("cannot {what}: {error}"));
    let signals = Signals::of_the_end().map_err(failed("listen for signals"))?;
    let lock = args.output.as_deref().map(locked).transpose()?;
    let capture = args.pcapng.as_deref().map(|path| Capture::begin(path, &links)).transpose()?;
    let fabric = fabric.with_tap(capture.as_ref().map(|capture| capture.tap(links)));
    let child = site.start(&words(args), &args.server).map_err(unavailable)?;
    let times = Times { start: clock::monotonic(), end: None };
    capture.iter().for_each(|capture| capture.starts(times.start));
    let outcome = emulator::run(site.ports, (fabric, &router), child, &signals, options, times)
        .map_err(failed("emulate the link"))?;
    drop(signals);
    let captured = capture.map_or(Ok(()), Capture::end);
    let exit = end(args, ui, case, outcome, lock)?;
    match captured {
        Ok(()) => Ok(exit),
        // Stdout already has the document.
        Err(failure) if ui.json() => {
            ui.note(&format!("error: {failure}"));
            Ok(Exit::Failed)
        }
        Err(failure) => Err(failure),
    }
}

/// How the time series of the link are sampled. The number of rows is bounded for any duration. With an output
/// directory, a column takes at most 17 MB for both directions, and 10 ms rows become 20 ms rows after three hours.
/// Without one, the series are used only for the metrics `settling_s` and `overshoot_pkts`, which use means over one
/// second.
pub(super) fn rows(args: &LinkArgs) -> Result<Rows, Failure> {
    let every = args.sample()?;
    Ok(match args.output {
        Some(_) => Rows { every, most: Some(1 << 20) },
        None => Rows { every: every.max(Span::from_millis(100)), most: Some(1 << 16) },
    })
}

/// Replays the arrivals recorded in `dir` through the simulator's links. Compares the verdicts (sent, marked, dropped
/// or lost) with the recorded ones.
fn replay(dir: &Path, ui: &Ui) -> Result<Exit, Failure> {
    let damaged = |reason: &str| StoreError::Damaged { path: dir.to_path_buf(), reason: reason.to_string() };
    let seed = match Meta::read(dir)? {
        Meta::Run(meta) => meta.seeds.first().copied(),
        _ => None,
    };
    let seed = seed.ok_or_else(|| damaged("has no seed"))?;
    let case = store::read_case(dir, 0)?.ok_or_else(|| damaged("has no scenario"))?;
    let net = network(&case, seed);
    let (mut arrivals, mut different) = (0, 0);
    for name in LINKS {
        let journal = journal::read(&dir.join(format!("{name}.csv")), net.duration)?;
        let spec = net.links.iter().find(|link| link.name == name).ok_or_else(|| damaged("has another scenario"))?;
        let again = forebay_live::journal::replay(spec, seed, &journal.arrivals, net.duration.nanos());
        arrivals += again.len();
        different += again.iter().zip(&journal.verdicts).filter(|(again, before)| again != before).count();
    }
    if ui.json() {
        ui.print_json(&json!({ "version": 1, "arrivals": arrivals, "different": different }))?;
    } else {
        ui.print(&format!("{arrivals} arrivals, {different} with a different verdict"))?;
    }
    Ok(if different == 0 { Exit::Done } else { Exit::Failed })
}

/// The command to run in the client namespace, with its arguments.
fn words(args: &LinkArgs) -> Vec<OsString> {
    if args.command.is_empty() {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())]
    } else {
        args.command.clone()
    }
}

/// Names of the two directions of the link, in the scenario that describes it.
const LINKS: [&str; 2] = ["up", "down"];

pub(super) fn network(case: &Case, seed: u64) -> Network {
    lower::network(&case.scenario, &case.scenario.compare[0].spec, seed)
}

/// Number of the bundle (flows measured together) of frames of the service class `class` that the host `end` sends.
pub(super) fn bundle(class: u8, end: usize) -> u8 {
    2 * class + end as u8
}

/// The service class of each bundle.
pub(super) fn bundles() -> Bundles {
    Bundles::of((0..8).flat_map(|class| [0, 1].map(|end| (bundle(class, end), class))))
}

/// Refuses an output directory that is not empty: a command behind a link cannot be resumed.
fn free(dir: &Path) -> Result<(), Failure> {
    let used = dir.exists() && !store::is_free(dir, "").unwrap_or(false);
    if used {
        let found = forebay_lab::scenario::Found::thing(format!("{}, which is not empty", dir.display()));
        return Err(forebay_lab::scenario::InputError::new("--output", "", found, "an empty or new directory").into());
    }
    Ok(())
}

/// Locks an empty output directory until the results are written, so that no other command takes it.
fn locked(dir: &Path) -> Result<WriteLock, Failure> {
    let lock = WriteLock::take(dir, &Wait::NEVER)?;
    free(dir)?;
    Ok(lock)
}

/// What `forebay link --json` prints.
#[derive(Serialize)]
struct Document {
    version: u32,
    /// Exit code of the command.
    command: u8,
    timing: Timing,
    runs: Vec<RunSummary>,
}

/// Stores and prints the results of the command and of the link; returns the exit code.
fn end(args: &LinkArgs, ui: &Ui, case: Case, outcome: Outcome, lock: Option<WriteLock>) -> Result<Exit, Failure> {
    let Outcome { fabric, took_ns, cpu_ns, age, missed, odd, refused, ended, faults } = outcome;
    let completed: u64 = odd.iter().map(|odd| odd.completed).sum();
    let valid = faults.is_empty();
    let late = [("up", FAR), ("down", NEAR)].map(|(way, end)| (way, spread(&fabric.lateness[end])));
    let timing = Timing {
        valid,
        faults: faults.clone(),
        late_ms: late.into_iter().collect(),
        seen: Some(Seen {
            age_ms: spread(&age),
            missed_pkts: missed.iter().sum(),
            refused_pkts: refused.iter().sum(),
            unfinished_pkts: odd.iter().map(|odd| odd.cut + odd.unknown).sum(),
            completed_pkts: completed,
        }),
        cpu_seconds: Some(cpu_ns as f64 * 1e-9),
        wall_seconds: Some(took_ns as f64 * 1e-9),
    };
    let code = ended.map_or(Exit::Interrupted.code(), |ended| ended.code() as u8);
    let (runs, place) = kept(args, case, fabric, (took_ns, cpu_ns), &timing, lock, ui)?;
    if ui.json() {
        ui.print_json(&Document { version: 1, command: code, timing, runs })?;
    } else {
        // Stdout belongs to the command.
        ui.note(tables(ui, &runs, &timing).trim_end());
        if completed > 0 {
            ui.note(&format!(
                "{completed} packets arrived with work left to hardware, which the link did: offloads are on at an end"
            ));
        }
        place.iter().for_each(|place| ui.note(place));
    }
    if !valid && ui.json() {
        // The document already has the reason, and stdout must hold exactly one document.
        return Ok(Exit::Failed);
    }
    if !valid {
        return Err(Failure::run(format!("the emulation was not valid: {}", faults.join("; "))));
    }
    Ok(match ended {
        Some(Ended::Code(0)) => Exit::Done,
        _ => Exit::Command(code),
    })
}

/// The summary of a histogram of nanoseconds, in milliseconds.
pub(crate) fn spread(of: &Histogram) -> Option<Spread> {
    of.summary().map(|summary| {
        let s = summary.scaled(1e-6);
        Spread { mean: s.mean, std: s.std, p50: s.p50, p95: s.p95, p99: s.p99, max: s.max }
    })
}

/// The scenario that describes the link, with the duration of the command and the mean rates of its traffic filled in.
fn seen(mut case: Case, took_ns: u64, loads: [Carried; 2]) -> Case {
    let took = Span::from_nanos(took_ns.max(1000));
    (case.scenario.duration, case.scenario.warmup) = (took, Span::ZERO);
    for (group, load) in case.scenario.flows.iter_mut().zip(loads) {
        let packet = (load.bytes / load.packets.max(1)).clamp(64, 65_000);
        let bps = (load.bytes as f64 * 8.0 / took.secs()).clamp(1.0, 1e11);
        if let FlowKind::Cbr(cbr) = &mut group.kind {
            (cbr.rate, cbr.packet) = (Rate(bps as u64), packet as u32);
        }
    }
    case
}

/// The results of both directions as in `summary.json`, and the paths of the files if results are kept (`--output`).
fn kept(
    args: &LinkArgs,
    case: Case,
    fabric: Report,
    (took_ns, cpu_ns): (u64, u64),
    timing: &Timing,
    lock: Option<WriteLock>,
    ui: &Ui,
) -> Result<(Vec<RunSummary>, Option<String>), Failure> {
    let loads = [FAR, NEAR].map(|end| fabric.carried[end]);
    let case = seen(case, took_ns, loads);
    let contender = case.scenario.compare[0].clone();
    let (mut net, active_s) = (network(&case, args.seed), took_ns as f64 * 1e-9);
    let class_of = bundles();
    let carried = (0..).zip(&fabric.bundles).filter(|(bundle, carried)| *bundle < 2 || carried.packets > 0);
    let flows: Vec<outcome::FlowOutcome> = carried
        .map(|(bundle, carried)| outcome::FlowOutcome {
            group: u32::from(bundle % 2),
            class: class_of.class(bundle),
            bundle,
            // Sequence numbers are not compared: a retransmission counts as goodput again.
            goodput_bytes: carried.payload,
            received_bytes: carried.bytes,
            delivered_pkts: carried.packets,
            active_s,
            sender: Default::default(),
            video: None,
        })
        .collect();
    let flow = |seen: &outcome::FlowOutcome| {
        let (class, bundle) = (seen.class, seen.bundle);
        FlowSpec { class, bundle, ..net.flows[seen.group as usize].clone() }
    };
    net.flows = flows.iter().map(flow).collect();
    let of_bundle = |bundle: u8| flows.iter().position(|flow| flow.bundle == bundle);
    let completion = |done: &Completed| {
        let (flow, Completed { at, took, .. }) = (of_bundle(done.bundle)? as u32, *done);
        Some(outcome::Completion { flow, at, took })
    };
    let completions = fabric.completions.iter().filter_map(completion).collect();
    let delays = &fabric.delays;
    let seen = outcome::Outcome {
        links: fabric.links,
        flows,
        classes: delays.of_classes(&class_of),
        bundles: delays.of_bundles(),
        all: net.bundles_across().iter().map(|bundles| delays.of_all(bundles)).collect(),
        completions,
        tracks: fabric.tracks,
        events: 0,
        fingerprint: 0,
    };
    let record = record::record(&case, &contender, args.seed, &net, &seen, cpu_ns as f64 * 1e-9);
    let summaries: Vec<RunSummary> = record.summaries().cloned().collect();
    let Some(lock) = lock else { return Ok((summaries, None)) };
    // A separate build id, so that no simulation resumes this directory.
    let build = format!("live.{}", ui.program().build());
    let plan = Plan::new(vec![case], args.seed, 1).with_revision(&build);
    let store = Store::begin(lock, &plan, &ui.program().origin(), timing.clone())?;
    let dir = store.dir();
    let job = plan.jobs()[0];
    store.save(&plan, job, &record)?;
    for (name, journal) in LINKS.iter().zip(&fabric.journals) {
        if let Some(journal) = journal {
            journal::write(&dir.join(format!("{name}.csv")), journal)?;
        }
    }
    let mut summary = store.summarise(&plan, &[job], &[record.slim()])?;
    (summary.valid, summary.timing) = (Some(timing.valid), Some(Timings::Link(timing.clone())));
    disk::write_json(&dir.join("summary.json"), &summary)?;
    let page = report::write(&store)?;
    Ok((summaries, Some(format!("results  {}\nreport   {}", dir.display(), page.display()))))
}

/// The tables for the terminal, with a row for each direction: first the results of the traffic, then the link itself.
fn tables(ui: &Ui, runs: &[RunSummary], timing: &Timing) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_string(), |value| significant(value, 3));
    let columns: Vec<&Metric> = METRICS.iter().filter(|metric| metric.rank.is_some()).collect();
    let of_run = |run: &RunSummary| run.traffic.iter().rfind(|traffic| traffic.name == ALL).cloned();
    let all: Vec<TrafficSummary> = runs.iter().filter_map(of_run).collect();
    let columns = columns.into_iter().filter(|metric| all.iter().any(|all| all.metric(metric.name).is_some()));
    let columns: Vec<&Metric> = columns.filter(|metric| metric.name != "jain").collect();
    let heads: Vec<&str> = ["link"].into_iter().chain(columns.iter().map(|metric| metric.head)).collect();
    let units: Vec<&str> = [""].into_iter().chain(columns.iter().map(|metric| metric.unit)).collect();
    let mut traffic = Table::new(&heads).units(&units);
    for (run, all) in runs.iter().zip(all) {
        let figures = columns.iter().map(|metric| number(all.metric(metric.name).map(|value| value * metric.factor)));
        traffic.row([run.link.clone()].into_iter().chain(figures).collect());
    }
    let heads = ["link", "packets", "queue", "queue p99", "dropped", "lost", "late p50", "late p99"];
    let mut links = Table::new(&heads).units(&["", "", "packets", "packets", "", "", "ms", "ms"]);
    for run in runs {
        let late = timing.late_ms.get(&run.link).copied().flatten();
        links.row(vec![
            run.link.clone(),
            run.offered_pkts.to_string(),
            number(Some(run.queue_pkts.mean)),
            number(Some(run.queue_pkts.p99)),
            (run.dropped.early + run.dropped.overflow).to_string(),
            run.wire_lost_pkts.to_string(),
            number(late.map(|late| late.p50)),
            number(late.map(|late| late.p99)),
        ]);
    }
    format!("{}\n{}", traffic.render(ui.look(), ""), links.render(ui.look(), ""))
}
