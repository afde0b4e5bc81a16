//! `forebay run --on kernel`: runs a scenario's flows as real connections of this machine's kernel through
//! emulated links.
//!
//! Every contender (compared discipline) is run twice, on the kernel and in the simulator. One report shows both.

use std::fs::File;
use std::io::{Read, Seek, Write};

use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};
use forebay_lab::disk;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::{self, RunRecord};
use forebay_lab::report;
use forebay_lab::results::named::Named;
use forebay_lab::results::timing::{RunTiming, Timing};
use forebay_lab::scenario::{Case, Contender};
use forebay_lab::store::Store;
use forebay_live::emulator::{self, EmulatorOptions, Outcome, Times};
use forebay_live::fabric::{Fabric, NEAR, Way};
use forebay_live::frame::{self, About};
use forebay_live::namespaces::{Site, SiteOptions};
use forebay_live::sys::process::{self, Signals};
use forebay_live::sys::{clock, socket};
use forebay_live::traffic::{self, Found};
use forebay_sim::lone::Rows;
use forebay_sim::network::{FlowSpec, Network};
use forebay_sim::outcome::{self, Completion, FlowOutcome};
use forebay_sim::tcp::sender::SenderCounts;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::render::output::Ui;

/// Time from the creation of the namespaces to the start of traffic, ns. All receivers listen by then.
const SETTING_UP: u64 = 500_000_000;
/// Suffixes of the contenders' labels: each contender has a run on the kernel and a simulated one.
const ON: [&str; 2] = ["kernel", "simulated"];

/// The plan of runs in which each contender of `plan` occurs twice, on the kernel and in the simulator.
pub(crate) fn both(plan: Plan, build: &str) -> Plan {
    let twice = |contender: &Contender| {
        ON.map(|on| Contender { label: format!("{} ({on})", contender.label), ..contender.clone() })
    };
    let cases = plan.cases.into_iter().map(|mut case: Case| {
        case.scenario.compare = case.scenario.compare.iter().flat_map(twice).collect();
        case
    });
    let seeds = plan.seeds.clone();
    let plan = Plan::new(cases.collect(), seeds[0], seeds.len() as u64);
    plan.with_real_headers().with_revision(&format!("live.{build}"))
}

/// Whether a run of a plan is on the kernel, not in the simulator.
fn is_real(job: &Job) -> bool {
    job.contender.is_multiple_of(ON.len())
}

/// Total duration of the runs on the kernel in seconds, if none is repeated. These runs are never parallel.
pub(crate) fn real_seconds(plan: &Plan) -> f64 {
    let each = |job: &Job| plan.cases[job.case].scenario.duration.secs();
    plan.jobs().iter().filter(|job| is_real(job)).map(each).sum()
}

/// Refuses a plan with traffic that the kernel cannot send, such as a flow with a token bucket.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    let controls = traffic::controls();
    for job in plan.jobs().iter().filter(|job| is_real(job)) {
        let net = plan.network(*job);
        let coloured = net.flows.iter().find(|flow| flow.marker.is_some());
        let coloured = coloured.map(|flow| format!("{}: edge markers are not supported on the kernel", flow.name));
        if let Some(obstacle) = traffic::obstacle(&net, &controls).or(coloured) {
            return Err(Failure::unavailable(format!("not possible on the kernel: {obstacle}")));
        }
    }
    Ok(())
}

/// Largest number of attempts at a run on the kernel. An invalid run is repeated, for example one with packets that the
/// link sent too late; the last attempt is kept.
const ATTEMPTS: u32 = 3;

