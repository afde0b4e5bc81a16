//! `forebay run --on linux`: a Linux kernel in virtual time. Without the built kernel the tests are skipped.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use forebay_linux::place::{Kernel, REMEDY};

use sha2::{Digest, Sha256};

use crate::common::{Ended, Place};
use crate::exports::packets;
use crate::interrupt::{TOTAL, goes_on};
use crate::kills::{on_a_full_disk, results};
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
fn keys_without_effect_on_linux_are_named() {
    if !is_built() {
        return;
    }
    let place = Place::new("keys");
    place.write("four.toml", &without_qdisc());
    let sets = ["max_rto=9s", "limited_transmit=false", "initial_window=4"].map(|set| format!("flows.ftp.{set}"));
    let mut words = vec!["run", "four.toml", "--on", "linux"];
    words.extend(sets.iter().flat_map(|set| ["--set", set]));
    let ended = place.run(&words).good();
    let note = "flows ftp: no effect on Linux, which has its own: max_rto, limited_transmit\n";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    assert!(!ended.stderr.contains("flows back"), "{}", ended.stderr);
}

/// Captures of runs on Linux and in the simulator have the packets of the results.
#[test]
fn captures_have_the_packets_of_linux() {
    if !is_built() {
        return;
    }
    let place = Place::new("captures");
    place.write("four.toml", SCENARIO);
    let aqms = ["--aqm", "codel", "--aqm", "linux:codel ecn", "--set", "warmup=0s"];
    for (out, link) in [("inside", "inside"), ("outside", "outside")] {
        let words = ["run", "four.toml", "--on", "linux", "--link", link, "--runs", "1", "-o", out, "--json"];
        let aqms = if link == "inside" { &aqms[..] } else { &["--aqm", "codel", "--set", "warmup=0s"] };
        let json = place.run(&[&words[..], aqms].concat()).good().json();
        let made = place.run(&["report", out, "--pcapng", "--json"]).good().json();
        for (run, file) in json["runs"].as_array().unwrap().iter().zip(made["pcapng"].as_array().unwrap()) {
            let all = packets(&std::fs::read(place.dir.join(file.as_str().unwrap())).unwrap());
            let drops = all.iter().filter(|(.., comment)| comment.is_some()).count();
            let known = &run["dropped"];
            let expected = known["early"].as_u64().unwrap() + known["overflow"].as_u64().unwrap();
            let label = run["label"].as_str().unwrap();
            assert_eq!(drops as u64, expected, "{label}");
            // Of both directions.
            assert!((all.len() - drops) as u64 > run["packets"].as_u64().unwrap(), "{label}: {} packets", all.len());
            assert!(all.iter().any(|(bytes, ..)| bytes[1] & 3 == 3), "{label}: marks");
        }
    }
    if Command::new("tshark").arg("--version").output().is_err() {
        return skip("tshark: apt-get install tshark");
    }
    let file = "inside/pcapng/case000-aqm02-seed1.pcapng";
    let filter = "tcp.options.sack_le && !_ws.malformed && ip.checksum.status == 1";
    let words = ["-o", "ip.check_checksum:TRUE", "-r", file, "-Y", filter];
    let out = Command::new("tshark").args(words).current_dir(&place.dir).output().unwrap();
    assert!(!out.stdout.is_empty(), "SACK options of Linux: {out:?}");
}

/// The page with the digests of result files. Its lines are `| FILE | DIGEST |`.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linux.md");

/// Compares the digests of result files with those of the page, or writes them there if FOREBAY_BLESS is set. Another
/// kernel has others.
fn compare_digests(files: &[(String, Vec<u8>)]) {
    let version = Kernel::find().unwrap().version().to_string();
    let heading = "| File | SHA-256, Linux ";
    let page = std::fs::read_to_string(PAGE).unwrap();
    let from = page.find(heading).unwrap();
    let to = from + page[from..].find("\n\n").unwrap() + 1;
    let digest = |(name, bytes): &(String, Vec<u8>)| format!("| {name} | `{}` |\n", hex(bytes));
    let rows: String = files.iter().filter(|(name, _)| name != "meta.json").map(digest).collect();
    let table = format!("{heading}{version} |\n|---|---|\n{rows}");
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(PAGE, [&page[..from], &table, &page[to..]].concat()).unwrap();
    } else if page[from..].starts_with(&format!("{heading}{version} |")) {
        assert_eq!(table, page[from..to], "docs/linux.md; FOREBAY_BLESS=1 rewrites it");
    } else {
        println!("the digests of docs/linux.md are those of another kernel than {version}");
    }
}

