//! `meta.json`: whose results a directory holds, and how they came about.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::timing::Timing;
use crate::claims::exhibits::{Figure, Table};
use crate::disk;
use crate::disk::store_error::StoreError;

/// `meta.json` of a directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    /// Of the runs of one scenario.
    Run(Box<RunMeta>),
    /// Of a paper's reproduction.
    Paper(Box<PaperMeta>),
    /// Of several papers.
    Papers(Box<PapersMeta>),
}

/// `kind` of a paper's reproduction.
const PAPER: &str = "reproduction";
/// `kind` of several papers.
const PAPERS: &str = "reproductions";
/// `kind` of a command behind a link.
const LINK: &str = "link";

/// How results came about, as the caller says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Of the program that made them; none where they were not made by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// What was typed or called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The revision that a program was built from; none if it was not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub Option<String>);

impl Revision {
    /// The revision that a build script has found; it finds none where the words are empty.
    pub fn of(found: &str) -> Self {
        Self(Some(found.to_string()).filter(|found| !found.is_empty()))
    }
}

impl Origin {
    /// The revision, where it is known.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_ref()?.0.as_deref()
    }
}

/// The machine that figures were made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Operating system.
    pub os: String,
    /// Architecture of the processor.
    pub arch: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the processor, where the system tells.
    pub cpu: Option<String>,
    /// Threads that run at a time.
    pub threads: usize,
}

/// What a report says about how the runs were made, from the first case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Simulated seconds of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// How many of them do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Processing times of hosts are uniform from 0 to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_us: Option<f64>,
    /// Curves that the scenario asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<String>>,
}

/// The version of a directory that does not say its version.
fn unknown() -> String {
    "?".to_string()
}

/// `meta.json` of the runs of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Format, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of the laboratory.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// Version and build: runs of another engine do not count. Empty in directories of before there were engines.
    #[serde(default)]
    pub engine: String,
    /// What tells its plan from others.
    #[serde(default)]
    pub hash: String,
    /// Title of the scenario.
    #[serde(default)]
    pub title: String,
    /// Seeds of every contender.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Number of cases.
    #[serde(default)]
    pub cases: usize,
    /// Where they ran.
    #[serde(default)]
    pub machine: Machine,
    /// How they were made.
    #[serde(flatten)]
    pub facts: Facts,
    /// How they came about.
    #[serde(flatten)]
    pub origin: Origin,
    /// What stands below the title in the report, in place of the usual line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// `link` for a command behind a link; otherwise none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The timing of a command behind a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

impl RunMeta {
    /// Those of a command behind a link, with this timing.
    pub fn of_link(self, timing: Timing) -> Self {
        Self { kind: Some(LINK.to_string()), timing: Some(timing), ..self }
    }

    /// The timing of a command behind a link; none if the directory is of a scenario.
    pub fn link(&self) -> Option<Timing> {
        self.kind.as_ref().filter(|kind| *kind == LINK).map(|_| self.timing.clone().unwrap_or_default())
    }
}

/// A section of a paper's reproduction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SectionMeta {
    /// Its name.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What it does.
    pub text: String,
    /// Its scenario; theory has none.
    pub scenario: Option<String>,
}

/// How many seeds each contender ran with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SeedCount {
    /// The same number in every scenario.
    Each(u64),
    /// In words, the least and the most.
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

/// `meta.json` of a paper's reproduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperMeta {
    /// Format, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of the laboratory.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// Version and build.
    #[serde(default)]
    pub engine: String,
    /// `reproduction`.
    pub kind: String,
    /// The paper's word.
    #[serde(default)]
    pub paper: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its authors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Word of the level.
    #[serde(default)]
    pub level: String,
    /// Seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedCount>,
    /// Its experiments.
    #[serde(default)]
    pub sections: Vec<SectionMeta>,
    /// Its figures; directories of before there were figures have none.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Its tables.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Where it ran.
    #[serde(default)]
    pub machine: Machine,
    /// How its runs were made.
    #[serde(flatten)]
    pub facts: Facts,
    /// How they came about.
    #[serde(flatten)]
    pub origin: Origin,
    /// What stands below the title in the report, in place of the usual line.
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
            machine: Machine::default(),
            facts: Facts::default(),
            origin: Origin::default(),
            subtitle: None,
        }
    }
}

/// Where a paper's results are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Folder {
    /// The paper's word.
    pub paper: String,
    /// Its folder, from that of the index.
    pub dir: String,
}

/// `meta.json` of several papers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PapersMeta {
    /// Format, 1.
    #[serde(default)]
    pub version: u32,
    /// Version of the laboratory.
    #[serde(default = "unknown")]
    pub forebay: String,
    /// `reproductions`.
    pub kind: String,
    /// Word of the level.
    #[serde(default)]
    pub level: String,
    /// Where each paper is.
    #[serde(default)]
    pub papers: Vec<Folder>,
    /// Where they ran.
    #[serde(default)]
    pub machine: Machine,
    /// How they came about.
    #[serde(flatten)]
    pub origin: Origin,
}

impl PapersMeta {
    /// Of papers reproduced at this level.
    pub fn new(level: &str, papers: Vec<Folder>, machine: Machine, origin: Origin) -> Self {
        let (forebay, kind) = (env!("CARGO_PKG_VERSION").to_string(), PAPERS.to_string());
        Self { version: 1, forebay, kind, level: level.to_string(), papers, machine, origin }
    }
}

impl Meta {
    /// Reads the `meta.json` of `dir`.
    ///
    /// # Errors
    /// Without that file a directory can only be left or deleted.
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
