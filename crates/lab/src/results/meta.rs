//! `meta.json`: the scenario or papers of a result directory, and how the results were made.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::named::Axes;
use super::timing::Timing;
use crate::claims::calibration::Calibrated;
use crate::claims::exhibits::{Figure, Table};
use crate::claims::registration::Registered;
use crate::disk;
use crate::disk::store_error::StoreError;

/// `meta.json` of a directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    /// Runs of one scenario.
    Run(Box<RunMeta>),
    /// Reproduction of a paper.
    Paper(Box<PaperMeta>),
    /// Reproductions of several papers.
    Papers(Box<PapersMeta>),
}

/// `kind` in the `meta.json` of a directory with the results of one paper.
const PAPER: &str = "reproduction";
/// `kind` in the `meta.json` of a directory with the results of several papers.
const PAPERS: &str = "reproductions";
/// `kind` in the `meta.json` of a directory with the results of `forebay link`.
const LINK: &str = "link";

/// Origin of results, as given by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Revision of the program that made the results; `None` if the caller does not give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The command or call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Revision that a program was built from; `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub Option<String>);

impl Revision {
    /// The revision that a build script found; an empty text means none.
    pub fn of(found: &str) -> Self {
        Self(Some(found.to_string()).filter(|found| !found.is_empty()))
    }
}

impl Origin {
    /// The revision of the program that made the results, if known.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_ref()?.0.as_deref()
    }
}

/// The machine of the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Operating system, such as `linux`.
    pub os: String,
    /// Processor architecture, such as `x86_64`.
    pub arch: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Processor model, if known.
    pub cpu: Option<String>,
    /// Number of hardware threads.
    pub threads: usize,
}

/// Properties of the runs that reports show, taken from the first combination of values of the keys that vary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Simulated seconds per run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Seconds of warm-up, included in the duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Longest processing time of a packet at a host, in microseconds. Processing times are uniform from 0 to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_us: Option<f64>,
    /// Time series that the scenario requests for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<String>>,
    /// Figures of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "scenario_figures")]
    pub figures: Vec<Figure>,
    /// What the guest kernel of the runs on Linux was built from: its version, and a checksum for each part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Vec<String>>,
}

/// How results were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The machine on which the runs were simulated.
    #[serde(default)]
    pub machine: Machine,
    /// Properties of the runs that reports show.
    #[serde(flatten)]
    pub facts: Facts,
    /// Program and command.
    #[serde(flatten)]
    pub origin: Origin,
}

/// A part of the runs of a command that one process does, such as 2 of 8: every eighth run, from the second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of the part, from 1.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Part {
    /// Reads `2/8`.
    pub fn parse(text: &str) -> Option<Self> {
        let (index, of) = text.split_once('/')?;
        let part = Self { index: index.parse().ok()?, of: of.parse().ok()? };
        (1..=part.of).contains(&part.index).then_some(part)
    }

    /// Whether the run with this number, from 0, is in the part.
    pub const fn has(self, run: usize) -> bool {
        run % self.of as usize + 1 == self.index as usize
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// Value of `forebay` for a directory that does not record its version.
fn unknown() -> String {
    "?".to_string()
}

/// `meta.json` of the runs of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Format version, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of Forebay.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// Version and build of the program; runs of another build are not reused. Empty in old directories.
    #[serde(default)]
    pub engine: String,
    /// Hash of the scenarios for all combinations of values of the keys that vary, with all defaults written out.
    #[serde(default)]
    pub hash: String,
    /// Title of the scenario.
    #[serde(default)]
    pub title: String,
    /// Seeds of the runs of each contender (compared discipline).
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Number of combinations of values of the keys that vary.
    #[serde(default)]
    pub cases: usize,
    /// Values of the keys that vary, of each combination; empty if nothing varies, and in old directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<Axes>,
    /// The part of the runs that the command did; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Part>,
    /// Machine, properties of the runs, and the program and command that made them.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Text below the title in the report, in place of the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// `link` for a command behind an emulated link; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Timing of a command behind an emulated link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

impl RunMeta {
    /// The metadata of a command behind an emulated link, with this timing.
    pub fn of_link(self, timing: Timing) -> Self {
        Self { kind: Some(LINK.to_string()), timing: Some(timing), ..self }
    }

    /// Timing of a command behind an emulated link; `None` for a scenario.
    pub fn link(&self) -> Option<Timing> {
        self.kind.as_ref().filter(|kind| *kind == LINK).map(|_| self.timing.clone().unwrap_or_default())
    }
}

/// A section of the report on a paper: one experiment of the paper with its claims, a `[[section]]` of `claims.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SectionMeta {
    /// Id of the section in `claims.toml`.
    pub id: String,
    /// Heading of the section in the report.
    pub title: String,
    /// Text below the heading, which describes the experiment.
    pub text: String,
    /// Scenario; `None` for theory.
    pub scenario: Option<String>,
}

