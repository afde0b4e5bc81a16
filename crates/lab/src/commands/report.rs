//! `forebay report`: builds the report of a result directory, the page `report.html`, again from the data there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::failure::Failure;
use super::host::Host;
use crate::disk;
use crate::disk::lock::{Wait, WriteLock};
use crate::render::flent;
use crate::report;
use crate::results::meta::{Meta, RunMeta};
use crate::run::plan::{Capture, Job, MOST_PACKETS, Plan, engine};
use crate::run::store::{self, Finished, Store, StoreError};
use crate::scenario::{Found, InputError};

/// The JSON document of `forebay report --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Format version, 1.
    pub version: u32,
    /// Path of the page that was built: `report.html`, or `index.html` for a directory of several papers.
    pub report: String,
    /// Path of the manifest, if it was written.
    #[serde(rename = "crate", skip_serializing_if = "Option::is_none")]
    pub ro_crate: Option<String>,
    /// Paths of the data files of flent, if they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flent: Vec<String>,
    /// Paths of the captures, if they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pcapng: Vec<String>,
    /// Paths of the tables as CSV, if they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub csv: Vec<String>,
}

/// Builds the report of a result directory.
///
/// # Errors
/// The directory has no results, is locked by another writer, or its files are damaged.
pub fn build(dir: &Path, host: &Host<'_>) -> Result<Document, Failure> {
    expect_results(dir, "report")?;
    let path = host.waiting(|wait| {
        let lock = WriteLock::take(dir, wait)?;
        if let Meta::Run(meta) = Meta::read(dir)? {
            let finished = store::refresh(&lock, &meta)?;
            if let Some(Finished { runs, asked }) = finished.filter(|finished| finished.runs < finished.asked) {
                let dir = dir.display();
                host.note(&format!(
                    "{dir} has {runs} of {asked} runs; the command that made it, repeated, adds the others"
                ));
            }
        }
        report::build(&lock, wait)
    })?;
    Ok(Document {
        version: 1,
        report: path.display().to_string(),
        ro_crate: None,
        flent: Vec::new(),
        pcapng: Vec::new(),
        csv: Vec::new(),
    })
}

/// Writes a data file of flent for each run: `DIR/flent/case000-aqm00-seed1.flent.gz`, where `DIR` is the directory of one
/// scenario. A directory of several scenarios has one for each. Returns the paths.
///
/// # Errors
/// The directory has no results of a scenario, is locked by another writer, or a file cannot be read or written.
pub fn flent(dir: &Path, host: &Host<'_>) -> Result<Vec<PathBuf>, Failure> {
    export(dir, "--flent", host, flent_of)
}

