//! `cargo xtask miri`: tests near the unsafe code under Miri, an interpreter that finds undefined behaviour.
//!
//! Only forebay-live has unsafe code, and most of it is single system calls, which Miri does not support. Miri checks
//! the rest: parsing and building of messages, counters, memory shared with BPF.

use std::process::{Command, ExitCode};

use super::cargo_tests;
use crate::base::program;
use crate::base::tally::Tally;

/// Tests that Miri cannot run.
const BEYOND: [(&str, &str); 5] = [
    ("every_law_attaches", "libm has the square root in assembly"),
    ("invalid_arguments_are_refused_before", "libm has the square root in assembly"),
    ("over_a_connection", "sockets with a timeout"),
    ("start_time_identifies_a_process", "files of /proc"),
    ("traffic::tests", "files in memory, processes"),
];
/// Tests of system calls and nothing else.
const CALLS: [&str; 4] =
    ["sys::attach_process", "sys::interfaces", "sys::process", "sys::netlink::tests::over_a_socket"];

/// Runs the tests, and prints how many passed, failed and were skipped.
pub(crate) fn run() -> ExitCode {
    let mut tally = Tally::default();
    tally.stage("miri", "forebay-live's tests under Miri", check);
    tally.finish()
}

fn check(tally: &mut Tally) {
    let mut version = nightly();
    version.args(["miri", "--version"]);
    if !program::works(version) {
        return tally.skip("Miri is not installed: rustup toolchain install nightly --component miri,rust-src");
    }
    const TESTS: [&str; 7] = ["test", "-p", "forebay-live", "--features", "attach", "--lib", "--"];
    let all = program::cargo(&TESTS);
    let all = match cargo_tests::names(all) {
        Ok(all) => all,
        Err(what) => return tally.fail(what),
    };
    let mut test = nightly();
    test.arg("miri").args(TESTS);
    for name in BEYOND.iter().map(|(name, _)| name).chain(&CALLS) {
        test.args(["--skip", name]);
    }
    // Some tests write files.
    test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    cargo_tests::run(test, tally);
    let calls = CALLS.map(|name| (name, "system calls"));
    for test in &all {
        if let Some((_, why)) = BEYOND.iter().chain(&calls).find(|(name, _)| test.contains(name)) {
            tally.skip(format!("{test}: {why}"));
        }
    }
}

/// A nightly cargo with Miri; ours is pinned to a stable one.
fn nightly() -> Command {
    let mut command = program::at_root("rustup");
    command.args(["run", "nightly", "cargo"]);
    command
}
