//! Runs of a scenario: here and now on all cores, or some of them for a sweep that others work on too.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_lab::batch::{self, Control};
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::RunRecord;
use forebay_lab::store::Store;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::prelude::*;
use serde_json::json;

use crate::command::build;
use crate::errors;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::watch::{Call, pool, watched};

/// What a directory says about how its results came about.
fn meta() -> serde_json::Value {
    json!({ "command": "forebay.run, called from Python" })
}

/// Case, discipline within the case, seed.
type Place = (usize, usize, u64);

const fn job((case, contender, seed): Place) -> Job {
    Job { case, contender, seed }
}

/// Runs every case of the scenario under every discipline with every seed, on `jobs` threads; what `output` holds already
/// is not run again. `progress` is called with the simulated seconds that are done. With `shards` each run is a Parquet file
/// there as soon as it has ended. What would take more than half of the memory, or more than a day, needs `force`.
#[pyfunction]
#[pyo3(signature = (scenario, seeds, jobs = None, output = None, progress = None, shards = false, force = false))]
#[expect(clippy::too_many_arguments, reason = "they are what a caller may say, each by its name")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    jobs: Option<usize>,
    output: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
    shards: bool,
    force: bool,
) -> PyResult<Results> {
    let (plan, output) = planned(py, scenario, &seeds, output)?;
    let call = Arc::new(Call::default());
    let pool = pool(jobs, &call)?;
    scenario.afford(&plan, output.as_deref(), pool.current_num_threads(), force)?;
    let store = open(&plan, output)?;
    let store = if shards { store.map(Store::with_shards) } else { store };
    let done = watched(py, &call, progress.as_ref(), || {
        let control = Control { stop: &call.stop, progress: &|seconds| call.advance(seconds) };
        pool.install(|| match &store {
            Some(store) => batch::run(&plan, store, &control).and_then(|_| batch::runs(&plan, Some(store), &control)),
            None => batch::runs(&plan, None, &control),
        })
    })?;
    let records = done.map_err(errors::batch)?.into_iter().map(|(_, record)| record).collect();
    Ok(Results { plan, records, store })
}

/// The plan with these seeds, and its directory, found again wherever the process goes.
fn planned(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: &[u64],
    directory: Option<PathBuf>,
) -> PyResult<(Plan, Option<PathBuf>)> {
    let revision = if directory.is_some() { build(py)? } else { "" };
    let plan = scenario.plan(seeds, revision);
    scenario.check(&plan)?;
    Ok((plan, directory.map(|dir| std::path::absolute(&dir).unwrap_or(dir))))
}

fn open(plan: &Plan, directory: Option<PathBuf>) -> PyResult<Option<Store>> {
    directory.map(|dir| Store::open(&dir, plan, meta()).map_err(|error| errors::store(&error))).transpose()
}

/// Does some runs of a sweep, one after the other. Each is kept in the directory of the sweep before the next, where this
/// process reaches that; else its record is given as bytes for `results`.
#[pyfunction]
pub(crate) fn work(
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
        let control = Control { stop: &call.stop, progress: &|seconds| call.advance(seconds) };
        let one = |place: &Place| -> Result<Option<Vec<u8>>, PyErr> {
            let known = store.as_ref().and_then(|store| store.load(&plan, job(*place)));
            let fresh = || batch::one(&plan, job(*place), None, &control).map_err(errors::batch);
            let Some(record) = known.map_or_else(fresh, |record| Ok(Some(record)))? else {
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

/// Keeps records that `work` gave in the directory of their sweep.
#[pyfunction]
pub(crate) fn bring(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    directory: PathBuf,
    brought: Vec<(Place, Vec<u8>)>,
) -> PyResult<()> {
    let plan = scenario.plan(&seeds, build(py)?);
    let store = Store::join(&directory, &plan).ok_or_else(|| errors::run("the directory of the sweep has gone"))?;
    let store = store.with_shards();
    py.detach(|| {
        brought.iter().try_for_each(|(place, bytes)| {
            let record = serde_json::from_slice(bytes).map_err(|error| errors::run(&error.to_string()))?;
            keep(&store, &plan, job(*place), &record)
        })
    })
}

/// Opens the directory of a sweep on which so many work; the runs that are not finished there.
#[pyfunction]
pub(crate) fn left(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Vec<u64>,
    directory: PathBuf,
    workers: usize,
    force: bool,
) -> PyResult<Vec<Place>> {
    let (plan, directory) = planned(py, scenario, &seeds, Some(directory))?;
    scenario.afford(&plan, directory.as_deref(), workers, force)?;
    let store = open(&plan, directory)?;
    let pool = pool(None, &Arc::default())?;
    Ok(py.detach(|| {
        pool.install(|| {
            let open = |job: &Job| store.as_ref().and_then(|store| store.load(&plan, *job)).is_none();
            let place = |job: Job| (job.case, job.contender, job.seed);
            plan.jobs().into_par_iter().filter(open).map(place).collect()
        })
    }))
}
