//! Runs `cargo test` and counts each test as passed, failed or skipped.
//!
//! The harness prints `ok` for a test that returns early because the machine lacks something. Such a test appends a
//! line `PROGRAM TAB TEST TAB REASON` to the file that `FOREBAY_SKIPS` names (`crates/cli/tests/skips`), and counts as
//! skipped once, whatever its number of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::program;
use crate::tally::Tally;

/// State of the output of cargo and its test programs.
#[derive(Default)]
struct Ear {
    /// File name of the running program, until it prints its result.
    program: Option<String>,
    /// Names below the last line `failures:`; other output of tests does not disturb that list.
    listed: Option<Vec<String>>,
    /// The tests that the harness counts as passed, by program.
    passed: BTreeMap<String, u64>,
    failed: BTreeSet<[String; 2]>,
    failures: Vec<String>,
    skips: Vec<String>,
    summaries: u64,
}

impl Ear {
    /// Reads one line; returns whether to print it. Lines of passed tests are not printed.
    fn read_line(&mut self, line: &str) -> bool {
        if let Some(program) = started(line) {
            self.broken_off();
            self.program = Some(program.to_string());
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.sum_up(counts);
        } else if line == "failures:" {
            self.listed = Some(Vec::new());
        } else if let (Some(name), Some(listed)) = (line.strip_prefix("    "), &mut self.listed) {
            listed.push(name.to_string());
        } else if let Some((name, why)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored")) {
            self.skips.push(format!("{name}: ignored{why}"));
        }
        let passed = line.starts_with("test ") && line.ends_with(" ... ok");
        !(line.is_empty() || line.starts_with("running ") || passed)
    }

    /// `FAILED. 5 passed; 1 failed; ...` of one test program.
    fn sum_up(&mut self, counts: &str) {
        let count = |word: &str| {
            let part = counts.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            part.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or(0)
        };
        let program = self.program.take().unwrap_or_default();
        *self.passed.entry(program.clone()).or_default() += count("passed") as u64;
        let mut names = self.listed.take().unwrap_or_default();
        names.resize(count("failed"), "a test without a name".to_string());
        self.failed.extend(names.iter().map(|name| [program.clone(), name.clone()]));
        self.failures.append(&mut names);
        self.summaries += 1;
    }

    /// The next program starts, or all have ended.
    fn broken_off(&mut self) {
        self.failures.extend(self.program.take().map(|program| format!("{program} stopped early")));
    }

