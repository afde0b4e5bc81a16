//! Runs of a scenario: all of them on this machine's cores, or some of a distributed sweep.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use forebay_lab::batch::{self, BatchError, Control};
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::RunRecord;
use forebay_lab::results::meta::Origin;
use forebay_lab::run::guard::Guard;
use forebay_lab::store::{Owner, Store};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeWarning};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::command::build;
use crate::errors;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::watch::{Call, pool, raise, watched};

/// What a directory of results records about the call that wrote it.
fn origin() -> Origin {
    Origin { revision: None, command: Some("forebay.run, called from Python".to_string()) }
}

/// A run: number of the case (a combination of values of the keys that vary), number of the discipline, seed.
type Place = (usize, usize, u64);

const fn job((case, contender, seed): Place) -> Job {
    Job { case, contender, seed }
}

/// Runs a scenario on `jobs` threads: each combination of values of the keys that vary, with each discipline and seed.
/// Skips runs that the directory `output` already has. `progress` receives the simulated seconds done. With `shards`
/// each finished run is also written as a Parquet file. Runs that would use over half of the memory or take over a day
/// need `force`.
#[pyfunction]
#[pyo3(signature = (scenario, seeds, jobs = None, output = None, progress = None, shards = false, force = false, sweep = None))]
#[expect(clippy::too_many_arguments, reason = "each is a named argument in Python")]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    jobs: Option<usize>,
    output: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
    shards: bool,
    force: bool,
    sweep: Option<&Sweep>,
) -> PyResult<Results> {
    let (plan, output) = planned(py, scenario, &seeds, output)?;
    let call = Arc::new(Call::default());
    let pool = pool(jobs, &call)?;
    py.detach(|| scenario.afford(&plan, output.as_deref(), pool.current_num_threads(), force))?;
    let shown = progress.map(|bar| move |done_s: f64| bar.call1((done_s,)).map(drop));
    let shown = shown.as_ref().map(|shown| shown as &dyn Fn(f64) -> PyResult<()>);
    let done = watched(py, &call, shown, || {
        let memory = if force { Guard::NONE } else { Guard::of_this_machine() };
        let progress = &|seconds| call.advance(seconds);
        let control = Control { progress, waits: &waits, memory: &memory, ..Control::silent(&call.stop) };
        let store = match (sweep, output) {
            (Some(sweep), _) => sweep.take(),
            (None, Some(dir)) => Some(Store::open(&dir, &plan, &origin(), &control.wait()).map_err(BatchError::Store)?),
            (None, None) => None,
        };
        let store = if shards { store.map(Store::with_shards) } else { store };
        let done = pool.install(|| match &store {
            Some(store) => batch::run(&plan, store, &control).and_then(|_| batch::runs(&plan, Some(store), &control)),
            None => batch::runs(&plan, None, &control),
        })?;
        if done.len() < plan.jobs().len() {
            return Err(control.incomplete());
        }
        Ok((done, store))
    })?;
    let (done, store) = done.map_err(errors::batch)?;
    let records = done.into_iter().map(|(_, record)| record).collect();
    Ok(py.detach(|| pool.install(|| Results::of(&plan, records, store.as_ref()))))
}

/// Warns that a call waits for another process that writes to its directory of results.
fn waits(dir: &Path, owner: &Owner) {
    let text = format!("{} is locked by {owner}; waiting for it to finish", dir.display());
    Python::attach(|py| {
        let warn = || py.import("warnings")?.call_method1("warn", (&text, py.get_type::<PyRuntimeWarning>()));
        // If warnings are errors, this ends the call.
        let _ = warn().map_err(raise);
    });
}

/// The plan of runs with these seeds, and its directory of results as an absolute path.
fn planned(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: &[u64],
    directory: Option<PathBuf>,
) -> PyResult<(Plan, Option<PathBuf>)> {
    let revision = if directory.is_some() { build(py)? } else { "" };
    let plan = scenario.plan(seeds, revision);
    py.detach(|| scenario.check(&plan))?;
    Ok((plan, directory.map(|dir| std::path::absolute(&dir).unwrap_or(dir))))
}

