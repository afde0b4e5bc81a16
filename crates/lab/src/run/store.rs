//! A run directory: a directory of results of runs. Each thread stores its finished run before it starts the next one.
//! An interruption thus loses only unfinished runs, and the same command then runs only the missing ones. A plan has
//! the runs that a command asked for, its jobs. A case is a combination of the values of the keys that vary, a
//! contender a compared discipline.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::disk::lock::{self, Wait, WriteLock};
use crate::disk::{self, damaged, fill_whole, io_error, make_dir, read_regular, write_json, write_whole};
use crate::load;
use crate::results::meta::{Machine, Meta, Origin, Provenance, RunMeta};
use crate::results::named::Axes;
use crate::results::record::{RunRecord, RunSummary};
use crate::results::summary::Summary;
use crate::results::table::{self, Parquet, Table};
use crate::results::timing::Timing;
use crate::run::compare;
use crate::run::plan::{Job, Plan};
use crate::scenario::{Case, Overrides};

pub use crate::disk::store_error::{Owner, StoreError};

/// A file that exists while summary and tables are replaced. A command that ends meanwhile leaves it: they may then be of
/// different runs.
const REPLACING: &str = ".replacing";

/// Number of runs in memory while tables are written.
const RUNS_AT_A_TIME: usize = 64;

/// A run on disk: its key ([`Plan::key`]), and its results with their checksum.
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
    /// Reads the file of a run if it is complete and its checksum is right.
    fn read(text: &'a str) -> Option<Self> {
        let shard: Self = serde_json::from_str(text).ok()?;
        (shard.sha256 == sum(shard.record)).then_some(shard)
    }

    fn record(&self) -> Option<RunRecord> {
        RunRecord::from_json(self.record.get().as_bytes()).ok()
    }
}

