//! `forebay run` and `report`: tables, files, fingerprints of runs, resumption.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use crate::common::{Ended, Place, names};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// The runs of a summary, without values that differ between machines.
fn runs(summary: &Value) -> Vec<Value> {
    let mut runs = summary["runs"].as_array().unwrap().clone();
    for run in &mut runs {
        assert!(run["cpu_seconds"].as_f64().unwrap() >= 0.0);
        run["cpu_seconds"] = Value::Null;
    }
    runs
}

fn shards(out: &Path) -> Vec<(String, SystemTime)> {
    let dir = out.join("runs");
    let changed = |name: &String| fs::metadata(dir.join(name)).unwrap().modified().unwrap();
    names(&dir).into_iter().map(|name| (name.clone(), changed(&name))).collect()
}

#[test]
fn a_run_prints_tables_and_writes_all_files() {
    let place = Place::new("tables");
    let ended = place.run(&["run", "short.toml", "--runs", "3"]).good();
    for words in ["raqm q0=50", "droptail", "minus raqm q0=50", "utilisation", "±", "report.html"] {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
    assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'), "no colour but on a terminal");
    assert_eq!(ended.stderr, "Short: 6 runs of 2 s\n");
    let parent = place.dir.join("runs");
    let dir = parent.join(&names(&parent)[0]);
    assert!(dir.file_name().unwrap().to_str().unwrap().starts_with("short-"));
    for name in ["scenario.toml", "meta.json", "summary.json", "summary.parquet", "traffic.parquet", "series.parquet"] {
        assert!(dir.join(name).is_file(), "{name}");
    }
    let meta: Value = serde_json::from_str(&fs::read_to_string(dir.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["command"], "forebay run short.toml --runs 3");
    let report = ended.stdout.lines().find_map(|line| line.strip_prefix("report")).unwrap().trim();
    assert!(place.dir.join(report).is_file());
    let quiet = place.run(&["run", "short.toml", "--runs", "3", "--quiet"]).good();
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (ended.stdout, ""));
}

#[test]
fn ect1_without_scalable_response_gets_a_note() {
    let place = Place::new("unanswered");
    for (tcp, noted) in [("cubic", true), ("prague", false), ("dctcp", false)] {
        let tcp = format!("flows.ftp.tcp={tcp}");
        let ended = place.run(&["run", "short.toml", "--set", &tcp, "--set", "flows.ftp.ecn=ect1"]).good();
        assert_eq!(ended.stderr.contains("flows ftp: ECT(1) without"), noted, "{tcp}: {}", ended.stderr);
    }
}

/// The parking lot of the example has three bottlenecks. Each has its tables; only the first one also has differences.
#[test]
fn every_link_under_study_has_its_table() {
    let place = Place::new("links");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/parking-lot.toml");
    let words = ["run", example, "--runs", "2", "--set", "duration=15s", "-o", "out", "-q"];
    let printed = place.run(&words).good().stdout;
    let links: Vec<&str> = printed.lines().filter(|line| line.starts_with("link ")).collect();
    assert_eq!(links, ["link west", "link middle", "link east"], "{printed}");
    let rows = |label: &str| printed.lines().filter(|line| line.split("  ").next() == Some(label)).count();
    assert_eq!((rows("droptail"), rows("codel"), rows("raqm_plus q0=20")), (3, 4, 4), "{printed}");
    let one = place.run(&["run", "short.toml", "--runs", "1", "-q"]).good().stdout;
    assert!(!one.contains("link "), "{one}");
    let classes = |name: &str| printed.lines().filter(|line| line.split("  ").next() == Some(name)).count();
    // Classes: a table for each link, and the differences of the first.
    assert_eq!(["through", "all", "west", "east"].map(classes), [4, 4, 2, 1], "{printed}");
    let said = "differences are for link west; the report has those of all links\n";
    assert!(printed.contains(said), "{printed}");
}

/// A link whose discipline is not compared is shown with this discipline, whether it is the first link or not.
#[test]
fn table_heading_names_a_links_fixed_discipline() {
    let place = Place::new("own-disciplines");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/parking-lot.toml");
    let study = "topology.bottlenecks.east.reverse.study=true";
    let run = |more: &[&str]| {
        let words = ["run", example, "--runs", "1", "--set", "duration=12s", "--set", study, "-q"];
        place.run(&[&words, more].concat()).good().stdout
    };
    let links = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("link ")).map(str::to_string).collect()
    };
    let all = run(&[]);
    let plain = ["link west", "link middle", "link east"];
    let own = "link east-reverse (always droptail)";
    assert_eq!(links(&all), [&plain[..], &[own]].concat(), "{all}");
    let middle = ["--set", "compare.links=[\"middle\"]", "--set", "topology.bottlenecks.west.aqm=pi q_ref=20"];
    let some = run(&middle);
    let west = "link west (always pi q_ref=20p)";
    let east = "link east (always droptail)";
    assert_eq!(links(&some), [west, "link middle", east, own], "{some}");
    assert!(some.lines().any(|line| line.starts_with("minus droptail")), "contenders keep their names: {some}");
    let swept = run(&[&middle[..], &["--set", "vary.topology.bottlenecks.west.aqm=[\"pi\", \"red\"]"]].concat());
    assert_eq!(links(&swept), ["link west", "link middle", east, own], "{swept}");
    assert!(swept.lines().any(|line| line.starts_with("codel (red here)")), "{swept}");
    let alone = run(&["--aqm", "codel", "--set", "compare.links=[\"middle\"]"]);
    assert_eq!(links(&alone)[0], "link west (droptail)", "{alone}");
}

