//! The report in HTML: it shows results under the right links, escapes texts from files, and says which packets were
//! real.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use base64::Engine;
use forebay_lab::batch::{self, Control};
use forebay_lab::load;
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::plan::Plan;
use forebay_lab::report;
use forebay_lab::results::meta::Origin;
use forebay_lab::scenario::Overrides;
use forebay_lab::store::Store;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const LOT: &str = r#"
kind = "parking-lot"
bottlenecks = [
  { name = "west", rate = "1mbit", delay = "10ms", queue = "10p" },
  { name = "middle", rate = "1mbit", delay = "10ms", queue = "10p", loss = "2%" },
  { name = "east", rate = "1mbit", delay = "10ms", queue = "10p", study = false, reverse = { study = true } },
]
"#;

const BELL: &str = r#"
kind = "dumbbell"
bottleneck = { rate = "1mbit", delay = "10ms", queue = "10p" }
"#;

/// Builds the page of a directory.
fn build(dir: &Path) -> PathBuf {
    report::build(&WriteLock::take(dir, &Wait::NEVER).unwrap(), &Wait::NEVER).unwrap()
}

/// The data of the page for runs over this network.
fn page(name: &str, topology: &str) -> Value {
    let dir = runs(name, topology, "", "");
    data(&fs::read_to_string(build(&dir)).unwrap())
}

/// A directory with two runs of each contender over this network, with title and labels if given.
fn runs(name: &str, topology: &str, title: &str, labels: &str) -> PathBuf {
    seeds(name, topology, title, labels, 2)
}

/// Like `runs`, with this number of seeds for each contender.
fn seeds(name: &str, topology: &str, title: &str, labels: &str, seeds: u64) -> PathBuf {
    let text = format!(
        "version = 1\nduration = \"3s\"\n{title}\n[topology]{topology}access = {{ rate = \"10mbit\", delays = [\"10ms\"] }}\n\
         egress = {{ delay = \"10ms\" }}\n[[flows]]\nkind = \"ftp\"\ncount = 3\n\
         [compare]\naqm = [\"droptail\", \"raqm q0=5\"]\n{labels}\n"
    );
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
    let _ = fs::remove_dir_all(&dir);
    let plan = Plan::new(load::parse("s.toml", &text, &Overrides::default()).unwrap(), 1, seeds);
    let store = Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
    batch::run(&plan, &store, &Control::silent(&AtomicBool::new(false))).unwrap();
    dir
}

/// The data that the page's script draws.
fn data(html: &str) -> Value {
    serde_json::from_str(between(html, "id=\"forebay-data\">", "</script>")).unwrap()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

fn titles(page: &Value, of: &str) -> Vec<String> {
    page[of].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap().to_string()).collect()
}

#[test]
fn report_has_sections_for_each_link_under_study() {
    let page = page("lot", LOT);
    assert_eq!(page["facts"][0], json!(["Links", "west, middle, east-reverse"]));
    let links = ["west", "middle", "east-reverse"];
    let sections = titles(&page, "sections");
    let traffic = ["Results: link west", "Delay and throughput: link west"];
    assert_eq!(sections[..2], traffic, "classes of traffic at the first link");
    assert_eq!(sections[2..], ["The queue: link west", "Results: link middle", "Results: link east-reverse"]);
    for (section, link) in page["sections"].as_array().unwrap().iter().skip(2).zip(links) {
        let suffix = format!(": link {link}");
        for (kind, least) in [("figures", 1), ("tables", 2)] {
            let ids = section[kind].as_array().unwrap();
            assert!(ids.len() >= least, "{kind} of {link}");
            for id in ids {
                let all = page[kind].as_array().unwrap();
                let found: Vec<_> = all.iter().filter(|it| it["id"] == *id).collect();
                assert_eq!(found.len(), 1, "{id}");
                assert!(found[0]["title"].as_str().unwrap().contains(&suffix), "{}", found[0]["title"]);
                let columns = found[0]["columns"].as_array();
                if id.as_str().unwrap().contains("-traffic") {
                    continue;
                }
                let wire = columns.map(|all| all.iter().any(|column| column["name"] == "lost on the wire"));
                assert_eq!(wire, columns.map(|_| link == "middle"), "{link}: {columns:?}");
            }
        }
    }
}

