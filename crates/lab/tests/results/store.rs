//! Directories of results of runs, and of reproductions of papers: who may write them, which runs count, which files
//! are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::dumbbell::{Dumbbell, SLOW};
use forebay_lab::batch::{self, BatchError, Control};
use forebay_lab::claims::ClaimResult;
use forebay_lab::disk;
use forebay_lab::load;
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::plan::Plan;
use forebay_lab::record::RunRecord;
use forebay_lab::reproduce::{Level, ReproduceError, Reproduction};
use forebay_lab::results::meta::{Origin, RunMeta};
use forebay_lab::scenario::Overrides;
use forebay_lab::store::{self, Store, StoreError};
use forebay_lab::{compare, papers, table};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

fn text() -> String {
    Dumbbell { head: "duration = \"3s\"", ..SLOW }
        .with("[[flows]]\nkind = \"ftp\"\nname = \"ftp\"\n[compare]\naqm = [\"droptail\", \"raqm q0=5\"]")
}

/// A separate empty folder for each test.
fn place(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{name}"));
    let _ = fs::remove_dir_all(&dir);
    dir
}

fn plan_of(sets: &[&str], runs: u64) -> Plan {
    let overrides = Overrides { sets: sets.iter().map(|s| (*s).to_string()).collect(), ..Overrides::default() };
    Plan::new(load::parse("s.toml", &text(), &overrides).unwrap(), 1, runs)
}

fn plan(runs: u64) -> Plan {
    plan_of(&[], runs)
}

fn run(plan: &Plan, dir: &Path) -> Vec<RunRecord> {
    let store = Store::open(dir, plan, &Origin::default(), &Wait::NEVER).unwrap();
    batch::run(plan, &store, &Control::silent(&AtomicBool::new(false))).unwrap();
    store.records(plan).unwrap()
}

fn seeds_on_disk(dir: &Path) -> Vec<u64> {
    let meta: RunMeta = disk::read_json(&dir.join("meta.json")).unwrap();
    let jobs = store::jobs_on_disk(dir, &meta).unwrap();
    jobs.into_iter()
        .filter_map(|job| store::read_run(dir, &meta, job).unwrap())
        .map(|record| record.summary.seed)
        .collect()
}

#[test]
fn only_seeds_of_last_command_count_as_results() {
    let dir = place("covers");
    run(&plan(3), &dir);
    assert_eq!(seeds_on_disk(&dir), [1, 2, 3, 1, 2, 3]);
    run(&plan(1), &dir);
    assert_eq!(seeds_on_disk(&dir), [1, 1], "the other seeds are not asked for");
    let shard = dir.join("runs/case000-aqm00-seed1.json");
    fs::copy(&shard, dir.join("runs/.forebay-0123456789abcdef.tmp")).unwrap();
    assert_eq!(seeds_on_disk(&dir), [1, 1], "a file that was never whole");
}

