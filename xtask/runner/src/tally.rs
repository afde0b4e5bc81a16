//! Counts of passed, failed and skipped checks by stage, and the last line of a task.

use std::process::ExitCode;
use std::time::Instant;

/// The counts, and the messages of failures and skips.
#[derive(Clone, Default)]
pub struct Tally {
    passed: u64,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Tally {
    /// One check passed.
    pub fn pass(&mut self) {
        self.pass_all(1);
    }

    /// `n` checks passed.
    pub fn pass_all(&mut self, n: u64) {
        self.passed += n;
    }

    /// One check failed.
    pub fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// One check was skipped, for this reason.
    pub fn skip(&mut self, what: impl Into<String>) {
        self.skips.push(what.into());
    }

    /// One check, passed or failed.
    pub fn check(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.pass(),
            Err(what) => self.fail(format!("{name}: {what}")),
        }
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// Runs one stage; prints its title before and its result after.
    pub fn stage(&mut self, name: &str, what: &str, run: impl FnOnce(&mut Self)) {
        println!("\n== {name}: {what}");
        let (begun, mut own) = (Instant::now(), Self::default());
        run(&mut own);
        if own.is_empty() {
            own.fail("nothing was checked");
        }
        let word = own.word();
        own.failures.iter().for_each(|what| println!("   failed: {what}"));
        own.skips.iter().for_each(|what| println!("   skipped: {what}"));
        println!("-- {name}: {word}, {}, {:.1} s", own.line(), begun.elapsed().as_secs_f64());
        own.failures.iter_mut().for_each(|what| *what = format!("{name}: {what}"));
        own.skips.iter_mut().for_each(|what| *what = format!("{name}: {what}"));
        self.add(own);
    }

    fn is_empty(&self) -> bool {
        self.passed == 0 && self.failures.is_empty() && self.skips.is_empty()
    }

    /// Result of a stage: `ok` only if at least half of its checks ran.
    fn word(&self) -> &'static str {
        match (self.failed(), self.passed) {
            (true, _) => "FAILED",
            (false, 0) => "skipped",
            (false, passed) if (self.skips.len() as u64) > passed => "mostly skipped",
            (false, _) => "ok",
        }
    }

    /// Prints failures and skips again and the last line; returns the exit code.
    pub fn finish(&self) -> ExitCode {
        println!();
        self.skips.iter().for_each(|what| println!("skipped  {what}"));
        self.failures.iter().for_each(|what| println!("failed   {what}"));
        println!("{}", self.line());
        if self.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Whether any check failed.
    pub fn failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// The skipped checks with their reasons.
    #[cfg(test)]
    pub fn skips(&self) -> &[String] {
        &self.skips
    }

    /// `N passed, N failed, N skipped`.
    pub fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.skips.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally with these numbers of passed, failed and skipped checks.
    fn of(passed: u64, failed: usize, skipped: usize) -> Tally {
        Tally { passed, failures: vec!["f".to_string(); failed], skips: vec!["s".to_string(); skipped] }
    }

    #[test]
    fn failures_and_skips_begin_with_stage_name() {
        let mut all = Tally::default();
        all.stage("two", "second", |tally| {
            tally.check("good", Ok(()));
            tally.check("bad", Err("why".to_string()));
            tally.skip("late");
        });
        all.stage("empty", "nothing", |_| {});
        assert_eq!(all.line(), "1 passed, 2 failed, 1 skipped");
        assert_eq!(all.failures, ["two: bad: why", "empty: nothing was checked"]);
        assert_eq!(all.skips, ["two: late"]);
    }

    #[test]
    fn stage_is_ok_if_half_its_checks_ran() {
        for (tally, word) in [
            (of(1, 0, 0), "ok"),
            (of(2, 0, 2), "ok"),
            (of(2, 0, 3), "mostly skipped"),
            (of(0, 0, 1), "skipped"),
            (of(9, 1, 9), "FAILED"),
        ] {
            assert_eq!(tally.word(), word, "{}", tally.line());
        }
    }
}
