//! Several writers of one directory of results, remains of killed writers, and paths that are not regular files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::dumbbell::SLOW;
use forebay_lab::batch::{self, Control};
use forebay_lab::disk;
use forebay_lab::load;
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::plan::Plan;
use forebay_lab::results::meta::{Meta, Origin};
use forebay_lab::scenario::Overrides;
use forebay_lab::store::{self, Store, StoreError};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

fn place(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("writers-{name}"));
    let _ = fs::remove_dir_all(&dir);
    dir
}

fn plan(runs: u64) -> Plan {
    Plan::new(load::parse("s.toml", &SLOW.with("[[flows]]\nkind = \"ftp\""), &Overrides::default()).unwrap(), 1, runs)
}

/// Opens, runs, closes.
fn run(plan: &Plan, dir: &Path) {
    let stop = AtomicBool::new(false);
    let store = Store::open(dir, plan, &Origin::default(), &Wait { stop: &stop, begins: &|_, _| () }).unwrap();
    batch::run(plan, &store, &Control::silent(&stop)).unwrap();
}

fn names(dir: &Path) -> BTreeSet<String> {
    dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Seeds by the summary, the metadata and the table: they differ if two writers have mixed their files.
fn seeds(dir: &Path) -> [usize; 3] {
    let count =
        |name: &str, key: &str| disk::read_json::<Value>(&dir.join(name)).unwrap()[key].as_array().unwrap().len();
    let table = fs::File::open(dir.join("summary.parquet")).unwrap();
    let rows = SerializedFileReader::new(table).unwrap().metadata().file_metadata().num_rows();
    [count("summary.json", "runs"), count("meta.json", "seeds"), rows as usize]
}

#[test]
fn threads_that_write_one_directory_take_turns() {
    let dir = place("threads");
    let plans = [plan(1), plan(4)];
    for _ in 0..6 {
        std::thread::scope(|scope| {
            for plan in plans.iter().cycle().take(4) {
                scope.spawn(|| run(plan, &dir));
            }
        });
        let seeds = seeds(&dir);
        assert!([[1; 3], [4; 3]].contains(&seeds), "{seeds:?}");
    }
    let expected = [
        "completions.parquet",
        "flows.parquet",
        "meta.json",
        "runs",
        "scenario.toml",
        "series.parquet",
        "summary.json",
        "summary.parquet",
        "traffic.parquet",
    ];
    assert_eq!(names(&dir), expected.map(str::to_string).into());
}

#[test]
fn waiting_writer_reports_owner_and_can_stop() {
    let (dir, plan) = (place("give-up"), plan(1));
    let first = Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
    let (stop, told) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begins = |at: &Path, owner: &store::Owner| {
        assert!(at == dir && owner.pid == std::process::id(), "{owner}");
        told.fetch_add(1, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        let second =
            scope.spawn(|| Store::open(&dir, &plan, &Origin::default(), &Wait { stop: &stop, begins: &begins }));
        std::thread::sleep(std::time::Duration::from_millis(300));
        stop.store(true, Ordering::SeqCst);
        assert!(matches!(second.join().unwrap(), Err(StoreError::Busy { .. })));
    });
    assert_eq!(told.load(Ordering::SeqCst), 1);
    drop(first);
    Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
}

#[test]
fn temporary_files_of_killed_writers_are_removed() {
    let (dir, plan) = (place("orphans"), plan(1));
    run(&plan, &dir);
    for folder in ["", "runs", "cases", "shards"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
        fs::write(dir.join(folder).join(".forebay-0123456789abcdef.tmp"), "part").unwrap();
        fs::write(dir.join(folder).join("notes.tmp"), "the user's").unwrap();
    }
    run(&plan, &dir);
    for folder in ["", "runs", "cases", "shards"] {
        assert!(!names(&dir.join(folder)).contains(".forebay-0123456789abcdef.tmp"), "{folder}");
        assert!(names(&dir.join(folder)).contains("notes.tmp"), "{folder}");
    }
}

/// `Store::open` locks the directory. With `Store::join` others store runs there without the lock.
#[test]
fn directory_owner_finds_runs_stored_by_other_threads() {
    let (dir, plan) = (place("joined"), plan(8));
    let owner = Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                batch::runs(&plan, Some(&Store::join(&dir, &plan).unwrap()), &Control::silent(&stop)).unwrap()
            });
        }
    });
    assert_eq!(store::finished(&dir, &plan), 8);
    assert_eq!(batch::run(&plan, &owner, &Control::silent(&stop)).unwrap().runs.len(), 8);
}

/// Files that another user may plant in a shared folder.
#[cfg(unix)]
mod planted {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn writes_do_not_follow_symlinks() {
        let dir = place("links");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("victim"), "precious").unwrap();
        // A temporary name of earlier versions, which was predictable.
        symlink("victim", dir.join(format!("report.html.{}.tmp", std::process::id()))).unwrap();
        symlink("victim", dir.join("report.html")).unwrap();
        disk::write_whole(&dir.join("report.html"), b"page").unwrap();
        assert_eq!(fs::read_to_string(dir.join("victim")).unwrap(), "precious");
        assert!(dir.join("report.html").symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn pipe_or_device_counts_as_unreadable_result_file() {
        let (dir, plan) = (place("pipes"), plan(2));
        run(&plan, &dir);
        let shard = dir.join("runs/case000-aqm00-seed1.json");
        for kind in ["pipe", "device", "folder"] {
            let _ = fs::remove_file(&shard);
            match kind {
                "pipe" => assert!(Command::new("mkfifo").arg(&shard).status().unwrap().success()),
                "device" => symlink("/dev/zero", &shard).unwrap(),
                _ => fs::create_dir(&shard).unwrap(),
            }
            assert_eq!(store::finished(&dir, &plan), 1, "{kind}");
            let page = forebay_lab::report::build(&WriteLock::take(&dir, &Wait::NEVER).unwrap(), &Wait::NEVER);
            assert!(page.is_ok(), "{kind}: {page:?}");
        }
        for name in ["meta.json", "scenario.toml"] {
            fs::remove_file(dir.join(name)).unwrap();
            assert!(Command::new("mkfifo").arg(dir.join(name)).status().unwrap().success());
        }
        assert!(Meta::read(&dir).is_err() && !matches!(store::read_case(&dir, 0), Ok(Some(_))));
    }
}