/// Threads take runs in order: an interrupted batch has finished its first runs, and no thread reserves runs that an
/// idle one could do.
#[test]
fn order_of_runs_does_not_depend_on_threads() {
    let dir = place("order");
    let plan = plan_of(&["duration=100s"], 12);
    let store = Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
    let (stop, done_s) = (AtomicBool::new(false), Mutex::new(0.0));
    let progress = |seconds: f64| {
        let mut done_s = done_s.lock().unwrap();
        *done_s += seconds;
        stop.store(*done_s > 800.0, Ordering::Relaxed);
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let ended = pool.install(|| batch::run(&plan, &store, &Control { progress: &progress, ..Control::silent(&stop) }));
    assert!(matches!(ended, Err(BatchError::Interrupted)));
    let there: Vec<bool> = plan.jobs().into_iter().map(|job| store.load(&plan, job).unwrap().is_some()).collect();
    let finished = there.iter().filter(|is_there| **is_there).count();
    assert!((6..=8).contains(&finished) && !there[finished + 1..].contains(&true), "{there:?}");
    let summary: Value = disk::read_json(&dir.join("summary.json")).unwrap();
    let seeds: Vec<u64> = summary["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert!(seeds.len() == finished && seeds.is_sorted(), "{seeds:?}");
}

#[test]
fn runs_of_another_program_version_are_not_reused() {
    let dir = place("build");
    let (old, new) = (plan(2).with_revision("old"), plan(2).with_revision("new"));
    run(&old, &dir);
    assert_eq!((store::finished(&dir, &old), store::finished(&dir, &new)), (old.jobs().len(), 0));
    Store::open(&dir, &new, &Origin::default(), &Wait::NEVER).unwrap();
    assert_eq!(seeds_on_disk(&dir), [0u64; 0]);
}

/// The command was interrupted while it wrote the first files of a new directory of results.
#[test]
fn directory_of_command_interrupted_at_start_is_reused() {
    let dir = place("leftovers");
    fs::create_dir_all(dir.join("runs")).unwrap();
    fs::write(dir.join("scenario.toml"), plan(1).cases[0].scenario.to_toml()).unwrap();
    fs::write(dir.join(".forebay-0123456789abcdef.tmp"), "{").unwrap();
    Store::open(&dir, &plan(1), &Origin::default(), &Wait::NEVER).unwrap();
    assert_eq!(disk::read_json::<Value>(&dir.join("meta.json")).unwrap()["hash"], plan(1).hash());
}

#[test]
fn directory_with_unknown_file_is_refused_unchanged() {
    let dir = place("own-file");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("scenario.toml"), text()).unwrap();
    assert!(matches!(Store::open(&dir, &plan(1), &Origin::default(), &Wait::NEVER), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read_to_string(dir.join("scenario.toml")).unwrap(), text());
    assert!(!dir.join("meta.json").exists() && !dir.join("runs").exists());
}

/// A label has the discipline and the values of the keys that vary: `droptail [flows.ftp.count=5]`. Results with the
/// same label could not be distinguished.
#[test]
fn disciplines_that_share_a_label_are_found() {
    assert!(plan(1).repeated().is_none());
    assert!(plan_of(&["vary.flows.ftp.count=[4, 5]"], 1).repeated().is_none());
    let cases = plan_of(&["vary.flows.ftp.count=[5]"], 1).cases;
    let twice = Plan::new([cases.clone(), cases].concat(), 1, 1);
    assert_eq!(twice.repeated().unwrap().0, "droptail [flows.ftp.count=5]");
}

#[test]
fn comparison_uses_only_seeds_that_disciplines_share() {
    let plan = plan(3);
    let all: Vec<RunRecord> = plan.jobs().into_iter().map(|job| plan.run(job, &mut ()).unwrap().unwrap()).collect();
    let kept = |r: &&RunRecord| r.summary.seed != if r.summary.label == "droptail" { 1 } else { 3 };
    let part: Vec<RunRecord> = all.iter().filter(kept).cloned().collect();
    let compared = compare::compare(&plan, &part);
    let difference = compared.cases[0].contenders[1].difference.get("queue_pkts.mean").unwrap().unwrap();
    let queue = |label: &str| {
        let it = all.iter().find(|r| r.summary.seed == 2 && r.summary.label == label).unwrap();
        it.summary.queue_pkts.mean
    };
    assert_eq!(difference.n, 1);
    assert_eq!(difference.mean, queue("raqm q0=5") - queue("droptail"));
}

#[test]
fn run_without_service_classes_has_one_summary_row() {
    let plan = plan(1);
    let mut record = plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap();
    record.summary.classes.clear();
    let path = place("classes.parquet");
    fs::write(&path, table::summary(&[record]).to_parquet().unwrap()).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 1);
    for words in ["label: \"droptail\"", "class: null", "colour: null", "seed: 1"] {
        assert!(rows[0].contains(words), "{words}: {}", rows[0]);
    }
}

#[test]
fn large_parquet_tables_are_complete_and_ordered() {
    let dir = place("many");
    let records = run(&plan_of(&["duration=1s"], 70), &dir);
    assert_eq!(records.len(), 140, "more than the tables are written from at a time");
    let rows = |name: &str| {
        let reader = SerializedFileReader::new(fs::File::open(dir.join(name)).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        rows
    };
    let flows = rows("flows.parquet");
    assert_eq!(flows.len(), 140);
    for (row, record) in flows.iter().zip(&records) {
        let begin = format!("{{label: \"{}\", seed: {},", record.summary.label, record.summary.seed);
        assert!(row.starts_with(&begin), "{begin} {row}");
    }
    let samples: usize = records.iter().map(|record| record.series.time_s.len()).sum();
    let series = rows("series.parquet");
    assert_eq!(series.len(), samples);
    assert_eq!(series.iter().filter(|row| !row.contains("raqm.p: null")).count(), samples / 2, "droptail has no p");
}

/// Reproduces the named theorems, which need no simulation.
fn reproduce(dir: &Path, level: Level, revision: &str, ids: &[&str]) -> Result<Vec<ClaimResult>, ReproduceError> {
    let paper = papers::find("raqm").unwrap();
    let reproduction = Reproduction::new(paper, level, |id| ids.contains(&id)).unwrap().with_revision(revision);
    Ok(reproduction.run(dir, &Origin::default(), &Control::silent(&AtomicBool::new(false)))?.0)
}

fn refused(result: Result<Vec<ClaimResult>, ReproduceError>) -> bool {
    matches!(result, Err(ReproduceError::Store(StoreError::Foreign { .. })))
}

fn ids_on_disk(dir: &Path) -> Vec<String> {
    let document: Value = disk::read_json(&dir.join("claims.json")).unwrap();
    let claims = document["claims"].as_array().unwrap();
    let counted: u64 = document["summary"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, claims.len() as u64);
    claims.iter().map(|c| c["id"].as_str().unwrap().to_string()).collect()
}

#[test]
fn error_for_damaged_meta_file_suggests_a_remedy() {
    let dir = place("spoilt");
    run(&plan(1), &dir);
    for garbage in [&b"{ \"hash\": "[..], b"", b"\xff\xfe"] {
        fs::write(dir.join("meta.json"), garbage).unwrap();
        let said = Store::open(&dir, &plan(1), &Origin::default(), &Wait::NEVER).err().unwrap().to_string();
        let lock = WriteLock::take(&dir, &Wait::NEVER).unwrap();
        assert_eq!(forebay_lab::report::build(&lock, &Wait::NEVER).unwrap_err().to_string(), said);
        for words in ["spoilt/meta.json: ", "--output", "delete"] {
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn rerun_with_other_claims_keeps_earlier_results() {
    let dir = place("merge");
    reproduce(&dir, Level::Quick, "a", &["RAQM-TH2", "RAQM-TH3"]).unwrap();
    let only = reproduce(&dir, Level::Quick, "a", &["RAQM-TH1", "RAQM-TH3"]).unwrap();
    assert_eq!(only.len(), 2);
    assert_eq!(ids_on_disk(&dir), ["RAQM-TH1", "RAQM-TH2", "RAQM-TH3"]);
    assert!(refused(reproduce(&dir, Level::Normal, "a", &["RAQM-TH1"])), "another level");
    assert_eq!(ids_on_disk(&dir), ["RAQM-TH1", "RAQM-TH2", "RAQM-TH3"]);
    reproduce(&dir, Level::Quick, "b", &["RAQM-TH1"]).unwrap();
    assert_eq!(ids_on_disk(&dir), ["RAQM-TH1"], "what another build found does not count");
}

#[test]
fn reproduction_refuses_directory_with_other_files() {
    let dir = place("foreign");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert!(refused(reproduce(&dir, Level::Quick, "", &["RAQM-TH1"])));
    assert!(!dir.join("meta.json").exists());
    fs::remove_file(dir.join("notes.txt")).unwrap();
    for other in [json!({ "hash": "1", "title": "a scenario" }), json!({ "kind": "reproduction", "paper": "other" })] {
        disk::write_json(&dir.join("meta.json"), &other).unwrap();
        assert!(refused(reproduce(&dir, Level::Quick, "", &["RAQM-TH1"])), "{other}");
        assert_eq!(disk::read_json::<Value>(&dir.join("meta.json")).unwrap(), other);
    }
    fs::remove_file(dir.join("meta.json")).unwrap();
    reproduce(&dir, Level::Quick, "", &["RAQM-TH1"]).unwrap();
}
