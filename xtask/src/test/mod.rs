//! `cargo xtask test`: all tests in stages; a stage that fails does not stop the next.

mod browser;
mod chrome;
mod fuzz;
mod guest;
pub(crate) mod live;
pub(crate) mod miri;
pub(crate) mod one;
mod oracles;
mod pytest;
pub(crate) mod python;
mod readme;
pub(crate) mod speed;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::JoinHandle;

use runner::cargo_tests;

use crate::base::program;
use crate::base::stages::STAGES;
use crate::base::tally::Tally;
use crate::generated::{book, verdicts};
use crate::{supply, tidy};

/// Runs the wanted stages, and prints how many checks passed, failed and were skipped.
pub(crate) fn run(wanted: impl Fn(&str) -> bool) -> ExitCode {
    let mut tally = Tally::default();
    stages(&mut tally, wanted);
    tally.finish()
}

/// Runs the tests of one paper.
pub(crate) fn paper(name: &str) -> ExitCode {
    let mut tally = Tally::default();
    tally.stage(name, "its tests", |tally| one::paper(name, tally));
    tally.finish()
}

/// Runs the checks that fail most often.
pub(crate) fn fast() -> ExitCode {
    let mut tally = Tally::default();
    tally.stage("tidy", "rules of the repository, format", tidy::rules);
    tally.stage("lints", "clippy with the workspace's lints", tidy::lints);
    tally.stage("tests", "unit tests, golden traces, conformance, fingerprints", one::fast);
    tally.finish()
}

/// Runs the wanted stages.
fn stages(tally: &mut Tally, wanted: impl Fn(&str) -> bool) {
    let scratch = match program::scratch("test") {
        Ok(scratch) => scratch,
        Err(what) => return tally.fail(what),
    };
    let results = scratch.join("papers");
    // The Python package and the Linux kernel are built at idle priority. This must end before tests that measure time: a
    // compiler is in the kernel for milliseconds, which not every kernel interrupts.
    let preparing = wanted("python").then(|| std::thread::spawn(python::prepare));
    let building = wanted("linux").then(|| std::thread::spawn(guest::prepare));
    let mut stage = |name: &str, what: &str, run: &dyn Fn(&mut Tally)| {
        debug_assert!(STAGES.contains(&name), "{name}");
        // The browser opens a report of `reproduce`.
        if wanted(name) || name == "reproduce" && wanted("browser") {
            tally.stage(name, what, run);
        }
    };
    // Clippy runs at the same time as tidy, which uses one processor.
    let linted = wanted("lints").then(|| std::thread::spawn(|| separately(tidy::lints)));
    stage("tidy", "rules of the repository, format", &tidy::rules);
    let linted = joined(linted);
    stage("lints", "clippy with the workspace's lints; forebay-aqm without std", &|tally| tally.add(linted.clone()));
    stage("tests", "cargo test: unit, integration and documentation tests", &|tally| {
        let skipped = ["--no-fail-fast", "--", "--skip", PEERS, "--skip", guest::MODULES];
        let mut command = program::cargo_workspace("test", &skipped);
        command.args(live::MODULES.iter().flat_map(|module| ["--skip", module]));
        cargo_tests::run(command, tally);
        // Not the examples as programs: the example `stacks` has them as modules.
        for kind in ["--tests", "--doc"] {
            cargo_tests::run(program::cargo(&["test", "--no-fail-fast", "-p", program::STACKS, kind]), tally);
        }
    });
    // It uses one processor; so does the end of an optimised build.
    let fuzzed = wanted("fuzz").then(|| std::thread::spawn(|| separately(fuzz::check)));
    stage("engine", "the same fingerprints in a release build for this processor", &engine);
    stage("oracles", "SciPy and python-control compute the recorded values again", &oracles::check);
    let fuzzed = joined(fuzzed);
    stage("fuzz", "every fuzz target with mutated inputs, a minute in all", &|tally| tally.add(fuzzed.clone()));
    let built = prepared(building);
    stage("linux", "tests in a Linux kernel in virtual time", &|tally| guest::check(&built, tally));
    let ready = prepared(preparing);
    stage("live", "rates, delays and queues of emulated links, two at a time", &live::links);
    let computed = compute(results.clone(), wanted("peers"), wanted("reproduce") || wanted("browser"));
    stage("attach", "other tests with real packets, through links and devices", &live::devices);
    stage("python", "the Python package: wheel, types, tests", &|tally| python::check(&ready, tally));
    let (compared, verdicts) = computed.join().unwrap_or_else(|_| (broken(), broken()));
    // The next stages use one processor.
    let browsed = wanted("web").then(|| {
        let scratch = scratch.clone();
        std::thread::spawn(move || separately(|tally| web::check(&browser::NAMES, &scratch, tally)))
    });
    stage("peers", "our figures compared with those of ns-2 and ns-3", &|tally| tally.add(compared.clone()));
    stage("book", "the pictures of the book, simulated again; the book builds, its links exist", &|tally| {
        book::check_pictures(tally);
        book::whole::check(tally);
    });
    stage("supply", "packages; licences, sources and known vulnerabilities of dependencies", &supply::check);
    stage("reproduce", "reproduce --quick, every paper: the verdicts on record", &|tally| tally.add(verdicts.clone()));
    stage("browser", "the report of the RAQM paper in headless Chromium", &|tally| {
        browser::check(&results.join("raqm").join("report.html"), &scratch, tally);
    });
    let browsed = joined(browsed);
    stage("web", "the laboratory in headless Chromium, with sliders, text and packets", &|tally| {
        tally.add(browsed.clone());
    });
    stage("readme", "the commands of README.md and the book", &|tally| {
        readme::check(&scratch, tally);
        readme::chapters(&scratch, tally);
    });
    clean(&scratch, tally.failed());
}

