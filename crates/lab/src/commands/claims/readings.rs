//! `forebay readings`: searches readings of a paper. A reading is a combination of values for the settings that the
//! paper does not state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forebay_aqm::base::nearest::{nearest, one_of};

use super::super::failure::Failure;
use super::super::host::Host;
use super::super::run;
use crate::claims::papers::{PAPERS, Paper};
use crate::disk;
use crate::disk::lock::WriteLock;
use crate::input::{Found, InputError};
use crate::readings::bench::Bench;
use crate::readings::confirm::{Run, confirm, on_record};
use crate::readings::search::{self, Log, SearchError, Settings};
use crate::readings::space::Reading;
use crate::readings::summary::{self, ReadingsSummary};
use crate::run::plan::engine;

/// Name of the log file in the output directory. The log has the results of each tried reading.
const LOG: &str = "readings.jsonl";

/// Arguments of a search of readings.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Name of the paper.
    pub paper: &'a str,
    /// Output directory; `None`: a directory named after the paper.
    pub output: Option<&'a Path>,
    /// Number of readings to try.
    pub readings: usize,
    /// Number of seeds with which each reading is simulated.
    pub seeds: u64,
    /// Number of further seeds with which the best readings (under which most claims hold) are simulated again.
    pub confirm: u64,
    /// Time limit of the search and its confirmation. No reading is begun after it.
    pub budget: Option<Duration>,
    /// Readings that are simulated at the same time; default one per core.
    pub jobs: Option<u16>,
}

/// Searches readings of a paper. Returns the summary and the path of its file.
///
/// # Errors
/// The paper is unknown, results cannot be stored, or the command was interrupted.
pub fn readings(asked: &Asked<'_>, host: &Host<'_>) -> Result<(ReadingsSummary, PathBuf), Failure> {
    let paper = find(asked.paper)?;
    let bench = Bench::new(paper.claims, paper.scenarios, paper.readings).map_err(Failure::Run)?;
    let dir = asked.output.map_or_else(|| directory(paper.name), Path::to_path_buf);
    let lock = host.waiting(|wait| WriteLock::take(&dir, wait))?;
    let files = bench.fingerprint().map_err(Failure::Run)?;
    let about = about(paper, &files, asked.seeds, &engine(&(host.build)()));
    let path = lock.dir().join(LOG);
    let mut log = Log::open(&path, &about, &bench).map_err(|error| Failure::Run(error.to_string()))?;
    let each_s = bench.simulated_s().map_err(Failure::Run)? * asked.seeds as f64;
    let size = bench.space.size();
    let pool = run::pool(asked.jobs)?;
    let begun = Instant::now();
    let settings = Settings {
        seed: 1,
        readings: asked.readings,
        seeds: asked.seeds,
        until: asked.budget.map(|budget| begun + budget),
    };
    let most = settings.most(&bench);
    host.note(&format!(
        "{}: {most} readings of {size}, {} of them already known; {each_s} simulated seconds each",
        paper.name,
        log.len().min(most)
    ));
    let left = most.saturating_sub(log.len());
    let progress = (host.progress)(left as f64 * each_s);
    let tried = || progress.advance(each_s);
    let found = pool.install(|| search::search(&bench, &settings, &mut log, host.stop, &tried));
    drop(progress);
    let known = log.len();
    let failure = |error| match error {
        SearchError::Interrupted => Failure::Interrupted { dir: Some(dir.clone()), done: known, total: most },
        error => Failure::Run(error.to_string()),
    };
    let mut trials = found.map_err(failure)?;
    let begin = |readings: usize| -> Box<dyn Fn(f64) + Sync + '_> {
        let what = if readings == 1 { "reading" } else { "readings" };
        host.note(&format!("{}: {readings} {what} with {} fresh seeds", paper.name, asked.confirm));
        let progress = (host.progress)(readings as f64 * each_s / asked.seeds as f64 * asked.confirm as f64);
        Box::new(move |seconds| progress.advance(seconds))
    };
    let confirmed = if asked.confirm == 0 {
        Vec::new()
    } else {
        // A short search is a trial: it does not run the readings that a longer one found.
        let sampled = trials.iter().filter(|trial| trial.is_sampled).count();
        let found: Option<ReadingsSummary> = serde_json::from_str(paper.found).ok();
        let record = found.filter(|found| sampled >= found.sampled).map_or_else(Vec::new, |it| on_record(&bench, &it));
        let run = Run { seeds: asked.confirm, record: &record, stop: host.stop, begin: &begin };
        pool.install(|| confirm(&bench, &mut trials, &settings, &mut log, &run)).map_err(failure)?
    };
    let mut summary = summary::summary(&bench, paper.name, asked.seeds, &trials, &confirmed);
    summary.files = files;
    if settings.is_late() {
        host.note(&format!("{}: the budget ended the search; the same command continues it", paper.name));
    }
    let file = lock.dir().join("readings.json");
    disk::write_json(&file, &summary)?;
    Ok((summary, file))
}

