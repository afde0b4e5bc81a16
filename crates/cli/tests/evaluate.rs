//! `forebay evaluate`: a suite in the folder of a user.

use std::fs;

use crate::common::Place;

const SCENARIO: &str = r#"version = 1
duration = "12s"
warmup = "2s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "5mbit", delay = "10ms", queue = "50p" }
access = { rate = "100mbit", delays = ["1ms"] }
egress = { rate = "100mbit", delay = "1ms" }
[[flows]]
name = "bulk"
kind = "ftp"
tcp = "sack"
count = 4
[compare]
aqm = ["droptail"]
"#;

const CLAIMS: &str = r#"version = 1
paper = "mine"
title = "My suite"
authors = "me"
seeds = { quick = 2, normal = 3, full = 4 }
aqm = ["codel", "pie"]
baseline = "droptail"

[[calibrate]]
scenarios = ["few"]
key = "flows.bulk.count"
first = 1
of = "droptail"
quantity = "loss_ratio"
target = 0.05

[[section]]
id = "few"
title = "A few flows"
scenario = "few"
text = "Bulk flows."

[[section]]
id = "long"
title = "Not for a quick look"
scenario = "long"
text = "The same."
quick = false

[[claim]]
id = "M-1"
section = "few"
claim = "The queue is shorter than with drop-tail."
printed = "ours"
[[claim.check]]
what = "mean queue"
quantity = "queue_pkts.mean"
less_than = "droptail"

[[claim]]
id = "M-2"
section = "few"
claim = "Nothing is lost."
printed = "ours"
[[claim.check]]
what = "loss"
quantity = "loss_ratio"
at_most = 0.0

[[claim]]
id = "M-3"
section = "long"
claim = "The link is busy."
printed = "ours"
[[claim.check]]
what = "utilisation"
quantity = "utilisation"
at_least = 0.5
"#;

fn suite(name: &str) -> Place {
    let place = Place::new(name);
    fs::create_dir(place.dir.join("mine")).unwrap();
    for (file, text) in [("claims.toml", CLAIMS), ("few.toml", SCENARIO), ("long.toml", SCENARIO)] {
        fs::write(place.dir.join("mine").join(file), text).unwrap();
    }
    place
}

/// The row of a claim in the table: two or more spaces separate the cells.
fn row<'a>(out: &'a str, claim: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.starts_with(&format!("{claim} "))).unwrap();
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn suite_of_a_folder_tests_each_discipline() {
    let place = suite("evaluate");
    let out = place.run(&["evaluate", "mine", "--quick", "-o", "out"]).good();
    assert!(out.stdout.starts_with("codel: 1 of 2 claims hold\npie: 1 of 2 claims hold\n"), "{}", out.stdout);
    let cells = row(&out.stdout, "M-1");
    assert!(cells.len() == 3 && cells[1..].iter().all(|cell| cell.starts_with("+ ")), "{cells:?}");
    assert!(row(&out.stdout, "M-2")[1..].iter().all(|cell| cell.starts_with("- ")));
    assert_eq!(row(&out.stdout, "M-3")[1..], ["not run", "not run"], "it is left out of --quick");
    // Calibration: one flow loses less than half of 5 %.
    assert!(out.stderr.contains("calibration: few: flows.bulk.count = "), "{}", out.stderr);
    let scenario = fs::read_to_string(place.dir.join("out/few/scenario.toml")).unwrap();
    assert!(!scenario.contains("count = 1\n") && !scenario.contains("count = 4\n"), "the calibrated count replaces it");
    let report = fs::read_to_string(place.dir.join("out/report.html")).unwrap();
    assert!(report.contains("few/report.html") && report.contains("calibration"), "a link to the page of the section");
    assert!(place.dir.join("out/few/report.html").is_file() && !place.dir.join("out/long").exists());

    let out = place.run(&["evaluate", "mine", "M-1", "--aqm", "fq_codel", "--quick", "--strict", "-o", "other"]).good();
    assert!(out.stdout.starts_with("fq_codel: 1 of 1 claims hold\n"), "{}", out.stdout);
}

#[test]
fn strict_evaluation_exits_with_three() {
    let place = suite("evaluate-strict");
    let out = place.run(&["evaluate", "mine", "m-2", "--quick", "--strict", "--json", "-o", "out"]);
    assert_eq!(out.code, Some(3), "{}", out.stderr);
    let json = out.json();
    assert_eq!(json["claims"][0]["evidence"]["subject"], "codel");
    assert_eq!(json["claims"][0]["evidence"]["variants"][0]["name"], "pie");
}

/// A changed measurement in `meta.json` shows that the second call does not measure again.
#[test]
fn calibrations_are_kept_until_they_change() {
    let place = suite("evaluate-kept");
    let calibration = || {
        let out = place.run(&["evaluate", "mine", "M-2", "--quick", "-o", "out"]).good();
        out.stderr.lines().find(|line| line.contains("calibration: few")).unwrap().to_string()
    };
    let first = calibration();
    let meta = place.dir.join("out/meta.json");
    let mut json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&meta).unwrap()).unwrap();
    json["calibrated"][0]["measured"] = 0.0123.into();
    fs::write(&meta, json.to_string()).unwrap();
    let second = calibration();
    assert!(second.contains("is 1.23e-2") && !first.contains("is 1.23e-2"), "{first} {second}");
    // A section that needs no calibration leaves it on record.
    place.run(&["evaluate", "mine", "long", "-o", "out", "--quick"]).good();
    assert_eq!(calibration(), second);
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace("target = 0.05", "target = 0.051")).unwrap();
    assert!(!calibration().contains("is 1.23e-2"));
}