/// Does the runs `places` of a distributed sweep, one after the other. Stores the record of each run's results in the
/// sweep's directory if this process can reach it, else returns it as bytes for `bring`.
#[pyfunction]
pub fn work(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    places: Vec<Place>,
    directory: Option<PathBuf>,
) -> PyResult<Vec<Option<Vec<u8>>>> {
    let plan = scenario.plan(&seeds, build(py)?);
    let store = directory.and_then(|directory| Store::join(&directory, &plan)).map(Store::with_shards);
    let call = Arc::new(Call::default());
    let done = watched(py, &call, None, || {
        let control = Control { progress: &|seconds| call.advance(seconds), ..Control::silent(&call.stop) };
        let one = |place: &Place| -> Result<Option<Vec<u8>>, PyErr> {
            // A worker that was lost may have finished it.
            if let Some(store) = &store
                && store.load(&plan, job(*place)).map_err(|error| errors::store(&error))?.is_some()
            {
                return Ok(None);
            }
            let Some(record) = batch::one(&plan, job(*place), None, &control).map_err(errors::batch)? else {
                return Err(PyKeyboardInterrupt::new_err("finished runs are kept"));
            };
            match &store {
                Some(store) => keep(store, &plan, job(*place), &record).map(|()| None),
                None => serde_json::to_vec(&record).map(Some).map_err(|error| errors::run(&error.to_string())),
            }
        };
        places.iter().map(one).collect::<Result<Vec<_>, PyErr>>()
    });
    done?
}

fn keep(store: &Store, plan: &Plan, job: Job, record: &RunRecord) -> PyResult<()> {
    store.save(plan, job, record).map_err(|error| errors::store(&error))
}

/// Stores the records of runs that `work` returned in the directory of their sweep.
#[pyfunction]
pub fn bring(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    directory: PathBuf,
    brought: Vec<(Place, Vec<u8>)>,
) -> PyResult<()> {
    let plan = scenario.plan(&seeds, build(py)?);
    let store = Store::join(&directory, &plan).ok_or_else(|| errors::run("the sweep's directory no longer exists"))?;
    let store = store.with_shards();
    py.detach(|| {
        brought.iter().try_for_each(|(place, bytes)| {
            let record = RunRecord::from_json(bytes).map_err(|why| errors::run(&why))?;
            keep(&store, &plan, job(*place), &record)
        })
    })
}

/// The directory of results of a distributed sweep. It stays open and locked until `run` takes it over or `close` is
/// called.
#[pyclass(frozen, module = "forebay._native")]
pub struct Sweep {
    store: Mutex<Option<Store>>,
    left: Vec<Place>,
}

impl Sweep {
    fn take(&self) -> Option<Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Sweep {
    /// Opens the directory of a sweep that `workers` workers run in parallel. Waits while another process writes to it.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        seeds: Vec<u64>,
        directory: PathBuf,
        workers: usize,
        force: bool,
    ) -> PyResult<Self> {
        let (plan, directory) = planned(py, scenario, &seeds, Some(directory))?;
        let directory = directory.unwrap_or_default();
        py.detach(|| scenario.afford(&plan, Some(&directory), workers, force))?;
        let call = Arc::new(Call::default());
        let pool = pool(None, &call)?;
        let opened = watched(py, &call, None, || {
            let control = Control { waits: &waits, ..Control::silent(&call.stop) };
            let store = Store::open(&directory, &plan, &origin(), &control.wait())?;
            let open = |job: Job| match store.load(&plan, job) {
                Ok(Some(_)) => None,
                Ok(None) => Some(Ok((job.case, job.contender, job.seed))),
                Err(error) => Some(Err(error)),
            };
            let left = pool.install(|| plan.jobs().into_par_iter().filter_map(open).collect::<Result<_, _>>())?;
            Ok(Self { store: Mutex::new(Some(store)), left })
        })?;
        opened.map_err(|error| errors::store(&error))
    }

    /// The runs that were not finished when the directory was opened.
    #[getter]
    fn left(&self) -> Vec<Place> {
        self.left.clone()
    }

    /// Unlocks the directory.
    fn close(&self) {
        drop(self.take());
    }
}
