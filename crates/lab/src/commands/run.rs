//! `forebay run`: runs a scenario with several seeds and stores the results in a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::failure::Failure;
use super::host::Host;
use crate::estimate::excess;
use crate::render::digits::short;
use crate::results::meta::Part;
use crate::results::summary::Summary;
use crate::run::batch::{self, BatchError, Control};
use crate::run::guard::Guard;
use crate::run::plan::Plan;
use crate::run::store::{self, Owner, Store};
use crate::scenario::{Case, Found, InputError};

/// Largest seed: 2^53. JSON readers that use 64-bit floats represent whole numbers exactly only up to it.
pub const LARGEST_SEED: u64 = 1 << 53;
/// Maximum number of runs. The summaries of all runs are in memory until the end; more runs are probably a mistake.
const MAX_RUNS: u64 = 200_000;

/// A scenario to run, its seeds, and where its results go.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Path of the scenario file: for messages, and for the name of the output directory.
    pub file: &'a Path,
    /// The first seed; the others count up from it.
    pub seed: u64,
    /// Number of seeds for each discipline and each combination of the values that the scenario varies.
    pub runs: u64,
    /// Output directory; default `runs/<file>-<hash of the resolved scenario>`, followed by `-2-of-8` for a part.
    pub output: Option<&'a Path>,
    /// The part of the runs to do; `None`: all.
    pub part: Option<Part>,
    /// Run even if it takes more than half of the memory or more than a day.
    pub force: bool,
    /// Concurrent runs; default one per core.
    pub jobs: Option<u16>,
}

/// A pool of `jobs` threads; default one per core.
///
/// # Errors
/// The system cannot start them.
pub fn pool(jobs: Option<u16>) -> Result<ThreadPool, Failure> {
    let threads = jobs.map_or(0, usize::from);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Failure::Unavailable(format!("cannot start {threads} threads: {error}")))
}

impl Batch<'_> {
    /// The plan of all runs of these cases (combinations of the values that the scenario varies). Fails before anything
    /// is written.
    ///
    /// # Errors
    /// The network of a scenario cannot be simulated, or there are too many runs.
    pub fn plan(&self, cases: Vec<Case>) -> Result<Plan, Failure> {
        self.check_number(&cases)?;
        let plan = Plan::new(cases, self.seed, self.runs).with_part(self.part);
        plan.check(&self.name())?;
        if let Some(part) = self.part.filter(|_| plan.jobs().is_empty()) {
            let all = count(plan.with_part(None).jobs().len(), "run");
            let accepts = format!("at most as many shards as runs: there are {all}");
            return Err(InputError::new("--shard", "", Found::text(&part.to_string()), accepts).into());
        }
        Ok(plan)
    }

    /// Name of the scenario file in messages.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// Refuses a seed above [`LARGEST_SEED`], and more than [`MAX_RUNS`] runs.
    fn check_number(&self, cases: &[Case]) -> Result<(), InputError> {
        let largest = LARGEST_SEED - (self.runs - 1);
        if self.seed > largest {
            let accepts = format!("at most {largest} for {} runs", self.runs);
            return Err(InputError::new("--seed", "", Found::text(&self.seed.to_string()), accepts));
        }
        let points: usize = cases.iter().map(|case| case.scenario.compare.len()).sum();
        let runs = points as u64 * self.runs;
        if runs <= MAX_RUNS {
            return Ok(());
        }
        let found = Found::thing(format!("{runs} runs"));
        let error = InputError::new("--runs", "", found, format!("at most {MAX_RUNS} in total"));
        let seeds = count(self.runs as usize, "seed");
        Err(error.hint(format!("{}, {points} contenders in total, {seeds} each", count(cases.len(), "case"))))
    }

    /// The directory of the results: that of `output`, or its default.
    pub fn directory(&self, plan: &Plan) -> PathBuf {
        let stem = || match self.file.file_stem().map(|stem| stem.to_string_lossy()) {
            None => "scenario".into(),
            Some(stem) if stem == "-" => "stdin".into(),
            Some(stem) => stem,
        };
        let part = self.part.map_or_else(String::new, |part| format!("-{}-of-{}", part.index, part.of));
        let own = || Path::new("runs").join(format!("{}-{}{part}", stem(), plan.hash()));
        self.output.map_or_else(own, Path::to_path_buf)
    }

    /// Refuses an output path that is not a directory.
    ///
    /// # Errors
    /// The path is a file.
    pub fn check_place(&self, plan: &Plan) -> Result<(), InputError> {
        let dir = self.directory(plan);
        if dir.exists() && !dir.is_dir() {
            let found = Found::thing(format!("a file called {}", dir.display()));
            return Err(InputError::new("--output", "DIR", found, "a directory, or a path that does not exist"));
        }
        Ok(())
    }

    /// Refuses runs that take more than half of the memory or more than a day, unless `force` is set.
    ///
    /// # Errors
    /// The estimated memory or time exceeds this limit.
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
        let hint = format!("{force} runs it anyway; fewer {less} or a shorter duration need less");
        Err(InputError::new(self.name(), "", Found::thing(excess.runs), excess.most).hint(hint))
    }

    /// The limit of the memory of the runs, also of those for which the estimate of [`afford`](Self::afford) is too small.
    pub fn memory(&self) -> Guard {
        if self.force { Guard::NONE } else { Guard::of_this_machine() }
    }

    /// Opens the output directory. Waits while another process has locked it, until the command is stopped.
    ///
    /// # Errors
    /// The directory contains other results or files, or cannot be written.
    pub fn open(&self, plan: &Plan, host: &Host<'_>) -> Result<Store, Failure> {
        Ok(host.waiting(|wait| Store::open(&self.directory(plan), plan, host.origin, wait))?)
    }

    /// Runs a plan, except for runs that are stored already. Returns the summary of all runs and the output directory,
    /// still locked.
    ///
    /// # Errors
    /// The runs take too much memory or time, cannot be stored, or were interrupted.
    pub fn results(&self, plan: &Plan, host: &Host<'_>) -> Result<(Summary, Store), Failure> {
        self.check_place(plan)?;
        let pool = pool(self.jobs)?;
        let finished = || pool.install(|| store::finished(&self.directory(plan), plan));
        self.afford(plan, pool.current_num_threads(), 0.0, finished, host)?;
        let store = self.open(plan, host)?;
        let summary = simulate(plan, &store, &pool, &self.memory(), host)?;
        Ok((summary, store))
    }
}