#[test]
fn dumbbell_report_does_not_name_the_bottleneck() {
    let page = page("bell", BELL);
    assert_eq!(titles(&page, "sections"), ["Results", "Delay and throughput", "The queue"]);
    assert_eq!(page["facts"][0][0], "Seeds of each run");
    let all = page.to_string();
    assert!(!all.contains(": link ") && !all.contains("lost on the wire"));
}

/// Closes the element around it (a title, a script or an attribute), and opens another one.
const HOSTILE: &str = "</script></title><!--\"'><img src=x onerror=alert(1)><script>alert(2)</script>&lt;";

/// A directory with that text in every free text of its scenario and of `meta.json`. Names are letters, digits, - and
/// _.
fn hostile(name: &str) -> PathBuf {
    let quoted = Value::from(HOSTILE).to_string();
    let dir = runs(name, BELL, &format!("title = {quoted}"), &format!("labels = [{quoted}, \"fine\"]"));
    let path = dir.join("meta.json");
    let mut meta: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(meta["title"], HOSTILE);
    for key in ["subtitle", "command", "authors", "revision", "forebay"] {
        meta[key] = HOSTILE.into();
    }
    meta["machine"]["cpu"] = HOSTILE.into();
    fs::write(&path, meta.to_string()).unwrap();
    dir
}

#[test]
fn texts_from_files_are_escaped_in_the_report() {
    let html = fs::read_to_string(build(&hostile("hostile"))).unwrap();
    let count = |what: &str| html.to_lowercase().matches(what).count();
    assert_eq!((count("<script"), count("</script"), count("<title"), count("</title")), (2, 2, 1, 1));
    for what in ["<img", "<!--", "onerror=alert(1)>"] {
        let outside = html.replace(between(&html, "id=\"forebay-data\">", "</script>"), "");
        assert!(!outside.contains(what), "{what}");
    }
    assert!(!between(&html, "id=\"forebay-data\">", "</script>").contains('<'));
    let shown = html.matches("&lt;&#x2f;script&gt;&lt;&#x2f;title&gt;&lt;!--&quot;&#x27;&gt;&lt;img src=x").count();
    assert_eq!(shown, 2, "in the title and the heading");
    let data = data(&html);
    assert_eq!(
        (&data["title"], &data["subtitle"], &data["command"]),
        (&HOSTILE.into(), &HOSTILE.into(), &HOSTILE.into())
    );
    assert_eq!(data.to_string().matches("onerror=alert(1)").count(), html.matches("onerror=alert(1)").count() - 2);
    assert!(data["tables"].to_string().contains("onerror"), "labels stand in tables");
}

#[test]
fn report_allows_only_its_own_script_to_run() {
    let html = fs::read_to_string(build(&hostile("policy"))).unwrap();
    let (style, script) = (between(&html, "<style>", "</style>"), html.rsplit_once("<script>").unwrap().1);
    let script = script.split_once("</script>").unwrap().0;
    let sum = |text: &str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{}'; \
         style-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">",
        sum(script),
        sum(style)
    );
    assert_eq!(html.matches(&policy).count(), 1);
    assert!(html.find(&policy) < html.find("<title>"), "before the first text of a file");
    for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"]
    {
        assert!(!script.contains(way), "{way}");
    }
}

