//! `forebay run`: a scenario file to tables, results on disk and a report.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use forebay_lab::batch::{self, BatchError, Control};
use forebay_lab::disk;
use forebay_lab::estimate::excess;
use forebay_lab::lock::Wait;
use forebay_lab::plan::Plan;
use forebay_lab::results::summary::Summary;
#[cfg(target_os = "linux")]
use forebay_lab::results::timing::Timings;
use forebay_lab::scenario::{Case, Found, InputError, Overrides};
use forebay_lab::store::{self, Owner, Store};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::args::{On, RunArgs};
use crate::batch_args::{BatchArgs, Jobs, LARGEST_SEED};
use crate::digits::short;
use crate::failure::{Exit, Failure};
#[cfg(target_os = "linux")]
use crate::kernel;
use crate::output::Ui;
use crate::progress::Progress;
use crate::{interrupt, program, report, summary};

/// More runs are taken for a slip: the summary of each is kept in memory until the last one has ended.
const MOST_RUNS: u64 = 200_000;

/// Runs the scenario and prints a table for each of its cases.
pub(crate) fn command(args: &RunArgs, ui: &Ui) -> Result<Exit, Failure> {
    let plan = plan(&args.batch, &[], ui)?;
    match args.on {
        On::Simulator => batch(&args.batch, &plan, ui, summary::by_case),
        On::Kernel => on_kernel(&args.batch, plan, ui),
    }
}

