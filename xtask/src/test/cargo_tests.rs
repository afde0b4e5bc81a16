//! Running `cargo test` and counting what became of each test: passed, failed or skipped, one of them.
//!
//! The harness knows nothing of a test that ends early because the machine lacks something: it says `ok`. Such a test writes a
//! record, `PROGRAM TAB TEST TAB REASON`, to the file that `FOREBAY_SKIPS` names (`crates/cli/tests/skips`), and counts as
//! skipped in place of passed, once, whatever the number of its records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::program;
use crate::base::tally::Tally;

/// What cargo and its test programs have said so far.
#[derive(Default)]
struct Ear {
    /// The file name of the program that runs.
    program: String,
    /// Names in lines such as `test a ... FAILED`, and in the list below the last `failures:`.
    shown: Vec<String>,
    listed: Vec<String>,
    lists: bool,
    ignored: Vec<String>,
    summaries: u64,
    /// The tests that the harness counts as passed, by program.
    passed: BTreeMap<String, u64>,
    failed: BTreeSet<(String, String)>,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Ear {
    /// Takes one line; false for what nobody needs to see: tests that passed.
    fn hear(&mut self, line: &str) -> bool {
        if let Some(program) = started(line) {
            self.broken_off();
            self.program = program.to_string();
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.sum_up(counts);
        } else if line == "failures:" {
            (self.lists, self.listed) = (true, Vec::new());
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.lists) {
            self.listed.push(name.to_string());
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            match outcome {
                "ok" => return false,
                "FAILED" => self.shown.push(name.to_string()),
                _ if outcome.starts_with("ignored") => self.ignored.push(format!("{name}: {outcome}")),
                // Something else wrote there meanwhile; the summary counts it.
                _ => {}
            }
        }
        !line.is_empty() && !line.starts_with("running ")
    }

    /// `ok. 5 passed; 0 failed; 1 ignored; ...` of one test program. What it counts without a name is counted too.
    fn sum_up(&mut self, counts: &str) {
        let count = |word: &str| {
            let part = counts.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            part.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or(0)
        };
        *self.passed.entry(self.program.clone()).or_default() += count("passed") as u64;
        // The list is not disturbed by what tests write to the terminal, but a test may print one of its own.
        if self.listed.len() == count("failed") {
            self.shown = std::mem::take(&mut self.listed);
        }
        for (names, word) in [(&mut self.shown, "failed"), (&mut self.ignored, "ignored")] {
            names.resize(count(word).max(names.len()), format!("a test without a name: {word}"));
        }
        self.skips.append(&mut self.ignored);
        self.summaries += 1;
        self.broken_off();
    }

    /// The program has ended, without a summary or after it: what it said of failures is all there is.
    fn broken_off(&mut self) {
        for name in std::mem::take(&mut self.shown) {
            self.failed.insert((self.program.clone(), name.clone()));
            self.failures.push(name);
        }
        (self.listed, self.lists, self.ignored) = (Vec::new(), false, Vec::new());
    }

    /// Each test that has a record counts as skipped in place of passed; one that failed stays a failure.
    fn leave_out(&mut self, records: &str) {
        let mut reasons: BTreeMap<[&str; 2], Vec<&str>> = BTreeMap::new();
        for record in records.lines() {
            match record.splitn(3, '\t').collect::<Vec<_>>()[..] {
                [program, test, why] => reasons.entry([program, test]).or_default().push(why),
                _ => self.failures.push(format!("a record of a skip that names no test: {record}")),
            }
        }
        for ([program, test], mut why) in reasons {
            if self.failed.contains(&(program.to_string(), test.to_string())) {
                continue;
            }
            why.dedup();
            // Without what cargo adds to its name.
            let name = format!("{}::{test}", program.rsplit_once('-').map_or(program, |(name, _)| name));
            match self.passed.get_mut(program).filter(|passed| **passed > 0) {
                Some(passed) => {
                    *passed -= 1;
                    self.skips.push(format!("{name}: {}", why.join("; ")));
                }
                None => self.failures.push(format!("{name}: says that it was skipped, and is no test that passed")),
            }
        }
    }
}

/// The file name of the test program that cargo starts: `Running tests/a.rs (target/debug/deps/a-0f)`, `Doc-tests a`.
fn started(line: &str) -> Option<&str> {
    if let Some(library) = line.strip_prefix("   Doc-tests ") {
        return Some(library);
    }
    let (_, path) = line.split_once(" Running ")?.1.strip_suffix(')')?.rsplit_once(" (")?;
    path.rsplit(['/', '\\']).next()
}

/// Runs `command`, some `cargo test`, shows what it says except for tests that passed, and counts its tests.
pub(crate) fn run(mut command: Command, tally: &mut Tally) {
    // Some run beside others.
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let skips = program::build_dir().join(format!("skips-{}-{call}.txt", std::process::id()));
    command.env("FOREBAY_SKIPS", &skips);
    count(command, || fs::read_to_string(&skips).unwrap_or_default(), tally);
    // There is none, as a rule.
    let _ = fs::remove_file(&skips);
}

/// Runs it; `records` are those of the tests that were skipped.
fn count(mut command: Command, records: impl FnOnce() -> String, tally: &mut Tally) {
    // Lines as they are read above.
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_VERBOSE", "false").env("CARGO_TERM_QUIET", "false");
    let mut ear = Ear::default();
    let outcome = program::stream(command, |line| {
        if ear.hear(line) {
            println!("{line}");
        }
    });
    ear.broken_off();
    ear.leave_out(&records());
    let (named, silent) = (!ear.failures.is_empty(), ear.summaries == 0);
    tally.pass_all(ear.passed.values().sum());
    ear.failures.into_iter().for_each(|what| tally.fail(what));
    ear.skips.into_iter().for_each(|what| tally.skip(what));
    match outcome {
        Err(what) => tally.fail(what),
        Ok(status) if !status.success() && !named => {
            tally.fail(format!("a program did not build or broke off ({status})"))
        }
        Ok(_) if silent && !named => tally.fail("no test ran"),
        Ok(_) => {}
    }
}

/// The tests that `command`, some `cargo test`, would run.
pub(crate) fn names(mut command: Command) -> Result<Vec<String>, String> {
    command.args(["--list", "--format", "terse"]);
    let out = program::said(command)?;
    Ok(out.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "echo '     Running tests/one.rs (target/debug/deps/one-0a)' >&2";
    const TWO: &str = "echo '     Running tests/one.rs (target/debug/deps/one-0a)' >&2
        echo; echo 'running 3 tests'; echo 'test a ... ok'; echo 'test b ... ok'; echo 'test c ... ok'
        echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'
        echo '     Running unittests src/lib.rs (target/debug/deps/two-0b)' >&2
        echo 'test a ... ok'; echo 'test m::d ... ignored, takes long'
        echo 'test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s'";

    fn of(script: &str, records: &str) -> Tally {
        let mut tally = Tally::default();
        count(program::script(script), || records.to_string(), &mut tally);
        tally
    }

    #[test]
    fn skipped_tests_are_not_passed() {
        for (records, line, skip) in [
            ("", "4 passed, 0 failed, 1 skipped", "m::d: ignored, takes long"),
            ("one-0a\tb\tneeds root\n", "3 passed, 0 failed, 2 skipped", "one::b: needs root"),
            ("one-0a\ta\tx\none-0a\tb\tx\none-0a\tc\tx\ntwo-0b\ta\tx\n", "0 passed, 0 failed, 5 skipped", "two::a: x"),
            // Several reasons, and tests of one name in two programs.
            ("one-0a\ta\tno tcx\none-0a\ta\tno nft\n", "3 passed, 0 failed, 2 skipped", "one::a: no tcx; no nft"),
            ("two-0b\ta\twhy\none-0a\ta\twhy\n", "2 passed, 0 failed, 3 skipped", "one::a: why"),
            // Records of no test.
            ("other-0c\ta\twhy\n", "4 passed, 1 failed, 1 skipped", ""),
            ("a line of another form\n", "4 passed, 1 failed, 1 skipped", ""),
            ("two-0b\ta\twhy\ntwo-0b\tx\twhy\n", "3 passed, 1 failed, 2 skipped", ""),
        ] {
            let tally = of(TWO, records);
            assert_eq!(tally.line(), line, "{records}");
            assert!(skip.is_empty() || tally.skips().iter().any(|one| one == skip), "{:?}", tally.skips());
        }
    }

    #[test]
    fn failures_are_counted_whatever_is_printed() {
        let failed = format!(
            "{ONE}; echo 'test a ... FAILED'; echo 'test b ... ok'; echo 'failures:'; echo '---- a stdout ----'
            echo '    no name'; echo 'failures:'; echo '    a'; echo
            echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101"
        );
        let next =
            "echo '  Running tests/two.rs (target/debug/deps/two-0b)'; echo 'test result: ok. 2 passed; 0 failed'";
        let broken_off = format!("{ONE}; echo 'test a ... FAILED'; {next}; exit 101");
        for (script, records, line) in [
            (failed.as_str(), "one-0a\ta\twhy\n", "1 passed, 1 failed, 0 skipped"),
            (&failed, "one-0a\tb\twhy\n", "0 passed, 1 failed, 1 skipped"),
            (
                "echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored'; exit 101",
                "",
                "2 passed, 1 failed, 0 skipped",
            ),
            (
                "echo 'test a ... words'; echo 'FAILED'; echo 'failures:'; echo '    a'
              echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored'; exit 101",
                "",
                "2 passed, 1 failed, 0 skipped",
            ),
            ("echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101", "", "2 passed, 1 failed, 0 skipped"),
            (&broken_off, "", "2 passed, 1 failed, 0 skipped"),
            ("true", "", "0 passed, 1 failed, 0 skipped"),
        ] {
            assert_eq!(of(script, records).line(), line, "{script}");
        }
    }

    #[test]
    fn shows_everything_but_tests_that_passed() {
        let mut ear = Ear::default();
        assert!(!ear.hear("test a::b ... ok") && !ear.hear("") && !ear.hear("running 7 tests"));
        assert!(ear.hear("test a::b ... FAILED") && ear.hear("thread panicked at"));
    }

    #[test]
    fn programs_are_known_by_their_file() {
        assert_eq!(started("     Running tests/a.rs (target/debug/deps/a_b-0f1)"), Some("a_b-0f1"));
        assert_eq!(started("   Doc-tests forebay_aqm"), Some("forebay_aqm"));
        assert_eq!(started("words     Running unittests src/lib.rs (/t (1)/deps/forebay-0f)"), Some("forebay-0f"));
        assert_eq!(started("test a ... ok"), None);
        let listed = names(program::script("echo 'a::b: test'; echo 'c: benchmark'; echo; echo 'd: test'"));
        assert_eq!(listed, Ok(vec!["a::b".to_string(), "d".to_string()]));
    }
}
