//! `forebay.Scenario`: a parsed scenario file with overrides, which are changes of its values.

use std::path::{Path, PathBuf};

use forebay_lab::estimate::excess;
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{Case, Found, InputError, Overrides};
use forebay_lab::store;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// A scenario: a file's text with overrides. Immutable; can be pickled.
#[pyclass(frozen, module = "forebay._native")]
pub struct Scenario {
    /// The file name as given, for error messages.
    name: String,
    /// The absolute path of the file. Relative paths in the file start from its folder.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) overrides: Overrides,
    pub(crate) cases: Vec<Case>,
}

/// The absolute path of a file.
fn absolute(name: &str) -> String {
    std::path::absolute(name).map_or_else(|_| name.to_string(), |path| path.display().to_string())
}

/// The parts of a pickled scenario: text, name, and the overrides `set`, `vary`, `aqm` and `both_directions`.
type Parts = (String, String, Vec<String>, Vec<String>, Vec<String>, bool);

impl Scenario {
    fn read(py: Python<'_>, text: String, name: String, path: String, overrides: Overrides) -> PyResult<Self> {
        let file = if absolute(&name) == path { &name } else { &path };
        let cases = py.detach(|| load::parse(file, &text, &overrides)).map_err(|error| errors::input(&error))?;
        Ok(Self { name, path, text, overrides, cases })
    }

    /// The plan of the scenario's runs with these seeds.
    pub(crate) fn plan(&self, seeds: &[u64], revision: &str) -> Plan {
        Plan {
            cases: self.cases.clone(),
            seeds: seeds.to_vec(),
            revision: revision.to_string(),
            guest: None,
            part: None,
            real_headers: false,
        }
    }

    /// Refuses plans that cannot be run.
    pub(crate) fn check(&self, plan: &Plan) -> PyResult<()> {
        plan.check(&self.name).map_err(|error| errors::input(&error))?;
        let Some(words) = plan.linux_qdisc() else { return Ok(()) };
        let found = Found::text(&format!("linux:{words}"));
        let error = InputError::new(&self.name, "aqm", found, "a discipline that can be simulated");
        let hint = "qdiscs of Linux run with the command `forebay run --on linux`".to_string();
        Err(errors::input(&error.hint(Some(hint))))
    }

    /// Unless `force`, refuses a plan of runs that need over half of the memory or over a day. Nothing has been written
    /// by then.
    pub(crate) fn afford(&self, plan: &Plan, directory: Option<&Path>, jobs: usize, force: bool) -> PyResult<()> {
        let finished = || directory.map_or(0, |dir| store::finished(dir, plan));
        let Some(excess) = excess(plan, jobs, 0.0, finished).filter(|_| !force) else { return Ok(()) };
        let hint = "force=True runs it anyway; fewer seeds, fewer jobs or a shorter duration need less".to_string();
        Err(errors::input(&InputError::new(&self.name, "", Found::thing(excess.runs), excess.most).hint(Some(hint))))
    }
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (text, name = "scenario.toml", set = vec![], vary = vec![], aqm = vec![], both_directions = false))]
    fn new(
        py: Python<'_>,
        text: String,
        name: &str,
        set: Vec<String>,
        vary: Vec<String>,
        aqm: Vec<String>,
        both_directions: bool,
    ) -> PyResult<Self> {
        let overrides = Overrides { sets: set, vary, aqm, both_directions };
        Self::read(py, text, name.to_string(), absolute(name), overrides)
    }

    /// Reads a scenario file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let name = path.display().to_string();
        let text = load::text(&path).map_err(|error| errors::input(&error))?;
        let path = absolute(&name);
        Self::read(py, text, name, path, Overrides::default())
    }

    /// The scenario with more overrides. `set` has texts `PATH=VALUE` and `vary` texts `PATH=VALUES`. `aqm` replaces
    /// the disciplines compared, unless it is empty. With `both_directions` they also run on the links of the
    /// opposite direction.
    #[pyo3(signature = (set = vec![], vary = vec![], aqm = vec![], both_directions = false))]
    fn changed(
        &self,
        py: Python<'_>,
        set: Vec<String>,
        vary: Vec<String>,
        aqm: Vec<String>,
        both_directions: bool,
    ) -> PyResult<Self> {
        let mut overrides = self.overrides.clone();
        overrides.sets.extend(set);
        overrides.vary.extend(vary);
        if !aqm.is_empty() {
            overrides.aqm = aqm;
        }
        overrides.both_directions |= both_directions;
        Self::read(py, self.text.clone(), self.name.clone(), self.path.clone(), overrides)
    }

    /// The title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        self.cases.first().map_or("", |case| case.scenario.title.as_str())
    }

    /// The file name used in error messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Hash of the scenario with all overrides and defaults. Scenarios with the same hash are the same experiment.
    #[getter]
    fn hash(&self, py: Python<'_>) -> String {
        py.detach(|| Plan::new(self.cases.clone(), 1, 1).hash())
    }

    /// Simulated duration of a run, s. If the duration is a key that varies, its first value.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.cases.first().map_or(0.0, |case| case.scenario.duration.secs())
    }

    /// The disciplines compared, as written.
    #[getter]
    fn aqm(&self) -> Vec<String> {
        let compared = self.cases.first().map(|case| case.scenario.compare.iter().map(|one| one.label.clone()));
        compared.into_iter().flatten().collect()
    }

    /// The values of the keys that vary, for each of their combinations (each case).
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let point = |case: &Case| {
            let point = PyDict::new(py);
            case.axes.iter().try_for_each(|(axis, value)| point.set_item(axis, value))?;
            Ok(point)
        };
        self.cases.iter().map(point).collect()
    }

    /// The scenario with the combination of values number `case` as TOML, with all defaults written out.
    #[pyo3(signature = (case = 0))]
    fn to_toml(&self, case: usize) -> PyResult<String> {
        let found = self.cases.get(case).map(|case| case.scenario.to_toml());
        let accepts = || format!("0 to {}", self.cases.len().saturating_sub(1));
        found.ok_or_else(|| errors::argument("case", &case.to_string(), &accepts()))
    }

    /// Text, name, and the overrides `set`, `vary`, `aqm` and `both_directions`, as the constructor accepts them.
    fn parts(&self) -> Parts {
        let Overrides { sets, vary, aqm, both_directions } = self.overrides.clone();
        (self.text.clone(), self.path.clone(), sets, vary, aqm, both_directions)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, Parts) {
        (slf.get_type().into_any(), slf.get().parts())
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?}, {} cases, {} disciplines)", self.title(), self.cases.len(), self.aqm().len())
    }
}