/// The same with every contender on the kernel too.
#[cfg(target_os = "linux")]
fn on_kernel(args: &BatchArgs, plan: Plan, ui: &Ui) -> Result<Exit, Failure> {
    let plan = kernel::both(plan, program::this().build());
    kernel::check(&plan)?;
    check_place(&directory(args, &plan))?;
    // No thread may be left behind: each real run is a copy of this process.
    let finished = || store::finished_in_turn(&directory(args, &plan), &plan);
    afford(args, &plan, 1, kernel::real_seconds(&plan), finished, ui)?;
    // Without a handler of Ctrl-C, which is a thread: a process that makes namespaces must have one only.
    let store = open(args, &plan, interrupt::flag(), ui)?;
    let timings = kernel::runs(&plan, &store, ui)?;
    let mut document = simulate(&plan, &store, &pool(args.jobs)?, ui)?;
    let invalid = timings.iter().filter(|run| !run.timing.valid).count();
    let what = format!("the timing of {invalid} of {} real runs was not that of the network: see", timings.len());
    (document.valid, document.timing) = (Some(invalid == 0), Some(Timings::Kernel(timings)));
    disk::write_json(&store.dir().join("summary.json"), &document)?;
    show(&document, &store, ui, summary::by_case)?;
    match invalid {
        0 => Ok(Exit::Done),
        // The document has the reason, and there is to be one.
        _ if ui.json() => Ok(Exit::Failed),
        _ => Err(Failure::Run(format!("{what} {}", store.dir().join(forebay_lab::report::TIMING).display()))),
    }
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(_: &BatchArgs, _: Plan, _: &Ui) -> Result<Exit, Failure> {
    Err(Failure::Unavailable("real connections in namespaces need Linux".to_string()))
}

/// Where results go.
fn directory(args: &BatchArgs, plan: &Plan) -> PathBuf {
    let own = || Path::new("runs").join(format!("{}-{}", stem(&args.scenario), plan.hash()));
    args.output.clone().unwrap_or_else(own)
}

/// Runs a plan and makes its report. `tables` is what it prints of `summary.json`.
pub(crate) fn batch(
    args: &BatchArgs,
    plan: &Plan,
    ui: &Ui,
    tables: fn(&Ui, &Summary) -> String,
) -> Result<Exit, Failure> {
    let (document, store) = results(args, plan, ui)?;
    show(&document, &store, ui, tables)?;
    Ok(Exit::Done)
}

/// Makes the report of a batch that has ended and prints its tables.
fn show(document: &Summary, store: &Store, ui: &Ui, tables: fn(&Ui, &Summary) -> String) -> Result<(), Failure> {
    let report = report::write(store);
    if ui.json() {
        // An error is a document too, and there is to be one.
        report?;
        return ui.print_json(document);
    }
    ui.print(&format!("{}\nresults  {}", tables(ui, document), store.dir().display()))?;
    ui.print(&format!("report   {}", report?.display()))
}

/// Runs a plan; what is on disk already is not run again. The summary, and the directory, still locked.
pub(crate) fn results(args: &BatchArgs, plan: &Plan, ui: &Ui) -> Result<(Summary, Store), Failure> {
    check_place(&directory(args, plan))?;
    let pool = pool(args.jobs)?;
    let finished = || pool.install(|| store::finished(&directory(args, plan), plan));
    afford(args, plan, pool.current_num_threads(), 0.0, finished, ui)?;
    let store = open(args, plan, interrupt::watch(), ui)?;
    let document = simulate(plan, &store, &pool, ui)?;
    Ok((document, store))
}

/// Opens the directory for the results; waits for another writer until Ctrl-C.
fn open(args: &BatchArgs, plan: &Plan, stop: &AtomicBool, ui: &Ui) -> Result<Store, Failure> {
    let begins = |dir: &Path, owner: &Owner| ui.waits(dir, owner);
    Ok(Store::open(&directory(args, plan), plan, &program::origin(), &Wait { stop, begins: &begins })?)
}

/// Does the runs that are not on disk yet, and writes the summary.
fn simulate(plan: &Plan, store: &Store, pool: &ThreadPool, ui: &Ui) -> Result<Summary, Failure> {
    if !ui.quiet() {
        announce(ui, plan, pool.install(|| store::finished(store.dir(), plan)));
    }
    let progress = Progress::new(ui, plan.simulated_s());
    let stop = interrupt::watch();
    let control = Control { progress: &|seconds| progress.advance(seconds), ..Control::silent(stop) };
    let outcome = pool.install(|| batch::run(plan, store, &control));
    progress.finish();
    outcome.map_err(|error| pool.install(|| failure(error, plan, store.dir())))
}

/// What the arguments ask for, found possible before anything is written.
pub(crate) fn plan(args: &BatchArgs, vary: &[String], ui: &Ui) -> Result<Plan, Failure> {
    let overrides = Overrides { sets: args.set.clone(), vary: vary.to_vec(), aqm: args.aqm.clone() };
    let cases = ui.cases(&args.scenario, &overrides)?;
    check_number(args, &cases)?;
    let plan = Plan::new(cases, args.seed, args.runs).with_revision(program::this().build());
    plan.check(&args.scenario.display().to_string())?;
    Ok(plan)
}

/// Refuses seeds that are too large, and more runs than memory has room for in the end.
fn check_number(args: &BatchArgs, cases: &[Case]) -> Result<(), InputError> {
    let largest = LARGEST_SEED - (args.runs - 1);
    if args.seed > largest {
        let accepts = format!("at most {largest} for {} runs", args.runs);
        return Err(InputError::new("--seed", "", Found::text(&args.seed.to_string()), accepts));
    }
    let points: usize = cases.iter().map(|case| case.scenario.compare.len()).sum();
    let runs = points as u64 * args.runs;
    if runs <= MOST_RUNS {
        return Ok(());
    }
    let found = Found::thing(format!("{runs} runs"));
    let error = InputError::new("--runs", "", found, format!("at most {MOST_RUNS} in all"));
    let seeds = count(args.runs as usize, "seed");
    Err(error.hint(format!("{}, {points} disciplines in them, {seeds} for each", count(cases.len(), "case"))))
}

fn stem(scenario: &Path) -> String {
    scenario.file_stem().map_or_else(|| "scenario".to_string(), |stem| stem.to_string_lossy().into_owned())
}

fn check_place(dir: &Path) -> Result<(), InputError> {
    if dir.exists() && !dir.is_dir() {
        let found = Found::thing(format!("a file called {}", dir.display()));
        return Err(InputError::new("--output", "DIR", found, "a directory, or a name that is free"));
    }
    Ok(())
}

/// Refuses what this machine would be at for longer, or with more memory, than anybody means who does not say so.
fn afford(
    args: &BatchArgs,
    plan: &Plan,
    jobs: usize,
    real_s: f64,
    finished: impl FnOnce() -> usize,
    ui: &Ui,
) -> Result<(), InputError> {
    if args.force {
        return Ok(());
    }
    let Some(excess) = excess(plan, jobs, real_s, finished) else { return Ok(()) };
    let (force, less) = if ui.caught() { ("force=True", "seeds") } else { ("--force", "--runs, --jobs") };
    let hint = format!("{force} runs it all the same; fewer {less} or a shorter duration take less");
    let file = args.scenario.display().to_string();
    Err(InputError::new(&file, "", Found::thing(excess.runs), excess.most).hint(hint))
}

/// Threads for `jobs` runs at a time.
pub(crate) fn pool(jobs: Jobs) -> Result<ThreadPool, Failure> {
    let threads = jobs.jobs.map_or(0, usize::from);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Failure::Unavailable(format!("cannot start {threads} threads: {error}")))
}

/// Says what there is to do; `known` runs are there already.
fn announce(ui: &Ui, plan: &Plan, known: usize) {
    let all = plan.jobs().len();
    let each = plan.simulated_s() / all.max(1) as f64;
    let known = match known {
        0 => String::new(),
        n if n == all => ", all of them there already".to_string(),
        n => format!(", {n} of them there already"),
    };
    ui.note(&format!("{}: {} of {} s{known}", plan.title(), count(all, "run"), short(each)));
}

/// `1 run`, `2 runs`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn failure(error: BatchError, plan: &Plan, dir: &Path) -> Failure {
    match error {
        BatchError::Store(error) => Failure::Store(error),
        BatchError::Run(error) => Failure::Run(error.to_string()),
        BatchError::Interrupted => {
            let (done, total) = (store::finished(dir, plan), plan.jobs().len());
            Failure::Interrupted { dir: dir.to_path_buf(), done, total }
        }
    }
}
