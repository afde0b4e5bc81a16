//! `forebay list`: lists the names of disciplines, congestion controls, kinds of traffic, topologies, papers and
//! scenario files.

use std::fs;
use std::path::{Path, PathBuf};

use forebay_aqm::ENTRIES;
use forebay_aqm::base::markers::MARKERS;
use serde::Serialize;
use serde_json::Value;

use crate::claims::papers::PAPERS;
use crate::declare;
use crate::load;
use crate::scenario::{self, Overrides, TcpVariant};

/// A name with a one-line summary.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The name, such as `raqm` or `newreno`.
    pub name: String,
    /// One-line summary.
    pub summary: String,
}

impl Named {
    fn new(name: &str, summary: &str) -> Self {
        Self { name: name.to_string(), summary: summary.to_string() }
    }
}

/// A kind of names that `forebay list` can list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Values of `aqm = "..."`.
    Disciplines,
    /// Markers that signal congestion or colour packets outside a discipline.
    Markers,
    /// Values of `tcp = "..."`.
    Congestion,
    /// Values of `kind = "..."` in `[[flows]]`.
    Traffic,
    /// Values of `kind = "..."` in `[topology]`.
    Topologies,
    /// Papers of `forebay reproduce`.
    Papers,
    /// Suites of `forebay evaluate`.
    Suites,
    /// Scenario files below the working directory.
    Scenarios,
}

impl Topic {
    /// Every topic, in the order in which `forebay list` shows them.
    pub const ALL: [Self; 8] = [
        Self::Disciplines,
        Self::Markers,
        Self::Congestion,
        Self::Traffic,
        Self::Topologies,
        Self::Papers,
        Self::Suites,
        Self::Scenarios,
    ];

    /// Name of the topic on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Disciplines => "disciplines",
            Self::Markers => "markers",
            Self::Congestion => "congestion",
            Self::Traffic => "traffic",
            Self::Topologies => "topologies",
            Self::Papers => "papers",
            Self::Suites => "suites",
            Self::Scenarios => "scenarios",
        }
    }

    /// One-line summary, without markup.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Disciplines => "Values of aqm = \"...\" and --aqm",
            Self::Markers => "Markers that signal congestion or colour packets outside a discipline",
            Self::Congestion => "Values of tcp = \"...\"",
            Self::Traffic => "Values of kind = \"...\" in [[flows]]",
            Self::Topologies => "Values of kind = \"...\" in [topology]",
            Self::Papers => "Papers of `forebay reproduce`",
            Self::Suites => "Suites of `forebay evaluate`",
            Self::Scenarios => "Scenario files below the working directory",
        }
    }

    /// The names or scenario files that belong to the topic.
    pub fn entries(self) -> Entries {
        match self {
            Self::Disciplines => Entries::Names(disciplines()),
            Self::Markers => Entries::Names(markers()),
            Self::Congestion => Entries::Names(congestion()),
            Self::Traffic => Entries::Names(traffic()),
            Self::Topologies => Entries::Names(topologies()),
            Self::Papers => Entries::Names(papers()),
            Self::Suites => Entries::Names(suites()),
            Self::Scenarios => Entries::Files(scenarios()),
        }
    }
}

/// The names or scenario files that belong to a topic.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Entries {
    /// Names, each with a one-line summary.
    Names(Vec<Named>),
    /// Scenario files, each with the size of its runs.
    Files(Vec<ScenarioFile>),
}

/// All disciplines.
pub fn disciplines() -> Vec<Named> {
    ENTRIES.iter().map(|entry| Named::new(entry.name, &entry.summary())).collect()
}

/// All markers.
pub fn markers() -> Vec<Named> {
    MARKERS.iter().map(|marker| Named::new(marker.name, marker.about.summary)).collect()
}

/// A kind of traffic or of topology.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Value of the key `kind` in a scenario file.
    pub name: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// JSON Schema of the table in a scenario file.
    pub schema: Value,
    /// The keys of its table in a scenario file, except `kind`: name, whether the key is required, description.
    /// Required keys come first.
    pub keys: Vec<(&'static str, bool, &'static str)>,
}

impl Kind {
    fn of(kind: &declare::Kind) -> Self {
        let mut keys: Vec<_> = kind.keys.iter().map(|key| (key.name, key.is_needed, key.doc.trim_start())).collect();
        keys.sort_by_key(|(_, needed, _)| !needed);
        Self { name: kind.word, summary: kind.doc.trim_start(), schema: kind.schema(), keys }
    }

    fn named(&self) -> Named {
        Named::new(self.name, self.summary.trim_end_matches('.'))
    }
}

/// All kinds of traffic, with their keys.
pub fn flow_kinds() -> Vec<Kind> {
    scenario::flow_kinds().iter().map(Kind::of).collect()
}

/// Names and summaries of all kinds of traffic.
pub fn traffic() -> Vec<Named> {
    flow_kinds().iter().map(Kind::named).collect()
}

/// All kinds of topology.
pub fn topologies() -> Vec<Named> {
    scenario::topology_kinds().iter().map(|kind| Kind::of(kind).named()).collect()
}

/// All congestion controls.
pub fn congestion() -> Vec<Named> {
    TcpVariant::all().iter().map(|variant| Named::new(variant.name(), variant.profile().summary)).collect()
}

/// All papers.
pub fn papers() -> Vec<Named> {
    PAPERS.iter().map(|paper| Named::new(paper.name, paper.summary)).collect()
}

/// All built-in suites.
pub fn suites() -> Vec<Named> {
    crate::suites::built_in().iter().map(|(name, title)| Named::new(name, title)).collect()
}

/// A scenario file that `forebay list` shows.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFile {
    /// Path relative to the working directory.
    pub path: String,
    /// Title of the scenario.
    pub title: String,
    /// Number of simulations for each seed: one for each discipline and each combination of the keys that vary.
    pub runs_per_seed: usize,
    /// Simulated seconds per simulation.
    pub duration_s: f64,
}

impl ScenarioFile {
    fn read(path: &Path) -> Option<Self> {
        let cases = load::file(path, &Overrides::default()).ok()?;
        let first = &cases.first()?.scenario;
        let runs_per_seed = cases.iter().map(|case| case.scenario.compare.len()).sum();
        Some(Self {
            title: first.title.clone(),
            duration_s: first.duration.secs(),
            runs_per_seed,
            path: path.display().to_string(),
        })
    }
}

/// The scenario files in the working directory, in `examples` and `scenarios`, and in the folders of `papers`.
pub fn scenarios() -> Vec<ScenarioFile> {
    let folders = ["", "examples", "scenarios"].map(PathBuf::from).into_iter().chain(entries(Path::new("papers")));
    let files = folders.flat_map(|folder| entries(&folder));
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .filter_map(|path| ScenarioFile::read(&path))
        .collect()
}

/// The content of a folder, sorted by name; empty if there is no folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| folder.join(entry.file_name()));
    let mut names: Vec<PathBuf> = names.collect();
    names.sort();
    names
}
