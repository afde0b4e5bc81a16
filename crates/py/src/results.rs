//! `forebay.Results`: the runs of a scenario, finished.

use std::path::PathBuf;

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
    fn whole<T>(&self, of: impl FnOnce(&[RunRecord]) -> T) -> T {
        match &self.store {
            Some(store) => of(&store.records(&self.plan)),
            None => of(&self.records),
        }
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
        Table::new(py.detach(|| self.whole(|records| table::series(records, &table::probes(records)))))
    }

    /// A row per run and flow.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(py.detach(|| self.whole(table::flows)))
    }

    /// What a quantity of claims and tables is in each run, such as `queue_mean@30..60`; NaN where a run has none.
    fn quantity(&self, py: Python<'_>, name: &str) -> PyResult<Vec<f64>> {
        let quantity = Quantity::parse(name).map_err(|accepts| errors::argument("quantity", name, &accepts))?;
        Ok(py.detach(|| {
            self.whole(|records| records.iter().map(|record| quantity.of(record).unwrap_or(f64::NAN)).collect())
        }))
    }

    /// Share of the time that a run's queue had each length, from 0 on.
    fn queue_shares(&self, py: Python<'_>, run: usize) -> PyResult<Vec<f64>> {
        let found = py.detach(|| self.whole(|records| records.get(run).map(|record| record.queue_shares.clone())));
        let accepts = || format!("0 to {}", self.records.len().saturating_sub(1));
        found.ok_or_else(|| errors::argument("run", &run.to_string(), &accepts()))
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
