//! `forebay.Results`: the runs of a scenario, finished.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_lab::compare;
use forebay_lab::plan::Plan;
use forebay_lab::quantity::Quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::store::Store;
use forebay_lab::table;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors;
use crate::table::Table;
use crate::watch::pool;

/// Finished runs. Where they are in a directory, memory holds their summaries only.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Results {
    pub(crate) plan: Plan,
    pub(crate) records: Vec<RunRecord>,
    pub(crate) store: Option<Store>,
}

impl Results {
    fn document(&self) -> Value {
        let runs: Vec<_> = self.records.iter().flat_map(RunRecord::summaries).collect();
        let compare = compare::compare(&self.plan, &self.records);
        json!({ "version": 1, "scenario": self.plan.title(), "runs": runs, "compare": compare })
    }

    /// The runs in full.
    fn whole<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&[RunRecord]) -> T + Send) -> PyResult<T> {
        let Some(store) = &self.store else { return Ok(py.detach(|| of(&self.records))) };
        // Threads of its own: those of a process that was forked would not be there.
        let pool = pool(None, &Arc::default())?;
        py.detach(|| {
            pool.install(|| {
                let records = store.records(&self.plan);
                let missing = self.records.len() - records.len();
                if missing > 0 {
                    let place = store.dir().display();
                    return Err(errors::run(&format!("{missing} of the runs in {place} are no longer there")));
                }
                Ok(of(&records))
            })
        })
    }
}

#[pymethods]
impl Results {
    /// `summary.json` as text: its names are fixed.
    fn to_json(&self) -> String {
        self.document().to_string()
    }

    /// The tables that the program prints.
    fn text(&self) -> String {
        forebay::tables(&self.document())
    }

    /// A row per run, link and class.
    #[getter]
    fn summary(&self) -> PyResult<Table> {
        Table::new(table::summary(&self.records))
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
        self.store.as_ref().map(|store| store.dir().to_path_buf())
    }

    fn __len__(&self) -> usize {
        self.records.len()
    }
}
