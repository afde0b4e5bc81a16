//! `forebay report`: the page of a run directory, built again from its data.

use std::path::{Path, PathBuf};

use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::report;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::store::{Owner, Store};
use serde_json::json;

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::output::Ui;

/// Builds the report of one directory.
pub(crate) fn command(args: &ReportArgs, ui: &Ui) -> Result<Exit, Failure> {
    let dir = &args.dir;
    let complaint = |what: &str| {
        let error =
            InputError::new("report", "DIR", Found::thing(what), "a directory that forebay run or reproduce made");
        Err(Failure::Input(error.hint(format!("was given {}", dir.display()))))
    };
    if !dir.is_dir() {
        return complaint(if dir.exists() { "a file" } else { "no such directory" });
    }
    if !dir.join("meta.json").is_file() {
        return complaint("a directory without meta.json");
    }
    let begins = |dir: &Path, owner: &Owner| ui.waits(dir, owner);
    let wait = Wait { stop: interrupt::watch(), begins: &begins };
    let path = report::build(&WriteLock::take(dir, &wait)?, &wait)?;
    if ui.json() {
        ui.print_json(&json!({ "version": 1, "report": path.display().to_string() }))?;
    } else {
        ui.print(&path.display().to_string())?;
    }
    Ok(Exit::Done)
}

/// Builds `report.html` of a directory that is open, and says where it is.
pub(crate) fn write(store: &Store) -> Result<PathBuf, Failure> {
    let lock = store.lock().ok_or_else(|| Failure::Run(format!("{} is not locked", store.dir().display())))?;
    of(lock)
}

/// The same by its lock; of a run or a paper, which have no other directories to wait for.
pub(crate) fn of(lock: &WriteLock) -> Result<PathBuf, Failure> {
    Ok(report::build(lock, &Wait::NEVER)?)
}