/// Starts the comparison with ns-2 and ns-3, then the quick reproduction into `results`; returns the counts of both. This
/// is pure computation for minutes on both processors. It disturbs the tests of the stage `live`, but not those of `attach`,
/// which leave the processors idle most of the time. The tests of Python use one processor.
fn compute(results: PathBuf, peers: bool, verdicts: bool) -> JoinHandle<(Tally, Tally)> {
    // Build before the thread starts: a compiler would disturb the tests of `attach`. `verdicts::check` reports an error.
    let _ = verdicts.then(|| program::built("forebay"));
    std::thread::spawn(move || {
        let mut counts = (Tally::default(), Tally::default());
        if peers {
            with_peers(&mut counts.0);
        }
        if verdicts {
            verdicts::check(&results, &mut counts.1);
        }
        counts
    })
}

/// Builds the simulator's tests with all optimisations for this processor, and runs those that compare fingerprints. The
/// stage `tests` compares the same fingerprints without instructions of this processor.
fn engine(tally: &mut Tally) {
    let mut command = program::cargo(&["test", "--release", "-p", "forebay-sim", "--test=all"]);
    command
        .args(["--target-dir", "target/native", "--", "engine::", "fingerprints::"])
        .env("RUSTFLAGS", "-C target-cpu=native")
        // Link-time optimisation would cost more time than it saves: the program runs once.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    cargo_tests::run(command, tally);
}

/// Waits for what was prepared at the same time as stages.
fn prepared<T>(thread: Option<JoinHandle<Result<T, String>>>) -> Result<T, String> {
    match thread.map(JoinHandle::join) {
        Some(Ok(ready)) => ready,
        Some(Err(_)) | None => Err("its preparation stopped early".to_string()),
    }
}

/// The counts of checks that run at the same time as another stage.
fn separately(checks: impl FnOnce(&mut Tally)) -> Tally {
    let mut own = Tally::default();
    checks(&mut own);
    own
}

/// Waits for checks that run at the same time as another stage.
fn joined(thread: Option<JoinHandle<Tally>>) -> Tally {
    thread.map_or_else(Tally::default, |thread| thread.join().unwrap_or_else(|_| broken()))
}

fn broken() -> Tally {
    separately(|tally| tally.fail("the thread of these checks panicked"))
}

/// Prefix of the tests that simulate cases of other simulators, for minutes.
const PEERS: &str = "committed_comparison_with_";

/// Runs the tests with this prefix, with idle priority.
fn with_peers(tally: &mut Tally) {
    // With the features of the workspace: building it alone would build its dependencies again.
    let command = program::cargo_workspace("test", &["--test", "peers"]);
    cargo_tests::run(program::idle(command), tally);
}

/// Deletes the results of a run, unless it failed: then they are kept for inspection.
fn clean(scratch: &Path, failed: bool) {
    if failed {
        println!("\nwhat the stages wrote is in {}", scratch.display());
    } else if let Err(error) = fs::remove_dir_all(scratch) {
        println!("\n{} cannot be removed: {error}", scratch.display());
    }
}
