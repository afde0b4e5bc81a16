//! `forebay.Results`: the finished runs of a scenario.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_lab::compare;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::quantity::Quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::render::look::Look;
use forebay_lab::render::summary::tables;
use forebay_lab::results::comparison::Comparison;
use forebay_lab::results::summary::{Shown, Summary};
use forebay_lab::store::{self, Store};
use forebay_lab::table;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::errors;
use crate::table::Table;
use crate::watch::pool;

/// Finished runs. If a directory has their complete results, only their summaries are in memory.
#[pyclass(frozen, module = "forebay._native")]
pub struct Results {
    title: String,
    /// The `compare` object of `summary.json`.
    compare: Comparison,
    shown: Shown,
    records: Vec<RunRecord>,
    kept: Option<Kept>,
}

/// Where the complete results are: a directory, and for each run its job (which run it is) and the key that identifies
/// its file.
struct Kept {
    dir: PathBuf,
    runs: Vec<(Job, String)>,
}

/// The results in a directory that `forebay run`, `sweep` or `link` wrote.
#[pyfunction]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Results> {
    py.detach(|| Results::in_directory(path))
}

/// Where the complete results are, in a pickle: a directory, and for each run the numbers of its case (a combination of
/// values of the keys that vary) and of its discipline, its seed, and the key that identifies its file.
type Place = (PathBuf, Vec<(usize, usize, u64, String)>);

/// The parts of a pickle of [`Results`]: title; `compare` and the selection of table columns, as JSON; each run as
/// JSON; where the complete results are.
type Parts<'py> = (String, String, Vec<Bound<'py, PyBytes>>, Option<Place>);

impl Results {
    /// The results of `plan`. `records` must be in the order of `plan.jobs()`. If there is a `store`, it has the
    /// complete results of the runs and `records` have only the summaries. Computes the keys of the runs in the current
    /// thread pool.
    pub(crate) fn of(plan: &Plan, records: Vec<RunRecord>, store: Option<&Store>) -> Self {
        let keyed = |job: Job| (job, plan.key(job));
        let kept = store.map(|store| Kept {
            dir: store.dir().to_path_buf(),
            runs: plan.jobs().into_par_iter().map(keyed).collect(),
        });
        Self {
            title: plan.title().to_string(),
            compare: compare::compare(plan, &records),
            shown: plan.shown(),
            records,
            kept,
        }
    }

    /// The results in a directory.
    fn in_directory(dir: PathBuf) -> PyResult<Self> {
        let store::Loaded { summary, runs } = store::load(&dir).map_err(|error| errors::store(&error))?;
        let mut records = Vec::new();
        let mut keyed = Vec::new();
        for (job, key, record) in runs {
            keyed.push((job, key));
            records.push(record);
        }
        let Summary { scenario: title, compare, shown, .. } = summary;
        Ok(Self { title, compare, shown, records, kept: Some(Kept { dir, runs: keyed }) })
    }

    fn document(&self) -> Summary {
        let runs = self.records.iter().flat_map(RunRecord::summaries).cloned().collect();
        Summary::new(&self.title, runs, self.compare.clone(), self.shown.clone())
    }

    /// Applies `of` to the complete results of the runs, which it reads from the directory if there is one.
    fn whole<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&[RunRecord]) -> T + Send) -> PyResult<T> {
        let Some(Kept { dir, runs }) = &self.kept else { return Ok(py.detach(|| of(&self.records))) };
        // A new pool: after a fork, the threads of an old one do not exist.
        let pool = pool(None, &Arc::default())?;
        py.detach(|| {
            pool.install(|| {
                let read = |(job, key): &(Job, String)| store::read_keyed(dir, *job, key);
                let records =
                    runs.par_iter().filter_map(|run| read(run).transpose()).collect::<Result<Vec<RunRecord>, _>>();
                let records = records.map_err(|error| errors::run(&error.to_string()))?;
                let missing = runs.len() - records.len();
                if missing > 0 {
                    let place = dir.display();
                    return Err(errors::run(&format!("{missing} of the runs in {place} no longer exist")));
                }
                Ok(of(&records))
            })
        })
    }
}

/// The error for an invalid pickle.
fn bad_part(what: &str, why: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("not a pickled Results: {what}: {why}"))
}

