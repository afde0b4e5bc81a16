//! Help, lists and other texts of the program.

use std::io::Read;
use std::process::Stdio;

use crate::common::{Ended, Place};
use serde_json::Value;

fn discipline_names(place: &Place) -> Vec<String> {
    let list = place.run(&["list", "disciplines", "--json"]).good().json();
    let names = list["disciplines"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_string());
    names.collect()
}

#[test]
fn list_subcommand_names_disciplines_traffic_and_papers() {
    let place = Place::new("list");
    let text = place.run(&["list"]).good().stdout;
    let json = place.run(&["list", "--json"]).good().json();
    for topic in ["disciplines", "markers", "congestion", "traffic", "topologies", "papers", "suites", "scenarios"] {
        let items = json[topic].as_array().unwrap();
        assert!(!items.is_empty(), "{topic}");
        assert!(text.contains(&format!("{topic}\n  ")), "{topic}");
        for item in items {
            let name = item.get("name").or(item.get("path")).and_then(Value::as_str).unwrap();
            assert!(text.contains(name), "{name}");
            assert!(item["summary"] != "" && item["title"] != "", "{name} has a line about it");
        }
        let alone = place.run(&["list", topic, "--json"]).good().json();
        assert_eq!(alone.as_object().unwrap().keys().collect::<Vec<_>>(), ["version", topic]);
    }
    let words = |topic: &str| json[topic].as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>();
    assert_eq!(
        words("congestion"),
        [
            "tahoe",
            "reno",
            "newreno",
            "sack",
            "cubic",
            "dctcp",
            "bbr",
            "sctp",
            "prague",
            "linux",
            "l4s-linux",
            "bbr3",
            "ledbat"
        ]
    );
    assert_eq!(
        words("traffic"),
        [
            "ftp",
            "web",
            "short-tcp",
            "file",
            "cbr",
            "onoff",
            "pareto",
            "voip",
            "mmpp",
            "map",
            "trace",
            "rtp",
            "sctp",
            "video"
        ]
    );
    assert_eq!(words("topologies"), ["dumbbell", "parking-lot", "graph"]);
    assert_eq!(words("papers"), ["msc", "aaqm", "raqm", "red-tail", "msvb"]);
    assert_eq!(words("suites"), ["l4s", "rfc7928", "rmcat"]);
    assert_eq!(json["scenarios"][0]["path"], "short.toml");
}

/// Checks that `text` names the presets and probes (internal variables) of `json`, or says `none`. The text has one row,
/// `drops_N`, for `drops_0`, `drops_1` and so on.
fn lists_or_says_none(json: &Value, text: &str) {
    for part in ["presets", "probes"] {
        let items = json[part].as_array().unwrap();
        assert_eq!(items.is_empty(), text.contains(&format!("\n{part}\n  none\n")), "{part}: {text}");
        let is_shown = |name: &str| {
            let common = name.trim_end_matches(|c: char| c.is_ascii_digit());
            text.contains(name) || (common.ends_with('_') && text.contains(&format!("{common}N")))
        };
        assert!(items.iter().all(|item| is_shown(item["name"].as_str().unwrap())), "{part}: {text}");
    }
}

