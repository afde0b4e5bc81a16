//! A run directory: every finished run on disk before the next, so that nothing is lost and a repeated
//! command goes on where it stopped.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::compare;
use crate::plan::{Job, Plan};
use crate::record::RunRecord;
use crate::scenario::{self, Case, Overrides};
use crate::table::{self, Parquet};

/// How many runs the tables take into memory at once.
const RUNS_AT_A_TIME: usize = 64;

/// Why a directory could not be used.
#[derive(Debug)]
pub enum StoreError {
    /// It holds something that must not be mixed or overwritten.
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// What it holds.
        holds: &'static str,
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
            Self::Foreign { dir, holds } => {
                write!(f, "{} holds {holds}: choose another -o", dir.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

/// One run as it lies on disk: whose it is, and the record with the sum over its bytes.
#[derive(Serialize, Deserialize)]
struct Shard<'a> {
    #[serde(default, borrow)]
    engine: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(default)]
    sha256: String,
    #[serde(borrow)]
    record: &'a RawValue,
}

impl<'a> Shard<'a> {
    /// What a file says, if it is whole and as it was written.
    fn read(text: &'a str) -> Option<Self> {
        let shard: Self = serde_json::from_str(text).ok()?;
        (shard.sha256 == sum(shard.record)).then_some(shard)
    }

    fn record(&self) -> Option<RunRecord> {
        serde_json::from_str(self.record.get()).ok()
    }
}

fn sum(record: &RawValue) -> String {
    Sha256::digest(record.get()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An open run directory.
pub struct Store {
    dir: PathBuf,
    shards: bool,
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Io { path, error }
}

/// What a file is called until it is whole: no other file's and no other process's name.
fn part_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.{}.tmp", std::process::id()))
}

/// Writes a file so that a reader sees the old or the new content, never a part.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fill_whole(path, |file| file.write_all(bytes).map_err(io(path)))
}

/// The same for content that `fill` writes bit by bit.
fn fill_whole(path: &Path, fill: impl FnOnce(&mut fs::File) -> Result<(), StoreError>) -> Result<(), StoreError> {
    put_whole(path, fill, |part| fs::rename(part, path))
}

/// Fills a file beside `path` and has `put` give it that name.
fn put_whole<T>(
    path: &Path,
    fill: impl FnOnce(&mut fs::File) -> Result<(), StoreError>,
    put: impl FnOnce(&Path) -> std::io::Result<T>,
) -> Result<T, StoreError> {
    let part = part_of(path);
    let write = || {
        let mut file = fs::File::create(&part).map_err(io(path))?;
        fill(&mut file)?;
        let placed = file.sync_data().and_then(|()| put(&part)).map_err(io(path))?;
        // The name lasts once its folder is on disk too.
        sync_folder(path).map_err(io(path))?;
        Ok(placed)
    };
    let written = write();
    // Where it has its name, there is nothing to remove; the error that counts is the first.
    let _ = fs::remove_file(&part);
    written
}

/// Puts the names in a file's folder on disk. Some systems cannot be asked that.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if [ErrorKind::InvalidInput, ErrorKind::Unsupported, ErrorKind::PermissionDenied]
                .contains(&error.kind()) =>
        {
            Ok(())
        }
        outcome => outcome,
    }
}

/// Is there nothing in `dir`, or only what an interrupted first start can leave: files that were never
/// whole, an empty `runs`, and a `scenario.toml` with just the content of `scenario`?
pub fn is_free(dir: &Path, scenario: &str) -> Result<bool, StoreError> {
    let entries = match dir.read_dir() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(io(dir))?,
    };
    Ok(entries.flatten().all(|entry| {
        let path = entry.path();
        match entry.file_name().to_string_lossy().as_ref() {
            "runs" => path.read_dir().is_ok_and(|mut runs| runs.next().is_none()),
            "scenario.toml" => fs::read_to_string(&path).is_ok_and(|text| text == scenario),
            name => name.starts_with("meta.json.") && name.ends_with(".tmp"),
        }
    }))
}

/// JSON for people and machines.
fn json_text(path: &Path, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(damaged(path))
}

/// Writes JSON for people and machines.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    write_whole(path, json_text(path, value)?.as_bytes())
}

/// The same for a file that is not there yet; false, and nothing is written, if it is: of several processes that
/// begin at the same time one makes it.
pub fn make_json(path: &Path, value: &impl Serialize) -> Result<bool, StoreError> {
    let text = json_text(path, value)?;
    let fill = |file: &mut fs::File| file.write_all(text.as_bytes()).map_err(io(path));
    put_whole(path, fill, |part| match fs::hard_link(part, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Ok(()) => Ok(true),
        // Some file systems have no links: there the last one wins, as a process that begins later would.
        Err(_) => fs::rename(part, path).map(|()| true),
    })
}

