//! `forebay run --on linux`: a Linux kernel in virtual time. Without the built kernel the tests are skipped.

use forebay_linux::place::{Kernel, REMEDY};

use crate::common::Place;
use crate::skips::skip;

const SCENARIO: &str = r#"
version = 1
title = "Four flows"
duration = "4s"
warmup = "1s"
packet = 1500
[topology]
kind = "dumbbell"
bottleneck = { rate = "10mbit", delay = "10ms", queue = "100p" }
access = { hosts = 2, rate = "100mbit", delays = ["1ms", "20ms"], queue = "10000p" }
egress = { rate = "100mbit", delay = "1ms" }
[[flows]]
kind = "ftp"
count = 4
tcp = "cubic"
ecn = true
[[flows]]
kind = "ftp"
name = "back"
direction = "reverse"
tcp = "reno"
[compare]
aqm = ["codel", "linux:codel ecn"]
[report]
series = ["codel.count", "ftp.cwnd"]
"#;

/// Is the kernel built? If not, the test is skipped.
fn is_built() -> bool {
    // The test is in another folder of the target folder than the program.
    Kernel::find().map_err(|missing| skip(format!("{missing}: {REMEDY}"))).is_ok()
}

#[test]
fn linux_and_simulator_are_in_one_table() {
    if !is_built() {
        return;
    }
    let place = Place::new("table");
    place.write("four.toml", SCENARIO);
    let document = place.run(&["run", "four.toml", "--on", "linux", "--runs", "2", "--json"]).json();
    let runs = document["runs"].as_array().unwrap();
    let labels: Vec<&str> = runs.iter().map(|run| run["label"].as_str().unwrap()).collect();
    let once = ["codel (linux)", "codel (simulated)", "linux:codel ecn (linux)"];
    assert_eq!(labels, [once, once].concat());
    for run in runs {
        // Acknowledgements wait behind the packets of the reverse flow.
        assert!(run["utilisation"].as_f64().unwrap() > 0.7, "{run}");
        assert!(run["mark_ratio"].as_f64().unwrap() > 0.0, "{run}");
    }
}

#[test]
fn repeated_command_gives_the_same_bytes() {
    if !is_built() {
        return;
    }
    let place = Place::new("bytes");
    place.write("four.toml", SCENARIO);
    let read = |out: &str, jobs: &str| {
        place.run(&["run", "four.toml", "--on", "linux", "--runs", "2", "--jobs", jobs, "-o", out]);
        let series = std::fs::read(place.dir.join(out).join("series.parquet")).unwrap();
        let flows = std::fs::read(place.dir.join(out).join("flows.parquet")).unwrap();
        (series, flows)
    };
    assert!(read("one", "1") == read("two", "2"));
}

/// The scenario without a qdisc of Linux.
fn without_qdisc() -> String {
    SCENARIO.replace(r#", "linux:codel ecn"]"#, "]")
}

#[test]
fn links_outside_give_the_same_bytes_and_columns() {
    if !is_built() {
        return;
    }
    let place = Place::new("outside");
    place.write("four.toml", &without_qdisc());
    let run = |out: &str, jobs: &str| {
        let words = ["run", "four.toml", "--on", "linux", "--link", "outside", "--runs", "2", "--jobs", jobs];
        let document = place.run(&[&words[..], &["--json", "-o", out]].concat()).json();
        (document, std::fs::read(place.dir.join(out).join("series.parquet")).unwrap())
    };
    let ((document, series), (_, again)) = (run("one", "1"), run("two", "2"));
    assert!(series == again);
    let inside = place.run(&["run", "four.toml", "--on", "linux", "--runs", "2", "--json", "-o", "in"]).json();
    let keys = |document: &serde_json::Value| -> Vec<Vec<String>> {
        let runs = document["runs"].as_array().unwrap().iter();
        runs.map(|run| run.as_object().unwrap().keys().cloned().collect()).collect()
    };
    assert_eq!(keys(&document), keys(&inside), "the same metrics");
    for run in document["runs"].as_array().unwrap() {
        assert!(run["utilisation"].as_f64().unwrap() > 0.7, "{run}");
        assert!(run["mark_ratio"].as_f64().unwrap() > 0.0, "{run}");
    }
    assert_eq!(document["runs"][0]["label"], "codel (linux, link outside)");
}

/// A mobile network: a trace of delivery times, losses, and a rate that changes.
#[test]
fn mobile_example_needs_links_outside() {
    if !is_built() {
        return;
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mobile.toml");
    let place = Place::new("mobile");
    let short = ["run", example, "--set", "duration=8s", "--on", "linux", "--runs", "1", "--json"];
    let refused = place.run(&short);
    assert_eq!(refused.code, Some(4));
    assert!(refused.stdout.contains("traces") && refused.stdout.contains("--link outside"), "{refused:?}");
    let document = place.run(&[&short[..], &["--link", "outside"]].concat()).json();
    let [real, simulated] = [0, 1].map(|run| document["runs"][run]["utilisation"].as_f64().unwrap());
    assert!(real > 0.8 && (real - simulated).abs() < 0.2, "{real} {simulated}");
}

#[test]
fn place_of_links_needs_a_run_on_linux() {
    let place = Place::new("place");
    place.write("four.toml", &without_qdisc());
    for words in [&["--link", "outside"][..], &["--on", "kernel", "--link", "inside"]] {
        let ended = place.run(&[&["run", "four.toml"], words].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--on linux"), "{ended:?}");
    }
}

#[test]
fn qdiscs_of_linux_cannot_be_simulated() {
    let place = Place::new("refused");
    place.write("four.toml", SCENARIO);
    let ended = place.run(&["run", "four.toml"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.stderr.contains("--on linux"), "{}", ended.stderr);
}

#[test]
fn unknown_parameters_of_linux_qdiscs_are_refused() {
    if !is_built() {
        return;
    }
    let place = Place::new("unknown");
    place.write("four.toml", SCENARIO);
    let ended = place.run(&["run", "four.toml", "--on", "linux", "--aqm", "linux:codel taget 5ms"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.stderr.contains("taget"), "{}", ended.stderr);
}

#[test]
fn doctor_tells_what_builds_the_kernel() {
    let document = Place::new("doctor").run(&["doctor", "--json"]).json();
    let findings = document["findings"].as_array().unwrap();
    let kernel = findings.iter().find(|one| one["for"] == "run --on linux").unwrap();
    assert_eq!(kernel["ok"], document["linux"]);
    assert!(kernel["ok"] == true || kernel["remedy"].as_str().unwrap().contains("cargo xtask linux"));
}