/// Does all runs on the kernel, except those already stored with valid timing. They run one after the other because
/// they share the processors of this machine. Returns the timing of every run, which is also written to a file in the
/// directory of results.
pub(crate) fn runs(plan: &Plan, store: &Store, ui: &Ui) -> Result<Vec<RunTiming>, Failure> {
    super::note_keys_without_effect(plan, &[], ui);
    let file = store.dir().join(report::TIMING);
    let timings: Vec<RunTiming> = disk::read_json(&file).unwrap_or_default();
    let same = |one: &RunTiming, other: &RunTiming| one.label == other.label && one.seed == other.seed;
    let jobs: Vec<Job> = plan.jobs().into_iter().filter(is_real).collect();
    let mut all = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let case = &plan.cases[job.case];
        let label = record::label(&case.scenario.compare[job.contender], case);
        let before = timings.iter().find(|run| run.label.as_ref() == Some(&label) && run.seed == job.seed);
        let sound = before.filter(|run| run.timing.valid);
        if let Some(sound) = sound
            && store.load(plan, *job)?.is_some()
        {
            all.push(sound.clone());
            continue;
        }
        let seconds = case.scenario.duration.secs();
        ui.note(&format!("{} of {}: {label}, seed {}, {seconds} s", number + 1, jobs.len(), job.seed));
        for attempt in 1..=ATTEMPTS {
            let (record, timing) = apart(plan, *job)?;
            if timing.valid || attempt == ATTEMPTS {
                store.save(plan, *job, &record)?;
                all.push(RunTiming { label: Some(label), seed: job.seed, attempts: attempt, timing });
                // Keep known timings of later runs, so that an interruption loses nothing.
                let later = timings.iter().filter(|run| !all.iter().any(|known| same(known, run)));
                disk::write_json(&file, &all.iter().chain(later).collect::<Vec<_>>())?;
                break;
            }
            ui.note(&format!("  repeating: {}", timing.faults.join("; ")));
        }
    }
    Ok(all)
}

/// What the child process of a run on the kernel writes for its parent before it ends.
#[derive(Serialize, Deserialize)]
enum Message {
    /// Why there is no result.
    Fault(String),
    /// The record of the results, and whether packets were on time.
    Run(Box<RunRecord>, Timing),
}

/// Does a run in a child process, which creates its own network namespaces.
fn apart(plan: &Plan, job: Job) -> Result<(RunRecord, Timing), Failure> {
    let failed = |what: &str, error: &dyn std::fmt::Display| Failure::run(format!("cannot {what}: {error}"));
    let file = socket::memory_file().map_err(|error| failed("make a file in memory", &error))?;
    let mut theirs = file.try_clone().map_err(|error| failed("share a file", &error))?;
    let child = process::fork(move || {
        let found = run(plan, job).unwrap_or_else(Message::Fault);
        i32::from(serde_json::to_vec(&found).map_err(Into::into).and_then(|text| theirs.write_all(&text)).is_err())
    });
    let ended = child.and_then(process::Child::wait).map_err(|error| failed("start a process", &error))?;
    let mut text = String::new();
    let mut ours = file;
    let read = ours.rewind().and_then(|()| ours.read_to_string(&mut text));
    read.map_err(|error| failed("read the result of a run", &error))?;
    let message = serde_json::from_str(&text);
    match message.map_err(|_| Failure::run(format!("a run on the kernel ended without a result ({ended:?})")))? {
        Message::Fault(fault) => Err(Failure::unavailable(fault)),
        Message::Run(record, timing) => Ok((*record, timing)),
    }
}

/// The route through the emulated network of a frame that host `end` sent. The frame's port number identifies its
/// flow.
fn way(net: &Network, end: usize, bytes: &[u8]) -> Option<Way> {
    let number = traffic::flow_of(frame::ports(bytes)?, net.flows.len())?;
    let flow = &net.flows[number];
    let seen = frame::about(bytes);
    let about = About { flow: number as u32, pair: flow.pair, class: flow.class, colour: Colour::In, ..seen };
    let forward = end == NEAR;
    let route = if forward { flow.forward } else { flow.back };
    Some(Way { route, flow: forward.then_some(number), bundle: flow.bundle, about })
}

/// Does a run on the kernel in this process, which ends afterwards.
fn run(plan: &Plan, job: Job) -> Result<Message, String> {
    let net = plan.network(job);
    let failed = |what: &'static str| move |error: std::io::Error| format!("cannot {what}: {error}");
    let options = SiteOptions { ecn: traffic::ecn(&net), quiet: true, ..SiteOptions::default() };
    let site = Site::new(options).map_err(|failure| failure.to_string())?;
    let signals = Signals::of_the_end().map_err(failed("listen for signals"))?;
    let start = clock::monotonic() + SETTING_UP;
    let end = start + net.duration.nanos();
    let times = traffic::Times { start, warm: start + net.warmup.nanos(), end };
    let results = socket::memory_file().map_err(failed("make a file in memory"))?;
    let (client, server) = (site.addresses.client(), site.addresses.server());
    let shared = |results: &File| results.try_clone().map_err(failed("share a file"));
    let (to_near, to_far) = (shared(&results)?, shared(&results)?);
    let play = |results, sends| traffic::play(&net, job.seed, (client, server), times, results, sends);
    let child = site.play(|| play(to_near, true), || play(to_far, false)).map_err(|failure| failure.to_string())?;
    let fabric = Fabric::new(&net, job.seed, &net.bundles(), (Rows::all(net.sample), net.duration), false);
    let router = |end: usize, bytes: &[u8]| way(&net, end, bytes);
    let times = Times { start, end: Some(end) };
    let outcome = emulator::run(site.ports, (fabric, &router), child, &signals, EmulatorOptions::default(), times)
        .map_err(failed("carry frames"))?;
    let found = traffic::found(results, net.flows.len()).map_err(failed("read the results of the endpoints"))?;
    Ok(message(plan, job, &net, outcome, &found))
}