#[pymethods]
impl Results {
    /// Results from a pickle: title, `compare` and runs as JSON, and where the complete results are.
    #[new]
    fn new(
        py: Python<'_>,
        title: String,
        compare: &str,
        runs: Vec<PyBackedBytes>,
        place: Option<Place>,
    ) -> PyResult<Self> {
        let (compare, shown) = serde_json::from_str(compare).map_err(|error| bad_part("compare", &error))?;
        let records = py.detach(|| runs.iter().map(|run| RunRecord::from_json(run)).collect::<Result<Vec<_>, _>>());
        let records = records.map_err(|why| bad_part("a run", &why))?;
        let job = |(case, contender, seed, key)| (Job { case, contender, seed }, key);
        let kept = place.map(|(dir, runs)| Kept { dir, runs: runs.into_iter().map(job).collect() });
        if kept.as_ref().is_some_and(|kept| kept.runs.len() != records.len()) {
            return Err(bad_part("location", &"wrong number of runs"));
        }
        Ok(Self { title, compare, shown, records, kept })
    }

    /// The parts of a pickle. If a directory has the complete results, these are the runs' summaries and its path.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let json = || this.records.iter().map(serde_json::to_vec).collect::<Result<Vec<_>, _>>();
        let bad = |error: serde_json::Error| errors::run(&error.to_string());
        let runs = py.detach(json).map_err(bad)?;
        let compare = serde_json::to_string(&(&this.compare, &this.shown)).map_err(bad)?;
        let runs = runs.iter().map(|run| PyBytes::new(py, run)).collect();
        let place = this.kept.as_ref().map(|Kept { dir, runs }| {
            let part = |(job, key): &(Job, String)| (job.case, job.contender, job.seed, key.clone());
            (dir.clone(), runs.iter().map(part).collect())
        });
        Ok((slf.get_type().into_any(), (this.title.clone(), compare, runs, place)))
    }

    /// The results as in `summary.json`, as text; its keys stay the same in later versions.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| serde_json::to_string(&self.document())).map_err(|error| errors::run(&error.to_string()))
    }

    /// The tables that the command line prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| tables(Look::PLAIN, &self.document()))
    }

    /// One row per run, link, service class and colour (in or out of profile). If the run has no service classes, one
    /// row per run and link.
    #[getter]
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(py.detach(|| table::summary(&self.records)))
    }

    /// One row per run, link and sampling interval.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(self.whole(py, |records| table::series(records, &table::probes(records)))?)
    }

    /// One row per run and flow.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(self.whole(py, table::flows)?)
    }

    /// One row per run, link and class of traffic (a group of flows or a service class), and one for all traffic.
    #[getter]
    fn traffic(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(py.detach(|| table::traffic(&self.records)))
    }

    /// One row per file or web page that arrived completely.
    #[getter]
    fn completions(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(self.whole(py, table::completions)?)
    }

    /// The value of a quantity in each run; NaN where a run does not have it. `name` is in the notation of
    /// docs/claims.md, such as `queue_pkts.mean` or `class.0.goodput_bps`.
    fn quantity(&self, py: Python<'_>, name: &str) -> PyResult<Vec<f64>> {
        let wrong = |accepts: String| errors::argument("quantity", name, &accepts);
        let quantity = Quantity::parse(name).map_err(wrong)?;
        let found: Vec<_> = self.whole(py, |records| records.iter().map(|record| quantity.of(record)).collect())?;
        match found.iter().all(Result::is_err).then(|| found.first()).flatten() {
            Some(Err(none)) => Err(wrong(none.clone())),
            _ => Ok(found.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()),
        }
    }

    /// Fraction of time at each queue length, from 0 packets on, for each run with this label (see `labels`).
    fn queue_shares(&self, py: Python<'_>, label: &str) -> PyResult<Vec<Vec<f64>>> {
        let mine = |record: &&RunRecord| record.summary.label == label;
        self.whole(py, |records| records.iter().filter(mine).map(|record| record.queue_shares.clone()).collect())
    }

    /// The label of each run: its discipline and the values of the keys that vary, such as `raqm q0=50 [n=40]`.
    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.summary.label.as_str()).collect()
    }

    /// The seed of each run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.records.iter().map(|record| record.summary.seed).collect()
    }

    /// The directory of the results; `None` if in memory only.
    #[getter]
    fn directory(&self) -> Option<PathBuf> {
        self.kept.as_ref().map(|kept| kept.dir.clone())
    }

    fn __len__(&self) -> usize {
        self.records.len()
    }
}
