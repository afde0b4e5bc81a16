//! Tests with real packets: stages `live` and `attach`.

use std::process::Command;

use serde_json::Value;

use runner::cargo_tests;

use crate::base::program;
use crate::base::tally::Tally;

/// Modules of the tests with real packets of the kernel.
pub(super) const MODULES: [&str; 3] = [LINKS, PACKETS, DEVICES];
/// Tests of `forebay link` and `run --on kernel` whose results depend on timing.
const LINKS: &str = "kernel_link::";
/// Tests of `forebay link` and `run --on kernel` whose results do not.
const PACKETS: &str = "kernel_packets::";
/// Tests of `forebay attach` on network devices.
const DEVICES: &str = "kernel_device::";

/// Stage `live`. Nothing else may run at the same time.
pub(crate) fn links(tally: &mut Tally) {
    with_links(LINKS, 2, tally);
}

/// Stage `attach`. Other programs may run at the same time. Tests of `forebay attach` skip themselves if they lack something.
pub(crate) fn devices(tally: &mut Tally) {
    with_links(PACKETS, 1, tally);
    cargo_tests::run(tests(DEVICES, 1), tally);
}

/// Runs the tests of `module` if `forebay doctor` finds all that links need; else skips them and names what is missing.
fn with_links(module: &str, at_once: u32, tally: &mut Tally) {
    let mut command = match program::built("forebay") {
        Ok(program) => program::at_root(program),
        Err(why) => return tally.fail(why),
    };
    command.args(["doctor", "--json"]);
    let document = match program::said(command) {
        Ok(out) => serde_json::from_str::<Value>(&out).unwrap_or_default(),
        Err(what) => return tally.fail(what),
    };
    if document["link"] != true {
        let why = format!("no emulated links here: {}", missing(&document, "link, run --on kernel"));
        return match cargo_tests::names(tests(module, at_once)) {
            Ok(names) => names.iter().for_each(|name| tally.skip(format!("{name}: {why}"))),
            Err(what) => tally.fail(what),
        };
    }
    cargo_tests::run(tests(module, at_once), tally);
}

/// `at_once`: number of tests that run at the same time; two use 40 % of two processors. The whole workspace: built already.
fn tests(module: &str, at_once: u32) -> Command {
    let threads = format!("--test-threads={at_once}");
    program::cargo_workspace("test", &["--test", "all", "--", &threads, module])
}

/// What is missing, as text.
fn missing(document: &Value, serves: &str) -> String {
    let all = document["findings"].as_array().into_iter().flatten();
    let ours = all.filter(|one| one["for"] == serves && one["ok"] != true);
    let words =
        |one: &Value| format!("{}: {}", one["name"].as_str().unwrap_or("?"), one["missing"].as_str().unwrap_or("?"));
    ours.map(words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_missing_requirements_of_a_forebay_command() {
        let document = serde_json::json!({ "findings": [
            { "name": "namespaces", "for": "link, run --on kernel", "ok": false, "missing": "not permitted" },
            { "name": "rights", "for": "attach", "ok": false, "missing": "no" },
            { "name": "timers", "for": "link, run --on kernel", "ok": true },
        ] });
        assert_eq!(missing(&document, "link, run --on kernel"), "namespaces: not permitted");
    }
}
