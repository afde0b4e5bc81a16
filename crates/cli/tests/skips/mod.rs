//! A test that this machine cannot answer says so, and `cargo xtask test` counts it as skipped in place of passed.
//!
//! Such a test checks nothing of what it is named for: what can be checked without the missing capability is a test of its
//! own. So no test is passed in one part and skipped in another.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Records that the test that runs in this thread is left out, and what the machine lacks.
///
/// The record is a line `PROGRAM TAB TEST TAB REASON` in the file that the environment variable `FOREBAY_SKIPS` names.
/// Without it the same is said on stderr.
///
/// # Panics
/// Outside the thread of a test, whose name is that of the test.
pub(crate) fn skip(lacking: impl Display) {
    let lacking = lacking.to_string().replace(['\n', '\t'], " ");
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").expect("skip() is called in the thread of a test");
    let Some(file) = std::env::var_os("FOREBAY_SKIPS") else {
        // The harness captures what print macros write, not this.
        let _ = writeln!(stderr(), "skipped: {test}: {lacking}");
        return;
    };
    let program = std::env::current_exe().expect("a test knows its program");
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    // In one write: tests of other threads and programs append to it too.
    let line = format!("{program}\t{test}\t{lacking}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the record of a skip can be written");
}