#[test]
fn explain_subcommand_describes_every_discipline() {
    let place = Place::new("explain");
    let names = discipline_names(&place);
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let text = place.run(&["explain", &name]).good().stdout;
        let json = place.run(&["explain", &name, "--json"]).good().json();
        assert_eq!((&json["version"], json["name"].as_str()), (&1.into(), Some(name.as_str())));
        for rule in json["rule"].as_str().unwrap().lines() {
            assert!(text.contains(rule.trim()), "{name}: {rule}");
        }
        for param in json["parameters"].as_array().unwrap() {
            let word = param["name"].as_str().unwrap();
            assert!(text.lines().any(|line| line.trim_start().starts_with(word)), "{name}: {word}");
            assert!(!param["range"].is_array() || !param["words"].is_array(), "{name}: {word}");
            let (accepts, said) = (param["accepts"].as_str().unwrap(), text.split_whitespace().collect::<Vec<_>>());
            assert!(said.join(" ").contains(accepts), "{name}: {word}: {accepts}");
            for key in ["default", "accepts", "meaning"] {
                assert!(param[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {word}.{key}");
            }
        }
        lists_or_says_none(&json, &text);
        let deviations = json["deviations"].as_array().unwrap().len();
        assert!(deviations == 0 || text.contains(&format!("{deviations}. ")), "{name}");
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{name}");
    }
    for name in ["th", "token-bucket"] {
        let text = place.run(&["explain", name]).good().stdout;
        let json = place.run(&["explain", name, "--json"]).good().json();
        assert_eq!((json["kind"].as_str(), json["name"].as_str()), (Some("marker"), Some(name)));
        for key in json["parameters"].as_array().unwrap() {
            assert!(text.contains(key["name"].as_str().unwrap()), "{name}: {key}");
        }
        lists_or_says_none(&json, &text);
        let rule = json["rule"].as_str().unwrap();
        assert!(rule.lines().all(|line| text.contains(line.trim())) && text.contains("1. "), "{text}");
    }
    let bucket = place.run(&["explain", "token-bucket"]).good().stdout;
    assert!(["cir", "cbs", "per"].iter().all(|key| bucket.contains(&format!("  {key} "))), "{bucket}");
    assert!(
        ["needed    CIR", "from 1 to 1e15 bit/s", "probes\n  none"].iter().all(|words| bucket.contains(words)),
        "{bucket}"
    );
    let tc = place.run(&["explain", "droptail"]).good().stdout;
    for words in [
        "droptail alone has Forebay's defaults",
        "pfifo [limit PACKETS]: droptail ecn=off",
        "pfifo_head_drop [",
        "bfifo [",
    ] {
        assert!(tc.contains(words), "{words}: {tc}");
    }
    for (name, kind) in [
        ("newreno", "congestion"),
        ("short-tcp", "traffic"),
        ("sctp", "traffic"),
        ("pfifo", "alias"),
        ("bfifo", "alias"),
    ] {
        assert!(place.run(&["explain", name]).good().stdout.contains(name));
        assert_eq!(place.run(&["explain", name, "--json"]).good().json()["kind"], kind);
    }
}

#[test]
fn explain_subcommand_writes_the_command_of_tc() {
    let place = Place::new("explain-tc");
    let said = place.run(&["explain", "--tc", "fq_codel target=3ms"]).good().stdout;
    assert!(said.starts_with("tc qdisc replace dev DEV root fq_codel target 3ms"), "{said}");
    assert!(said.contains("2.999296 ms") && said.contains("hard_limit"), "{said}");
    // What it writes is read again.
    let line = said.lines().next().unwrap();
    let json = place.run(&["explain", "--tc", line, "--json"]).good().json();
    assert_eq!(json["command"], line);
    assert_eq!(json["rounded"][0]["used_ns"], 2_999_296);
    assert_eq!(json["differs"].as_array().unwrap().len(), 0);
    for (spec, words) in [
        ("raqm", "a discipline that Linux has"),
        ("fq_codel target=3m", "target"),
        ("tc qdisc del dev eth0 root", "one of add, change, replace, link"),
    ] {
        let out = place.run(&["explain", "--tc", spec]);
        assert!(out.code == Some(2) && out.stderr.contains(words), "{spec}: {}", out.stderr);
    }
}

/// `raqm_plus` is the discipline `raqm` with other defaults; `explain raqm_plus` shows these, and names `raqm`.
#[test]
fn explain_subcommand_shows_defaults_of_raqm_plus() {
    let place = Place::new("variant");
    let json = place.run(&["explain", "raqm_plus", "--json"]).good().json();
    assert_eq!(json["variant_of"]["name"], "raqm");
    let basis = json["parameters"].as_array().unwrap().iter().find(|param| param["name"] == "rate_basis").unwrap();
    assert_eq!(basis["default"], "post_drop");
}

#[test]
fn typo_in_a_flag_suggests_the_flag() {
    let place = Place::new("typos");
    let mut tried = 0;
    for (words, text) in crate::common::helps(&place) {
        let usage =
            text.split_once("Options:").map_or("", |(_, rest)| rest.split("Examples:").next().unwrap_or_default());
        // Flags are indented by at most six; deeper lines describe them.
        let lines = usage.lines().filter(|line| !line.starts_with("       "));
        for flag in lines.filter_map(|line| line.trim_start().split(' ').find(|word| word.starts_with("--"))) {
            let flag = flag.trim_end_matches([',', '.']).split(['=', '[']).next().unwrap();
            let typo = format!("{flag}{}", &flag[flag.len() - 1..]);
            let question: Vec<&str> = words.iter().map(String::as_str).chain([typo.as_str()]).collect();
            let ended = place.run(&question);
            assert_eq!(ended.code, Some(2), "{question:?}: {ended:?}");
            assert!(ended.stderr.contains(&format!("'{flag}'")), "{question:?}: {ended:?}");
            tried += 1;
        }
    }
    assert!(tried > 80, "{tried}");
}

#[test]
fn mistyped_word_suggests_the_nearest() {
    let place = Place::new("near-words");
    let cases: [(&[&str], &str); 9] = [
        (&["rnu", "short.toml"], "run"),
        (&["lits"], "list"),
        (&["exlpain", "raqm"], "explain"),
        (&["tpo"], "top"),
        (&["list", "papres"], "papers"),
        (&["theory", "fliud", "short.toml"], "fluid"),
        (&["run", "short.toml", "--no", "kernel"], "--on"),
        (&["run", "short.toml", "--on", "kerenl"], "kernel"),
        (&["bench", "--case", "raqm-1-4n0"], "raqm-1-n40"),
    ];
    for (words, near) in cases {
        let ended = place.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        assert!(
            ended.stderr.contains("similar") && ended.stderr.contains(&format!("'{near}'")),
            "{words:?}: {ended:?}"
        );
        let document = place.run(&[words, &["--json"]].concat()).json();
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("'{near}'")), "{words:?}: {message}");
    }
    // Without a near name there is no suggestion.
    let ended = place.run(&["nonsense"]);
    assert!(ended.code == Some(2) && !ended.stderr.contains("similar"), "{ended:?}");
}

