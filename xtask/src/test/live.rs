//! Real packets: the stages `live` and `attach`, and `cargo xtask sim-to-real`, which writes docs/sim-to-real.md.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::cargo_tests;
use crate::base::program;
use crate::base::tally::Tally;

const PAGE: &str = "docs/sim-to-real.md";
const SCENARIO: &str = "examples/real.toml";

/// The modules of the program's tests that need packets of the kernel: links, devices.
pub(super) const MODULES: [&str; 2] = ["kernel_link::", "kernel_device::"];

/// Those of `forebay attach`; each says what it needs.
pub(crate) fn devices(tally: &mut Tally) {
    cargo_tests::run(tests(MODULES[1]), tally);
}

/// The tests that need what `forebay doctor` looks for; a skip that names what is missing, where something is.
pub(crate) fn links(tally: &mut Tally) {
    let mut build = program::cargo();
    build.args(["build", "--workspace", "--quiet", "--bin", "forebay"]);
    if !program::works(build) {
        return tally.fail("the program does not build");
    }
    let mut command = program::at_root(program::build_dir().join("debug").join("forebay"));
    command.args(["doctor", "--json"]);
    let document = match program::output(command) {
        Ok((status, out)) if status.success() => serde_json::from_str::<Value>(&out).unwrap_or_default(),
        Ok((status, _)) => return tally.fail(format!("forebay doctor: {status}")),
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

/// One test after the other, for they share this machine's processors; `--workspace`, as what they stand on has been built.
fn tests(module: &str) -> Command {
    let mut tests = program::cargo();
    tests.args(["test", "--workspace", "--test", "all", "--", "--test-threads=1", module]);
    tests
}

/// What is missing for something, in words.
fn missing(document: &Value, serves: &str) -> String {
    let all = document["findings"].as_array().into_iter().flatten();
    let ours = all.filter(|one| one["for"] == serves && one["ok"] != true);
    let words =
        |one: &Value| format!("{}: {}", one["name"].as_str().unwrap_or("?"), one["missing"].as_str().unwrap_or("?"));
    ours.map(words).collect::<Vec<_>>().join("; ")
}

/// Runs the example on the kernel and in the simulator, and writes the page.
pub(crate) fn page() -> Result<(), String> {
    // Not one of its own each time: what is there already is not run again.
    let scratch = program::build_dir().join("real");
    let mut command = program::cargo();
    command.args(["run", "--release", "--quiet", "--", "run", SCENARIO, "--on", "kernel", "--runs", "1", "-o"]);
    command.arg(&scratch);
    let (status, out) = program::output(command)?;
    let read = |name: &str| -> Result<Value, String> {
        let path = scratch.join(name);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}: {out}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let (summary, timing) = (read("summary.json")?, read("timing.json")?);
    let sound = timing.as_array().is_some_and(|runs| runs.iter().all(|run| run["timing"]["valid"] == true));
    if !status.success() || !sound {
        return Err(format!("{SCENARIO}: {status}: the same command does once more what had no sound timing"));
    }
    program::write(PAGE, &text(&summary, &timing)?)?;
    println!("{PAGE}");
    Ok(())
}

/// Queues agree within this share of the larger, or within so many packets; signals within this factor.
const QUEUE: f64 = 0.3;
const PACKETS: f64 = 10.0;
const SIGNALS: f64 = 2.0;
/// Signals that are rarer than this are none.
const RARE: f64 = 1e-5;

fn agree(queues: [f64; 2], signals: [f64; 2]) -> [bool; 2] {
    let apart = (queues[0] - queues[1]).abs();
    let ratio = (signals[0].max(RARE) / signals[1].max(RARE)).max(signals[1].max(RARE) / signals[0].max(RARE));
    [apart <= PACKETS || apart <= QUEUE * queues[0].max(queues[1]), ratio <= SIGNALS]
}

// Writing to a string cannot fail.
fn text(summary: &Value, timing: &Value) -> Result<String, String> {
    let runs = summary["runs"].as_array().ok_or("no runs in the summary")?;
    let mut out = HEAD.to_string();
    let (mut load, mut same, mut all) = (String::new(), [0; 2], 0);
    for pair in runs.chunks(2) {
        let [real, simulated] = pair else { return Err("a run without its like".to_string()) };
        let count = real["axes"]["flows.bulk.count"].as_str().unwrap_or_default();
        if count != load {
            load = count.to_string();
            let _ = write!(out, "\n## {load} connections\n\n{COLUMNS}");
        }
        let number = |run: &Value, path: &str| run.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let both = |path: &str| [real, simulated].map(|run| number(run, path));
        let signals = [real, simulated].map(|run| number(run, "/loss_ratio") + number(run, "/mark_ratio"));
        let (queues, wait) = (both("/queue_pkts/mean"), both("/sojourn_ms/p99"));
        let received = both("/received_bps").map(|bps| bps / 1e6);
        let agrees = agree(queues, signals);
        all += 1;
        same = [same[0] + u32::from(agrees[0]), same[1] + u32::from(agrees[1])];
        let name = real["aqm"].as_str().unwrap_or_default().trim_end_matches(" (kernel)");
        let word = |agrees: bool| if agrees { "" } else { " *" };
        let _ = writeln!(
            out,
            "| `{name}` | {:.1} | {:.1}{} | {:.3} | {:.3}{} | {:.1} | {:.1} | {:.1} | {:.1} |",
            queues[0],
            queues[1],
            word(agrees[0]),
            100.0 * signals[0],
            100.0 * signals[1],
            word(agrees[1]),
            wait[0],
            wait[1],
            received[0],
            received[1],
        );
    }
    let late = |run: &Value| run.pointer("/timing/late_ms/up/p99").and_then(Value::as_f64).unwrap_or(0.0);
    let worst = timing.as_array().into_iter().flatten().map(late).fold(0.0, f64::max);
    let _ = write!(
        out,
        "\n## In one line\n\nOf {all} pairs {} have the same mean queue and {} the same signals, within the tolerances above. \
         In the worst of the real runs one packet in a hundred went {worst:.2} ms late.\n",
        same[0], same[1]
    );
    Ok(out)
}

const HEAD: &str = "\
# From simulation to real TCP

Made by `cargo xtask sim-to-real`, which runs `forebay run examples/real.toml --on kernel`: bulk CUBIC over 50 Mb/s with a
round trip of 30 ms and a buffer of 400 packets, 20 s of which 5 are discarded, one seed. *Real* are connections of this
machine's kernel through the emulated link; *simulated* are ours. The discipline is the same code in both, so what differs is
TCP and the machine. Signals are drops and marks, of the packets that were offered.
The senders are not ECN-capable, so that `dualpi2` puts all their packets into its C queue: its L queue was not tested.

Tolerances, fixed before the first run: mean queues within 30 % of the larger or 10 packets, signals within a factor of 2.
30 % is what two real datapaths differed by under one law; signals go with the square of the windows, and 1.3 squared is 1.7.
A star marks what lies outside.

What is known to differ: the kernel's CUBIC leaves slow start by HyStart++ rules of its own and recovers by RACK-TLP and PRR,
ours by RFC 6675; its acknowledgements are delayed by rules of its own and merged when it is busy; retransmissions are not
ECN-capable there. Sender, receiver and link share this machine's processors.
";

const COLUMNS: &str = "\
| discipline | queue real, packets | simulated | signals real, % | simulated | wait p99 real, ms | simulated | received real, Mb/s | simulated |
|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_relative_but_for_what_is_small() {
        assert_eq!(agree([100.0, 131.0], [0.01, 0.005]), [true, true]);
        assert_eq!(agree([100.0, 150.0], [0.01, 0.0049]), [false, false]);
        assert_eq!(agree([1.0, 9.0], [0.0, 1e-5]), [true, true]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let document = serde_json::json!({ "findings": [
            { "name": "namespaces", "for": "link, run --on kernel", "ok": false, "missing": "not permitted" },
            { "name": "rights", "for": "attach", "ok": false, "missing": "no" },
            { "name": "timers", "for": "link, run --on kernel", "ok": true },
        ] });
        assert_eq!(missing(&document, "link, run --on kernel"), "namespaces: not permitted");
    }
}