fn sum(record: &RawValue) -> String {
    Sha256::digest(record.get()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A run directory that this process writes. One process opens it and locks it; further processes can join it to store
/// their runs.
pub struct Store {
    dir: PathBuf,
    shards: bool,
    /// `None` if joined: another process has the lock.
    lock: Option<WriteLock>,
}

/// Whether `dir` is empty, or has only what an interrupted first start leaves: temporary files, an empty
/// `runs`, and a `scenario.toml` equal to `scenario`.
pub fn is_free(dir: &Path, scenario: &str) -> Result<bool, StoreError> {
    let entries = match disk::entries(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(io_error(dir))?,
    };
    Ok(entries.iter().all(|path| match path.file_name().unwrap_or_default().to_string_lossy().as_ref() {
        "runs" => disk::entries(path).is_ok_and(|runs| runs.is_empty()),
        "scenario.toml" => read_regular(path).is_ok_and(|text| text == scenario.as_bytes()),
        name => name == lock::NAME || disk::is_temporary(name),
    }))
}

/// `meta.json` for the runs of `plan`.
fn meta(plan: &Plan, origin: &Origin) -> RunMeta {
    RunMeta {
        version: 1,
        forebay: env!("CARGO_PKG_VERSION").to_string(),
        engine: plan.engine(),
        hash: plan.hash(),
        title: plan.title().to_string(),
        seeds: plan.seeds.clone(),
        cases: plan.cases.len(),
        axes: axes(plan),
        shard: plan.part,
        provenance: Provenance { machine: machine(), facts: plan.facts(), origin: origin.clone() },
        ..RunMeta::default()
    }
}

/// Values of the keys that vary, of each case; empty if nothing varies.
fn axes(plan: &Plan) -> Vec<Axes> {
    let varies = plan.cases.iter().any(|case| !case.axes.is_empty());
    plan.cases.iter().filter(|_| varies).map(|case| case.axes.iter().cloned().collect()).collect()
}

impl Store {
    /// Opens the directory for `plan`: created if missing, refused if it belongs to another plan. It is locked
    /// until the store is dropped; `wait` says how to wait for another writer. `origin` goes into `meta.json`.
    pub fn open(dir: &Path, plan: &Plan, origin: &Origin, wait: &Wait<'_>) -> Result<Self, StoreError> {
        Self::open_as(dir, plan, meta(plan, origin), wait)
    }

    /// As [`open`](Self::open), with this content of `meta.json`.
    pub fn open_as(dir: &Path, plan: &Plan, meta: RunMeta, wait: &Wait<'_>) -> Result<Self, StoreError> {
        // Checked before locking, so that nothing is written into an unrelated directory.
        whose(dir, plan)?;
        let lock = WriteLock::take(dir, wait)?;
        whose(dir, plan)?;
        Self::locked(lock, plan, meta)
    }

    /// Opens the directory for the results of a command behind an emulated link. The caller locked it while it was
    /// empty. Files that were added since then are kept.
    pub fn begin(lock: WriteLock, plan: &Plan, origin: &Origin, timing: Timing) -> Result<Self, StoreError> {
        Self::locked(lock, plan, meta(plan, origin).of_link(timing))
    }

    fn locked(lock: WriteLock, plan: &Plan, meta: RunMeta) -> Result<Self, StoreError> {
        let store = Self { dir: lock.dir().to_path_buf(), shards: false, lock: Some(lock) };
        // Written first: from now on the directory records its plan.
        write_json(&store.path("meta.json"), &meta)?;
        make_dir(&store.path("runs"))?;
        store.write_scenarios(plan)?;
        Ok(store)
    }

    /// Joins a directory that another process has opened for `plan`, so that both can store runs. `None` if it belongs
    /// to another plan or build.
    pub fn join(dir: &Path, plan: &Plan) -> Option<Self> {
        let Meta::Run(meta) = Meta::read(dir).ok()? else { return None };
        let same = meta.hash == plan.hash() && meta.engine == plan.engine();
        same.then(|| Self { dir: dir.to_path_buf(), shards: false, lock: None })
    }

    /// The lock, if the directory was opened.
    pub fn lock(&self) -> Option<&WriteLock> {
        self.lock.as_ref()
    }

    /// Path of the directory.
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
        make_dir(&cases)?;
        for i in 0..plan.cases.len() {
            write_whole(&cases.join(format!("{i:03}.toml")), case_text(plan, i).as_bytes())?;
        }
        Ok(())
    }

    /// A run that finished earlier, if it is stored completely and is of this plan and build.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn load(&self, plan: &Plan, job: Job) -> Result<Option<RunRecord>, StoreError> {
        read_shard(&self.dir, plan, job)
    }

    /// Stores a finished run.
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

    /// Also stores the time series and other tables of each run as Parquet files, as soon as the run finishes.
    pub fn with_shards(self) -> Self {
        Self { shards: true, ..self }
    }

    fn save_shard(&self, job: Job, record: &RunRecord) -> Result<(), StoreError> {
        let shards = self.path("shards");
        make_dir(&shards)?;
        let path = shards.join(shard_path(&self.dir, job).file_name().unwrap_or_default()).with_extension("parquet");
        let table = table::summary(std::slice::from_ref(record));
        write_whole(&path, &table.to_parquet().map_err(damaged(&path))?)
    }

    /// Copies a run from another directory, unless it is here already. Returns whether it is here now.
    ///
    /// # Errors
    /// The results differ, or cannot be read or written.
    pub fn copy(&self, plan: &Plan, job: Job, from: &Path) -> Result<bool, StoreError> {
        let here = self.load(plan, job)?;
        let path = shard_path(from, job);
        let text = shard_text(from, job)?;
        let shard = text.as_deref().and_then(Shard::read).filter(|shard| shard.key == plan.key(job));
        let (Some(text), Some(there)) = (&text, shard.and_then(|shard| shard.record())) else {
            return Ok(here.is_some());
        };
        match here {
            Some(here) if here.summary.fingerprint == there.summary.fingerprint => Ok(true),
            Some(_) => {
                let reason = format!("differs from the result of the same run in {}", self.dir.display());
                Err(StoreError::Damaged { path, reason })
            }
            None => write_whole(&shard_path(&self.dir, job), text.as_bytes()).map(|()| true),
        }
    }

    /// All finished runs with their complete results, in the order of [`Plan::jobs`].
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn records(&self, plan: &Plan) -> Result<Vec<RunRecord>, StoreError> {
        plan.jobs().into_par_iter().filter_map(|job| self.load(plan, job).transpose()).collect()
    }

    /// Writes the summary and the tables of these finished jobs, and returns the summary. `records` may lack time
    /// series and flows ([`RunRecord::slim`]).
    pub fn summarise(&self, plan: &Plan, jobs: &[Job], records: &[RunRecord]) -> Result<Summary, StoreError> {
        let runs = records.iter().flat_map(RunRecord::summaries).cloned().collect();
        let summary = Summary::new(plan.title(), runs, compare::compare(plan, records), plan.shown());
        let replacing = self.path(REPLACING);
        write_whole(&replacing, &[])?;
        write_json(&self.path("summary.json"), &summary)?;
        for (name, table) in
            [("summary.parquet", table::summary(records)), ("traffic.parquet", table::traffic(records))]
        {
            let path = self.path(name);
            write_whole(&path, &table.to_parquet().map_err(damaged(&path))?)?;
        }
        self.write_tables(plan, jobs, &table::probes(records))?;
        disk::remove(&replacing).map_err(io_error(&replacing))?;
        Ok(summary)
    }

    /// Writes the tables of series, flows and completions. Reads the records from disk, [`RUNS_AT_A_TIME`] at a time.
    fn write_tables(&self, plan: &Plan, jobs: &[Job], probes: &[&str]) -> Result<(), StoreError> {
        let paths = ["series.parquet", "flows.parquet", "completions.parquet"].map(|name| self.path(name));
        let tables: [&Rows<'_>; 3] = [&|records| table::series(records, probes), &table::flows, &table::completions];
        let fill = |files: [&mut disk::Output; 3]| {
            let mut open = Vec::new();
            for (file, (table, path)) in files.into_iter().zip(tables.iter().zip(&paths)) {
                open.push((Parquet::new(file, &table(&[])).map_err(damaged(path))?, table, path));
            }
            for some in jobs.chunks(RUNS_AT_A_TIME) {
                let gone = |job: &Job| StoreError::Damaged {
                    path: shard_path(&self.dir, *job),
                    reason: "has no complete run any more".to_string(),
                };
                let read = |job: &Job| self.load(plan, *job)?.ok_or_else(|| gone(job));
                let records = some.par_iter().map(read).collect::<Result<Vec<RunRecord>, StoreError>>()?;
                for (parquet, table, path) in &mut open {
                    parquet.add(&table(&records)).map_err(damaged(path))?;
                }
            }
            open.into_iter().try_for_each(|(parquet, _, path)| parquet.finish().map(drop).map_err(damaged(path)))
        };
        let [series, flows, completions] = &paths;
        fill_whole(series, |a| fill_whole(flows, |b| fill_whole(completions, |c| fill([a, b, c]))))
    }
}

/// Makes the rows of a table from the results of runs.
type Rows<'a> = dyn Fn(&[RunRecord]) -> Table + 'a;

/// An error if `dir` has other content than results of `plan`.
fn whose(dir: &Path, plan: &Plan) -> Result<(), StoreError> {
    let refuse = |holds| Err(StoreError::Foreign { dir: dir.to_path_buf(), holds });
    if is_free(dir, &first_scenario(plan))? {
        return Ok(());
    }
    if !disk::exists(&dir.join("meta.json")) {
        return refuse("files that are not results");
    }
    match Meta::read(dir)? {
        Meta::Run(meta) if meta.hash == plan.hash() => match (meta.shard, plan.part) {
            (Some(there), Some(part)) if there != part => refuse("another shard of these runs"),
            _ => Ok(()),
        },
        _ => refuse("the results of another scenario"),
    }
}

/// The plan of the runs in a directory of `run` or `sweep`, without its part, from `meta.json` and the scenarios.
///
/// # Errors
/// The scenarios are missing or not those of the results.
pub fn plan_of(dir: &Path, meta: &RunMeta) -> Result<Plan, StoreError> {
    let case = |index: usize| {
        let axes = meta
            .axes
            .get(index)
            .map_or_else(Vec::new, |axes| axes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect());
        Ok(read_case(dir, index)?.map(|case| Case { axes, ..case }))
    };
    let cases = (0..meta.cases).map(case).collect::<Result<Option<Vec<Case>>, StoreError>>()?;
    let version = concat!(env!("CARGO_PKG_VERSION"), "+");
    let plan = Plan {
        cases: cases.unwrap_or_default(),
        seeds: meta.seeds.clone(),
        revision: meta.engine.strip_prefix(version).unwrap_or_default().to_string(),
        guest: meta.provenance.facts.guest.clone(),
        part: None,
        real_headers: false,
    };
    if plan.hash() == meta.hash && plan.engine() == meta.engine {
        return Ok(plan);
    }
    let reason = "the scenarios of the results cannot be read, or another version wrote them".to_string();
    Err(StoreError::Damaged { path: dir.join("scenario.toml"), reason })
}

/// The finished runs of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// Number of runs that are stored.
    pub runs: usize,
    /// Number of runs that the last command asked for.
    pub asked: usize,
}