/// A search whose readings other processes simulate: on other machines, or with Ray or Dask.
pub struct Shared {
    paper: &'static Paper,
    bench: Bench,
    seeds: u64,
    about: String,
}

impl Shared {
    /// The search of a paper with this number of seeds for each reading. `build` identifies the program.
    ///
    /// # Errors
    /// The paper is unknown.
    pub fn new(paper: &str, seeds: u64, build: &str) -> Result<Self, Failure> {
        let paper = find(paper)?;
        let bench = Bench::new(paper.claims, paper.scenarios, paper.readings).map_err(Failure::Run)?;
        let about = about(paper, &bench.fingerprint().map_err(Failure::Run)?, seeds, &engine(build));
        Ok(Self { paper, bench, seeds, about })
    }

    /// Identifies the build of the program, the files of the paper and the number of seeds. Results with another
    /// identification are refused.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Simulated seconds that the runs of one reading take.
    ///
    /// # Errors
    /// A scenario is invalid.
    pub fn simulated_s(&self) -> Result<f64, Failure> {
        Ok(self.bench.simulated_s().map_err(Failure::Run)? * self.seeds as f64)
    }

    /// The readings that have to be simulated next, each as a JSON object of values by setting, and the number of
    /// readings whose results the log in `dir` has.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn unknown(&self, readings: usize, dir: &Path, host: &Host<'_>) -> Result<(Vec<String>, usize), Failure> {
        let lock = host.waiting(|wait| WriteLock::take(dir, wait))?;
        let mut log = self.log(lock.dir())?;
        let settings = Settings { seed: 1, readings, seeds: self.seeds, until: None };
        let text = |reading: &Reading| {
            let words: BTreeMap<&str, &str> = self.bench.space.words(reading).collect();
            serde_json::to_string(&words).map_err(|error| Failure::Run(error.to_string()))
        };
        let unknown = search::unknown(&self.bench, &settings, &mut log);
        Ok((unknown.iter().map(text).collect::<Result<_, _>>()?, log.len()))
    }

    /// Simulates a reading. Returns the line of the log with its results.
    ///
    /// # Errors
    /// `reading` is not a reading of this paper, or makes a scenario invalid.
    pub fn score(&self, reading: &str) -> Result<String, Failure> {
        let bad = || Failure::Run(format!("{}: not a reading: {reading}", self.paper.name));
        let words: BTreeMap<String, String> = serde_json::from_str(reading).map_err(|_| bad())?;
        search::scored(&self.bench, &self.bench.space.reading(&words).ok_or_else(bad)?, self.seeds)
            .map_err(Failure::Run)
    }

    /// Adds lines with results to the log in `dir`.
    ///
    /// # Errors
    /// A line is invalid, or the log cannot be written.
    pub fn add(&self, lines: &[String], dir: &Path, host: &Host<'_>) -> Result<(), Failure> {
        let lock = host.waiting(|wait| WriteLock::take(dir, wait))?;
        let mut log = self.log(lock.dir())?;
        let failure = |error: std::io::Error| Failure::Run(error.to_string());
        lines.iter().try_for_each(|line| log.add(&self.bench, line).map_err(failure))
    }

    fn log(&self, dir: &Path) -> Result<Log, Failure> {
        Log::open(&dir.join(LOG), &self.about, &self.bench).map_err(|error| Failure::Run(error.to_string()))
    }
}

/// The paper of this name.
fn find(name: &str) -> Result<&'static Paper, InputError> {
    let found = PAPERS.iter().find(|paper| paper.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
        let error = InputError::new("readings", "PAPER", Found::text(name), one_of(name, &names));
        error.hint(nearest(name, names.iter().copied()).map(|near| format!("did you mean {near}?")))
    })
}

/// Output directory of the search of a paper, by default.
pub fn directory(paper: &str) -> PathBuf {
    Path::new("runs").join(format!("readings-{}", paper.to_lowercase()))
}

/// Identifies what the results depend on: the build of the program, the files of the paper and the number of seeds.
fn about(paper: &Paper, files: &str, seeds: u64, engine: &str) -> String {
    format!("{} {files}, {seeds} seeds, forebay {engine}", paper.name)
}