/// The results of a run on the kernel, and how long after their due times the link sent frames, for the process that
/// started this one.
fn message(plan: &Plan, job: Job, net: &Network, outcome: Outcome, found: &Found) -> Message {
    let case = &plan.cases[job.case];
    let contender = &case.scenario.compare[job.contender];
    let late = outcome.fabric.lateness.iter().map(crate::live::link::spread);
    let mut faults = outcome.faults.clone();
    faults.extend(found.faults.iter().map(|fault| format!("an endpoint failed: {fault}")));
    match outcome.ended {
        Some(process::Ended::Code(0)) => {}
        Some(ended) => faults.push(format!("the endpoints ended with {}", ended.code())),
        None => faults.push("the endpoints did not end in time".to_string()),
    }
    let timing = Timing {
        valid: faults.is_empty(),
        faults,
        late_ms: ["down", "up"].into_iter().zip(late).collect::<Named<_>>(),
        seen: None,
        cpu_seconds: Some(outcome.cpu_ns as f64 * 1e-9),
        wall_seconds: Some(outcome.took_ns as f64 * 1e-9),
    };
    let flows =
        net.flows.iter().enumerate().map(|(number, flow)| of_flow(net, number, flow, &outcome, found)).collect();
    let cpu_seconds = outcome.cpu_ns as f64 * 1e-9;
    let mut delays = outcome.fabric.delays;
    let completions = completions(net, found);
    completions.iter().for_each(|file| delays.completed(net.flows[file.flow as usize].bundle, file.took));
    let seen = outcome::Outcome {
        links: outcome.fabric.links,
        flows,
        classes: delays.of_classes(&net.bundles()),
        bundles: delays.of_bundles(),
        all: net.bundles_across().iter().map(|bundles| delays.of_all(bundles)).collect(),
        completions,
        tracks: outcome.fabric.tracks,
        events: 0,
        fingerprint: 0,
    };
    Message::Run(Box::new(record::record(case, contender, job.seed, net, &seen, cpu_seconds)), timing)
}

fn of_flow(net: &Network, number: usize, flow: &FlowSpec, outcome: &Outcome, found: &Found) -> FlowOutcome {
    let [goodput_bytes, _] = found.arrived[number];
    // No receiver reports packets that arrived twice: duplicates of retransmitted packets count as received.
    let carried = outcome.fabric.flows[number];
    let (warm, end) = (net.warmup.secs(), net.duration.secs());
    let stop = flow.stop.map_or(end, |stop| stop.secs()).min(end);
    let sent = outcome.fabric.entered[number];
    FlowOutcome {
        group: flow.group,
        class: flow.class,
        bundle: flow.bundle,
        goodput_bytes,
        received_bytes: carried.bytes,
        delivered_pkts: carried.packets,
        active_s: (stop - flow.start.secs().max(warm)).max(0.0),
        sender: SenderCounts { sent, retransmitted: found.again[number], ..SenderCounts::default() },
        video: None,
    }
}

/// File transfers that ended after the warm-up, of flows that cross a link under study (one with results).
fn completions(net: &Network, found: &Found) -> Vec<Completion> {
    let passes = |flow: &&FlowSpec| net.routes[flow.forward].iter().any(|&link| net.links[link].lane.study);
    let completion = |&(flow, begun, took): &(usize, u64, u64)| {
        let at = Instant::from_nanos(begun + took);
        let is_counted = net.flows.get(flow).filter(passes).is_some() && at >= Instant::ZERO + net.warmup;
        is_counted.then(|| Completion { flow: flow as u32, at, took: Span::from_nanos(took) })
    };
    let mut all: Vec<Completion> = found.files.iter().filter_map(completion).collect();
    all.sort_by_key(|file| (file.at, file.flow));
    all
}
