//! `cargo xtask test PAPER`: the tests of one paper; `xtask/runner` has those of a discipline or congestion control.
//! `cargo xtask test --fast`: the checks that fail most often.

use runner::cargo_tests;

use crate::base::program;
use crate::base::tally::Tally;
use crate::generated::verdicts;

/// Is `name` a folder of `papers` with claims?
pub(crate) fn is_paper(name: &str) -> bool {
    verdicts::papers().unwrap_or_default().iter().any(|paper| paper == name)
}

/// Runs the tests of claims, and the quick reproduction of a paper.
pub(super) fn paper(name: &str, tally: &mut Tally) {
    cargo_tests::run(program::cargo(&["test", "-p", "forebay-lab", "--lib", "--test=all", "--", "claims"]), tally);
    match program::scratch("paper") {
        Ok(dir) => {
            verdicts::check_one(name, &dir, tally);
            let _ = std::fs::remove_dir_all(dir);
        }
        Err(what) => tally.fail(what),
    }
}

/// Runs unit tests, golden traces, conformance and fingerprints.
pub(super) fn fast(tally: &mut Tally) {
    cargo_tests::run(program::cargo(&["test", "--workspace", "--lib", "--no-fail-fast"]), tally);
    let mut tests = program::cargo(&["test", "--workspace", "--test=all", "--no-fail-fast", "--"]);
    tests.args(["golden::", "conformance::", "fingerprints::"]);
    cargo_tests::run(tests, tally);
}