#[test]
fn bad_suites_are_refused_with_their_place() {
    let place = suite("evaluate-bad");
    let refused = |args: &[&str], wanted: &[&str]| {
        let out = place.run(args);
        assert_eq!(out.code, Some(2), "{args:?}: {}", out.stderr);
        for words in wanted {
            assert!(out.stderr.contains(words), "{args:?}: {} lacks {words}", out.stderr);
        }
    };
    refused(&["evaluate", "l5s"], &["l5s", "l4s", "claims.toml"]);
    refused(&["evaluate", "mine", "M-4"], &["M-4", "M-1"]);
    refused(&["evaluate", "mine", "--aqm", "codell"], &["codell", "codel"]);
    refused(&["evaluate", "l4s", "--aqm", "codel", "L4S-09"], &["--aqm", "name their disciplines"]);
    fs::write(place.dir.join("mine/few.toml"), SCENARIO.replace("count = 4", "cuont = 4")).unwrap();
    refused(&["evaluate", "mine", "M-1"], &["mine/few.toml", "13", "cuont", "count"]);
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace("at_least = 0.5", "at_lest = 0.5")).unwrap();
    refused(&["evaluate", "mine"], &["mine/claims.toml:58", "claim.check.at_lest", "did you mean at_least?"]);
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace("at_least = 0.5", "")).unwrap();
    refused(&["evaluate", "mine"], &["mine/claims.toml:51: M-3", "has no bound"]);
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace("\"queue_pkts.mean\"", "\"traffic.bulks.fct_s.p50\""))
        .unwrap();
    refused(&["evaluate", "mine"], &["mine/claims.toml:31: M-1", "traffic.bulks", "did you mean bulk?"]);
    for (was, is, wanted) in [
        ("less_than = \"droptail\"", "less_than = \"droptial\"", ["mine/claims.toml", "did you mean droptail?"]),
        ("baseline = \"droptail\"", "baseline = \"droptial\"", ["mine/claims.toml:7", "did you mean droptail?"]),
        ("\"queue_pkts.mean\"", "\"queue_pkts.men\"", ["mine/claims.toml:31: M-1", "queue_pkts.mean"]),
        ("\"queue_pkts.mean\"", "\"clas.0.loss_ratio\"", ["mine/claims.toml:31: M-1", "no number called"]),
        ("\"queue_pkts.mean\"", "\"mean(codel.cuont)\"", ["mine/claims.toml:31: M-1", "codel.cuont"]),
        ("flows.bulk.count", "flows.bulk.cuont", ["mine/claims.toml:11: flows.bulk.cuont", "did you mean count?"]),
        ("id = \"M-2\"", "id = \"M-1\"", ["mine/claims.toml:31: M-1", "two claims of this name"]),
    ] {
        fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace(was, is)).unwrap();
        fs::write(place.dir.join("mine/few.toml"), SCENARIO).unwrap();
        refused(&["evaluate", "mine", "M-1"], &wanted);
    }
    let more = "[[claim]]\nid = \"M-4\"\nsection = \"few\"\nclaim = \"?\"\nprinted = \"ours\"\ncheckk = 1\n";
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS).unwrap();
    fs::write(place.dir.join("mine/claims-more.toml"), more).unwrap();
    refused(&["evaluate", "mine"], &["mine/claims-more.toml:6", "claim.checkk", "did you mean check?"]);
    fs::remove_file(place.dir.join("mine/claims-more.toml")).unwrap();
    fs::remove_file(place.dir.join("mine/few.toml")).unwrap();
    refused(&["evaluate", "mine"], &["mine/claims.toml:18: few", "'few'", "a scenario of the folder, one of long"]);
}

#[test]
fn registration_before_the_runs_is_recorded() {
    let place = suite("evaluate-registered");
    let early = place.run(&["evaluate", "mine", "M-1", "--quick", "-o", "early"]).good();
    assert!(!early.stdout.contains("registered"), "{}", early.stdout);
    let made = place.run(&["claims", "register", "mine", "--json"]).good().json();
    let files = made["files"].as_array().unwrap();
    assert_eq!(
        files.iter().map(|f| f["file"].as_str().unwrap()).collect::<Vec<_>>(),
        ["claims.toml", "few.toml", "long.toml"]
    );
    let again = place.run(&["claims", "register", "mine", "--json"]).good().json();
    assert_eq!(again, made, "a registration is made once");
    let hash = made["sha256"].as_str().unwrap();
    let out = place.run(&["evaluate", "mine", "M-1", "--quick", "-o", "out"]).good();
    assert!(out.stdout.contains(", not changed since (SHA-256 ") && out.stdout.contains(hash), "{}", out.stdout);
    assert!(fs::read_to_string(place.dir.join("out/report.html")).unwrap().contains(hash));
    let late = place.run(&["evaluate", "mine", "M-1", "--quick", "-o", "early"]).good();
    assert!(!late.stdout.contains(hash) && late.stderr.contains("from before the registration"), "{late:?}");
    fs::write(place.dir.join("mine/claims.toml"), CLAIMS.replace("at_most = 0.0", "at_most = 0.1")).unwrap();
    let changed = place.run(&["evaluate", "mine", "M-1", "--quick", "-o", "out"]).good();
    assert!(changed.stdout.contains("changed since: claims.toml"), "{}", changed.stdout);
    let refused = place.run(&["claims", "register", "mine"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("changed since: claims.toml"), "{refused:?}");
    fs::write(place.dir.join("mine/registration.json"), "{}").unwrap();
    let damaged = place.run(&["evaluate", "mine", "M-1", "--quick", "-o", "new"]);
    assert!(damaged.code == Some(2) && damaged.stderr.contains("mine/registration.json"), "{damaged:?}");
}
