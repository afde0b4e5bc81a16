//! The commands of Forebay as functions for Python, such as `stability`, `tune` and `reproduce`. Each returns its JSON
//! document as text.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forebay_aqm::ENTRIES;
use forebay_lab::commands::failure::Failure;
use forebay_lab::commands::host::{self, Host, Progress};
use forebay_lab::commands::run::Batch;
use forebay_lab::commands::theory::{self, Asked};
use forebay_lab::commands::{self, explain as explanation, map};
use forebay_lab::level::Level;
use forebay_lab::plan;
use forebay_lab::results::meta::{Origin, Revision};
use forebay_lab::results::verdicts::Verdicts;
use forebay_lab::scenario::{Found, InputError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors;
use crate::scenario::Scenario;
use crate::watch::{Call, is_within_command, watched};

/// Identifies this build of the Python module: the git revision and a hash of the module's file.
pub(crate) fn build(py: Python<'_>) -> PyResult<&'static str> {
    static BUILD: OnceLock<String> = OnceLock::new();
    let file: PathBuf = py.import("forebay._native")?.getattr("__file__")?.extract()?;
    Ok(BUILD.get_or_init(|| plan::build(env!("FOREBAY_REVISION"), Some(&file))))
}

fn text(document: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Reports the progress of a call from Python. The call may run several batches of simulations, one after the other.
struct Batches(Arc<Call>);

impl Progress for Batches {
    fn advance(&self, simulated_s: f64) {
        self.0.advance(simulated_s);
    }
}

/// Runs `work`, the work of a command, in another thread and raises its failure as an exception. If `bar` is given,
/// calls it with the simulated seconds done and the total of the current batch of simulations, and writes notes to
/// stderr.
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
        // If stderr is closed there is no one to report to.
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

/// Runs `work`, the work of a command, and returns its result as JSON text. In contrast to [`asked`] it shows no
/// progress. For commands that are short or call custom disciplines written in Python.
fn document<T: Serialize + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, InputError> + Send,
) -> PyResult<String> {
    text(&asked(py, None, |_| Ok(work()?))?)
}

/// Refuses a command that is called from a custom discipline during another command.
fn outside() -> PyResult<()> {
    let what = "a command cannot be called from within another command";
    if is_within_command() { Err(PyRuntimeError::new_err(what)) } else { Ok(()) }
}

/// The names of all built-in disciplines.
#[pyfunction]
pub fn disciplines() -> PyResult<Vec<&'static str>> {
    outside()?;
    Ok(ENTRIES.iter().map(|entry| entry.name).collect())
}

/// Describes a queue discipline, marker (such as the token bucket), congestion control or kind of traffic, as JSON.
#[pyfunction]
pub fn explain(py: Python<'_>, name: &str) -> PyResult<String> {
    document(py, || Ok(explanation::find(name)?.document()))
}

/// Equilibrium and stability margins of the linearized control loop of TCP and each discipline, as JSON.
#[pyfunction]
pub fn stability(py: Python<'_>, scenario: &Scenario, critical: bool) -> PyResult<String> {
    document(py, || theory::of_loop(&scenario.path, &scenario.cases, Asked::Stability { critical }))
}

/// Trajectory of the nonlinear control loop of TCP and each discipline, as JSON.
#[pyfunction]
pub fn fluid(py: Python<'_>, scenario: &Scenario) -> PyResult<String> {
    document(py, || theory::of_loop(&scenario.path, &scenario.cases, Asked::Fluid))
}

/// Distribution of the queue of TCP flows at a fixed drop or mark probability `p` (Markov chain), for each discipline,
/// as JSON. Without `p`, the probability is that at the discipline's equilibrium.
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

/// The stationary queue under Markov-modulated arrivals, as JSON.
#[pyfunction]
pub fn mmpp(py: Python<'_>, scenario: &Scenario) -> PyResult<String> {
    document(py, || theory::of_mmpp(&scenario.path, &scenario.cases))
}

/// Where the linearized control loop of TCP and each discipline is stable, over two of the quantities number of flows,
/// RTT and link rate, as JSON. `x` and `y` are two quantities with their ranges, such as `flows=5..500`.
#[pyfunction]
pub fn stability_map(py: Python<'_>, scenario: &Scenario, x: String, y: String, cells: i64) -> PyResult<String> {
    let points = in_range("--points <N>", cells, 2, 1000)? as u32;
    document(py, || {
        // Two ranges give two axes or an error.
        let sides = map::sides(&[x, y])?.ok_or_else(|| InputError::new("--map", "", Found::thing("nothing"), "two"))?;
        Ok(map::draw(&scenario.path, &scenario.cases, sides, points)?.document())
    })
}

/// Finds parameters of a discipline with which the fluid model meets `aims` (bounds on queue, delay or stability
/// margins), and checks them in simulation. Returns JSON. `aqm` is the discipline to tune; `scenario` must have been
/// read with the same `aqm`.
#[pyfunction]
pub fn tune(
    py: Python<'_>,
    scenario: &Scenario,
    aqm: &str,
    aims: Vec<String>,
    output: PathBuf,
    seeds: i64,
    force: bool,
) -> PyResult<String> {
    let runs = in_range("--runs <N>", seeds, 1, 100_000)?;
    let batch =
        Batch { file: Path::new(&scenario.path), seed: 1, runs, output: Some(&output), part: None, force, jobs: None };
    let found = asked(py, None, |host| {
        let aims = commands::tune::aims(&aims)?;
        commands::tune::tune(&batch, &scenario.cases, aqm, &aims, host)
    })?;
    text(&found.document)
}

/// The verdicts on claims, as JSON. `names` has ids of claims, or papers for all their claims; if it is empty, the
/// claims of all papers are meant. `bar` receives the progress of each paper.
#[pyfunction]
#[pyo3(signature = (names, level, output = None, bar = None))]
pub fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    level: &str,
    output: Option<PathBuf>,
    bar: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let level = level_of(level)?;
    let asked_for = commands::claims::reproduce::Asked { names: &names, level, output: output.as_deref(), jobs: None };
    let found = asked(py, bar.as_ref(), |host| {
        let found = commands::claims::reproduce::reproduce(&asked_for, host)?;
        // Raise the first page error.
        found.places.into_iter().try_for_each(|(.., page)| page.map(drop))?;
        Ok(found.claims)
    })?;
    text(&Verdicts::new(found))
}

