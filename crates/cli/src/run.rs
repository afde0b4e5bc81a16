//! `forebay run`: a scenario file to tables, results on disk and a report.

use std::path::{Path, PathBuf};

use forebay_lab::batch::{self, BatchError, Control};
use forebay_lab::estimate::excess;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{Case, Found, InputError, Overrides};
use forebay_lab::store::{self, Store};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;

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
    afford(args, &plan, 1, kernel::real_seconds(&plan), ui)?;
    let dir = directory(args, &plan);
    check_place(&dir)?;
    let store = Store::open(&dir, &plan, program::meta())?;
    // Before anything else has threads: a process that makes namespaces must have one.
    let timings = kernel::runs(&plan, &store, ui)?;
    let exit = batch(args, &plan, ui, summary::by_case)?;
    let invalid = timings.iter().filter(|run| run["timing"]["valid"] != true).count();
    if invalid > 0 {
        let what = format!("the timing of {invalid} of {} real runs was not that of the network: see", timings.len());
        return Err(Failure::Run(format!("{what} {}", dir.join(kernel::TIMING).display())));
    }
    Ok(exit)
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
    tables: fn(&Ui, &Value) -> String,
) -> Result<Exit, Failure> {
    let (document, dir) = results(args, plan, ui)?;
    let report = report::write_report(&dir);
    if ui.json() {
        // An error is a document too, and there is to be one.
        report?;
        ui.print_json(&document)?;
    } else {
        ui.print(&format!("{}\nresults  {}", tables(ui, &document), dir.display()))?;
        ui.print(&format!("report   {}", report?.display()))?;
    }
    Ok(Exit::Done)
}

/// Runs a plan; what is on disk already is not run again. The summary, and where the results are.
pub(crate) fn results(args: &BatchArgs, plan: &Plan, ui: &Ui) -> Result<(Value, PathBuf), Failure> {
    let dir = directory(args, plan);
    check_place(&dir)?;
    let pool = pool(args.jobs)?;
    afford(args, plan, pool.current_num_threads(), 0.0, ui)?;
    let stop = interrupt::watch();
    let store = Store::open(&dir, plan, program::meta())?;
    if !ui.quiet() {
        announce(ui, plan, pool.install(|| store::finished(&dir, plan)));
    }
    let progress = Progress::new(ui, plan.simulated_s());
    let control = Control { stop, progress: &|seconds| progress.advance(seconds) };
    let outcome = pool.install(|| batch::run(plan, &store, &control));
    progress.finish();
    let document = outcome.map_err(|error| pool.install(|| failure(error, plan, &dir)))?;
    Ok((document, dir))
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
fn afford(args: &BatchArgs, plan: &Plan, jobs: usize, real_s: f64, ui: &Ui) -> Result<(), InputError> {
    let finished = || store::finished(&directory(args, plan), plan);
    let Some(excess) = excess(plan, jobs, real_s, finished).filter(|_| !args.force) else { return Ok(()) };
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
