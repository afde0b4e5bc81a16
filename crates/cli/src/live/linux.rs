//! `forebay run --on linux`: runs a scenario's flows as connections of a Linux kernel in virtual time, and simulates the
//! scenario for comparison.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_lab::commands::failure as commands;
use forebay_lab::commands::report::{self, Repeat};
use forebay_lab::linux;
use forebay_lab::plan::{self, Job, MOST_PACKETS, Plan};
use forebay_lab::record;
use forebay_lab::scenario::{Case, Contender};
use forebay_lab::store::Store;
use forebay_lab::traces::capture::{Place, pcapng};
use forebay_linux::capture::Capture;
use forebay_linux::machine::Fault;
use forebay_linux::network;
use forebay_linux::outside;
use forebay_linux::place::{self, Kernel};
use forebay_linux::run::{self as guest, Finished};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::Links;
use crate::failure::Failure;
use crate::interrupt;
use crate::render::output::Ui;

/// Suffix of the labels of simulated contenders.
const SIMULATED: &str = "simulated";

/// Suffix of the labels of contenders on Linux.
const fn suffix(links: Links) -> &'static str {
    match links {
        Links::Inside => "linux",
        Links::Outside => "linux, link outside",
    }
}

/// The kernel, or what is missing and what would bring it.
pub(crate) fn kernel() -> Result<Kernel, Failure> {
    let missing = |what: String| Failure::unavailable(format!("{what}; {}", place::REMEDY));
    place::machine().map_err(Failure::unavailable)?;
    Kernel::find().map_err(missing)
}

/// The plan of runs in which each contender of `plan` occurs twice, on Linux and in the simulator.
pub(crate) fn both(plan: Plan, build: &str, (kernel, links): (&Kernel, Links)) -> Plan {
    let suffixes = [suffix(links), SIMULATED];
    let twice = |contender: &Contender| {
        // A qdisc of Linux cannot be simulated.
        let count = if linux::words(&contender.spec).is_some() { 1 } else { suffixes.len() };
        let on = |on: &&str| Contender { label: format!("{} ({on})", contender.label), ..contender.clone() };
        suffixes[..count].iter().map(on).collect::<Vec<_>>()
    };
    let cases = plan.cases.into_iter().map(|mut case: Case| {
        case.scenario.compare = case.scenario.compare.iter().flat_map(twice).collect();
        case
    });
    let seeds = plan.seeds.clone();
    let plan = Plan::new(cases.collect(), seeds[0], seeds.len() as u64).with_real_headers();
    let parts = kernel.sources.lines().map(str::to_string).collect();
    plan.with_revision(&revision(build, kernel)).with_guest(parts)
}

/// Identifies results of this build and this kernel.
fn revision(build: &str, kernel: &Kernel) -> String {
    format!("linux.{build}.{}", plan::hex_hash(&kernel.sources))
}

/// Whether a run of a plan is on Linux, not in the simulator.
fn is_real(plan: &Plan, job: &Job) -> bool {
    !has_suffix(plan, job, SIMULATED)
}

/// Does the label of a run's contender end with `(suffix)`?
fn has_suffix(plan: &Plan, job: &Job, suffix: &str) -> bool {
    plan.cases[job.case].scenario.compare[job.contender].label.ends_with(&format!("({suffix})"))
}

fn jobs(plan: &Plan) -> Vec<Job> {
    plan.jobs().into_iter().filter(|job| is_real(plan, job)).collect()
}

/// Refuses a plan that the guest cannot run, such as one with RTP video.
pub(crate) fn check(plan: &Plan, links: Links) -> Result<(), Failure> {
    let obstacle = |job| match links {
        Links::Inside => network::obstacle(&plan.network(job)),
        Links::Outside => outside::obstacle(&plan.network(job)),
    };
    let Some((what, job)) = jobs(plan).into_iter().find_map(|job| Some((obstacle(job)?, job))) else { return Ok(()) };
    let is_possible = links == Links::Inside && outside::obstacle(&plan.network(job)).is_none();
    let hint = if is_possible { "; possible with --link outside" } else { "" };
    Err(Failure::unavailable(format!("not possible on Linux: {what}{hint}")))
}

