//! A run directory: every finished run on disk before the next, so that nothing is lost and a repeated
//! command goes on where it stopped.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::compare;
use crate::plan::{Job, Plan};
use crate::record::RunRecord;
use crate::table;

/// Why a directory could not be used.
#[derive(Debug)]
pub enum StoreError {
    /// It holds the results of another scenario.
    Foreign {
        /// The directory.
        dir: PathBuf,
    },
    /// The file system refused.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file cannot be understood.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign { dir } => {
                write!(f, "{} holds the results of another scenario: choose another -o, or remove it", dir.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

/// One run as it lies on disk.
#[derive(Serialize, Deserialize)]
struct Shard {
    key: String,
    record: RunRecord,
}

/// An open run directory.
pub struct Store {
    dir: PathBuf,
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Io { path, error }
}

/// Writes a file so that a reader sees the old or the new content, never a part.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let part = path.with_extension("part.tmp");
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&part, path)
    };
    write().map_err(io(path))
}

/// Writes JSON for people and machines.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| StoreError::Damaged { path: path.to_path_buf(), reason: e.to_string() })?;
    write_whole(path, (text + "\n").as_bytes())
}

/// Reads JSON.
pub fn read_json(path: &Path) -> Result<Value, StoreError> {
    let text = fs::read_to_string(path).map_err(io(path))?;
    serde_json::from_str(&text).map_err(|e| StoreError::Damaged { path: path.to_path_buf(), reason: e.to_string() })
}

impl Store {
    /// The directory for `plan`: made if it is not there, refused if it belongs to another plan.
    /// `meta` is what `meta.json` says beside the plan's own facts.
    pub fn open(dir: &Path, plan: &Plan, meta: Value) -> Result<Self, StoreError> {
        let store = Self { dir: dir.to_path_buf() };
        let meta_path = store.path("meta.json");
        if meta_path.exists() {
            let known = read_json(&meta_path)?;
            if known.get("hash").and_then(Value::as_str) != Some(&plan.hash()) {
                return Err(StoreError::Foreign { dir: store.dir });
            }
        } else if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(StoreError::Foreign { dir: store.dir });
        }
        let runs = store.path("runs");
        fs::create_dir_all(&runs).map_err(io(&runs))?;
        store.write_scenarios(plan)?;
        write_json(&meta_path, &store.meta(plan, meta))?;
        Ok(store)
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write_scenarios(&self, plan: &Plan) -> Result<(), StoreError> {
        if let [case] = plan.cases.as_slice() {
            return write_whole(&self.path("scenario.toml"), case.scenario.to_toml().as_bytes());
        }
        // With axes there is a resolved scenario for each point; the first also stands in the fixed place.
        let cases = self.path("cases");
        fs::create_dir_all(&cases).map_err(io(&cases))?;
        for (i, case) in plan.cases.iter().enumerate() {
            let axes: Vec<String> = case.axes.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let text = format!("# case {i} of {}: {}\n{}", plan.cases.len(), axes.join(", "), case.scenario.to_toml());
            write_whole(&cases.join(format!("{i:03}.toml")), text.as_bytes())?;
            if i == 0 {
                write_whole(&self.path("scenario.toml"), text.as_bytes())?;
            }
        }
        Ok(())
    }

    fn meta(&self, plan: &Plan, extra: Value) -> Value {
        let mut meta = json!({
            "version": 1,
            "forebay": env!("CARGO_PKG_VERSION"),
            "hash": plan.hash(),
            "title": plan.title(),
            "seeds": plan.seeds,
            "cases": plan.cases.len(),
            "machine": machine(),
        });
        if let (Value::Object(meta), Value::Object(extra)) = (&mut meta, extra) {
            meta.extend(plan.facts());
            meta.extend(extra);
        }
        meta
    }

    /// A run that was finished earlier, if it is there, whole, and of this plan and version.
    pub fn load(&self, plan: &Plan, job: Job) -> Option<RunRecord> {
        read_shard(&self.dir, plan, job)
    }

    /// Keeps a finished run.
    pub fn save(&self, plan: &Plan, job: Job, record: &RunRecord) -> Result<(), StoreError> {
        let path = shard_path(&self.dir, job);
        let shard = Shard { key: plan.key(job), record: record.clone() };
        let text = serde_json::to_string(&shard)
            .map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
        write_whole(&path, text.as_bytes())
    }

    /// Writes the summary and the tables of what has finished; gives the summary.
    pub fn summarise(&self, plan: &Plan, records: &[RunRecord]) -> Result<Value, StoreError> {
        let runs: Vec<_> = records.iter().map(|r| &r.summary).collect();
        let summary = json!({
            "version": 1,
            "scenario": plan.title(),
            "runs": runs,
            "compare": compare::compare(plan, records),
        });
        write_json(&self.path("summary.json"), &summary)?;
        let tables = [
            ("summary.parquet", table::summary(records)),
            ("series.parquet", table::series(records)),
            ("flows.parquet", table::flows(records)),
        ];
        for (name, table) in tables {
            let path = self.path(name);
            let bytes =
                table.to_parquet().map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
            write_whole(&path, &bytes)?;
        }
        Ok(summary)
    }
}

fn shard_path(dir: &Path, job: Job) -> PathBuf {
    dir.join("runs").join(format!("case{:03}-aqm{:02}-seed{}.json", job.case, job.contender, job.seed))
}

fn read_shard(dir: &Path, plan: &Plan, job: Job) -> Option<RunRecord> {
    let text = fs::read_to_string(shard_path(dir, job)).ok()?;
    let shard: Shard = serde_json::from_str(&text).ok()?;
    (shard.key == plan.key(job)).then_some(shard.record)
}

/// Does `dir` hold the result of this job?
pub fn is_finished(dir: &Path, plan: &Plan, job: Job) -> bool {
    read_shard(dir, plan, job).is_some()
}

/// Every finished run of a directory with the indices of its case and contender; files that are not whole
/// are passed over.
pub fn read_runs(dir: &Path) -> Result<Vec<(usize, usize, RunRecord)>, StoreError> {
    let runs = dir.join("runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(&runs).map_err(io(&runs))?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let (case, rest) = path.file_stem()?.to_str()?.strip_prefix("case")?.split_once("-aqm")?;
        let (contender, _) = rest.split_once("-seed")?;
        let shard: Shard = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        Some((case.parse().ok()?, contender.parse().ok()?, shard.record))
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// Where the figures were made.
pub fn machine() -> Value {
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let found = text.lines().find(|l| l.starts_with(key)).and_then(|l| l.split_once(':'));
        found.map(|(_, value)| value.trim().to_string())
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "kernel": kernel.trim(),
        "cpu": line("/proc/cpuinfo", "model name"),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
    })
}
