//! What a command needs from its caller (the command line or Python) while it runs.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::disk::lock::Wait;
use crate::disk::store_error::Owner;
use crate::results::meta::Origin;

/// Receives progress in simulated seconds, from any thread. Dropping it ends the display.
pub trait Progress: Sync {
    /// Adds `simulated_s` finished seconds.
    fn advance(&self, simulated_s: f64);
}

/// The caller of a command.
pub struct Host<'a> {
    /// Set to stop the command; finished results are kept.
    pub stop: &'a AtomicBool,
    /// Receives messages for users that are not results; `None` discards them.
    pub notes: Option<&'a (dyn Fn(&str) + Sync)>,
    /// Starts a progress display for runs of this many simulated seconds in all.
    pub progress: &'a (dyn Fn(f64) -> Box<dyn Progress + 'a> + Sync),
    /// Identifies the build of the program. Results of another build are not reused.
    pub build: &'a (dyn Fn() -> String + Sync),
    /// Origin of the results, for `meta.json`: revision of the program, and the command or call.
    pub origin: &'a Origin,
    /// Names of arguments that messages recommend.
    pub words: &'a Words,
}

/// Names of arguments that a message recommends, if the runs of a command would take too much memory or time.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Argument with which the command does all runs anyway.
    pub force: &'static str,
    /// Arguments that reduce the number or concurrency of runs.
    pub fewer: &'static str,
}

/// Names of these arguments on the command line.
pub const OF_THE_TERMINAL: Words = Words { force: "--force", fewer: "--runs, --jobs" };
/// Names of these arguments in Python.
pub const OF_PYTHON: Words = Words { force: "force=True", fewer: "seeds" };

impl Host<'_> {
    /// Sends a message for users that is not a result.
    pub fn note(&self, text: &str) {
        if let Some(note) = self.notes {
            note(text);
        }
    }

    /// Sends a message that the command waits, because another process writes into a directory.
    pub fn waits(&self, dir: &Path, owner: &Owner) {
        self.note(&format!("{} is locked by {owner}; waiting for it to finish", dir.display()));
    }

    /// Runs `work`, which may wait for another process that writes into the same directory.
    pub fn waiting<T>(&self, work: impl FnOnce(&Wait<'_>) -> T) -> T {
        let begins = |dir: &Path, owner: &Owner| self.waits(dir, owner);
        work(&Wait { stop: self.stop, begins: &begins })
    }
}
