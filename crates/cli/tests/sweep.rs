//! `forebay sweep` over values of scenario keys: one table, resumption, the same bytes for any number of threads.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::common::{Place, SCENARIO, names};
use serde_json::Value;

const AXES: [&str; 6] =
    ["sweep", "short.toml", "--vary", "topology.bottleneck.rate=5mbit..10mbit/2", "--vary", "flows.ftp.count=5,10"];

/// Cells of each row of a table, from the line that begins with `head` to the next empty line.
fn rows<'a>(text: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with(head));
    // Headings and units.
    lines.skip(2).take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().collect()).collect()
}

/// Every file below `dir` with its content, without values that differ between two equal runs.
fn content(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for name in names(dir) {
        let path = dir.join(&name);
        if path.is_dir() {
            out.extend(content(&path).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else if name.ends_with(".json") {
            let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            forget(&mut value);
            out.push((name, value.to_string().into_bytes()));
        } else if name != "report.html" {
            out.push((name, fs::read(&path).unwrap()));
        }
    }
    out
}

/// Removes durations and the command line.
fn forget(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|key, _| !["cpu_seconds", "sha256", "command"].contains(&key.as_str()));
            entries.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

fn changes(out: &Path) -> Vec<(String, SystemTime)> {
    let dir = out.join("runs");
    let changed = |name: &String| fs::metadata(dir.join(name)).unwrap().modified().unwrap();
    names(&dir).into_iter().map(|name| (name.clone(), changed(&name))).collect()
}

#[test]
fn sweep_subcommand_prints_row_per_combination_and_discipline() {
    let place = Place::new("sweep-table");
    let ended = place.run(&[&AXES[..], &["--runs", "2"]].concat()).good();
    assert_eq!(ended.stderr, "Short: 16 runs of 2 s\n");
    let lead = |row: &Vec<&str>, words: usize| row[..words].join(" ");
    let (_, queue) = ended.stdout.split_once("the queue at the link\n").unwrap();
    let means = rows(queue, "bottleneck rate   ftp count   discipline ");
    let leads: Vec<String> = means.iter().map(|row| lead(row, 3)).collect();
    let want = ["5mbit 5 raqm", "5mbit 5 droptail", "5mbit 10 raqm", "5mbit 10 droptail"];
    assert_eq!(leads[..4], want, "the last axis varies fastest");
    assert_eq!((leads.len(), leads[4].as_str(), leads[7].as_str()), (8, "10mbit 5 raqm", "10mbit 10 droptail"));
    assert!(means.iter().all(|row| row.iter().filter(|word| **word == "±").count() >= 3), "{means:?}");
    let (_, after) = ended.stdout.split_once("minus the first discipline of the same case\n").unwrap();
    let differences: Vec<String> = rows(after, "bottleneck rate").iter().map(|row| lead(row, 3)).collect();
    assert_eq!(differences, ["5mbit 5 droptail", "5mbit 10 droptail", "10mbit 5 droptail", "10mbit 10 droptail"]);
    let dir = place.dir.join("runs");
    let dir = dir.join(&names(&dir)[0]);
    assert_eq!(names(&dir.join("cases")), ["000.toml", "001.toml", "002.toml", "003.toml"]);
    assert!(dir.join("report.html").is_file());
}

#[test]
fn sweep_and_run_subcommands_give_equal_results() {
    let place = Place::new("sweep-run");
    let words = ["short.toml", "--aqm", "raqm q0={q}", "--aqm", "droptail", "--runs", "2", "-o", "out", "--json"];
    let sweep = place.run(&[&["sweep", "--vary", "q=20..60/3"], &words[..]].concat()).good();
    let run = place.run(&[&["run", "--set", "vary.q=[20, 40, 60]"], &words[..]].concat()).good();
    assert!(run.stderr.contains("12 runs of 2 s, all of them already finished"), "{run:?}");
    assert_eq!(sweep.json(), run.json());
    let cases = sweep.json()["compare"]["cases"].take();
    let axes: Vec<&Value> = cases.as_array().unwrap().iter().map(|case| &case["axes"]["q"]).collect();
    assert_eq!(axes, ["20", "40", "60"]);
    assert!(cases[2]["contenders"][1]["difference"]["loss_ratio"]["half"].is_f64());
}

#[test]
fn keys_varied_by_file_stay_unless_arguments_replace() {
    let place = Place::new("sweep-file");
    place.write("varied.toml", &format!("{SCENARIO}\n[vary]\n\"flows.ftp.count\" = [5, 10]\npacket = [500, 1000]\n"));
    let points = |words: &[&str]| {
        let ended = place.run(&[&["sweep", "varied.toml", "--runs", "1", "--json"], words].concat()).good();
        let cases = ended.json()["compare"]["cases"].take();
        let axes = cases.as_array().unwrap().iter().map(|case| case["axes"].as_object().unwrap().clone());
        axes.map(|axes| axes.values().map(|v| v.as_str().unwrap().to_string()).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(points(&[]), ["5 500", "5 1000", "10 500", "10 1000"]);
    let anew = ["--vary", "warmup=0s,1s", "--vary", "flows.ftp.count=7", "--set", "packet=700"];
    assert_eq!(points(&anew), ["7 700 0s", "7 700 1s"], "in the file's order, then in that of the arguments");
}

#[test]
fn the_same_sweep_runs_nothing_twice() {
    let place = Place::new("sweep-resume");
    let words = [&AXES[..], &["-o", "out", "--runs"]].concat();
    let first = place.run(&[&words[..], &["2"]].concat()).good();
    let out = place.dir.join("out");
    let before = changes(&out);
    assert_eq!(before.len(), 16);
    fs::remove_file(out.join("runs").join(&before[3].0)).unwrap();
    let second = place.run(&[&words[..], &["2"]].concat()).good();
    assert_eq!(second.stdout, first.stdout);
    assert_eq!(second.stderr, "Short: 16 runs of 2 s, 15 of them already finished\n");
    let kept = changes(&out).into_iter().filter(|run| before.contains(run)).count();
    assert_eq!(kept, 15, "what was there was left alone");
    let more = place.run(&[&words[..], &["3"]].concat()).good();
    assert_eq!(more.stderr, "Short: 24 runs of 2 s, 16 of them already finished\n");
    let other = place.run(&["sweep", "short.toml", "--vary", "flows.ftp.count=5,11", "-o", "out"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("out contains the results of another scenario"), "{other:?}");
}

#[test]
fn number_of_threads_changes_no_result_file() {
    let place = Place::new("sweep-threads");
    let run = |threads: &str| {
        // The output must not tell the two apart.
        let ended = place.run(&[&AXES[..], &["--seeds", "2", "--out", "out", "--threads", threads]].concat()).good();
        let content = content(&place.dir.join("out"));
        fs::remove_dir_all(place.dir.join("out")).unwrap();
        (ended.stdout, content)
    };
    let (one, two) = (run("1"), run("2"));
    let files: Vec<&String> = one.1.iter().map(|(name, _)| name).collect();
    assert_eq!(files.len(), 16 + 4 + 8, "runs, cases, and the rest but the report: {files:?}");
    assert!(one == two);
}

#[test]
fn merged_shards_equal_one_run() {
    let place = Place::new("sweep-shards");
    let sweep = |more: &[&str]| place.run(&[&AXES[..], &["--runs", "2"], more].concat()).good();
    sweep(&["-o", "whole"]);
    for shard in ["1", "2", "3"] {
        sweep(&["--shard", &format!("{shard}/3"), "-o", &format!("part{shard}")]);
    }
    let merged = place.run(&["merge", "part3", "part1", "part2", "-o", "merged"]).good();
    assert!(merged.stdout.contains("results  merged\nreport   merged/report.html"), "{merged:?}");
    let [whole, merged] = ["whole", "merged"].map(|dir| content(&place.dir.join(dir)));
    let files: Vec<&String> = whole.iter().map(|(name, _)| name).collect();
    assert_eq!(files, merged.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for ((name, one), (_, other)) in whole.iter().zip(&merged) {
        assert!(one == other, "{name} differs");
    }
    let again = sweep(&["-o", "merged"]);
    assert!(again.stderr.contains("all of them already finished"), "{again:?}");
    let run = |part: &str| place.run(&["run", "short.toml", "--runs", "2", "--shard", part]).good();
    let parts = ["1/2", "2/2"].map(|part| {
        run(part).stdout.lines().find_map(|line| Some(line.strip_prefix("results  ")?.to_string())).unwrap()
    });
    let joined = place.run(&["merge", &parts[0], &parts[1]]).good();
    assert!(joined.stdout.contains(&format!("results  {}\n", parts[0].trim_end_matches("-1-of-2"))), "{joined:?}");
}

#[test]
fn shards_that_do_not_fit_are_refused() {
    let place = Place::new("sweep-shards-bad");
    let sweep = |more: &[&str]| place.run(&[&AXES[..], &["--runs", "2"], more].concat());
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let ended = place.run(args);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        words.iter().for_each(|word| assert!(ended.stderr.contains(word), "{word}: {ended:?}"));
    };
    sweep(&["--shard", "1/3", "-o", "one"]).good();
    sweep(&["--shard", "2/3", "-o", "two"]).good();
    place.run(&["run", "short.toml", "--runs", "1", "-o", "other"]).good();
    refused(&["merge", "one", "two", "-o", "most"], 1, &["5 of 16 runs are missing: repeat --shard 3/3", "in most"]);
    assert_eq!(names(&place.dir.join("most/runs")).len(), 11, "the others are joined");
    refused(
        &["merge", "one", "other", "-o", "mixed"],
        2,
        &["other: found results of another scenario", "those of one"],
    );
    assert!(!place.dir.join("mixed").exists());
    refused(&["merge", "one", "two", "-o", "other"], 2, &["other contains the results of another scenario"]);
    refused(&["merge", "one", "none", "-o", "mixed"], 1, &["none/meta.json"]);
    let ended = sweep(&["--shard", "2/3", "-o", "one"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("one contains another shard of these runs"), "{ended:?}");
    // A truncated result counts as missing.
    let run = names(&place.dir.join("one/runs"))[0].clone();
    fs::write(place.dir.join("one/runs").join(run), "{\"key\":").unwrap();
    refused(&["merge", "one", "two", "-o", "less"], 1, &["6 of 16 runs are missing: repeat --shard 1/3, 3/3"]);
    for shard in ["0/3", "4/3", "3", "a/b"] {
        let ended = sweep(&["--shard", shard]);
        assert!(ended.code == Some(2) && ended.stderr.contains("such as 2/8"), "{ended:?}");
    }
    let ended = sweep(&["--shard", "17/20"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("there are 16 runs"), "{ended:?}");
}
