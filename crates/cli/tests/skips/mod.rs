//! Skips a test that this machine cannot run; `cargo xtask test` counts it as skipped, not as passed. A skipped test
//! checks nothing: what can be checked without the missing capability is a separate test.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Records that the test in this thread is skipped, and what the machine lacks.
///
/// The record is a line `PROGRAM TAB TEST TAB REASON` in the file that the environment variable `FOREBAY_SKIPS` names.
/// Without it the line is written to stderr.
///
/// # Panics
/// If it is called outside the thread of a test: the thread's name is the test's.
pub(crate) fn skip(lacking: impl Display) {
    let lacking = lacking.to_string().replace(['\n', '\t'], " ");
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").expect("skip() is called in the thread of a test");
    let Some(file) = std::env::var_os("FOREBAY_SKIPS") else {
        // The harness captures output of the print macros, but not this.
        let _ = writeln!(stderr(), "skipped: {test}: {lacking}");
        return;
    };
    let program = std::env::current_exe().expect("a test knows its program");
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    // One write, because other threads and programs append to the file too.
    let line = format!("{program}\t{test}\t{lacking}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the record of a skip can be written");
}
