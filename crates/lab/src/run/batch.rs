//! Runs a plan (scenarios, their disciplines and seeds) on all cores, stores every finished run, and stops on request.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_aqm::base::time::Instant;
use forebay_sim::network::BadNetwork;
use forebay_sim::world::Observer;
use rayon::prelude::*;

use crate::disk::lock::Wait;
use crate::results::record::RunRecord;
use crate::results::summary::Summary;
use crate::run::guard::Guard;
use crate::run::plan::{Job, Plan};
use crate::run::store::{Owner, Store, StoreError};

/// Callbacks and stop flag of a batch.
pub struct Control<'a> {
    /// Set to stop; running simulations end within a few milliseconds.
    pub stop: &'a AtomicBool,
    /// Called from any thread with the simulated seconds since the last call for the same run. For a finished run on
    /// disk it is called once, with its duration.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Called once before waiting for another writer of a directory.
    pub waits: &'a (dyn Fn(&Path, &Owner) + Sync),
    /// Stops the batch if the runs take too much memory.
    pub memory: &'a Guard,
}

impl<'a> Control<'a> {
    /// Callbacks that do nothing, with this stop flag.
    pub fn silent(stop: &'a AtomicBool) -> Self {
        Self { stop, progress: &|_| (), waits: &|_, _| (), memory: &Guard::NONE }
    }

    /// Whether running simulations must end.
    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.memory.is_exceeded()
    }

    /// Why a batch is incomplete.
    pub fn incomplete(&self) -> BatchError {
        match self.memory.excess() {
            Some((took, most)) => BatchError::Memory { took, most },
            None => BatchError::Interrupted,
        }
    }

    /// The stop flag and the callback for waiting until another writer unlocks a directory.
    pub fn wait(&self) -> Wait<'a> {
        Wait { stop: self.stop, begins: self.waits }
    }
}

/// Why a batch did not finish.
#[derive(Debug)]
pub enum BatchError {
    /// Stopped on request; finished runs are kept.
    Interrupted,
    /// Stopped because the runs took more memory than they may; finished runs are kept.
    Memory {
        /// Bytes that the runs took.
        took: f64,
        /// The limit in bytes.
        most: f64,
    },
    /// A run could not start.
    Run(BadNetwork),
    /// A result could not be stored.
    Store(StoreError),
}

impl std::fmt::Display for BatchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted; finished runs are kept"),
            Self::Memory { took, most } => {
                let gib = |bytes: &f64| bytes / f64::from(1u32 << 30);
                write!(f, "stopped: the runs take {:.1} GiB of memory or more, at most {:.1} GiB", gib(took), gib(most))
            }
            Self::Run(error) => write!(f, "{error}"),
            Self::Store(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BatchError {}

struct Watch<'a> {
    control: &'a Control<'a>,
    seen_s: f64,
}

impl Observer for Watch<'_> {
    fn reached(&mut self, now: Instant) -> bool {
        (self.control.progress)(now.secs() - self.seen_s);
        self.seen_s = now.secs();
        !self.control.must_stop()
    }
}

/// Runs the jobs that `store` does not have, then writes and returns the summary. After an interruption it writes the
/// summary of the finished runs and returns [`BatchError::Interrupted`] or [`BatchError::Memory`]. Results have the order of [`Plan::jobs`] for
/// any number of threads. Complete results are only in the store; memory has those without time series and flows
/// ([`RunRecord::slim`]).
pub fn run(plan: &Plan, store: &Store, control: &Control) -> Result<Summary, BatchError> {
    let done = runs(plan, Some(store), control)?;
    let complete = done.len() == plan.jobs().len();
    let (jobs, records): (Vec<Job>, Vec<RunRecord>) = done.into_iter().unzip();
    let summary = store.summarise(plan, &jobs, &records).map_err(BatchError::Store)?;
    if complete { Ok(summary) } else { Err(control.incomplete()) }
}

/// Runs the jobs of `plan` and returns the finished runs in the order of [`Plan::jobs`]. After an interruption some are
/// missing. With a `store`, the complete results are in the store, and the returned ones lack time series and flows
/// ([`RunRecord::slim`]).
pub fn runs(plan: &Plan, store: Option<&Store>, control: &Control) -> Result<Vec<(Job, RunRecord)>, BatchError> {
    let jobs = plan.jobs();
    // A thread takes the next job when it has finished one. A parallel iterator over the list would split it
    // into equal parts, and expensive jobs in one part would leave other threads idle.
    let numbered = jobs.into_iter().enumerate().par_bridge();
    let numbered = numbered.map(|(i, job)| Ok(one(plan, job, store, control)?.map(|done| (i, (job, done)))));
    let mut done: Vec<_> = numbered.filter_map(Result::transpose).collect::<Result<_, BatchError>>()?;
    done.sort_unstable_by_key(|(i, _)| *i);
    Ok(done.into_iter().map(|(_, done)| done).collect())
}

/// Runs one job, or loads it from `store`; `None` if stopped on request. The result is stored.
pub fn one(plan: &Plan, job: Job, store: Option<&Store>, control: &Control) -> Result<Option<RunRecord>, BatchError> {
    let known = store.map(|store| store.load(plan, job)).transpose().map_err(BatchError::Store)?;
    if let Some(record) = known.flatten() {
        (control.progress)(record.duration_s);
        return Ok(Some(record.slim()));
    }
    if control.must_stop() {
        return Ok(None);
    }
    let mut watch = Watch { control, seen_s: 0.0 };
    let Some(record) = plan.run(job, &mut watch).map_err(BatchError::Run)? else { return Ok(None) };
    match store {
        Some(store) => {
            store.save(plan, job, &record).map_err(BatchError::Store)?;
            Ok(Some(record.slim()))
        }
        None => Ok(Some(record)),
    }
}
