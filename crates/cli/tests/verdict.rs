//! The first table of `run` and `sweep`: delay, completion times, goodput and fairness of each class of traffic.

use std::fs;
use std::path::Path;

use crate::common::Place;

const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/home.toml");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/home.txt");

/// The lines after the answer, which ends with an empty line.
fn table(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.is_empty()).skip(1).collect()
}

/// The cells of a row: two or more spaces separate them.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn home_scenario_tables_match_the_golden_file() {
    let place = Place::new("home");
    let out = place.run(&["run", HOME, "--runs", "3", "-q", "-o", "out"]).good().stdout;
    let (tables, _) = out.split_once("\nresults  ").unwrap();
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        fs::create_dir_all(Path::new(GOLDEN).parent().unwrap()).unwrap();
        fs::write(GOLDEN, tables).unwrap();
    }
    let golden = fs::read_to_string(GOLDEN).unwrap_or_default();
    assert_eq!(tables, golden, "{GOLDEN}; FOREBAY_BLESS=1 rewrites it");
}

/// An engineer with a 100 Mb/s line asks which AQM to use.
#[test]
fn run_subcommand_prints_the_best_discipline_first() {
    let place = Place::new("engineer");
    let words = ["run", HOME, "--aqm", "droptail", "--aqm", "fq_codel", "--runs", "3", "-q"];
    let out = place.run(&words).good().stdout;
    let answer: Vec<&str> = out.lines().take(2).collect();
    assert!(answer[0].starts_with("fq_codel has the lowest p99 queueing delay for call: 0.4"), "{answer:?}");
    assert!(answer.join(" ").contains("against 119 ms under droptail, with 1"), "{answer:?}");
    let lines = table(&out);
    assert!(out.lines().count() - lines.len() <= 4, "the table begins within the first five lines");
    let heads =
        ["throughput", "goodput", "wait p50", "wait p99", "RTT p50", "RTT p99", "done p50", "done p95", "loss", "Jain"];
    assert_eq!(cells(lines[0]), heads);
    let rows: Vec<Vec<&str>> = lines[2..10].iter().map(|line| cells(line)).collect();
    let classes: Vec<&str> = rows.iter().step_by(2).map(|row| row[0]).collect();
    assert_eq!(classes, ["download", "web", "call", "all"]);
    let call = rows.iter().position(|row| row[0] == "call").unwrap();
    let p99 = |row: &[&str], at: usize| row[at].split(' ').next().unwrap().parse::<f64>().unwrap();
    // 1000 packets of 1500 bytes at 100 Mb/s are 120 ms.
    assert!((p99(&rows[call], 5) - 119.0).abs() < 2.0, "{:?}", rows[call]);
    assert!(p99(&rows[call + 1], 4) < 1.0 && rows[call + 1][4].ends_with('*'), "{:?}", rows[call + 1]);
}

/// A doctoral student sweeps the number of flows.
#[test]
fn sweep_subcommand_prints_best_discipline_and_classes_first() {
    let place = Place::new("student");
    let words = ["sweep", HOME, "--vary", "flows.download.count=4,8", "--aqm", "droptail", "--aqm", "fq_codel"];
    let out = place.run(&[&words[..], &["--runs", "3", "-q"]].concat()).good().stdout;
    let answer = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let best = "fq_codel has the lowest p99 queueing delay for call at 2 of 2 points: 0.3";
    assert!(answer.starts_with(best) && answer.contains(" % less total goodput"), "{out}");
    let lines = table(&out);
    assert_eq!(cells(lines[0])[..2], ["download count", "throughput"]);
    let leads: Vec<String> = lines[2..6].iter().map(|line| cells(line)[..3].join("|")).collect();
    assert!(leads[0].starts_with("download|4   droptail") || leads[0].starts_with("download|4|droptail"), "{leads:?}");
    assert!(out.contains("minus droptail"), "{out}");
}

#[test]
fn table_has_only_the_requested_columns() {
    let place = Place::new("columns");
    let run = |more: &[&str]| place.run(&[&["run", "short.toml", "--runs", "2", "-q"], more].concat());
    let out = run(&["--columns", "wait_ms.p95,goodput_bps"]).good().stdout;
    assert_eq!(cells(table(&out)[0]), ["wait p95", "goodput"]);
    let out = run(&["--set", "report.columns=[\"fct_s.n\"]"]).good().stdout;
    assert_eq!(cells(table(&out)[0]), ["done"]);
    let refused = run(&["--columns", "wait_ms.p9"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("wait_ms.p95"), "{}", refused.stderr);
}

#[test]
fn settling_time_is_shown_only_with_reference_queue() {
    let place = Place::new("settling");
    let run = |more: &[&str]| place.run(&[&["run", "short.toml", "--runs", "2", "-q"], more].concat()).good().stdout;
    assert!(!run(&[]).contains("settling"));
    let out = run(&["--set", "report.reference=20p"]);
    assert!(out.contains("settling: until the queue stays within 20 % of report.reference"), "{out}");
}
