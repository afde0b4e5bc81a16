//! What a machine does not permit is said where nobody can overlook it.

use std::fmt::Display;
use std::io::{Write, stderr};

/// A test, or a part of it, that this machine cannot answer: the harness keeps what tests print, and the stage that runs them
/// counts it.
pub(crate) fn skip(test: &str, lacking: impl Display) {
    let _ = writeln!(stderr(), "skipped: {test}: {lacking}");
    if let Some(file) = std::env::var_os("FOREBAY_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        // At once: tests beside this one write there too.
        let line = format!("{test}: {}\n", lacking.to_string().replace('\n', " "));
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
