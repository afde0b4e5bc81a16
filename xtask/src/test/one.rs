//! `cargo xtask test PAPER`: the tests of one paper; `xtask/runner` has those of a discipline or congestion control.
//! `cargo xtask test --fast`: the checks that fail most often.

use runner::cargo_tests;

use crate::base::program;
use crate::base::tally::Tally;
use crate::generated::verdicts;

/// The paper with this name or folder: `papers/raqm`, because `raqm` is the discipline.
pub(crate) fn paper_of(name: &str) -> Option<&str> {
    let is_paper = |name: &&str| verdicts::papers().unwrap_or_default().iter().any(|paper| paper == name);
    Some(name.strip_prefix("papers/").unwrap_or(name)).filter(is_paper)
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
    let units = ["--lib", "--no-fail-fast", "--", "--skip", super::PEERS];
    let more = ["--test=all", "--no-fail-fast", "--", "golden::", "conformance::", "fingerprints::"];
    [&units[..], &more].iter().for_each(|words| cargo_tests::run(program::cargo_workspace("test", words), tally));
}