/// Timing as recorded by an emulator.
fn timing(valid: bool) -> Value {
    let late = |p50: f64| json!({ "mean": p50, "std": 0.5, "p50": p50, "p99": 7.25, "max": 31.5 });
    let faults = if valid { json!([]) } else { json!(["1.2 % of packets down were more than 5 ms late"]) };
    json!({ "valid": valid, "faults": faults, "late_ms": { "up": late(0.125), "down": late(0.375) }, "age_ms": late(0.0625),
            "missed_pkts": 3, "refused_pkts": 4, "cpu_seconds": 1.5, "wall_seconds": 3.0 })
}

/// Changes `meta.json`.
fn change_meta(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join("meta.json");
    let mut meta: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut meta);
    fs::write(&path, meta.to_string()).unwrap();
}

fn drawn(dir: &Path) -> Value {
    data(&fs::read_to_string(build(dir)).unwrap())
}

#[test]
fn report_says_whether_real_packets_were_on_time() {
    for valid in [false, true] {
        let dir = seeds(&format!("real-{valid}"), BELL, "", "", 1);
        change_meta(&dir, |meta| {
            meta["kind"] = "link".into();
            meta["timing"] = timing(valid);
        });
        let page = drawn(&dir);
        assert_eq!(page["real"]["valid"], valid);
        let title = page["real"]["title"].as_str().unwrap();
        assert!(title.contains("eal packets") && title.contains(if valid { "is valid" } else { "INVALID" }), "{title}");
        let fault = page["real"]["text"].to_string().contains("were more than 5 ms late");
        assert_eq!(fault, !valid, "{}", page["real"]);
        let all = page.to_string();
        for wrong in ["imulated", "Processing jitter", "confidence", "over seeds", "paired by seed"] {
            assert!(!all.contains(wrong), "{wrong}");
        }
        let table = page["tables"].as_array().unwrap().iter().find(|table| table["id"] == "timing").unwrap();
        for figure in ["0.1250", "0.3750", "7.250", "31.50", if valid { "valid" } else { "invalid" }] {
            assert!(table["rows"].to_string().contains(&format!("\"{figure}\"")), "{figure}: {table}");
        }
        assert!(page["sections"][0]["tables"].as_array().unwrap().contains(&"timing".into()), "it comes first");
    }
}

#[test]
fn real_and_simulated_runs_are_distinguished() {
    let dir = seeds("mixed", BELL, "", "labels = [\"droptail (kernel)\", \"droptail (simulated)\"]", 2);
    let run = |seed: u64, valid| json!({ "label": "droptail (kernel)", "seed": seed, "attempts": 3, "timing": timing(valid) });
    // The third seed is from an earlier command with more seeds.
    fs::write(dir.join("timing.json"), json!([run(1, true), run(2, false), run(3, false)]).to_string()).unwrap();
    let page = drawn(&dir);
    assert_eq!(page["real"]["valid"], false);
    let said = page["real"].to_string();
    assert!(said.contains("1 of 2") && said.contains("droptail (kernel), seed 2"), "{said}");
    for words in ["(kernel)", "(simulated)"] {
        assert!(page["real"]["text"].to_string().contains(words), "{said}");
    }
    let facts = page["facts"].to_string();
    assert!(facts.contains("Processing jitter of simulated hosts") && !facts.contains("[\"Simulated\""), "{facts}");
    assert!(page["subtitle"].as_str().unwrap().contains("confidence"), "there are two runs of each");
    let table = page["tables"].as_array().unwrap().iter().find(|table| table["id"] == "timing").unwrap();
    assert_eq!(table["rows"].as_array().unwrap().len(), 4, "each way of both");
}

#[test]
fn one_run_has_no_confidence_interval() {
    let page = drawn(&seeds("single", BELL, "", "", 1));
    let all = page.to_string();
    assert!(!all.contains("confidence") && !all.contains("paired"), "{} {}", page["subtitle"], page["tables"]);
    assert!(page["facts"].to_string().contains("Simulated") && page["real"].is_null());
    assert!(self::page("several", BELL).to_string().contains("confidence"));
}