/// The level of effort with this name.
fn level_of(word: &str) -> PyResult<Level> {
    let levels = [Level::Quick, Level::Normal, Level::Full];
    let words = || levels.map(|level| level.word().to_string());
    levels.into_iter().find(|one| one.word() == word).ok_or_else(|| errors::word("level", "", &words()))
}

/// A scenario of a suite: folder of its results, path, text, `PATH=VALUE` changes, disciplines, seeds.
type SuiteScenario = (String, String, String, Vec<String>, Vec<String>, Vec<u64>);

/// The directory of the results of a suite, and its scenarios, for runs in other processes.
#[pyfunction]
#[pyo3(signature = (suite, names, aqm, level, output = None, jobs = None))]
pub fn suite_scenarios(
    py: Python<'_>,
    suite: &str,
    names: Vec<String>,
    aqm: Vec<String>,
    level: &str,
    output: Option<PathBuf>,
    jobs: Option<u16>,
) -> PyResult<(PathBuf, Vec<SuiteScenario>)> {
    let level = level_of(level)?;
    let output = output.as_deref();
    let asked_for = commands::claims::evaluate::Asked { suite, names: &names, aqm: &aqm, level, output, jobs };
    let (dir, all) = asked(py, None, |host| commands::claims::evaluate::scenarios(&asked_for, host))?;
    let of = |it: forebay_lab::reproduce::Shared| {
        (it.name, it.path, it.text.to_string(), it.overrides.sets, it.overrides.aqm, it.seeds)
    };
    Ok((dir, all.into_iter().map(of).collect()))
}

