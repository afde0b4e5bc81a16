//! The commands of the laboratory, each as the text of its JSON document.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use forebay_aqm::ENTRIES;
use forebay_lab::commands::failure::Failure;
use forebay_lab::commands::host::{self, Host, Progress};
use forebay_lab::commands::run::{Batch, Source};
use forebay_lab::commands::theory::{self, Asked};
use forebay_lab::commands::{self, explain as explanation, map};
use forebay_lab::level::Level;
use forebay_lab::plan;
use forebay_lab::results::meta::{Origin, Revision};
use forebay_lab::results::verdicts::Verdicts;
use forebay_lab::scenario::{Found, InputError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors;
use crate::scenario::Scenario;
use crate::watch::{Call, is_within_command, watched};

/// What tells this build from any other: its revision and a hash of the module's file.
pub(crate) fn build(py: Python<'_>) -> PyResult<&'static str> {
    static BUILD: OnceLock<String> = OnceLock::new();
    let file: PathBuf = py.import("forebay._native")?.getattr("__file__")?.extract()?;
    Ok(BUILD.get_or_init(|| plan::build(env!("FOREBAY_REVISION"), Some(&file))))
}

fn text(document: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The progress of one batch after the other of a call.
struct Batches(Arc<Call>);

impl Progress for Batches {
    fn advance(&self, simulated_s: f64) {
        self.0.advance(simulated_s);
    }
}

/// Does the work of a command in a thread of its own; what ends it is raised. `bar` is called with the simulated seconds that are
/// done of a batch and with all of them; with it, notes go to stderr.
fn asked<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Host<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    outside()?;
    let build = build(py)?;
    let call = Arc::new(Call::command());
    let (revision, command) = (Some(Revision::of(env!("FOREBAY_REVISION"))), Some("forebay".to_string()));
    let origin = Origin { revision, command };
    let note = |text: &str| {
        // Without a stderr there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "{text}");
    };
    let notes = bar.is_some().then_some(&note as &(dyn Fn(&str) + Sync));
    let shown = bar.map(|bar| |done_s: f64| bar.call1((done_s, call.total_s())).map(drop));
    let shown = shown.as_ref().map(|shown| shown as &dyn Fn(f64) -> PyResult<()>);
    let found = watched(py, &call, shown, || {
        work(&Host {
            stop: &call.stop,
            notes,
            progress: &|total_s| {
                call.begin(total_s);
                Box::new(Batches(call.clone()))
            },
            build: &|| build.to_string(),
            origin: &origin,
            words: &host::OF_PYTHON,
        })
    })?;
    found.map_err(|failure| errors::failure(&failure, call.stop.load(Ordering::SeqCst)))
}

/// The same for a command that is done in a moment or asks the caller's own disciplines.
fn document<T: Serialize + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, InputError> + Send,
) -> PyResult<String> {
    text(&asked(py, None, |_| Ok(work()?))?)
}

/// Refuses a command from a discipline's own code while it runs for another command.
fn outside() -> PyResult<()> {
    let what = "a command of the program cannot be asked for from within another one";
    if is_within_command() { Err(PyRuntimeError::new_err(what)) } else { Ok(()) }
}

/// The names of all built-in disciplines.
#[pyfunction]
pub fn disciplines() -> PyResult<Vec<&'static str>> {
    outside()?;
    Ok(ENTRIES.iter().map(|entry| entry.name).collect())
}

/// All there is to know about a name.
#[pyfunction]
pub fn explain(py: Python<'_>, name: &str) -> PyResult<String> {
    document(py, || Ok(explanation::find(name)?.document()))
}

/// Rest and margins of the linear loop under each discipline.
#[pyfunction]
pub fn stability(py: Python<'_>, scenario: &Scenario, critical: bool) -> PyResult<String> {
    document(py, || theory::of_loop(&scenario.path, &scenario.cases, Asked::Stability { critical }))
}