/// Simulates the runs of `plan` whose results are not stored yet, and writes the summary of all runs.
///
/// # Errors
/// A run fails, cannot be stored, was interrupted, or takes more memory than it may.
pub fn simulate(
    plan: &Plan,
    store: &Store,
    pool: &ThreadPool,
    memory: &Guard,
    host: &Host<'_>,
) -> Result<Summary, Failure> {
    if host.notes.is_some() {
        announce(plan, pool.install(|| store::finished(store.dir(), plan)), host);
    }
    let progress = (host.progress)(plan.simulated_s());
    let begins = |dir: &Path, owner: &Owner| host.waits(dir, owner);
    let control = Control { stop: host.stop, progress: &|seconds| progress.advance(seconds), waits: &begins, memory };
    let outcome = pool.install(|| batch::run(plan, store, &control));
    drop(progress);
    let dir = store.dir();
    outcome.map_err(|error| {
        let done = || pool.install(|| store::finished(dir, plan));
        let total = plan.jobs().len();
        if let BatchError::Memory { .. } = error {
            let (done, dir, force) = (done(), dir.display(), host.words.force);
            let text = format!("{error}; {done} of {total} runs are kept in {dir}; {force} sets no limit");
            return Failure::Run(text);
        }
        Failure::of_batch(error, || Failure::Interrupted { dir: Some(dir.to_path_buf()), done: done(), total })
    })
}

/// Sends a message for users with the number and the length of the runs; `known` of them are stored already.
fn announce(plan: &Plan, known: usize, host: &Host<'_>) {
    let all = plan.jobs().len();
    let each = plan.simulated_s() / all.max(1) as f64;
    let known = match known {
        0 => String::new(),
        n if n == all => ", all of them already finished".to_string(),
        n => format!(", {n} of them already finished"),
    };
    host.note(&format!("{}: {} of {} s{known}", plan.title(), count(all, "run"), short(each)));
    let groups = plan.cases.iter().flat_map(|case| &case.scenario.flows).filter(|group| group.breaks_rfc_9331());
    let names: BTreeSet<&str> = groups.map(|group| group.name.as_str()).collect();
    for name in names {
        host.note(&format!("flows {name}: ECT(1) without the scalable response to marks that RFC 9331 requires"));
    }
}

/// A number with its noun, singular or plural: `1 run`, `2 runs`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