/// The verdicts on the claims of a suite, as JSON. `names` has ids of claims or sections; if it is empty, all are meant.
#[pyfunction]
#[pyo3(signature = (suite, names, aqm, level, output = None, jobs = None, bar = None))]
#[expect(clippy::too_many_arguments, reason = "each is a named argument in Python")]
pub fn evaluate(
    py: Python<'_>,
    suite: &str,
    names: Vec<String>,
    aqm: Vec<String>,
    level: &str,
    output: Option<PathBuf>,
    jobs: Option<u16>,
    bar: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let level = level_of(level)?;
    let output = output.as_deref();
    let asked_for = commands::claims::evaluate::Asked { suite, names: &names, aqm: &aqm, level, output, jobs };
    let found = asked(py, bar.as_ref(), |host| {
        let found = commands::claims::evaluate::evaluate(&asked_for, host)?;
        found.page?;
        Ok(found.claims)
    })?;
    text(&Verdicts::new(found))
}

/// Searches the readings of a paper, which are combinations of values for the settings that it does not state. Returns
/// JSON with the claims that hold under each. `bar` receives the progress of the search, then that of the simulations
/// of the best readings, under which most claims hold, with further seeds.
#[pyfunction]
#[pyo3(signature = (paper, readings, seeds, confirm, output, budget_s = None, jobs = None, bar = None))]
#[expect(clippy::too_many_arguments, reason = "each is a named argument in Python")]
pub fn readings(
    py: Python<'_>,
    paper: &str,
    readings: i64,
    seeds: i64,
    confirm: i64,
    output: PathBuf,
    budget_s: Option<f64>,
    jobs: Option<u16>,
    bar: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let bad = |_| PyValueError::new_err("budget_s is not a time in seconds");
    let budget = budget_s.map(Duration::try_from_secs_f64).transpose().map_err(bad)?;
    let asked_for = commands::claims::readings::Asked {
        paper,
        output: Some(&output),
        readings: in_range("--readings <N>", readings, 1, 10_000_000)? as usize,
        seeds: in_range("--seeds <N>", seeds, 1, 1000)?,
        confirm: in_range("--confirm <N>", confirm, 0, 10_000)?,
        budget,
        jobs,
    };
    text(&asked(py, bar.as_ref(), |host| commands::claims::readings::readings(&asked_for, host))?.0)
}

/// A search of the readings of a paper (combinations of values for the settings that it does not state) in which other
/// processes simulate the readings.
#[pyclass(frozen, module = "forebay._native")]
pub struct Search {
    shared: commands::claims::readings::Shared,
}

#[pymethods]
impl Search {
    #[new]
    fn new(py: Python<'_>, paper: &str, seeds: i64) -> PyResult<Self> {
        let (build, seeds) = (build(py)?, in_range("--seeds <N>", seeds, 1, 1000)?);
        let shared = asked(py, None, |_| commands::claims::readings::Shared::new(paper, seeds, build))?;
        Ok(Self { shared })
    }

    /// A text that identifies the build, the project's files for the paper (claims, scenarios and candidate settings)
    /// and the number of seeds.
    #[getter]
    fn about(&self) -> &str {
        self.shared.about()
    }

    /// Simulated seconds that one reading takes.
    #[getter]
    fn simulated_s(&self, py: Python<'_>) -> PyResult<f64> {
        asked(py, None, |_| self.shared.simulated_s())
    }

    /// The readings to simulate next, and the number of readings with results in the log (a file in `directory`).
    fn unknown(&self, py: Python<'_>, readings: i64, directory: PathBuf) -> PyResult<(Vec<String>, usize)> {
        let readings = in_range("--readings <N>", readings, 1, 10_000_000)? as usize;
        asked(py, None, |host| self.shared.unknown(readings, &directory, host))
    }

    /// Simulates a reading. Returns its results as a line for the log.
    fn score(&self, py: Python<'_>, reading: &str) -> PyResult<String> {
        asked(py, None, |_| self.shared.score(reading))
    }

    /// Adds lines that `score` returned to the log in `directory`.
    fn add(&self, py: Python<'_>, lines: Vec<String>, directory: PathBuf) -> PyResult<()> {
        asked(py, None, |host| self.shared.add(&lines, &directory, host))
    }
}

/// Checks the range of a number, with the command line's error message.
fn in_range(argument: &str, found: i64, from: u64, to: u64) -> PyResult<u64> {
    let fits = u64::try_from(found).ok().filter(|found| (from..=to).contains(found));
    fits.ok_or_else(|| {
        errors::usage(&format!("invalid value '{found}' for '{argument}': {found} is not in {from}..={to}"))
    })
}
