//! Faults of the file system, during a run, a resumed run and a report:
//!
//! - One system call fails; each call in turn. The program must print an error that names a file, or give the right result.
//! - There is too little memory.
//! - Power fails after a change of the file system; after each change in turn. No finished run may be lost.
//!
//! In all cases a repetition of the command must give the right result. The tests try a sample of the faults; with
//! `FOREBAY_EVERY_FAULT=1` they try all.

mod calls;
mod memory;
mod power;
mod trace;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::Place;

/// Runs two seeds of two contenders (compared disciplines), in one thread: the calls always have the same order.
const RUN: [&str; 9] = ["run", "short.toml", "--runs", "2", "--jobs", "1", "-o", "out", "--quiet"];
/// Runs half of [`RUN`].
const HALF: [&str; 9] = ["run", "short.toml", "--runs", "1", "--jobs", "1", "-o", "out", "--quiet"];
const REPORT: [&str; 2] = ["report", "out"];

/// All cases if `FOREBAY_EVERY_FAULT` is set; else at most `most` of them, evenly spread.
fn sample<T>(all: Vec<T>, most: usize) -> Vec<T> {
    if std::env::var_os("FOREBAY_EVERY_FAULT").is_some() {
        return all;
    }
    let every = all.len().div_ceil(most.max(1)).max(1);
    all.into_iter().step_by(every).collect()
}

/// Copies a folder and everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Output of a command under strace(1) with these options.
///
/// # Errors
/// strace cannot run here; the text says why.
fn strace(place: &Place, options: &[&str], words: &[&str]) -> Result<std::process::Output, String> {
    let program = place.command(words);
    let mut watched = Command::new("strace");
    watched.args(["-f", "-qq"]).args(options).arg(program.get_program()).args(words);
    watched.current_dir(&place.dir).env("RUST_BACKTRACE", "0");
    let output = watched.output().map_err(|_| "strace is not installed".to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().find(|line| line.starts_with("strace:")) {
        Some(why) => Err(why.to_string()),
        None => Ok(output),
    }
}