/// The SHA-256 of a file, as sha256sum(1) writes it.
fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Five runs on an idle machine, five with all cores busy, in other folders and with other environment variables.
#[test]
fn ten_repetitions_give_the_same_bytes() {
    if !is_built() {
        return;
    }
    let repetition = |number: usize| {
        let place = Place::new(&format!("{number}{}", "-folder".repeat(number)));
        place.write("four.toml", SCENARIO);
        let words = ["run", "four.toml", "--on", "linux", "--runs", "2", "-o", "out"];
        let mut command = place.command(&words);
        command.env("UNRELATED", "x".repeat(700 * number));
        Ended::new(command.output().unwrap()).good();
        let out = place.dir.join("out");
        let mut files = results(&out);
        for name in ["meta.json", "completions.parquet", "traffic.parquet"] {
            files.push((name.into(), std::fs::read(out.join(name)).unwrap()));
        }
        files
    };
    let first = repetition(0);
    let meta = String::from_utf8(first.iter().find(|(name, _)| name == "meta.json").unwrap().1.clone()).unwrap();
    assert!(meta.contains("\"version "), "{meta}");
    compare_digests(&first);
    let over = AtomicBool::new(false);
    let is_same = |number: usize| {
        for ((name, bytes), (_, expected)) in repetition(number).iter().zip(&first) {
            assert!(bytes == expected, "{name} of repetition {number} differs");
        }
    };
    (1..5).for_each(is_same);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let found = std::panic::catch_unwind(|| (5..10).for_each(is_same));
        over.store(true, Ordering::Relaxed);
        found.unwrap();
    });
}

/// Twelve runs, as `interrupt` expects: four seeds on Linux, in the simulator, and with a qdisc of Linux.
fn long(seed: &str) -> Vec<&str> {
    let words = ["run", "four.toml", "--on", "linux", "--set", "duration=100s", "--runs", "4", "--jobs", "2"];
    [&words[..], &["--seed", seed, "-o", "out", "--quiet"]].concat()
}

/// Number of guests that run with one of the four seeds from `first` on.
fn guests(first: u64) -> usize {
    let seeds: Vec<String> = (first..first + 4).map(|seed| format!("FOREBAY_SEED={seed:016x}")).collect();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|one| std::fs::read(one.path().join("environ")).ok());
    let is_ours = |words: &Vec<u8>| seeds.iter().any(|seed| words.windows(seed.len()).any(|at| at == seed.as_bytes()));
    environments.filter(is_ours).count()
}

#[test]
fn ctrl_c_keeps_finished_runs_on_linux() {
    if !is_built() {
        return;
    }
    let place = Place::new("ctrl-c");
    place.write("four.toml", SCENARIO);
    goes_on(&place, &long("41000"));
    assert_eq!(guests(41_000), 0);
}

#[test]
fn killed_program_leaves_no_guest() {
    if !is_built() {
        return;
    }
    let place = Place::new("killed");
    place.write("four.toml", SCENARIO);
    let mut child = place.command(&long("42000")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let within_10_s = |is_true: &dyn Fn() -> bool| {
        (0..1000).any(|_| {
            sleep(Duration::from_millis(10));
            is_true()
        })
    };
    assert!(within_10_s(&|| guests(42_000) > 0), "no guest began");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_10_s(&|| guests(42_000) == 0), "a guest runs on");
    place.run(&long("42000")).good();
}

#[test]
fn full_disk_keeps_finished_runs_on_linux() {
    if !is_built() {
        return;
    }
    let place = Place::new("full");
    place.write("four.toml", SCENARIO);
    if on_a_full_disk(&place, &long("43000"), TOTAL).is_some() {
        assert_eq!(guests(43_000), 0);
    }
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
fn explain_lists_parameters_of_linux_qdiscs() {
    let place = Place::new("explain-qdisc");
    let text = place.run(&["explain", "linux:fq_codel"]).good().stdout;
    assert!(text.contains("target TIME") && text.contains("[no]ecn"), "{text}");
    let unknown = place.run(&["explain", "linux:fq_codle"]);
    assert!(unknown.code == Some(4) && unknown.stderr.contains("fq_codel"), "{unknown:?}");
}

#[test]
fn doctor_tells_what_builds_the_kernel() {
    let document = Place::new("doctor").run(&["doctor", "--json"]).json();
    let findings = document["findings"].as_array().unwrap();
    let kernel = findings.iter().find(|one| one["for"] == "run --on linux").unwrap();
    assert_eq!(kernel["ok"], document["linux"]);
    assert!(kernel["ok"] == true || kernel["remedy"].as_str().unwrap().contains("cargo xtask linux"));
}
