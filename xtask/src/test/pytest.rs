//! What pytest says in its short summary, counted: each test passed, failed or skipped, one of them.
//!
//! It takes `-rpsfExX --no-fold-skipped`: a line for each test, `PASSED tests/a.py::b`, `SKIPPED tests/a.py::b - why`.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::tally::Tally;

/// The lines so far.
#[derive(Default)]
pub(crate) struct Pytest {
    /// Has the short summary begun?
    summary: bool,
    passed: BTreeSet<String>,
    failed: BTreeMap<String, String>,
    skipped: BTreeMap<String, String>,
    last: String,
}

impl Pytest {
    /// Takes one line; false for what nobody needs to see: tests that passed.
    pub(crate) fn hear(&mut self, line: &str) -> bool {
        self.summary |= line.contains(" short test summary info ");
        if !line.is_empty() {
            self.last = line.to_string();
        }
        let Some((outcome, rest)) = line.split_once(' ').filter(|_| self.summary) else { return true };
        let (name, why) = rest.split_once(" - ").unwrap_or((rest, ""));
        let (name, why) = (name.to_string(), why.to_string());
        match outcome {
            "PASSED" => drop(self.passed.insert(name)),
            "FAILED" | "ERROR" => drop(self.failed.entry(name).or_insert(why)),
            "XPASS" => drop(self.failed.insert(name, "was expected to fail".to_string())),
            "SKIPPED" => drop(self.skipped.insert(name, why)),
            "XFAIL" => drop(self.skipped.insert(name, format!("is expected to fail: {why}"))),
            _ => {}
        }
        outcome != "PASSED"
    }

    /// Counts them; `ended_well` is whether pytest's exit status says so.
    pub(crate) fn tell(self, ended_well: bool, tally: &mut Tally) {
        let counted = counted(&self.last, "passed");
        if counted != self.passed.len() as u64 {
            tally.fail(format!("pytest counts {counted} tests that passed, and names {}", self.passed.len()));
        }
        // What passed and broke down afterwards has failed.
        let passed = self.passed.iter().filter(|name| !self.failed.contains_key(*name));
        tally.pass_all(passed.count() as u64);
        if self.failed.is_empty() && !ended_well {
            tally.fail(format!("pytest: {}", self.last));
        }
        self.failed.iter().for_each(|(name, why)| tally.fail(format!("{name}: {why}")));
        for (name, why) in self.skipped.iter().filter(|(name, _)| !self.failed.contains_key(*name)) {
            if name.contains("::") {
                tally.skip(format!("{name}: {why}"));
            } else {
                // It hides how many they are.
                tally.fail(format!("{name} is skipped as a whole, not test by test: {why}"));
            }
        }
    }
}

/// The number before a word of pytest's last line: `3 failed, 12 passed in 4.05s`.
fn counted(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', ',', '=']).filter(|part| !part.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == word);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "..s.F [100%]\nFAILED is what a test prints\n==== short test summary info ====";

    fn line(summary: &str, ended_well: bool) -> String {
        let (mut pytest, mut tally) = (Pytest::default(), Tally::default());
        HEAD.lines().chain(summary.lines()).for_each(|line| {
            pytest.hear(line);
        });
        pytest.tell(ended_well, &mut tally);
        tally.line()
    }

    #[test]
    fn each_test_has_one_outcome() {
        let fine = "PASSED a.py::x\nPASSED a.py::y[a b]\nSKIPPED a.py::z - Skipped: no root\nSKIPPED a.py::w - b\nc\n";
        assert_eq!(line(&format!("{fine}2 passed, 2 skipped in 1s"), true), "2 passed, 0 failed, 2 skipped");
        let broken =
            "FAILED a.py::v - why - not\nERROR a.py::x - in its fixture\n2 passed, 1 failed, 2 skipped, 1 error";
        assert_eq!(line(&format!("{fine}{broken}"), false), "1 passed, 2 failed, 2 skipped");
        let expected = "XFAIL a.py::u - known\nXPASS a.py::t\n2 passed, 2 skipped, 1 xfailed, 1 xpassed";
        assert_eq!(line(&format!("{fine}{expected}"), true), "2 passed, 1 failed, 3 skipped");
    }

    #[test]
    fn skipped_modules_and_missing_names_are_failures() {
        assert_eq!(line("SKIPPED a.py - no gymnasium\n1 skipped in 1s", true), "0 passed, 1 failed, 0 skipped");
        assert_eq!(line("PASSED a.py::x\n2 passed in 1s", true), "1 passed, 1 failed, 0 skipped");
        assert_eq!(line("PASSED a.py::x\n1 passed in 1s", false), "1 passed, 1 failed, 0 skipped");
        assert_eq!(line("ERROR a.py\n1 error in 1s", false), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn numbers_of_the_last_line() {
        let line = "=== 3 failed, 12 passed, 1 skipped in 4.05s ===";
        assert_eq!([counted(line, "passed"), counted(line, "failed"), counted(line, "errors")], [12, 3, 0]);
    }
}