/// Writes the summary and the tables again if they do not have the runs of the locked directory. A killed command leaves
/// them as the command before it wrote them, or some of them. `None`: they are not written again, since the runs have real
/// packets or are of another version.
///
/// # Errors
/// A file cannot be read or written.
pub fn refresh(lock: &WriteLock, meta: &RunMeta) -> Result<Option<Finished>, StoreError> {
    let dir = lock.dir();
    // Their summary also has what was measured of the timing.
    if meta.kind.is_some() || meta.engine.contains("+live.") {
        return Ok(None);
    }
    let plan = match plan_of(dir, meta) {
        Ok(plan) => Plan { part: meta.shard, ..plan },
        Err(StoreError::Damaged { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let store = Store { dir: dir.to_path_buf(), shards: false, lock: None };
    let all = plan.jobs();
    let asked = all.len();
    let stored = |job: Job| store.load(&plan, job).map(|run| Some((job, run?.slim()))).transpose();
    let found: Vec<(Job, RunRecord)> = all.into_par_iter().filter_map(stored).collect::<Result<_, StoreError>>()?;
    let (jobs, records): (Vec<Job>, Vec<RunRecord>) = found.into_iter().unzip();
    let text = disk::text_if_there(&dir.join("summary.json"))?;
    let summary: Option<Summary> = text.and_then(|text| serde_json::from_str(&text).ok());
    let identity = |run: &RunSummary| (run.seed, run.fingerprint.clone());
    let has_these = |summary: &Summary| {
        summary.runs.iter().map(identity).eq(records.iter().flat_map(RunRecord::summaries).map(identity))
    };
    let is_current = summary.as_ref().is_some_and(has_these) && !disk::exists(&dir.join(REPLACING));
    if !records.is_empty() && !is_current {
        store.summarise(&plan, &jobs, &records)?;
    }
    Ok(Some(Finished { runs: jobs.len(), asked }))
}

/// A case as stored in a run directory, without the names and values of the keys that vary; `None` if there is none, or
/// not one of this version.
///
/// # Errors
/// Its file cannot be read.
pub fn read_case(dir: &Path, index: usize) -> Result<Option<Case>, StoreError> {
    let of_case = dir.join("cases").join(format!("{index:03}.toml"));
    let path = if disk::exists(&of_case) { of_case } else { dir.join("scenario.toml") };
    let Some(text) = disk::text_if_there(&path)? else { return Ok(None) };
    let cases = load::parse(&path.display().to_string(), &text, &Overrides::default()).unwrap_or_default();
    Ok(cases.into_iter().next())
}

/// A case as TOML, with all defaults written out. The first line is a comment with the values of the keys that vary.
fn case_text(plan: &Plan, index: usize) -> String {
    let case = &plan.cases[index];
    let axes: Vec<String> = case.axes.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    // Figures are left out: they show all cases together.
    format!("# case {index} of {}: {}\n{}", plan.cases.len(), axes.join(", "), case.scenario.runs_to_toml())
}

/// Content of `scenario.toml`: the only case, or the first of several.
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

/// The text of the file of a run; `None` if there is no such file, or if it is not text.
fn shard_text(dir: &Path, job: Job) -> Result<Option<String>, StoreError> {
    disk::text_if_there(&shard_path(dir, job))
}

fn read_shard(dir: &Path, plan: &Plan, job: Job) -> Result<Option<RunRecord>, StoreError> {
    read_keyed(dir, job, &plan.key(job))
}

/// The run in `dir` with this [`Plan::key`], if it is stored completely.
///
/// # Errors
/// Its file cannot be read.
pub fn read_keyed(dir: &Path, job: Job, key: &str) -> Result<Option<RunRecord>, StoreError> {
    let text = shard_text(dir, job)?;
    let shard = text.as_deref().and_then(Shard::read).filter(|shard| shard.key == key);
    Ok(shard.and_then(|shard| shard.record()))
}

/// Number of finished runs of `plan` in `dir`.
pub fn finished(dir: &Path, plan: &Plan) -> usize {
    plan.jobs().into_par_iter().filter(|job| matches!(read_shard(dir, plan, *job), Ok(Some(_)))).count()
}

/// As [`finished`], but without starting threads, because the process will fork.
pub fn finished_in_turn(dir: &Path, plan: &Plan) -> usize {
    plan.jobs().into_iter().filter(|job| matches!(read_shard(dir, plan, *job), Ok(Some(_)))).count()
}

/// The runs in `dir` whose seed is in `meta`, the content of its `meta.json`. They are ordered by case, contender and
/// seed.
pub fn jobs_on_disk(dir: &Path, meta: &RunMeta) -> Result<Vec<Job>, StoreError> {
    let runs = dir.join("runs");
    let seeds: BTreeSet<u64> = meta.seeds.iter().copied().collect();
    let jobs = disk::entries(&runs).map_err(io_error(&runs))?.into_iter().filter_map(|path| job_of(&path));
    let mut jobs: Vec<Job> = jobs.filter(|job| seeds.contains(&job.seed)).collect();
    jobs.sort_by_key(|job| (job.case, job.contender, job.seed));
    Ok(jobs)
}

/// As [`jobs_on_disk`], in the order of [`Plan::jobs`].
fn jobs_in_order(dir: &Path, meta: &RunMeta) -> Result<Vec<Job>, StoreError> {
    let mut jobs = jobs_on_disk(dir, meta)?;
    jobs.sort_by_key(|job| (meta.seeds.iter().position(|seed| *seed == job.seed), job.case, job.contender));
    Ok(jobs)
}

/// The stored results of a job of [`jobs_on_disk`]; `None` if it is from another build or not complete.
///
/// # Errors
/// Its file cannot be read.
pub fn read_run(dir: &Path, meta: &RunMeta, job: Job) -> Result<Option<RunRecord>, StoreError> {
    let text = shard_text(dir, job)?;
    let shard = text.as_deref().and_then(Shard::read).filter(|shard| shard.engine == meta.engine);
    Ok(shard.and_then(|shard| shard.record()))
}

/// Writes the tables of a run directory also as CSV, `DIR/csv/summary.csv` and others. Returns their paths.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_csv(dir: &Path, meta: &RunMeta) -> Result<Vec<PathBuf>, StoreError> {
    let folder = dir.join("csv");
    make_dir(&folder)?;
    let jobs = jobs_in_order(dir, meta)?;
    let read = |jobs: &[Job]| -> Result<Vec<RunRecord>, StoreError> {
        jobs.par_iter().filter_map(|job| read_run(dir, meta, *job).transpose()).collect()
    };
    let slim =
        jobs.par_iter().filter_map(|job| read_run(dir, meta, *job).map(|run| run.map(RunRecord::slim)).transpose());
    let slim: Vec<RunRecord> = slim.collect::<Result<_, _>>()?;
    let probes = table::probes(&slim);
    let series = |records: &[RunRecord]| table::series(records, &probes);
    let tables: [(&str, &Rows<'_>); 5] = [
        ("summary", &table::summary),
        ("traffic", &table::traffic),
        ("series", &series),
        ("flows", &table::flows),
        ("completions", &table::completions),
    ];
    let mut written = Vec::new();
    for (name, rows) in tables {
        let path = folder.join(name).with_extension("csv");
        fill_whole(&path, |file| {
            let mut out = csv::Writer::from_writer(file);
            rows(&[]).csv_names(&mut out).map_err(damaged(&path))?;
            for some in jobs.chunks(RUNS_AT_A_TIME) {
                rows(&read(some)?).csv_rows(&mut out).map_err(damaged(&path))?;
            }
            out.flush().map_err(io_error(&path))
        })?;
        written.push(path);
    }
    Ok(written)
}

/// A run directory that was read.
pub struct Loaded {
    /// The content of `summary.json`.
    pub summary: Summary,
    /// Its complete runs without series and flows, each with its job and its [`Plan::key`].
    pub runs: Vec<(Job, String, RunRecord)>,
}

/// Reads the results of a directory of `run`, `sweep` or `link`.
///
/// # Errors
/// The directory has no such results, or a file is damaged.
pub fn load(dir: &Path) -> Result<Loaded, StoreError> {
    let Meta::Run(meta) = Meta::read(dir)? else {
        let reason = "is not of one scenario: load the directory of one of its experiments".to_string();
        return Err(StoreError::Damaged { path: dir.join("meta.json"), reason });
    };
    let path = dir.join("summary.json");
    let summary = disk::read_json(&path)?;
    let run = |job: Job| {
        let text = shard_text(dir, job)?;
        let shard = text.as_deref().and_then(Shard::read).filter(|shard| shard.engine == meta.engine);
        let read = |shard: Shard<'_>| Some((job, shard.key.to_string(), shard.record()?.slim()));
        Ok(shard.and_then(read))
    };
    let jobs = jobs_in_order(dir, &meta)?;
    let runs = jobs.into_par_iter().filter_map(|job| run(job).transpose()).collect::<Result<_, StoreError>>()?;
    Ok(Loaded { summary, runs })
}

/// The job of the file of a run, from the name of the file.
fn job_of(path: &Path) -> Option<Job> {
    let name = path.file_name()?.to_str()?.strip_prefix("case")?.strip_suffix(".json")?;
    let (case, rest) = name.split_once("-aqm")?;
    let (contender, seed) = rest.split_once("-seed")?;
    Some(Job { case: case.parse().ok()?, contender: contender.parse().ok()?, seed: seed.parse().ok()? })
}

/// The machine that runs this program.
pub fn machine() -> Machine {
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let found = text.lines().find(|l| l.starts_with(key)).and_then(|l| l.split_once(':'));
        found.map(|(_, value)| value.trim().to_string())
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        os: std::env::consts::OS.to_string(),
        arch: std::env::consts::ARCH.to_string(),
        kernel: kernel.trim().to_string(),
        cpu: line("/proc/cpuinfo", "model name"),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    }
}