    /// Counts each passed test with a record as skipped; a failed test stays a failure.
    fn leave_out(&mut self, records: &str) {
        let mut reasons: BTreeMap<[&str; 2], Vec<&str>> = BTreeMap::new();
        for record in records.lines() {
            match record.splitn(3, '\t').collect::<Vec<_>>()[..] {
                [program, test, why] => reasons.entry([program, test]).or_default().push(why),
                _ => self.failures.push(format!("a record of a skip that names no test: {record}")),
            }
        }
        for ([program, test], mut why) in reasons {
            if self.failed.contains(&[program, test].map(str::to_string)) {
                continue;
            }
            why.dedup();
            // Without the hash that cargo adds to the name.
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

/// The file name of the test program that starts: `Running tests/a.rs (target/debug/deps/a-0f)`, `Doc-tests a`.
fn started(line: &str) -> Option<&str> {
    if let Some(library) = line.strip_prefix("   Doc-tests ") {
        return Some(library);
    }
    let (_, path) = line.split_once(" Running ")?.1.strip_suffix(')')?.rsplit_once(" (")?;
    path.rsplit(['/', '\\']).next()
}

/// Runs `command`, a `cargo test`, prints its output except for passed tests, and counts the tests.
pub fn run(mut command: Command, tally: &mut Tally) {
    // A unique name: several run at the same time.
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let skips = program::build_dir().join(format!("skips-{}-{call}.txt", std::process::id()));
    command.env("FOREBAY_SKIPS", &skips);
    count(command, || fs::read_to_string(&skips).unwrap_or_default(), tally);
    // Usually the file does not exist.
    let _ = fs::remove_file(&skips);
}

/// As [`run`]; `records` is the file of skipped tests.
fn count(mut command: Command, records: impl FnOnce() -> String, tally: &mut Tally) {
    // Plain output, as parsed above.
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_VERBOSE", "false").env("CARGO_TERM_QUIET", "false");
    let mut ear = Ear::default();
    let outcome = program::stream(command, |line| {
        if ear.read_line(line) {
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
            tally.fail(format!("a program did not build or stopped early ({status})"))
        }
        Ok(_) if silent && !named => tally.fail("no test ran"),
        Ok(_) => {}
    }
}

/// The tests that `command`, a `cargo test`, would run.
pub fn names(mut command: Command) -> Result<Vec<String>, String> {
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
    fn skipped_tests_do_not_count_as_passed() {
        for (records, line, skip) in [
            ("", "4 passed, 0 failed, 1 skipped", "m::d: ignored, takes long"),
            ("one-0a\tb\tneeds root\n", "3 passed, 0 failed, 2 skipped", "one::b: needs root"),
            ("one-0a\ta\tx\none-0a\tb\tx\none-0a\tc\tx\ntwo-0b\ta\tx\n", "0 passed, 0 failed, 5 skipped", "two::a: x"),
            // Several reasons, and tests of one name in two programs.
            ("one-0a\ta\tno tcx\none-0a\ta\tno nft\n", "3 passed, 0 failed, 2 skipped", "one::a: no tcx; no nft"),
            ("two-0b\ta\twhy\none-0a\ta\twhy\n", "2 passed, 0 failed, 3 skipped", "one::a: why"),
            // Records of unknown tests.
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
    fn failed_tests_are_counted_whatever_is_printed() {
        let failed = format!(
            "{ONE}; echo 'test a ... FAILED'; echo 'test b ... ok'; echo 'failures:'; echo '---- a stdout ----'
            echo '    no name'; echo 'failures:'; echo '    a'; echo
            echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101"
        );
        let next =
            "echo '  Running tests/two.rs (target/debug/deps/two-0b)'; echo 'test result: ok. 2 passed; 0 failed'";
        let (broken_off, nameless) =
            (format!("{ONE}; {next}; exit 101"), "echo 'test result: FAILED. 2 passed; 1 failed'");
        for (script, records, line) in [
            (failed.as_str(), "one-0a\ta\twhy\n", "1 passed, 1 failed, 0 skipped"),
            (&failed, "one-0a\tb\twhy\n", "0 passed, 1 failed, 1 skipped"),
            (nameless, "", "2 passed, 1 failed, 0 skipped"),
            ("echo 'test result: ok. 2 passed; 0 failed'; exit 101", "", "2 passed, 1 failed, 0 skipped"),
            (&broken_off, "", "2 passed, 1 failed, 0 skipped"),
            ("true", "", "0 passed, 1 failed, 0 skipped"),
        ] {
            assert_eq!(of(script, records).line(), line, "{script}");
        }
    }

    #[test]
    fn reads_program_and_test_names_from_cargo_output() {
        for (line, program) in [
            ("     Running tests/a.rs (target/debug/deps/a_b-0f1)", Some("a_b-0f1")),
            ("   Doc-tests forebay_aqm", Some("forebay_aqm")),
            ("words     Running unittests src/lib.rs (/t (1)/deps/forebay-0f)", Some("forebay-0f")),
            ("test a ... ok", None),
        ] {
            assert_eq!(started(line), program);
        }
        let shown = ["test a::b ... ok", "", "running 7 tests", "test a::b ... FAILED", "thread panicked at"];
        assert_eq!(shown.map(|line| Ear::default().read_line(line)), [false, false, false, true, true]);
        let listed = names(program::script("echo 'a::b: test'; echo 'c: benchmark'; echo; echo 'd: test'"));
        assert_eq!(listed, Ok(vec!["a::b".to_string(), "d".to_string()]));
    }
}
