//! What comes from elsewhere: its licences, where it comes from, and whether anything bad is known of it.

use std::process::Command;
use std::time::Duration;

use crate::tally::Tally;
use crate::{licences, program};

/// For each of them.
const LONGEST: Duration = Duration::from_secs(180);
/// Words by which a program says that it has no network.
const NO_NETWORK: [&str; 6] =
    ["failed to fetch", "Could not resolve", "Connection", "unable to update", "connect", "ConnectionError"];

/// Licences, bans and sources need no network; the lists of known faults do.
pub(crate) fn check(tally: &mut Tally) {
    tally.check("docs/licences.md has the licence of every crate", licences::check());
    if program::find(&["cargo-deny"]).is_some() {
        let deny = |words: &[&str]| {
            let mut command = program::cargo();
            command.arg("deny").args(words);
            run(command)
        };
        tally
            .check("cargo deny: licences, bans, sources", deny(&["--offline", "check", "licenses", "bans", "sources"]));
        advisories("cargo deny: advisories", deny(&["check", "advisories"]), tally);
    } else {
        tally.skip("cargo-deny is not installed: cargo install --locked cargo-deny");
    }
    match program::find(&["pip-audit"]) {
        Some(audit) => {
            let mut command = program::at_root(audit);
            command.args(["--progress-spinner", "off", "-r", "python/requirements.txt"]);
            advisories("pip-audit: the packages of the Python tests", run(command), tally);
        }
        None => tally.skip("pip-audit is not installed: pip install pip-audit"),
    }
}

fn run(command: Command) -> Result<(), String> {
    program::output_within(command, LONGEST).map(|_| ())
}

/// A list that cannot be reached says nothing, either way.
fn advisories(what: &str, outcome: Result<(), String>, tally: &mut Tally) {
    match outcome {
        Err(said) if NO_NETWORK.iter().any(|words| said.contains(words)) => {
            tally.skip(format!("{what}: the list of known faults cannot be reached"));
        }
        outcome => tally.check(what, outcome),
    }
}
