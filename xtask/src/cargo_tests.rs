//! Running `cargo test` and understanding what it says.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::program;
use crate::tally::Tally;

/// What the test programs have said since the last summary line.
#[derive(Default)]
struct Ear {
    failed: u64,
    ignored: u64,
    summaries: u64,
}

impl Ear {
    /// Takes one line; false for what nobody needs to see: tests that passed.
    fn hear(&mut self, line: &str, tally: &mut Tally) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.sum_up(counts, tally);
            return true;
        }
        let Some((name, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else {
            return !line.is_empty() && !line.starts_with("running ");
        };
        if outcome == "FAILED" {
            self.failed += 1;
            tally.fail(name);
        } else if outcome.starts_with("ignored") {
            self.ignored += 1;
            tally.skip(format!("{name}: {outcome}"));
        }
        outcome != "ok"
    }

    /// `ok. 5 passed; 0 failed; 1 ignored; ...` of one test program. What it counts without a name is
    /// counted too.
    fn sum_up(&mut self, counts: &str, tally: &mut Tally) {
        let count = |word: &str| {
            let part = counts.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            part.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        tally.pass_all(count("passed"));
        (self.failed..count("failed")).for_each(|_| tally.fail("a test without a name"));
        (self.ignored..count("ignored")).for_each(|_| tally.skip("a test without a name: ignored"));
        *self = Self { summaries: self.summaries + 1, ..Self::default() };
    }
}

/// Runs `command`, some `cargo test`, shows what it says except for tests that passed, and counts them, and what they had to
/// leave out here.
pub(crate) fn run(mut command: Command, tally: &mut Tally) {
    // Some run beside others.
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let skips = program::build_dir().join(format!("skips-{}-{call}.txt", std::process::id()));
    command.env("FOREBAY_SKIPS", &skips);
    count(command, tally);
    fs::read_to_string(&skips).unwrap_or_default().lines().for_each(|why| tally.skip(why));
    // There is none, as a rule.
    let _ = fs::remove_file(&skips);
}

fn count(command: Command, tally: &mut Tally) {
    let (mut ear, mut own) = (Ear::default(), Tally::default());
    let outcome = program::stream(command, |line| {
        if ear.hear(line, &mut own) {
            println!("{line}");
        }
    });
    let named = own.failed();
    tally.add(own);
    match outcome {
        Err(what) => tally.fail(what),
        Ok(status) if !status.success() && !named => {
            tally.fail(format!("a program did not build or broke off ({status})"))
        }
        Ok(_) if ear.summaries == 0 => tally.fail("no test ran"),
        Ok(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (bool, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut tally = Tally::default();
        count(command, &mut tally);
        (tally.failed(), tally.line())
    }

    #[test]
    fn sums_what_the_programs_say() {
        let two = "echo 'test a ... ok'; echo 'test b ... ignored, needs root'
            echo 'test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s'
            echo 'test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s'";
        assert_eq!(shell(two), (false, "13 passed, 0 failed, 1 skipped".to_string()));
    }

    #[test]
    fn finds_failures_with_and_without_a_name() {
        let named = "echo 'test a ... FAILED'
            echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101";
        assert_eq!(shell(named), (true, "2 passed, 1 failed, 0 skipped".to_string()));
        let nameless = "echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored'; exit 101";
        assert_eq!(shell(nameless), (true, "2 passed, 1 failed, 0 skipped".to_string()));
    }

    #[test]
    fn finds_programs_that_break_off_and_runs_without_tests() {
        let aborts = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101";
        assert_eq!(shell(aborts), (true, "2 passed, 1 failed, 0 skipped".to_string()));
        assert_eq!(shell("true"), (true, "0 passed, 1 failed, 0 skipped".to_string()));
    }

    #[test]
    fn shows_everything_but_tests_that_passed() {
        let mut ear = Ear::default();
        let mut shows = |line: &str| ear.hear(line, &mut Tally::default());
        assert!(!shows("test a::b ... ok") && !shows("") && !shows("running 7 tests"));
        assert!(shows("test a::b ... FAILED") && shows("thread panicked at") && shows("test result: ok. 1 passed"));
    }
}
