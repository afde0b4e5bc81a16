//! `forebay reproduce` and `readings`: folders of results, reports, and the index of several papers.

use std::fs;

use crate::common::Place;
use forebay_lab::claim_file;
use forebay_lab::papers::PAPERS;

/// A claim of each paper that theory decides: no run, no time.
fn theorems() -> Vec<(&'static str, String)> {
    let of = |text| claim_file::parse(text).unwrap().claims.into_iter().find(|claim| claim.theorem.is_some());
    PAPERS.iter().filter_map(|paper| Some((paper.name, of(paper.claims)?.id))).collect()
}

/// One claim of every paper: a folder and a report per paper, and an index if there are several.
#[test]
fn several_papers_have_folders_reports_and_an_index() {
    let place = Place::new("several");
    let theorems = theorems();
    let mut words: Vec<&str> = theorems.iter().map(|(_, id)| id.as_str()).collect();
    words.insert(0, "reproduce");
    words.extend(["-o", "out"]);
    let ended = place.run(&words).good();
    if let [_] = theorems.as_slice() {
        assert!(ended.stdout.ends_with("results  out\nreport   out/report.html\n"), "{ended:?}");
        return;
    }
    assert!(ended.stdout.ends_with("results  out\nindex    out/index.html\n"), "{ended:?}");
    let index = fs::read_to_string(place.dir.join("out/index.html")).unwrap();
    for (paper, id) in &theorems {
        assert!(place.dir.join("out").join(paper).join("report.html").is_file(), "{paper}");
        assert!(index.contains(&format!("report.html#claim-{id}\"")), "{id}: {index}");
    }
    let usual = place.run(&words[..words.len() - 2]).good();
    assert!(usual.stdout.ends_with("/index.html\n"), "{usual:?}");
}

/// `report` rebuilds the index and the report of every paper.
#[test]
fn report_command_rebuilds_the_index_of_papers() {
    let place = Place::new("again");
    place.run(&["reproduce", "RAQM-TH1", "-o", "out/raqm", "-q"]).good();
    let meta = r#"{"version":1,"kind":"reproductions","level":"normal","papers":[{"paper":"raqm","dir":"raqm"},
        {"paper":"msc","dir":"../elsewhere"}]}"#;
    place.write("out/meta.json", meta);
    fs::remove_file(place.dir.join("out/raqm/report.html")).unwrap();
    assert_eq!(place.run(&["report", "out"]).good().stdout, "out/index.html\n");
    assert!(place.dir.join("out/raqm/report.html").is_file());
    let index = fs::read_to_string(place.dir.join("out/index.html")).unwrap();
    assert!(index.contains("report.html#claim-RAQM-TH1\"") && index.contains("not finished"), "{index}");
    let refused = place.run(&["reproduce", "RAQM-TH1", "-o", "out"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// A reproduction of all papers refuses a directory with other files before the first run.
#[test]
fn several_papers_refuse_a_directory_with_other_files() {
    let place = Place::new("foreign");
    place.run(&["reproduce", "RAQM-TH1", "-o", "one", "-q"]).good();
    fs::create_dir(place.dir.join("mine")).unwrap();
    place.write("mine/index.html", "mine");
    for dir in ["one", "mine"] {
        let ended = place.run(&["reproduce", "--quick", "-o", dir]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(&format!("error: {dir} contains ")), "{ended:?}");
    }
    assert_eq!(fs::read_to_string(place.dir.join("mine/index.html")).unwrap(), "mine");
}

/// `forebay readings` tries values for the settings that a paper leaves open. It stores the results in a directory.
#[test]
fn readings_command_summarises_and_reuses_stored_results() {
    let place = Place::new("readings");
    let words = ["readings", "raqm", "--readings", "1", "--confirm", "2", "-o", "out"];
    let first = place.run(&words).good();
    assert!(first.stderr.contains("1 reading with 2 fresh seeds"), "{}", first.stderr);
    let printed = first.stdout;
    assert!(printed.starts_with("raqm: Fresh seeds confirm ") && printed.contains("Under none of 1 "), "{printed}");
    assert!(printed.contains("1. the first reading. Holds: "), "{printed}");
    let again = place.run(&[&words[..], &["--json"]].concat()).good();
    assert!(again.stderr.contains("2 of them already known"), "{}", again.stderr);
    assert!(!again.stderr.contains("fresh seeds"), "the verdicts are in the log: {}", again.stderr);
    let document = again.json();
    assert_eq!((&document["tried"], document["claims"].as_array().unwrap().len()), (&1.into(), 14));
    // The search also tries a tenth as many readings that differ from the print, at least one. With fresh seeds only the
    // first reading was simulated, which `again` does not count.
    assert_eq!((&document["differing"], &document["again"]), (&1.into(), &0.into()));
    assert_eq!(document["best"][0]["confirmed"]["seeds"], 2);
    assert!(place.dir.join("out/readings.jsonl").is_file() && place.dir.join("out/readings.json").is_file());
    let unknown = place.run(&["readings", "raqn"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("did you mean raqm?"), "{}", unknown.stderr);
}
