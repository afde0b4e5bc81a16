//! `forebay run`: runs a scenario file; prints tables, writes results and a report.

use forebay_lab::commands::host::Host;
use forebay_lab::commands::{report, run};
#[cfg(target_os = "linux")]
use forebay_lab::disk;
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::render::look::Look;
use forebay_lab::render::summary;
use forebay_lab::results::summary::Summary;
#[cfg(target_os = "linux")]
use forebay_lab::results::timing::Timings;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::store::{self, Store};

use crate::args::batch::BatchArgs;
use crate::args::{Links, On, RunArgs};
use crate::failure::{Exit, Failure};
#[cfg(target_os = "linux")]
use crate::interrupt;
#[cfg(target_os = "linux")]
use crate::live::{kernel, linux};
use crate::render::output::Ui;

/// Runs the scenario and prints a table for each combination of values of the keys that vary (a case).
pub(crate) fn command(args: &RunArgs, ui: &Ui) -> Result<Exit, Failure> {
    if args.link.is_some() && args.on != On::Linux {
        let accepts = "--on linux: other runs have no choice";
        return Err(InputError::new("--link", "", Found::text("--link without --on linux"), accepts).into());
    }
    let plan = plan(&args.batch, &[], ui)?;
    match args.on {
        On::Simulator => batch(&args.batch, &plan, ui, summary::by_case),
        On::Kernel => on_kernel(&args.batch, plan, ui),
        On::Linux => on_linux(&args.batch, args.link.unwrap_or_default(), plan, ui),
    }
}

/// Refuses a plan with qdiscs of Linux, which only `--on linux` has.
fn refuse(plan: &Plan) -> Result<(), Failure> {
    let why = |words| Failure::unavailable(format!("linux:{words} cannot be simulated: run it with --on linux"));
    plan.linux_qdisc().map_or(Ok(()), |words| Err(why(words)))
}

/// Plans the runs that the arguments describe. An impossible plan is an error; nothing has been written by then.
pub(crate) fn plan(args: &BatchArgs, vary: &[String], ui: &Ui) -> Result<Plan, Failure> {
    let plan = args.batch().plan(load::file(&args.scenario, &args.changes(vary))?)?;
    // The build is a hash of the whole program: not computed for a plan that is refused.
    Ok(plan.with_revision(ui.program().build()))
}

/// Runs every contender (compared discipline) on the kernel and in the simulator.
#[cfg(target_os = "linux")]
fn on_kernel(args: &BatchArgs, plan: Plan, ui: &Ui) -> Result<Exit, Failure> {
    refuse(&plan)?;
    let plan = kernel::both(plan, ui.program().build());
    let batch = args.batch();
    kernel::check(&plan)?;
    batch.check_place(&plan)?;
    // No Ctrl-C handler yet: it is a thread. Creating namespaces needs a single-threaded process, and each real
    // run forks this one.
    let store = ui.host_without_handler(|host: &Host<'_>| {
        let finished = || store::finished_in_turn(&batch.directory(&plan), &plan);
        batch.afford(&plan, 1, kernel::real_seconds(&plan), finished, host)?;
        batch.open(&plan, host)
    })?;
    let timings = kernel::runs(&plan, &store, ui)?;
    let pool = run::pool(batch.jobs)?;
    let mut document = ui.host(|host| run::simulate(&plan, &store, &pool, &batch.memory(), host))?;
    let invalid = timings.iter().filter(|run| !run.timing.valid).count();
    let what = format!("timing invalid in {invalid} of {} real runs: see", timings.len());
    (document.valid, document.timing) = (Some(invalid == 0), Some(Timings::Kernel(timings)));
    disk::write_json(&store.dir().join("summary.json"), &document)?;
    document.shown = args.shown(document.shown);
    show(&document, &store, ui, summary::by_case)?;
    match invalid {
        0 => Ok(Exit::Done),
        // The document already has the reason, and stdout must hold exactly one document.
        _ if ui.json() => Ok(Exit::Failed),
        _ => Err(Failure::run(format!("{what} {}", store.dir().join(forebay_lab::report::TIMING).display()))),
    }
}

/// Runs every contender (compared discipline) on a Linux kernel in virtual time and in the simulator.
#[cfg(target_os = "linux")]
fn on_linux(args: &BatchArgs, links: Links, plan: Plan, ui: &Ui) -> Result<Exit, Failure> {
    let kernel = linux::kernel()?;
    let plan = linux::both(plan, ui.program().build(), (&kernel, links));
    let batch = args.batch();
    linux::check(&plan, links)?;
    batch.check_place(&plan)?;
    let pool = run::pool(batch.jobs)?;
    let store = ui.host(|host: &Host<'_>| {
        let finished = || pool.install(|| store::finished(&batch.directory(&plan), &plan));
        batch.afford(&plan, pool.current_num_threads(), 0.0, finished, host)?;
        batch.open(&plan, host)
    })?;
    linux::runs(&plan, &store, (&kernel, links, &pool), interrupt::flag(), ui)?;
    let mut document = ui.host(|host| run::simulate(&plan, &store, &pool, &batch.memory(), host))?;
    document.shown = args.shown(document.shown);
    show(&document, &store, ui, summary::by_case)?;
    Ok(Exit::Done)
}

#[cfg(not(target_os = "linux"))]
fn on_linux(_: &BatchArgs, _: Links, _: Plan, _: &Ui) -> Result<Exit, Failure> {
    Err(Failure::unavailable("a Linux kernel in virtual time needs Linux".to_string()))
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(_: &BatchArgs, _: Plan, _: &Ui) -> Result<Exit, Failure> {
    Err(Failure::unavailable("real connections in namespaces need Linux".to_string()))
}

/// A function that renders the tables of a summary of results.
type Tables = fn(Look, &Summary) -> String;

/// Does the runs of a plan and writes their report. `tables` renders the tables to print.
pub(crate) fn batch(args: &BatchArgs, plan: &Plan, ui: &Ui, tables: Tables) -> Result<Exit, Failure> {
    refuse(plan)?;
    let (mut document, store) = ui.host(|host| args.batch().results(plan, host))?;
    document.shown = args.shown(document.shown);
    show(&document, &store, ui, tables)?;
    Ok(Exit::Done)
}

/// Writes the report of a finished batch of runs and prints the tables of its results.
fn show(document: &Summary, store: &Store, ui: &Ui, tables: Tables) -> Result<(), Failure> {
    let report = report::write(store);
    if ui.json() {
        // stdout must hold exactly one document: an error replaces the result.
        report?;
        return ui.print_json(document);
    }
    ui.print(&format!("{}\nresults  {}", tables(ui.look(), document), store.dir().display()))?;
    ui.print(&format!("report   {}", report?.display()))
}
