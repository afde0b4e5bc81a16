//! What the report says of which link.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use forebay_lab::batch::{self, Control};
use forebay_lab::plan::Plan;
use forebay_lab::report;
use forebay_lab::scenario::{self, Overrides};
use forebay_lab::store::Store;
use serde_json::{Value, json};

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

/// The data of the page for runs over this network.
fn page(name: &str, topology: &str) -> Value {
    let text = format!(
        "version = 1\nduration = \"3s\"\n[topology]{topology}access = {{ rate = \"10mbit\", delays = [\"10ms\"] }}\n\
         egress = {{ delay = \"10ms\" }}\n[[flows]]\nkind = \"ftp\"\ncount = 3\n\
         [compare]\naqm = [\"droptail\", \"raqm q0=5\"]\n"
    );
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
    let _ = fs::remove_dir_all(&dir);
    let plan = Plan::new(scenario::parse("s.toml", &text, &Overrides::default()).unwrap(), 1, 2);
    let store = Store::open(&dir, &plan, json!({})).unwrap();
    batch::run(&plan, &store, &Control { stop: &AtomicBool::new(false), progress: &|_| () }).unwrap();
    let html = fs::read_to_string(report::build(&dir).unwrap()).unwrap();
    let (_, data) = html.split_once("id=\"forebay-data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn titles(page: &Value, of: &str) -> Vec<String> {
    page[of].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap().to_string()).collect()
}

#[test]
fn every_link_under_study_has_its_name_and_its_part() {
    let page = page("lot", LOT);
    assert_eq!(page["facts"][0], json!(["Links", "west, middle, east-reverse"]));
    let links = ["west", "middle", "east-reverse"];
    assert_eq!(titles(&page, "sections"), links.map(|link| format!("Results: link {link}")));
    for (section, link) in page["sections"].as_array().unwrap().iter().zip(links) {
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
                let wire = columns.map(|all| all.iter().any(|column| column["name"] == "lost on the wire"));
                assert_eq!(wire, columns.map(|_| link == "middle"), "{link}: {columns:?}");
            }
        }
    }
}

#[test]
fn a_dumbbell_has_one_link_and_no_name_for_it() {
    let page = page("bell", BELL);
    assert_eq!(titles(&page, "sections"), ["Results"]);
    assert_eq!(page["facts"][0][0], "Seeds of each run");
    let all = page.to_string();
    assert!(!all.contains("link ") && !all.contains("wire"), "{all}");
}