#[test]
fn json_output_equals_the_summary_file() {
    let place = Place::new("json");
    let ended = place.run(&["run", "short.toml", "--runs", "2", "--seed", "7", "-o", "out", "--json", "-q"]).good();
    assert_eq!(ended.stderr, "");
    let summary = ended.json();
    let file: Value = serde_json::from_str(&fs::read_to_string(place.dir.join("out/summary.json")).unwrap()).unwrap();
    assert_eq!(summary, file);
    assert_eq!((&summary["version"], &summary["scenario"]), (&1.into(), &"Short".into()));
    let seeds: Vec<u64> = runs(&summary).iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [7, 7, 8, 8]);
    assert!(summary["compare"]["cases"][0]["contenders"][1]["difference"]["queue_pkts.mean"]["half"].is_f64());
}

#[test]
fn parquet_holds_a_row_for_each_run() {
    let place = Place::new("parquet");
    place.run(&["run", "short.toml", "--runs", "3", "-o", "out"]).good();
    for (name, rows) in [("summary", 6), ("series", 6 * 1000), ("flows", 6 * 10)] {
        let file = fs::File::open(place.dir.join("out").join(format!("{name}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows, "{name}");
        assert_eq!(reader.get_row_iter(None).unwrap().map(Result::unwrap).count() as i64, rows, "{name}");
    }
}

#[test]
fn the_same_command_runs_nothing_twice() {
    let place = Place::new("resume");
    let words = ["run", "short.toml", "--runs", "2", "-o", "out", "--json"];
    let first = place.run(&words).good();
    let before = shards(&place.dir.join("out"));
    assert_eq!(before.len(), 4);
    let second = place.run(&words).good();
    assert_eq!(shards(&place.dir.join("out")), before, "no shard was written again");
    assert_eq!(first.json(), second.json());
    assert!(second.stderr.contains("all of them already finished"), "{second:?}");

    let more = place.run(&["run", "short.toml", "--runs", "3", "-o", "out", "--json"]).good();
    let after = shards(&place.dir.join("out"));
    assert!(after.len() == 6 && before.iter().all(|shard| after.contains(shard)));
    assert!(more.stderr.contains("4 of them already finished"), "{more:?}");

    // A truncated shard does not count.
    let victim = place.dir.join("out/runs").join(&before[0].0);
    let text = fs::read_to_string(&victim).unwrap();
    fs::write(&victim, &text[..text.len() / 2]).unwrap();
    let mended = place.run(&words).good();
    assert_eq!(runs(&mended.json()), runs(&first.json()));
}

#[test]
fn fingerprints_depend_on_scenario_and_seed_alone() {
    let place = Place::new("fingerprints");
    let run = |out: &str, more: &[&str]| {
        runs(&place.run(&[&["run", "short.toml", "--runs", "3", "-o", out, "--json"], more].concat()).good().json())
    };
    let one = run("one", &["--jobs", "1"]);
    assert_eq!(run("two", &["--jobs", "2"]), one, "threads make no difference");
    assert_eq!(run("again", &[]), one);
    let other = run("other", &["--seed", "4"]);
    let prints = |runs: &[Value]| runs.iter().map(|run| run["fingerprint"].to_string()).collect::<Vec<_>>();
    assert!(prints(&other).iter().all(|print| !prints(&one).contains(print)));
}

#[test]
fn run_subcommand_prints_table_per_combination_of_values() {
    let place = Place::new("axes");
    let ended = place
        .run(&["run", "short.toml", "--runs", "2", "--set", "vary.q=[20, 60]", "--aqm", "raqm q0={q}", "--aqm", "pi"])
        .good();
    for words in ["q = 20\n", "q = 60\n", "raqm q0=20", "minus raqm q0=60"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn report_command_rebuilds_the_html_report() {
    let place = Place::new("report");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    let page = place.dir.join("out/report.html");
    fs::remove_file(&page).unwrap();
    assert_eq!(place.run(&["report", "out"]).good().stdout, "out/report.html\n");
    assert!(fs::read_to_string(&page).unwrap().contains("<html"));
    assert_eq!(place.run(&["report", "out", "--json"]).good().json()["report"], "out/report.html");
    fs::write(place.dir.join("out/meta.json"), "{").unwrap();
    let ended = place.run(&["report", "out"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("out/meta.json"), "{ended:?}");
}

/// If report.html cannot be written, the exit code is 1. With --json the error is the only document on stdout; without
/// it the results are printed on stdout, and the error on stderr.
#[test]
fn unwritable_report_is_an_error() {
    let place = Place::new("no-report");
    for (words, dir) in [(&["run", "short.toml", "--runs", "1"][..], "out"), (&["reproduce", "RAQM-TH1"], "paper")] {
        place.run(&[words, &["-o", dir, "-q"]].concat()).good();
        let page = place.dir.join(dir).join("report.html");
        fs::remove_file(&page).unwrap();
        fs::create_dir(&page).unwrap();
        let ended = place.run(&[words, &["-o", dir, "-q"]].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(!ended.stdout.is_empty() && ended.stderr.contains("report.html: "), "{ended:?}");
        let json = place.run(&[words, &["-o", dir, "--json", "-q"]].concat());
        assert_eq!((json.code, json.stderr.as_str()), (Some(1), ""), "{json:?}");
        assert_eq!(json.json()["error"]["kind"], "io");
    }
}

/// Of two scenarios that start in one new directory at the same time, one gets it and the other fails with a message.
#[test]
fn one_of_two_scenarios_gets_the_new_directory() {
    let place = Place::new("race");
    for round in 0..8 {
        let out = format!("out{round}");
        let start = |count: &str| {
            let set = format!("flows.ftp.count={count}");
            let words =
                ["run", "short.toml", "--runs", "1", "--json", "-q", "-o", &out, "--set", "duration=600ms", "--set"];
            let mut command = place.command(&[&words[..], &[&set]].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [start("3"), start("4")].map(|child| Ended::new(child.wait_with_output().unwrap()));
        let mut codes = both.each_ref().map(|ended| ended.code);
        codes.sort();
        assert_eq!(codes, [Some(0), Some(2)], "round {round}: {both:?}");
        let shown = both.iter().find(|ended| ended.code == Some(0)).unwrap().json();
        let kept: Value =
            serde_json::from_slice(&fs::read(place.dir.join(&out).join("summary.json")).unwrap()).unwrap();
        assert_eq!(shown, kept);
    }
}
