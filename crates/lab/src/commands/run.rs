//! Runs of a scenario with several seeds, kept in a directory.

use std::path::{Path, PathBuf};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::failure::Failure;
use super::host::Host;
use crate::estimate::excess;
use crate::load;
use crate::render::digits::short;
use crate::results::summary::Summary;
use crate::run::batch::{self, Control};
use crate::run::plan::Plan;
use crate::run::store::{self, Owner, Store};
use crate::scenario::{Case, Found, InputError, Overrides};

/// Seeds stay exact in every reader of JSON.
pub const LARGEST_SEED: u64 = 1 << 53;
/// More runs are taken for a slip: the summary of each is kept in memory until the last one has ended.
const MOST_RUNS: u64 = 200_000;

/// A scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file: for messages, and other files are named relative to it.
    pub file: &'a Path,
    /// What it had when it was read; none: it is read.
    pub text: Option<&'a str>,
}

impl Source<'_> {
    /// Its cases with these changes.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn cases(&self, overrides: &Overrides) -> Result<Vec<Case>, InputError> {
        match self.text {
            Some(text) => load::parse(&self.name(), text, overrides),
            None => load::file(self.file, overrides),
        }
    }

    /// The file in messages.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }
}

/// How often a scenario runs, and where its results go.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The scenario.
    pub source: Source<'a>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds each discipline runs with.
    pub runs: u64,
    /// Where results go; by default `runs/<file>-<hash of the resolved scenario>`.
    pub output: Option<&'a Path>,
    /// Run also what takes more than half of the memory, or more than a day.
    pub force: bool,
    /// Runs at a time; by default one per core.
    pub jobs: Option<u16>,
}

/// Threads for so many runs at a time.
///
/// # Errors
/// The system gives none.
pub fn pool(jobs: Option<u16>) -> Result<ThreadPool, Failure> {
    let threads = jobs.map_or(0, usize::from);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Failure::Unavailable(format!("cannot start {threads} threads: {error}")))
}

impl Batch<'_> {
    /// What runs, found possible before anything is written.
    ///
    /// # Errors
    /// The scenario is wrong, or too many runs are asked for.
    pub fn plan(&self, overrides: &Overrides, build: &str) -> Result<Plan, Failure> {
        let cases = self.source.cases(overrides)?;
        self.check_number(&cases)?;
        let plan = Plan::new(cases, self.seed, self.runs).with_revision(build);
        plan.check(&self.source.name())?;
        Ok(plan)
    }

    /// Refuses seeds that are too large, and more runs than memory has room for in the end.
    fn check_number(&self, cases: &[Case]) -> Result<(), InputError> {
        let largest = LARGEST_SEED - (self.runs - 1);
        if self.seed > largest {
            let accepts = format!("at most {largest} for {} runs", self.runs);
            return Err(InputError::new("--seed", "", Found::text(&self.seed.to_string()), accepts));
        }
        let points: usize = cases.iter().map(|case| case.scenario.compare.len()).sum();
        let runs = points as u64 * self.runs;
        if runs <= MOST_RUNS {
            return Ok(());
        }
        let found = Found::thing(format!("{runs} runs"));
        let error = InputError::new("--runs", "", found, format!("at most {MOST_RUNS} in all"));
        let seeds = count(self.runs as usize, "seed");
        Err(error.hint(format!("{}, {points} disciplines in them, {seeds} for each", count(cases.len(), "case"))))
    }

    /// Where results go.
    pub fn directory(&self, plan: &Plan) -> PathBuf {
        let stem = || self.source.file.file_stem().map_or("scenario".into(), |stem| stem.to_string_lossy());
        let own = || Path::new("runs").join(format!("{}-{}", stem(), plan.hash()));
        self.output.map_or_else(own, Path::to_path_buf)
    }

    /// Refuses a place that is no directory.
    ///
    /// # Errors
    /// It is a file.
    pub fn check_place(&self, plan: &Plan) -> Result<(), InputError> {
        let dir = self.directory(plan);
        if dir.exists() && !dir.is_dir() {
            let found = Found::thing(format!("a file called {}", dir.display()));
            return Err(InputError::new("--output", "DIR", found, "a directory, or a name that is free"));
        }
        Ok(())
    }

    /// Refuses what this machine would be at for longer, or with more memory, than anybody means who does not say so.
    ///
    /// # Errors
    /// It would take so much.
    pub fn afford(
        &self,
        plan: &Plan,
        jobs: usize,
        real_s: f64,
        finished: impl FnOnce() -> usize,
        host: &Host<'_>,
    ) -> Result<(), InputError> {
        if self.force {
            return Ok(());
        }
        let Some(excess) = excess(plan, jobs, real_s, finished) else { return Ok(()) };
        let (force, less) = (host.words.force, host.words.fewer);
        let hint = format!("{force} runs it all the same; fewer {less} or a shorter duration take less");
        Err(InputError::new(self.source.name(), "", Found::thing(excess.runs), excess.most).hint(hint))
    }

    /// Opens the directory for the results; waits for another writer until it is asked to stop.
    ///
    /// # Errors
    /// The directory holds something else, or cannot be written to.
    pub fn open(&self, plan: &Plan, host: &Host<'_>) -> Result<Store, Failure> {
        Ok(host.waiting(|wait| Store::open(&self.directory(plan), plan, host.origin, wait))?)
    }

    /// Runs a plan; what is on disk already is not run again. The summary, and the directory, still locked.
    ///
    /// # Errors
    /// It is too much, cannot be kept, or was asked to stop.
    pub fn results(&self, plan: &Plan, host: &Host<'_>) -> Result<(Summary, Store), Failure> {
        self.check_place(plan)?;
        let pool = pool(self.jobs)?;
        let finished = || pool.install(|| store::finished(&self.directory(plan), plan));
        self.afford(plan, pool.current_num_threads(), 0.0, finished, host)?;
        let store = self.open(plan, host)?;
        let summary = simulate(plan, &store, &pool, host)?;
        Ok((summary, store))
    }
}

/// Does the runs that are not on disk yet, and writes the summary.
///
/// # Errors
/// A run cannot be done or kept, or it was asked to stop.
pub fn simulate(plan: &Plan, store: &Store, pool: &ThreadPool, host: &Host<'_>) -> Result<Summary, Failure> {
    if host.notes.is_some() {
        announce(plan, pool.install(|| store::finished(store.dir(), plan)), host);
    }
    let progress = (host.progress)(plan.simulated_s());
    let begins = |dir: &Path, owner: &Owner| host.waits(dir, owner);
    let control = Control { stop: host.stop, progress: &|seconds| progress.advance(seconds), waits: &begins };
    let outcome = pool.install(|| batch::run(plan, store, &control));
    drop(progress);
    let dir = store.dir();
    outcome.map_err(|error| {
        Failure::of_batch(error, || {
            let done = pool.install(|| store::finished(dir, plan));
            Failure::Interrupted { dir: dir.to_path_buf(), done, total: plan.jobs().len() }
        })
    })
}

/// Says what there is to do; `known` runs are there already.
fn announce(plan: &Plan, known: usize, host: &Host<'_>) {
    let all = plan.jobs().len();
    let each = plan.simulated_s() / all.max(1) as f64;
    let known = match known {
        0 => String::new(),
        n if n == all => ", all of them there already".to_string(),
        n => format!(", {n} of them there already"),
    };
    host.note(&format!("{}: {} of {} s{known}", plan.title(), count(all, "run"), short(each)));
}

/// `1 run`, `2 runs`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