/// Reads JSON.
pub fn read_json(path: &Path) -> Result<Value, StoreError> {
    let text = fs::read_to_string(path).map_err(io(path))?;
    serde_json::from_str(&text).map_err(|e| StoreError::Damaged { path: path.to_path_buf(), reason: e.to_string() })
}

/// Reads the `meta.json` of a run directory or a reproduction, without which `dir` can only be left or deleted.
pub fn read_meta(dir: &Path) -> Result<Value, StoreError> {
    let path = dir.join("meta.json");
    let bytes = fs::read(&path).map_err(io(&path))?;
    serde_json::from_slice(&bytes).map_err(|e| {
        let reason = format!(
            "no longer says whose results these are ({e}): choose another --output, or delete {}",
            dir.display()
        );
        StoreError::Damaged { path, reason }
    })
}

impl Store {
    /// The directory for `plan`: made if it is not there, refused if it belongs to another plan.
    /// `meta` is what `meta.json` says beside the plan's own facts.
    pub fn open(dir: &Path, plan: &Plan, meta: Value) -> Result<Self, StoreError> {
        let store = Self { dir: dir.to_path_buf(), shards: false };
        let meta_path = store.path("meta.json");
        let refuse = |holds| Err(StoreError::Foreign { dir: dir.to_path_buf(), holds });
        let is_free = is_free(dir, &first_scenario(plan))?;
        if !is_free && !meta_path.exists() {
            return refuse("files that are no results");
        }
        fs::create_dir_all(dir).map_err(io(dir))?;
        let meta = store.meta(plan, meta);
        // First of all: from here on the directory says whose it is.
        if !is_free || !make_json(&meta_path, &meta)? {
            if read_meta(dir)?.get("hash").and_then(Value::as_str) != Some(&plan.hash()) {
                return refuse("the results of another scenario");
            }
            write_json(&meta_path, &meta)?;
        }
        let runs = store.path("runs");
        fs::create_dir_all(&runs).map_err(io(&runs))?;
        store.write_scenarios(plan)?;
        Ok(store)
    }

