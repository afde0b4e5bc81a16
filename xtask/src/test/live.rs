//! Tests with real packets: stages `live` and `attach`, and `cargo xtask sim-to-real` with docs/sim-to-real.md.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use runner::cargo_tests;

use crate::base::program;
use crate::base::tally::Tally;
use pages::page;

const PAGE: &str = "docs/sim-to-real.md";
const SCENARIO: &str = "examples/real.toml";

/// Modules of the tests with real packets of the kernel: through `forebay link`, through devices of `forebay attach`.
pub(super) const MODULES: [&str; 2] = ["kernel_link::", "kernel_device::"];

/// Tests of `forebay attach`; each skips itself if it lacks something.
pub(crate) fn devices(tally: &mut Tally) {
    cargo_tests::run(tests(MODULES[1]), tally);
}

/// Tests that need what `forebay doctor` checks; if something is missing, a skip that names it.
pub(crate) fn links(tally: &mut Tally) {
    let build = program::cargo(&["build", "--workspace", "--quiet", "--bin", "forebay"]);
    if !program::works(build) {
        return tally.fail("the program does not build");
    }
    let mut command = program::at_root(program::build_dir().join("debug").join("forebay"));
    command.args(["doctor", "--json"]);
    let document = match program::said(command) {
        Ok(out) => serde_json::from_str::<Value>(&out).unwrap_or_default(),
        Err(what) => return tally.fail(what),
    };
    if document["link"] != true {
        let why = format!("no emulated links here: {}", missing(&document, "link, run --on kernel"));
        return match cargo_tests::names(tests(MODULES[0])) {
            Ok(names) => names.iter().for_each(|name| tally.skip(format!("{name}: {why}"))),
            Err(what) => tally.fail(what),
        };
    }
    cargo_tests::run(tests(MODULES[0]), tally);
}

/// One test at a time, because they share the processors; `--workspace`, because that is built already.
fn tests(module: &str) -> Command {
    program::cargo(&["test", "--workspace", "--test", "all", "--", "--test-threads=1", module])
}

/// What is missing, as text.
fn missing(document: &Value, serves: &str) -> String {
    let all = document["findings"].as_array().into_iter().flatten();
    let ours = all.filter(|one| one["for"] == serves && one["ok"] != true);
    let words =
        |one: &Value| format!("{}: {}", one["name"].as_str().unwrap_or("?"), one["missing"].as_str().unwrap_or("?"));
    ours.map(words).collect::<Vec<_>>().join("; ")
}

/// Runs the example on the kernel and in the simulator, and writes the page.
pub(crate) fn page() -> Result<(), String> {
    // A fixed folder: finished runs are not repeated.
    let scratch = program::build_dir().join("real");
    let mut command =
        program::cargo(&["run", "--release", "--quiet", "--", "run", SCENARIO, "--on", "kernel", "--runs", "1", "-o"]);
    command.arg(&scratch);
    let out = program::said(command)?;
    let read = |name: &str| -> Result<Value, String> {
        let path = scratch.join(name);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}: {out}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let (summary, timing) = (read("summary.json")?, read("timing.json")?);
    let sound = timing.as_array().is_some_and(|runs| runs.iter().all(|run| run["timing"]["valid"] == true));
    if !sound {
        return Err(format!("{SCENARIO}: a run's timing is not valid; the same command repeats those runs"));
    }
    program::write(PAGE, &text(&summary, &timing)?)?;
    println!("{PAGE}");
    Ok(())
}

/// Queues agree within this share of the larger, or within N packets; signals within this factor.
const QUEUE: f64 = 0.3;
const PACKETS: f64 = 10.0;
const SIGNALS: f64 = 2.0;
/// Signal ratios below this count as 0.
const RARE: f64 = 1e-5;

fn agree(queues: [f64; 2], signals: [f64; 2]) -> [bool; 2] {
    let apart = (queues[0] - queues[1]).abs();
    let ratio = (signals[0].max(RARE) / signals[1].max(RARE)).max(signals[1].max(RARE) / signals[0].max(RARE));
    [apart <= PACKETS || apart <= QUEUE * queues[0].max(queues[1]), ratio <= SIGNALS]
}

fn text(summary: &Value, timing: &Value) -> Result<String, String> {
    let runs = summary["runs"].as_array().ok_or("no runs in the summary")?;
    let (mut rows, mut same) = (Vec::new(), [0; 2]);
    for pair in runs.chunks(2) {
        let [real, simulated] = pair else { return Err("a run without its like".to_string()) };
        let number = |run: &Value, path: &str| run.pointer(path).and_then(Value::as_f64).unwrap_or(-1.0);
        let both = |path: &str| [real, simulated].map(|run| number(run, path));
        let signals = [real, simulated].map(|run| number(run, "/loss_ratio") + number(run, "/mark_ratio"));
        let (queues, wait) = (both("/queue_pkts/mean"), both("/sojourn_ms/p99"));
        let (percent, megabits) = (signals.map(|share| 100.0 * share), both("/received_bps").map(|bps| bps / 1e6));
        let agrees = agree(queues, signals);
        same = [same[0] + u32::from(agrees[0]), same[1] + u32::from(agrees[1])];
        let name = real["aqm"].as_str().unwrap_or_default().trim_end_matches(" (kernel)");
        rows.push(json!([real["axes"]["flows.bulk.count"], name, queues, percent, wait, megabits, agrees]));
    }
    let late = |run: &Value| run.pointer("/timing/late_ms/up/p99").and_then(Value::as_f64).unwrap_or(0.0);
    let worst = timing.as_array().into_iter().flatten().map(late).fold(0.0, f64::max);
    page!("sim-to-real.md.jinja", json!({ "rows": rows, "same": same, "worst": worst }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_and_simulator_agree_within_tolerances() {
        assert_eq!(agree([100.0, 131.0], [0.01, 0.005]), [true, true]);
        assert_eq!(agree([100.0, 150.0], [0.01, 0.0049]), [false, false]);
        assert_eq!(agree([1.0, 9.0], [0.0, 1e-5]), [true, true]);
    }

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