/// Number of seeds per contender (compared discipline).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SeedCount {
    /// Equal in all scenarios.
    Each(u64),
    /// Different between scenarios: a range as text, such as `3 to 10`.
    Words(String),
}

impl std::fmt::Display for SeedCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Each(count) => write!(f, "{count}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// `meta.json` of the reproduction of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperMeta {
    /// Format version, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of Forebay.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// Version and build of the program.
    #[serde(default)]
    pub engine: String,
    /// Always `reproduction`.
    pub kind: String,
    /// Name of the paper.
    #[serde(default)]
    pub paper: String,
    /// Title of the paper.
    #[serde(default)]
    pub title: String,
    /// Authors of the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Effort level: `quick`, `normal` or `full`.
    #[serde(default)]
    pub level: String,
    /// Number of seeds per contender (compared discipline).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedCount>,
    /// The experiments of the paper, each a section of the report.
    #[serde(default)]
    pub sections: Vec<SectionMeta>,
    /// Figures of the report; empty in old directories.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Tables of the report; empty in old directories.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Machine, properties of the runs, and the program and command that made them.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Whether it is a suite of `forebay evaluate`, not a paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_suite: bool,
    /// The registration of the claims before the first run in the directory; `None`: not registered before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<Registered>,
    /// Of a suite: the keys whose values follow from runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrated: Vec<Calibrated>,
    /// Text below the title in the report, in place of the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
}

impl Default for PaperMeta {
    fn default() -> Self {
        Self {
            version: 1,
            forebay: env!("CARGO_PKG_VERSION").to_string(),
            engine: String::new(),
            kind: PAPER.to_string(),
            paper: String::new(),
            title: String::new(),
            authors: None,
            level: String::new(),
            seeds: None,
            sections: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
            provenance: Provenance::default(),
            is_suite: false,
            registered: None,
            calibrated: Vec::new(),
            subtitle: None,
        }
    }
}

/// A paper, and the folder of its results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Folder {
    /// Name of the paper.
    pub paper: String,
    /// Folder of its results, relative to the directory of this `meta.json`.
    pub dir: String,
}

/// `meta.json` of several papers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PapersMeta {
    /// Format version, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of Forebay.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// Always `reproductions`.
    pub kind: String,
    /// Effort level: `quick`, `normal` or `full`.
    #[serde(default)]
    pub level: String,
    /// The papers, each with the folder of its results.
    #[serde(default)]
    pub papers: Vec<Folder>,
    /// Machine, and the program and command that made the results.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl PapersMeta {
    /// Metadata of papers reproduced at this level.
    pub fn new(level: &str, papers: Vec<Folder>, provenance: Provenance) -> Self {
        let (forebay, kind) = (env!("CARGO_PKG_VERSION").to_string(), PAPERS.to_string());
        Self { version: 1, forebay, kind, level: level.to_string(), papers, provenance }
    }
}

impl Meta {
    /// Reads the `meta.json` of `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged. With a damaged file the directory cannot be used; the user can delete it.
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("meta.json");
        let bytes = disk::read_regular(&path).map_err(disk::io_error(&path))?;
        Self::parse(&bytes).map_err(|error| {
            let reason = format!(
                "no longer says whose results these are ({error}): choose another --output, or delete {}",
                dir.display()
            );
            StoreError::Damaged { path, reason }
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            kind: Option<String>,
        }
        let Kind { kind } = serde_json::from_slice(bytes)?;
        Ok(match kind.as_deref() {
            Some(PAPER) => Self::Paper(Box::new(serde_json::from_slice(bytes)?)),
            Some(PAPERS) => Self::Papers(Box::new(serde_json::from_slice(bytes)?)),
            _ => Self::Run(Box::new(serde_json::from_slice(bytes)?)),
        })
    }
}