    /// The directory, if it is one that was opened for `plan`: for another process that works on it.
    pub fn join(dir: &Path, plan: &Plan) -> Option<Self> {
        let meta = read_meta(dir).ok()?;
        let same = meta["hash"].as_str() == Some(&plan.hash()) && meta["engine"].as_str() == Some(&plan.engine());
        same.then(|| Self { dir: dir.to_path_buf(), shards: false })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write_scenarios(&self, plan: &Plan) -> Result<(), StoreError> {
        write_whole(&self.path("scenario.toml"), first_scenario(plan).as_bytes())?;
        if plan.cases.len() < 2 {
            return Ok(());
        }
        let cases = self.path("cases");
        fs::create_dir_all(&cases).map_err(io(&cases))?;
        for i in 0..plan.cases.len() {
            write_whole(&cases.join(format!("{i:03}.toml")), case_text(plan, i).as_bytes())?;
        }
        Ok(())
    }

    fn meta(&self, plan: &Plan, extra: Value) -> Value {
        let mut meta = json!({
            "version": 1,
            "forebay": env!("CARGO_PKG_VERSION"),
            "engine": plan.engine(),
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
        if self.shards {
            self.save_shard(job, record)?;
        }
        let path = shard_path(&self.dir, job);
        let record = serde_json::value::to_raw_value(record).map_err(damaged(&path))?;
        let shard =
            Shard { engine: plan.engine().into(), key: plan.key(job).into(), sha256: sum(&record), record: &record };
        let text = serde_json::to_string(&shard).map_err(damaged(&path))?;
        write_whole(&path, text.as_bytes())
    }

    /// The same, keeping the rows of each run in the summary as a Parquet file of their own too, there as soon as the run is.
    pub fn with_shards(self) -> Self {
        Self { shards: true, ..self }
    }

    fn save_shard(&self, job: Job, record: &RunRecord) -> Result<(), StoreError> {
        let shards = self.path("shards");
        fs::create_dir_all(&shards).map_err(io(&shards))?;
        let path = shards.join(shard_path(&self.dir, job).file_name().unwrap_or_default()).with_extension("parquet");
        let table = table::summary(std::slice::from_ref(record));
        write_whole(&path, &table.to_parquet().map_err(damaged(&path))?)
    }

    /// Every finished run in full, in the order of [`Plan::jobs`].
    pub fn records(&self, plan: &Plan) -> Vec<RunRecord> {
        plan.jobs().into_par_iter().filter_map(|job| self.load(plan, job)).collect()
    }

    /// Writes the summary, which it gives, and the tables of what has finished: these jobs, whose records may be slim.
    pub fn summarise(&self, plan: &Plan, jobs: &[Job], records: &[RunRecord]) -> Result<Value, StoreError> {
        let runs: Vec<_> = records.iter().flat_map(RunRecord::summaries).collect();
        let summary = json!({
            "version": 1,
            "scenario": plan.title(),
            "runs": runs,
            "compare": compare::compare(plan, records),
        });
        write_json(&self.path("summary.json"), &summary)?;
        let path = self.path("summary.parquet");
        write_whole(&path, &table::summary(records).to_parquet().map_err(damaged(&path))?)?;
        self.write_tables(plan, jobs, &table::probes(records))?;
        Ok(summary)
    }

    /// The tables that grow with the runs, read from disk and written some at a time.
    fn write_tables(&self, plan: &Plan, jobs: &[Job], probes: &[&str]) -> Result<(), StoreError> {
        let (series, flows) = (self.path("series.parquet"), self.path("flows.parquet"));
        let (bad_series, bad_flows) = (damaged(&series), damaged(&flows));
        let fill = |to_series: &mut fs::File, to_flows: &mut fs::File| {
            let mut to_series = Parquet::new(to_series, &table::series(&[], probes)).map_err(&bad_series)?;
            let mut to_flows = Parquet::new(to_flows, &table::flows(&[])).map_err(&bad_flows)?;
            for some in jobs.chunks(RUNS_AT_A_TIME) {
                let records: Vec<RunRecord> = some.par_iter().filter_map(|job| self.load(plan, *job)).collect();
                to_series.add(&table::series(&records, probes)).map_err(&bad_series)?;
                to_flows.add(&table::flows(&records)).map_err(&bad_flows)?;
            }
            to_series.finish().map_err(&bad_series)?;
            to_flows.finish().map_err(&bad_flows)?;
            Ok(())
        };
        fill_whole(&series, |to_series| fill_whole(&flows, |to_flows| fill(to_series, to_flows)))
    }
}

/// A file that could not be made sense of.
fn damaged<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Damaged { path: path.clone(), reason: error.to_string() }
}

/// A case as a run directory has it, without its axes.
pub fn read_case(dir: &Path, index: usize) -> Option<Case> {
    let own = dir.join("cases").join(format!("{index:03}.toml"));
    let path = if own.exists() { own } else { dir.join("scenario.toml") };
    scenario::load(&path, &Overrides::default()).ok()?.into_iter().next()
}

/// A resolved case; with axes it says at which point.
fn case_text(plan: &Plan, index: usize) -> String {
    let case = &plan.cases[index];
    let axes: Vec<String> = case.axes.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    format!("# case {index} of {}: {}\n{}", plan.cases.len(), axes.join(", "), case.scenario.to_toml())
}

/// What stands in `scenario.toml`: the only case, or the first of several.
fn first_scenario(plan: &Plan) -> String {
    match plan.cases.as_slice() {
        [] => String::new(),
        [case] => case.scenario.to_toml(),
        _ => case_text(plan, 0),
    }
}

fn shard_path(dir: &Path, job: Job) -> PathBuf {
    dir.join("runs").join(format!("case{:03}-aqm{:02}-seed{}.json", job.case, job.contender, job.seed))
}

fn read_shard(dir: &Path, plan: &Plan, job: Job) -> Option<RunRecord> {
    let text = fs::read_to_string(shard_path(dir, job)).ok()?;
    let shard = Shard::read(&text).filter(|shard| shard.key == plan.key(job))?;
    shard.record()
}

/// How many of the runs of `plan` are in `dir`.
pub fn finished(dir: &Path, plan: &Plan) -> usize {
    plan.jobs().into_par_iter().filter(|job| read_shard(dir, plan, *job).is_some()).count()
}

/// The runs in a directory that its `meta.json` covers, other seeds passed over; case by case, contender by
/// contender, each in order of seeds.
pub fn jobs_on_disk(dir: &Path, meta: &Value) -> Result<Vec<Job>, StoreError> {
    let runs = dir.join("runs");
    let seeds: BTreeSet<u64> = meta["seeds"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let jobs = fs::read_dir(&runs).map_err(io(&runs))?.flatten().filter_map(|entry| job_of(&entry.path()));
    let mut jobs: Vec<Job> = jobs.filter(|job| seeds.contains(&job.seed)).collect();
    jobs.sort_by_key(|job| (job.case, job.contender, job.seed));
    Ok(jobs)
}

/// One of them; none if another build has run it, or if its file is not whole.
pub fn read_run(dir: &Path, meta: &Value, job: Job) -> Option<RunRecord> {
    let text = fs::read_to_string(shard_path(dir, job)).ok()?;
    let shard = Shard::read(&text)?;
    // What a directory of before there were engines says is nothing.
    let engine = meta["engine"].as_str().unwrap_or_default();
    if shard.engine == engine { shard.record() } else { None }
}

/// The job whose shard this is, by its name.
fn job_of(path: &Path) -> Option<Job> {
    let name = path.file_name()?.to_str()?.strip_prefix("case")?.strip_suffix(".json")?;
    let (case, rest) = name.split_once("-aqm")?;
    let (contender, seed) = rest.split_once("-seed")?;
    Some(Job { case: case.parse().ok()?, contender: contender.parse().ok()?, seed: seed.parse().ok()? })
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