/// Does the runs on Linux that are not stored yet, several at a time. Returns early, without an error, once `stop` is
/// set.
pub(crate) fn runs(
    plan: &Plan,
    store: &Store,
    (kernel, links, pool): (&Kernel, Links, &ThreadPool),
    stop: &AtomicBool,
    ui: &Ui,
) -> Result<(), Failure> {
    super::note_keys_without_effect(plan, &["initial_window", "min_rto", "delayed_ack"], ui);
    let jobs = jobs(plan);
    let (total, begun) = (jobs.len(), Mutex::new(0));
    let one = |job: Job| -> Result<(), Failure> {
        let case = &plan.cases[job.case];
        let contender = &case.scenario.compare[job.contender];
        let label = record::label(contender, case);
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        {
            let mut number = begun.lock().unwrap_or_else(PoisonError::into_inner);
            *number += 1;
            if store.load(plan, job)?.is_some() {
                return Ok(());
            }
            ui.note(&format!("{number} of {total}: {label}, seed {}", job.seed));
        }
        let net = plan.network(job);
        let worker = rayon::current_thread_index().unwrap_or(0);
        let found = match links {
            Links::Inside => guest::run(kernel, &net, job.seed, worker, stop),
            Links::Outside => outside::run(kernel, &net, job.seed, worker, stop),
        };
        let found = match found {
            Ok(found) => found,
            Err(Fault::Stopped) => return Ok(()),
            Err(Fault::Failed(why)) => return Err(Failure::run(format!("{label}, seed {}: {why}", job.seed))),
        };
        for fault in &found.faults {
            ui.note(&format!("  {label}, seed {}: {fault}", job.seed));
        }
        let record = record::record(case, contender, job.seed, &net, &found.outcome, found.cost.cpu_seconds);
        Ok(store.save(plan, job, &record)?)
    };
    pool.install(|| jobs.into_iter().par_bridge().map(one).collect::<Result<Vec<()>, Failure>>()).map(drop)
}

/// Returns the function that repeats runs of a plan, on Linux or in the simulator as their labels say, and captures their
/// packets. `build`: this build of the program.
pub(crate) fn repeat<'a>(plan: &'a Plan, build: &str) -> Result<Repeat<'a>, commands::Failure> {
    let missing = |what| commands::Failure::Unavailable(format!("{what}; {}", place::REMEDY));
    let kernel = Kernel::find().map_err(missing)?;
    report::same_build(plan, &revision(build, &kernel))?;
    let stop = interrupt::flag();
    Ok(Box::new(move |job| {
        if !is_real(plan, &job) {
            return plan.capture(job).map_err(|error| commands::Failure::Run(error.to_string()));
        }
        let contender = &plan.cases[job.case].scenario.compare[job.contender];
        let failed = |why| commands::Failure::Run(format!("{}, seed {}: {why}", contender.label, job.seed));
        let net = plan.network(job);
        let capture = Capture::new(&net, MOST_PACKETS);
        let found = if has_suffix(plan, &job, suffix(Links::Outside)) {
            outside::run_with(&kernel, &net, (job.seed, 0, stop), capture)
        } else {
            guest::run_with(&kernel, &net, (job.seed, 0, stop), capture)
        };
        let Finished { outcome, capture, .. } = match found {
            Ok(found) => found,
            Err(Fault::Stopped) => return Err(report::interrupted()),
            Err(Fault::Failed(why)) => return Err(failed(why)),
        };
        let capture = capture.ok_or_else(|| failed("no link is under study".to_string()))?;
        let link = &net.links[capture.link()];
        let place = Place { name: &link.name, discipline: link.lane.discipline.name() };
        let (packets, is_complete) = capture.finish().map_err(failed)?;
        let fingerprint = format!("{:016x}", outcome.fingerprint);
        Ok(plan::Capture { file: pcapng(place, packets.into_iter()), fingerprint, is_complete })
    }))
}
