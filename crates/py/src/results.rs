//! `forebay.Results`: the runs of a scenario, finished.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_lab::compare;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::quantity::Quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::render::look::Look;
use forebay_lab::render::summary::tables;
use forebay_lab::results::comparison::Comparison;
use forebay_lab::results::summary::Summary;
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

/// Finished runs. Where they are in a directory, memory holds their summaries only.
#[pyclass(frozen, module = "forebay._native")]
pub struct Results {
    title: String,
    /// What `summary.json` has under this name.
    compare: Comparison,
    records: Vec<RunRecord>,
    kept: Option<Kept>,
}

/// Where the runs are in full: a directory, and of each its place there and its key.
struct Kept {
    dir: PathBuf,
    runs: Vec<(Job, String)>,
}

/// A directory, and the case, discipline, seed and key of each run.
type Place = (PathBuf, Vec<(usize, usize, u64, String)>);

/// Title, `compare` and runs as JSON, directory.
type Parts<'py> = (String, String, Vec<Bound<'py, PyBytes>>, Option<Place>);

impl Results {
    /// Those of `plan`, which `records` has in the order of its jobs, each slim where there is a `store`. Uses the threads of
    /// the pool in which it runs.
    pub(crate) fn of(plan: &Plan, records: Vec<RunRecord>, store: Option<&Store>) -> Self {
        let keyed = |job: Job| (job, plan.key(job));
        let kept = store.map(|store| Kept {
            dir: store.dir().to_path_buf(),
            runs: plan.jobs().into_par_iter().map(keyed).collect(),
        });
        Self { title: plan.title().to_string(), compare: compare::compare(plan, &records), records, kept }
    }

    fn document(&self) -> Summary {
        let runs = self.records.iter().flat_map(RunRecord::summaries).cloned().collect();
        Summary::new(&self.title, runs, self.compare.clone())
    }

    /// The runs in full.
    fn whole<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&[RunRecord]) -> T + Send) -> PyResult<T> {
        let Some(Kept { dir, runs }) = &self.kept else { return Ok(py.detach(|| of(&self.records))) };
        // Threads of its own: those of a process that was forked would not be there.
        let pool = pool(None, &Arc::default())?;
        py.detach(|| {
            pool.install(|| {
                let read = |(job, key): &(Job, String)| store::read_keyed(dir, *job, key);
                let records: Vec<RunRecord> = runs.par_iter().filter_map(read).collect();
                let missing = runs.len() - records.len();
                if missing > 0 {
                    let place = dir.display();
                    return Err(errors::run(&format!("{missing} of the runs in {place} are no longer there")));
                }
                Ok(of(&records))
            })
        })
    }
}

/// A part of a pickle that no `Results` has given.
fn bad_part(what: &str, why: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("no pickled Results: {what}: {why}"))
}

#[pymethods]
impl Results {
    /// Those that pickle has kept: title, `compare` and runs as JSON, and where they are in full.
    #[new]
    fn new(
        py: Python<'_>,
        title: String,
        compare: &str,
        runs: Vec<PyBackedBytes>,
        place: Option<Place>,
    ) -> PyResult<Self> {
        let compare = serde_json::from_str(compare).map_err(|error| bad_part("compare", &error))?;
        let records = py.detach(|| runs.iter().map(|run| RunRecord::from_json(run)).collect::<Result<Vec<_>, _>>());
        let records = records.map_err(|why| bad_part("a run", &why))?;
        let job = |(case, contender, seed, key)| (Job { case, contender, seed }, key);
        let kept = place.map(|(dir, runs)| Kept { dir, runs: runs.into_iter().map(job).collect() });
        if kept.as_ref().is_some_and(|kept| kept.runs.len() != records.len()) {
            return Err(bad_part("its place", &"another number of runs"));
        }
        Ok(Self { title, compare, records, kept })
    }

    /// What pickle keeps: of runs in a directory their summaries and where that is.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let json = || this.records.iter().map(serde_json::to_vec).collect::<Result<Vec<_>, _>>();
        let bad = |error: serde_json::Error| errors::run(&error.to_string());
        let runs = py.detach(json).map_err(bad)?;
        let compare = serde_json::to_string(&this.compare).map_err(bad)?;
        let runs = runs.iter().map(|run| PyBytes::new(py, run)).collect();
        let place = this.kept.as_ref().map(|Kept { dir, runs }| {
            let part = |(job, key): &(Job, String)| (job.case, job.contender, job.seed, key.clone());
            (dir.clone(), runs.iter().map(part).collect())
        });
        Ok((slf.get_type().into_any(), (this.title.clone(), compare, runs, place)))
    }

    /// `summary.json` as text: its names are fixed.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| serde_json::to_string(&self.document())).map_err(|error| errors::run(&error.to_string()))
    }

    /// The tables that the program prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| tables(Look::PLAIN, &self.document()))
    }

    /// A row per run, link and class.
    #[getter]
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(py.detach(|| table::summary(&self.records)))
    }

    /// A row per run, link and sampling interval.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(self.whole(py, |records| table::series(records, &table::probes(records)))?)
    }

    /// A row per run and flow.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(self.whole(py, table::flows)?)
    }

    /// What a quantity of claims and tables is in each run; NaN where a run has none.
    fn quantity(&self, py: Python<'_>, name: &str) -> PyResult<Vec<f64>> {
        let wrong = |accepts: String| errors::argument("quantity", name, &accepts);
        let quantity = Quantity::parse(name).map_err(wrong)?;
        let found: Vec<_> = self.whole(py, |records| records.iter().map(|record| quantity.of(record)).collect())?;
        match found.iter().all(Result::is_err).then(|| found.first()).flatten() {
            Some(Err(none)) => Err(wrong(none.clone())),
            _ => Ok(found.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()),
        }
    }

    /// Share of the time that the queue had each length, from 0 on, in each run of this label.
    fn queue_shares(&self, py: Python<'_>, label: &str) -> PyResult<Vec<Vec<f64>>> {
        let mine = |record: &&RunRecord| record.summary.label == label;
        self.whole(py, |records| records.iter().filter(mine).map(|record| record.queue_shares.clone()).collect())
    }

    /// The label of each run.
    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.summary.label.as_str()).collect()
    }

    /// The seed of each run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.records.iter().map(|record| record.summary.seed).collect()
    }

    /// Where they are; none if in memory only.
    #[getter]
    fn directory(&self) -> Option<PathBuf> {
        self.kept.as_ref().map(|kept| kept.dir.clone())
    }

    fn __len__(&self) -> usize {
        self.records.len()
    }
}
