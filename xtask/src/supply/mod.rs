//! Packages for crates.io. Dependencies: their licences, their sources, and known vulnerabilities. Runs cargo-deny and
//! pip-audit.

pub(crate) mod licences;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::base::program::{self, Ended};
use crate::base::tally::Tally;

/// Time limit of each program, for a network that does not answer.
const LONGEST: Duration = Duration::from_secs(60);
/// Parts of cargo-deny's messages without a network.
const NO_NETWORK: [&str; 4] = ["failed to fetch", "Could not resolve", "unable to update", "timed out"];
const AUDIT: [&str; 8] =
    ["--format", "json", "--progress-spinner", "off", "--disable-pip", "--no-deps", "-r", "python/requirements.txt"];

/// Known vulnerabilities of our dependencies.
#[derive(Debug, PartialEq)]
enum Answer {
    Clean,
    Faults(String),
    /// No result, with the reason.
    None(String),
}

/// Licences, bans and sources need no network; lists of vulnerabilities do.
pub(crate) fn check(tally: &mut Tally) {
    let manifests = licences::manifests();
    match &manifests {
        Ok(manifests) => {
            tally.check("docs/licences.md has the licence of every crate", licences::is_current(manifests));
        }
        // Every other error is a failure.
        Err(why) if !NO_NETWORK.iter().any(|words| why.contains(words)) => tally.fail(format!("licences: {why}")),
        Err(why) => tally.skip(format!("licences: not every crate is here, and none can be fetched: {why}")),
    }
    // `cargo publish --dry-run` needs a network; without one this checks the manifests and the files of the packages.
    let mut package = program::cargo(&["package", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    package.args(["-p", "forebay-aqm", "-p", "forebay-sim", "-p", "forebay-net"]);
    tally.check("packages for crates.io", program::output_within(package, LONGEST).map(drop));
    if program::find(&["cargo-deny"]).is_some() {
        let rules = program::cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]);
        if manifests.is_ok() {
            tally.check("cargo deny", program::output_within(rules, LONGEST).map(drop));
        }
        take("known faults of crates", crates(program::cargo(&["deny", "check", "advisories"])), tally);
    } else {
        tally.skip("cargo-deny is not installed: cargo install --locked cargo-deny --version 0.20.2");
    }
    match program::find(&["pip-audit"]).map(program::at_root) {
        Some(mut audit) => {
            audit.args(AUDIT);
            take("known faults of python/requirements.txt", packages(audit), tally);
        }
        None => tally.skip("pip-audit is not installed: pip install pip-audit==2.10.1"),
    }
}

/// Counts an answer; a list of vulnerabilities that cannot be fetched is a skip.
fn take(what: &str, answer: Answer, tally: &mut Tally) {
    match answer {
        Answer::Clean => tally.pass(),
        Answer::Faults(faults) => tally.fail(format!("{what}: {faults}")),
        Answer::None(why) => tally.skip(format!("{what}: no answer: {why}")),
    }
}

/// cargo-deny's result on advisories.
fn crates(deny: Command) -> Answer {
    match program::ended_within(deny, LONGEST) {
        Ok(ended) if ended.status.success() => Answer::Clean,
        Ok(Ended { complaints, .. }) if NO_NETWORK.iter().any(|words| complaints.contains(words)) => {
            Answer::None("the advisories of RustSec cannot be fetched".to_string())
        }
        Ok(ended) => Answer::Faults(program::last_lines(&ended.complaints, 5)),
        Err(why) => Answer::None(why),
    }
}

fn packages(audit: Command) -> Answer {
    let ended = match program::ended_within(audit, LONGEST) {
        Ok(ended) => ended,
        Err(why) => return Answer::None(why),
    };
    let last = program::last_lines(&ended.complaints, 1);
    match (report(&ended.out), ended.status.code()) {
        (Some(answer), _) => answer,
        // Exit status 1 without a report: a Python exception because there is no network.
        (None, Some(1)) => Answer::None(last),
        (None, _) => Answer::Faults(last),
    }
}

/// pip-audit's report. It counts a package that is in no list as a success, although nothing is known of it.
fn report(text: &str) -> Option<Answer> {
    let document: Value = serde_json::from_str(text).ok()?;
    let packages = document["dependencies"].as_array().filter(|all| !all.is_empty())?;
    let name = |package: &Value| package["name"].as_str().unwrap_or("?").to_string();
    let faulty = packages.iter().filter_map(|package| {
        let ids: Vec<&str> = package["vulns"].as_array()?.iter().filter_map(|fault| fault["id"].as_str()).collect();
        (!ids.is_empty()).then(|| format!("{}: {}", name(package), ids.join(", ")))
    });
    let faulty: Vec<String> = faulty.collect();
    let unknown: Vec<String> = packages.iter().filter(|package| !package["vulns"].is_array()).map(name).collect();
    Some(match (faulty.is_empty(), unknown.is_empty()) {
        (false, _) => Answer::Faults(faulty.join("; ")),
        (true, false) => Answer::None(format!("packages that no list knows: {}", unknown.join(", "))),
        (true, true) => Answer::Clean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = r#"{ "name": "a", "version": "1", "vulns": [] }"#;
    const FAULTY: &str = r#"{ "name": "b", "version": "1", "vulns": [{ "id": "PYSEC-1" }, { "id": "CVE-2" }] }"#;
    const UNKNOWN: &str = r#"{ "name": "c", "skip_reason": "not found" }"#;

    fn of(packages: &[&str]) -> Option<Answer> {
        report(&format!(r#"{{ "dependencies": [{}], "fixes": [] }}"#, packages.join(", ")))
    }

    #[test]
    fn packages_without_vulnerability_data_skip_the_check() {
        assert_eq!(of(&[CLEAN]), Some(Answer::Clean));
        assert_eq!(of(&[CLEAN, FAULTY, UNKNOWN]), Some(Answer::Faults("b: PYSEC-1, CVE-2".into())));
        let unknown = of(&[CLEAN, UNKNOWN]);
        assert_eq!(unknown, Some(Answer::None("packages that no list knows: c".into())));
        assert_eq!((of(&[]), report("Traceback")), (None, None));
    }

    #[test]
    fn audit_without_network_skips_but_usage_error_fails() {
        let shell = |script: &str| packages(program::script(script));
        assert_eq!(shell("echo ConnectionError >&2; exit 1"), Answer::None("ConnectionError".into()));
        assert_eq!(shell("echo usage >&2; exit 2"), Answer::Faults("usage".into()));
        assert_eq!(shell(&format!("echo '{{ \"dependencies\": [{FAULTY}] }}'; exit 1")), of(&[FAULTY]).unwrap());
    }
}
