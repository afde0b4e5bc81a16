//! What a command needs of its caller while it works.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::disk::lock::Wait;
use crate::disk::store_error::Owner;
use crate::results::meta::Origin;

/// Something that hears how many simulated seconds have passed, from any thread, until it is dropped.
pub trait Progress: Sync {
    /// Another `simulated_s` seconds are done.
    fn advance(&self, simulated_s: f64);
}

/// The caller of a command.
pub struct Host<'a> {
    /// Set to end the command; what has finished is kept.
    pub stop: &'a AtomicBool,
    /// Hears what is worth saying and no result; none if nobody wants to hear it.
    pub notes: Option<&'a (dyn Fn(&str) + Sync)>,
    /// Begins to show the progress of a batch of so many simulated seconds.
    pub progress: &'a (dyn Fn(f64) -> Box<dyn Progress + 'a> + Sync),
    /// Which build of the program runs: results of another one do not count.
    pub build: &'a (dyn Fn() -> String + Sync),
    /// What `meta.json` says of the call.
    pub origin: &'a Origin,
    /// How the caller's users say what they may change.
    pub words: &'a Words,
}

/// How users say what makes too large a batch run all the same, or smaller.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Run it all the same.
    pub force: &'static str,
    /// Arguments that fewer runs at a time follow from.
    pub fewer: &'static str,
}

/// The words of the command line.
pub const OF_THE_TERMINAL: Words = Words { force: "--force", fewer: "--runs, --jobs" };
/// The words of Python.
pub const OF_PYTHON: Words = Words { force: "force=True", fewer: "seeds" };

impl Host<'_> {
    /// Says something that is not a result.
    pub fn note(&self, text: &str) {
        if let Some(hear) = self.notes {
            hear(text);
        }
    }

    /// Says that the command waits for another writer of a directory.
    pub fn waits(&self, dir: &Path, owner: &Owner) {
        self.note(&format!("{} is being written by {owner}: waiting for it to end", dir.display()));
    }

    /// Does `work`, which may wait for another writer of a directory.
    pub fn waiting<T>(&self, work: impl FnOnce(&Wait<'_>) -> T) -> T {
        let begins = |dir: &Path, owner: &Owner| self.waits(dir, owner);
        work(&Wait { stop: self.stop, begins: &begins })
    }
}