/// The course of the nonlinear loop under each discipline.
#[pyfunction]
pub fn fluid(py: Python<'_>, scenario: &Scenario) -> PyResult<String> {
    document(py, || theory::of_loop(&scenario.path, &scenario.cases, Asked::Fluid))
}

/// The distribution of the queue at one signal probability under each discipline.
#[pyfunction]
#[pyo3(signature = (scenario, p = None, step = None, sigma = None))]
pub fn markov(
    py: Python<'_>,
    scenario: &Scenario,
    p: Option<&str>,
    step: Option<&str>,
    sigma: Option<&str>,
) -> PyResult<String> {
    document(py, || {
        let ask = theory::ask(p, sigma, step)?;
        theory::of_loop(&scenario.path, &scenario.cases, Asked::Markov { ask: &ask, p })
    })
}

/// The queue in the long run under datagrams that Markov chains bring.
#[pyfunction]
pub fn mmpp(py: Python<'_>, scenario: &Scenario) -> PyResult<String> {
    document(py, || theory::of_mmpp(&scenario.path, &scenario.cases))
}

/// Where the linear loop is stable, over two of its figures.
#[pyfunction]
pub fn stability_map(py: Python<'_>, scenario: &Scenario, x: String, y: String, cells: i64) -> PyResult<String> {
    let points = in_range("--points <N>", cells, 2, 1000)? as u32;
    document(py, || {
        // Two ranges are two sides, or an error.
        let sides = map::sides(&[x, y])?.ok_or_else(|| InputError::new("--map", "", Found::thing("nothing"), "two"))?;
        Ok(map::draw(&scenario.path, &scenario.cases, sides, points)?.document())
    })
}

/// Parameters that meet aims in the model, tried in the simulator.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are what a caller may say, each by its name")]
pub fn tune(
    py: Python<'_>,
    scenario: &Scenario,
    aqm: String,
    vary: Vec<String>,
    aims: Vec<String>,
    output: PathBuf,
    seeds: i64,
    force: bool,
) -> PyResult<String> {
    let runs = in_range("--runs <N>", seeds, 1, 100_000)?;
    let mut changes = scenario.overrides.clone();
    changes.vary.extend(vary);
    changes.aqm.push(aqm);
    let source = Source { file: Path::new(&scenario.path), text: Some(&scenario.text) };
    let batch = Batch { source, seed: 1, runs, output: Some(&output), force, jobs: None };
    let found = asked(py, None, |host| commands::tune::tune(&batch, &changes, &aims, host))?;
    text(&found.document)
}

/// The verdicts on papers or claims; every paper if there are no names. `bar` is called with how far a paper is.
#[pyfunction]
#[pyo3(signature = (names, level, output = None, bar = None))]
pub fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    level: &str,
    output: Option<PathBuf>,
    bar: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let levels = [Level::Quick, Level::Normal, Level::Full];
    let words = || levels.map(|level| level.word().to_string());
    let level = levels.into_iter().find(|one| one.word() == level);
    let level = level.ok_or_else(|| errors::word("level", "", &words()))?;
    let asked_for = commands::reproduce::Asked { names: &names, level, output: output.as_deref(), jobs: None };
    let found = asked(py, bar.as_ref(), |host| {
        let found = commands::reproduce::reproduce(&asked_for, host)?;
        // The first page that could not be written.
        found.places.into_iter().try_for_each(|(.., page)| page.map(drop))?;
        Ok(found.claims)
    })?;
    text(&Verdicts::new(found))
}

/// A number as the program takes it for this argument.
fn in_range(argument: &str, found: i64, from: u64, to: u64) -> PyResult<u64> {
    let fits = u64::try_from(found).ok().filter(|found| (from..=to).contains(found));
    fits.ok_or_else(|| {
        errors::usage(&format!("invalid value '{found}' for '{argument}': {found} is not in {from}..={to}"))
    })
}
