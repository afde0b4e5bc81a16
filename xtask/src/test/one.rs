//! `cargo xtask test NAME`: the tests of one discipline, congestion control or paper. `cargo xtask test --fast`: the checks that
//! fail most often.

use std::fs;

use forebay_aqm::ENTRIES;
use forebay_sim::tcp::Variant;

use super::cargo_tests;
use crate::base::program;
use crate::base::tally::Tally;
use crate::generated::verdicts;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// A discipline; of a variant, the discipline that it is a preset of.
    Discipline(&'static str),
    /// A congestion control.
    Control,
    /// A folder of `papers`.
    Paper,
}

/// The discipline, control or paper of this name.
pub(crate) fn subject(name: &str) -> Option<Subject> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) {
        return Some(Subject::Discipline(entry.variant_of.map_or(entry.name, |(base, _)| base)));
    }
    if Variant::WORDS.iter().any(|(word, _)| *word == name) {
        return Some(Subject::Control);
    }
    verdicts::papers().unwrap_or_default().iter().any(|paper| paper == name).then_some(Subject::Paper)
}

/// Runs the tests of `name`.
pub(super) fn run(name: &str, subject: Subject, tally: &mut Tally) {
    match subject {
        Subject::Discipline(base) => discipline(name, base, tally),
        Subject::Control => {
            cargo_tests::run(program::cargo(&["test", "-p", "forebay-sim", "--lib", "--test=all"]), tally)
        }
        Subject::Paper => {
            cargo_tests::run(
                program::cargo(&["test", "-p", "forebay-lab", "--lib", "--test=all", "--", "claims"]),
                tally,
            );
            verdicts::check_one(name, tally);
        }
    }
}

/// Unit tests and published listing of a discipline, golden trace and conformance of it alone, and the RFCs that name it.
fn discipline(name: &str, base: &str, tally: &mut Tally) {
    let mut tests = program::cargo(&["test", "-p", "forebay-aqm", "--lib", "--test=all", "--"]);
    tests.args([&format!("::{base}::"), "golden::", "conformance::every_"]).args(rfcs(base)).env("FOREBAY_ONLY", name);
    cargo_tests::run(tests, tally);
}

/// The test modules of RFCs that name a discipline.
fn rfcs(discipline: &str) -> Vec<String> {
    let files = fs::read_dir(program::root().join("crates/aqm/tests")).into_iter().flatten().flatten();
    let named = files.filter_map(|file| {
        let module = file.path().file_stem()?.to_string_lossy().into_owned();
        let text = fs::read_to_string(file.path()).ok()?;
        (module.starts_with("rfc") && text.contains(discipline)).then(|| format!("{module}::"))
    });
    named.collect()
}

/// Unit tests, golden traces, conformance and fingerprints.
pub(super) fn fast(tally: &mut Tally) {
    cargo_tests::run(program::cargo(&["test", "--workspace", "--lib", "--no-fail-fast"]), tally);
    let filters = ["golden::", "conformance::", "fingerprints::"];
    let mut tests = program::cargo(&["test", "--workspace", "--test=all", "--no-fail-fast", "--"]);
    tests.args(filters);
    cargo_tests::run(tests, tally);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_disciplines_controls_and_papers() {
        assert_eq!(subject("raqm_plus"), Some(Subject::Discipline("raqm")));
        assert_eq!((subject("cubic"), subject("red-tail")), (Some(Subject::Control), Some(Subject::Paper)));
        assert_eq!(subject("rde"), None);
        assert!(rfcs("pie").contains(&"rfc8033::".to_string()) && rfcs("raqm").is_empty());
    }
}
