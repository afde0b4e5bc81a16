//! What has a name: taken from the registry, the scenario schema, the papers, the files at hand.

use std::fs;
use std::path::{Path, PathBuf};

use forebay_aqm::ENTRIES;
use forebay_aqm::base::markers::MARKERS;
use forebay_lab::load;
use forebay_lab::papers::PAPERS;
use forebay_lab::scenario::{self, Overrides, TcpVariant};
use serde_json::{Value, json};

/// A name and one line about it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// What is typed.
    pub(crate) name: String,
    /// What it is.
    pub(crate) summary: String,
}

impl Named {
    fn new(name: &str, summary: &str) -> Self {
        Self { name: name.to_string(), summary: summary.to_string() }
    }

    /// For a list in JSON.
    pub(crate) fn json(&self) -> Value {
        json!({ "name": self.name, "summary": self.summary })
    }
}

/// Every discipline.
pub(crate) fn disciplines() -> Vec<Named> {
    ENTRIES.iter().map(|entry| Named::new(entry.name, &entry.summary())).collect()
}

/// The schema of every kind of flows.
pub(crate) fn flow_kinds() -> Vec<Value> {
    kinds("/properties/flows/items/oneOf")
}

/// Every marker.
pub(crate) fn markers() -> Vec<Named> {
    MARKERS.iter().map(|marker| Named::new(marker.name, marker.about.summary)).collect()
}

/// The alternatives at a place of the scenario schema.
fn kinds(at: &str) -> Vec<Value> {
    scenario::schema().pointer(at).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The `kind` that a schema of flows or of a topology is for.
pub(crate) fn kind(schema: &Value) -> &str {
    schema.pointer("/properties/kind/const").and_then(Value::as_str).unwrap_or_default()
}

/// The `description` of a schema.
pub(crate) fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Every kind of traffic.
pub(crate) fn traffic() -> Vec<Named> {
    flow_kinds().iter().map(of_schema).collect()
}

/// Every kind of topology.
pub(crate) fn topologies() -> Vec<Named> {
    kinds("/properties/topology/oneOf").iter().map(of_schema).collect()
}

fn of_schema(schema: &Value) -> Named {
    Named::new(kind(schema), description(schema).trim_end_matches('.'))
}

/// Every congestion control.
pub(crate) fn congestion() -> Vec<Named> {
    TcpVariant::all().iter().map(|variant| Named::new(variant.word(), variant.profile().summary)).collect()
}

/// Every paper.
pub(crate) fn papers() -> Vec<Named> {
    PAPERS.iter().map(|paper| Named::new(paper.name, paper.summary)).collect()
}

/// A scenario file at hand.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioFile {
    /// From the working directory.
    pub(crate) path: PathBuf,
    /// Its title.
    pub(crate) title: String,
    /// Simulations with one seed.
    pub(crate) runs: usize,
    /// Simulated seconds of each.
    pub(crate) duration_s: f64,
}

impl ScenarioFile {
    fn read(path: PathBuf) -> Option<Self> {
        let cases = load::file(&path, &Overrides::default()).ok()?;
        let first = &cases.first()?.scenario;
        let runs = cases.iter().map(|case| case.scenario.compare.len()).sum();
        Some(Self { title: first.title.clone(), duration_s: first.duration.secs(), runs, path })
    }
}

/// The scenario files in the working directory, in `examples`, and in the folders of `papers`.
pub(crate) fn scenarios() -> Vec<ScenarioFile> {
    let folders = ["", "examples", "scenarios"].map(PathBuf::from).into_iter().chain(entries(Path::new("papers")));
    let files = folders.flat_map(|folder| entries(&folder));
    files.filter(|path| path.extension().is_some_and(|ext| ext == "toml")).filter_map(ScenarioFile::read).collect()
}

/// What is in a folder, in order of names; nothing if it is none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| folder.join(entry.file_name()));
    let mut names: Vec<PathBuf> = names.collect();
    names.sort();
    names
}
