//! `cargo xtask ci`: what cargo's own tools say, then every test.

use std::process::ExitCode;

use crate::base::program;
use crate::base::tally::Tally;
use crate::tidy;

/// Format, lints, tests, house rules among them.
pub(crate) fn run() -> ExitCode {
    let mut tally = Tally::default();
    tidy::format(&mut tally);
    tally.stage("lints", "cargo clippy --workspace --all-targets -- -D warnings", lints);
    super::stages(&mut tally, |_| true);
    tally.finish()
}

fn lints(tally: &mut Tally) {
    let mut version = program::cargo();
    version.args(["clippy", "--version"]);
    if !program::works(version) {
        return tally.skip("clippy is not installed: rustup component add clippy");
    }
    let mut clippy = program::cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    match program::stream(clippy, |line| println!("{line}")) {
        Ok(status) if status.success() => tally.pass(),
        Ok(_) => tally.fail("clippy has complaints"),
        Err(what) => tally.fail(what),
    }
}