#[test]
fn completions_and_man_page_list_the_commands() {
    let place = Place::new("shell");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&["completions", shell]).good().stdout;
        assert!(script.contains("reproduce") && script.contains("forebay"), "{shell}: {script}");
        let document = place.run(&["completions", shell, "--json"]).good().json();
        assert!(document["shell"] == shell && document["script"].as_str().unwrap().trim() == script.trim(), "{shell}");
    }
    let page = place.run(&["man"]).good().stdout;
    assert!(page.contains(".TH") && page.contains("reproduce"), "{page}");
    assert_eq!(place.run(&["man", "--json"]).good().json()["page"].as_str().unwrap().trim(), page.trim());
    assert_eq!(place.run(&["man", "pages", "--json"]).good().json()["directory"], "pages");
    let pages = crate::common::names(&place.dir.join("pages"));
    for name in ["forebay.1", "forebay-run.1", "forebay-theory.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
}

#[test]
fn help_shows_examples_and_version_shows_its_number() {
    let place = Place::new("help");
    let all = crate::common::helps(&place);
    assert!(all.len() >= 17, "{}", all.len());
    for (words, text) in all {
        let examples = text.split_once("Examples:").unwrap_or_else(|| panic!("{words:?}: {text}")).1;
        assert!(examples.contains("  forebay "), "{words:?}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{words:?}: {text}");
    }
    let version = place.run(&["--version"]).good().stdout;
    assert!(version.starts_with(&format!("forebay {}", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn reader_that_closes_pipe_early_is_no_error() {
    let place = Place::new("pipe");
    for words in [&["list"][..], &["explain", "raqm"], &["-h"], &["list", "--json"], &["explain", "raqn", "--json"]] {
        let mut child = place.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = child.wait().unwrap().code();
        let wanted = if words.contains(&"raqn") { 2 } else { 0 };
        assert_eq!((code, said.as_str()), (Some(wanted), ""), "{words:?}");
    }
}

#[test]
fn bench_subcommand_json_has_all_benchmarks_and_fields() {
    let place = Place::new("bench");
    let words = ["bench", "--case", "raqm-1-n40", "--case", "disciplines", "--json", "--quiet"];
    let ended = Ended::new(place.command(&words).output().unwrap()).good();
    assert_eq!(ended.stderr, "");
    let json = ended.json();
    let row = &json["sim"][0];
    assert_eq!(
        (json["sim"].as_array().unwrap().len(), &row["case"], &row["aqm"]),
        (1, &"raqm-1-n40".into(), &"droptail".into())
    );
    assert!((490_000..500_010).contains(&row["packets"].as_u64().unwrap()), "200 s at 2500 packets a second: {row}");
    for key in ["events", "cpu_seconds", "packets_per_cpu_second", "ns_per_packet"] {
        assert!(row[key].as_f64().unwrap() > 0.0, "{key}");
    }
    if cfg!(target_os = "linux") {
        assert!(row["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
    let timed: Vec<&str> =
        json["disciplines"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(timed, discipline_names(&place));
    assert!(json["disciplines"].as_array().unwrap().iter().all(|row| row["ns_per_packet"].as_f64().unwrap() > 0.0));
    let markers = json["markers"].as_array().unwrap();
    let timed: Vec<&str> = markers.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(timed, ["th", "token-bucket"]);
    assert!(markers.iter().all(|row| row["ns_per_packet"].as_f64().unwrap() > 0.0));
    let text = place.run(&["bench", "--case", "raqm-1-n40"]).good();
    assert!(text.stdout.contains("raqm-1-n40   droptail"), "{text:?}");
    assert_eq!(place.names(), ["short.toml"], "nothing is written");
}