/// The data files of flent of one scenario.
fn flent_of(dir: &Path, meta: &RunMeta) -> Result<Vec<PathBuf>, StoreError> {
    let folder = dir.join("flent");
    disk::make_dir(&folder)?;
    let mut written = Vec::new();
    for job in store::jobs_on_disk(dir, meta)? {
        let Some(run) = store::read_run(dir, meta, job)? else { continue };
        let name = format!("case{:03}-aqm{:02}-seed{}.flent.gz", job.case, job.contender, job.seed);
        let path = folder.join(&name);
        let text = flent::document(&run, &name).to_string();
        // Without the time of compression: the same run gives the same bytes.
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let bytes = packed.write_all(text.as_bytes()).and_then(|()| packed.finish()).map_err(disk::io_error(&path))?;
        disk::write_whole(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// Writes the tables of each scenario as CSV: `DIR/csv/summary.csv` and others. `DIR` is as for [`flent`]. Returns the
/// paths.
///
/// # Errors
/// As [`flent`].
pub fn csv(dir: &Path, host: &Host<'_>) -> Result<Vec<PathBuf>, Failure> {
    export(dir, "--csv", host, store::write_csv)
}

/// Calls `write` for the directory of each scenario, which is locked meanwhile: all files show the same runs. Returns all
/// paths that it returned. An error names `option`.
fn export(
    dir: &Path,
    option: &str,
    host: &Host<'_>,
    write: fn(&Path, &RunMeta) -> Result<Vec<PathBuf>, StoreError>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    for dir in scenarios(dir, option)? {
        written.extend(host.waiting(|wait| {
            let _lock = WriteLock::take(&dir, wait)?;
            let Meta::Run(meta) = Meta::read(&dir)? else { return Ok(Vec::new()) };
            write(&dir, &meta)
        })?);
    }
    Ok(written)
}

/// A function that repeats a run and captures its packets.
pub type Repeat<'a> = Box<dyn Fn(Job) -> Result<Capture, Failure> + 'a>;

/// Repeats simulations of `plan`.
///
/// # Errors
/// Another build of the program has made the results.
pub fn repeat_simulations<'a>(plan: &'a Plan, host: &Host<'_>) -> Result<Repeat<'a>, Failure> {
    same_build(plan, &(host.build)())?;
    Ok(Box::new(|job| plan.capture(job).map_err(|error| Failure::Run(error.to_string()))))
}

/// The error of a repetition that was interrupted.
pub const fn interrupted() -> Failure {
    Failure::Interrupted { dir: None, done: 0, total: 0 }
}

/// Checks that the build `revision` has made the results of `plan`. Only then a repeated run has the same result.
///
/// # Errors
/// Another build has made them.
pub fn same_build(plan: &Plan, revision: &str) -> Result<(), InputError> {
    let build = engine(revision);
    if plan.engine() == build {
        return Ok(());
    }
    let found = Found::thing(format!("results of the build {}", plan.engine()));
    Err(InputError::new("report", "--pcapng", found, format!("those of this one, {build}: runs are repeated")))
}

/// Repeats each run in a directory of `run` or `sweep`, and writes the packets at its first link under study:
/// `DIR/pcapng/case000-aqm00-seed1.pcapng`. Returns the paths. `repeat` returns the function that repeats runs of a plan.
///
/// # Errors
/// - The directory has no results of a scenario, or a file cannot be read or written.
/// - The results are of real packets, which cannot be repeated, or of another build.
/// - A repeated run has another result than the stored one.
/// - The command is interrupted. Complete captures are kept.
pub fn pcapng(
    dir: &Path,
    host: &Host<'_>,
    repeat: impl for<'a> FnOnce(&'a Plan, &Host<'_>) -> Result<Repeat<'a>, Failure>,
) -> Result<Vec<PathBuf>, Failure> {
    let meta = of_one_scenario(dir, "--pcapng")?;
    if meta.engine.contains("+live.") {
        let error = InputError::new("report", "--pcapng", Found::thing("real packets"), "runs that can be repeated");
        return Err(Failure::Input(
            error.hint("forebay link --pcapng FILE writes packets while they pass".to_string()),
        ));
    }
    let plan = store::plan_of(dir, &meta)?;
    let repeat = repeat(&plan, host)?;
    let folder = dir.join("pcapng");
    disk::make_dir(&folder)?;
    let mut written = Vec::new();
    // One after the other: a capture can take hundreds of megabytes.
    let jobs = store::jobs_on_disk(dir, &meta)?;
    let total = jobs.len();
    for job in jobs {
        let Some(run) = store::read_run(dir, &meta, job)? else { continue };
        let stopped = host.stop.load(Ordering::Relaxed);
        let capture = if stopped { Err(interrupted()) } else { repeat(job) };
        if matches!(capture, Err(Failure::Interrupted { .. })) {
            host.note(&format!("{} of {total} captures are complete", written.len()));
        }
        let capture = capture?;
        let name = format!("case{:03}-aqm{:02}-seed{}.pcapng", job.case, job.contender, job.seed);
        if capture.fingerprint != run.summary.fingerprint {
            let what = format!("{} seed {}: another result than the stored one", run.summary.label, job.seed);
            return Err(Failure::Run(what));
        }
        if !capture.is_complete {
            host.note(&format!("{name} ends after {MOST_PACKETS} packets"));
        }
        let path = folder.join(name);
        disk::write_whole(&path, &capture.file)?;
        written.push(path);
    }
    Ok(written)
}

/// The directories of one scenario each, `dir` itself or those in it. The error names `option`.
fn scenarios(dir: &Path, option: &str) -> Result<Vec<PathBuf>, Failure> {
    expect_results(dir, "report")?;
    let mut found = Vec::new();
    collect_scenarios(dir, &mut found)?;
    if found.is_empty() {
        let without = Found::thing("results without runs");
        return Err(InputError::new("report", option, without, "those of at least one scenario").into());
    }
    Ok(found)
}

fn collect_scenarios(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if let Meta::Run(_) = Meta::read(dir)? {
        found.push(dir.to_path_buf());
        return Ok(());
    }
    let entries = fs::read_dir(dir).map_err(disk::io_error(dir))?.flatten().map(|entry| entry.path());
    let mut below: Vec<PathBuf> = entries.filter(|path| path.join("meta.json").is_file()).collect();
    below.sort();
    below.iter().try_for_each(|dir| collect_scenarios(dir, found))
}

/// The metadata of the results of one scenario, which `option` needs.
fn of_one_scenario(dir: &Path, option: &str) -> Result<RunMeta, Failure> {
    expect_results(dir, "report")?;
    if let Meta::Run(meta) = Meta::read(dir)? {
        return Ok(*meta);
    }
    let found = Found::thing("the results of several scenarios");
    let error = InputError::new("report", option, found, "those of one scenario");
    Err(Failure::Input(error.hint(format!("the directories in {} have one each", dir.display()))))
}

/// Checks that `dir` has results. The error names `command`, which needs them.
pub(super) fn expect_results(dir: &Path, command: &str) -> Result<(), Failure> {
    let complaint = |what: &str| {
        let error =
            InputError::new(command, "DIR", Found::thing(what), "a directory that forebay run or reproduce made");
        Err(Failure::Input(error.hint(format!("got {}", dir.display()))))
    };
    if !dir.is_dir() {
        return complaint(if dir.exists() { "a file" } else { "no such directory" });
    }
    if !dir.join("meta.json").is_file() {
        return complaint("a directory without meta.json");
    }
    Ok(())
}

/// Builds `report.html` in the directory of `store` and returns the page's path.
///
/// # Errors
/// The directory is not locked, or its files are damaged.
pub fn write(store: &Store) -> Result<PathBuf, Failure> {
    let lock = store.lock().ok_or_else(|| Failure::Run(format!("{} is not locked", store.dir().display())))?;
    of(lock)
}

/// Builds `report.html` of a scenario or of one paper in its locked directory. Does not wait for locks of other
/// directories.
///
/// # Errors
/// Files of the directory are damaged.
pub fn of(lock: &WriteLock) -> Result<PathBuf, Failure> {
    Ok(report::build(lock, &Wait::NEVER)?)
}
