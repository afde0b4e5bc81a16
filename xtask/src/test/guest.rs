//! Tests in a Linux kernel in virtual time: the stage `linux`.

use std::process::Stdio;

use runner::cargo_tests;

use crate::base::program;
use crate::base::tally::Tally;

/// What the names of these tests have.
pub(super) const MODULES: &str = "in_guest";

/// Builds the kernel at idle priority: minutes at first. If the machine lacks something for it, the tests say so.
pub(super) fn prepare() -> Result<(), String> {
    let mut build = program::idle(program::at_root(program::built("build-linux")?));
    let status = build.stdout(Stdio::null()).status().map_err(|error| error.to_string())?;
    // 4: something is missing.
    if matches!(status.code(), Some(0 | 4)) { Ok(()) } else { Err(format!("build-linux: {status}")) }
}

/// Runs the tests.
pub(super) fn check(built: &Result<(), String>, tally: &mut Tally) {
    if let Err(why) = built {
        tally.fail(why);
    }
    cargo_tests::run(program::cargo_workspace("test", &["--test", "all", "--", MODULES]), tally);
}
