//! Several processes write one directory: one at a time, and nothing of a killed process remains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Ended, Place, names, temporaries};
use crate::skips::skip;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

fn json(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Number of runs by the summary, by the metadata (two contenders per seed) and by the table.
fn runs(out: &Path) -> [usize; 3] {
    let count = |name: &str, key: &str| json(out.join(name))[key].as_array().unwrap().len();
    let table = SerializedFileReader::new(fs::File::open(out.join("summary.parquet")).unwrap()).unwrap();
    [
        count("summary.json", "runs"),
        2 * count("meta.json", "seeds"),
        table.metadata().file_metadata().num_rows() as usize,
    ]
}

fn begin(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

/// Waits until a process has locked the directory and written `meta.json`.
fn locked(out: &Path) {
    let begun = Instant::now();
    while fs::read(out.join(".lock")).unwrap_or_default().is_empty() || !out.join("scenario.toml").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody has {}", out.display());
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn two_processes_leave_files_that_agree() {
    let place = Place::new("agree");
    let out = place.dir.join("out");
    for _ in 0..8 {
        let children = ["3", "20"].map(|n| begin(&mut place.command(&["run", "short.toml", "--runs", n, "-o", "out"])));
        for output in children.map(end) {
            Ended::new(output).good();
        }
        let runs = runs(&out);
        assert!([[6; 3], [40; 3]].contains(&runs), "{runs:?}");
    }
    assert!(temporaries(&out).is_empty() && !out.join(".lock").exists());
}

#[test]
fn containers_with_equal_process_numbers_take_turns() {
    let place = Place::new("containers");
    let program = place.command(&["run", "short.toml", "--runs", "4", "-o", "out"]);
    let container = || {
        let mut command = Command::new("unshare");
        command.args(["-rpf", "--"]).arg(program.get_program()).args(program.get_args()).current_dir(&place.dir);
        command
    };
    let able = Command::new("unshare").args(["-rpf", "true"]).output();
    if !able.is_ok_and(|able| able.status.success()) {
        return skip("no process namespaces");
    }
    for _ in 0..4 {
        for output in [container(), container()].map(|mut command| begin(&mut command)).map(end) {
            Ended::new(output).good();
        }
        assert_eq!(runs(&place.dir.join("out")), [8; 3]);
        fs::remove_dir_all(place.dir.join("out")).unwrap();
    }
}

#[test]
fn second_process_names_the_one_it_waits_for() {
    let place = Place::new("waits");
    let words = ["run", "short.toml", "--runs", "30", "--jobs", "1", "--set", "duration=20s", "-o", "out"];
    let first = begin(&mut place.command(&words));
    let pid = first.id();
    locked(&place.dir.join("out"));
    let second = begin(&mut place.command(&["run", "short.toml", "--set", "duration=20s", "-o", "out"]));
    let (first, second) = (end(first), end(second));
    Ended::new(first).good();
    let second = Ended::new(second).good();
    assert!(second.stderr.contains(&format!("is locked by process {pid}")), "{second:?}");
}

#[test]
fn lock_of_a_killed_process_is_released() {
    let place = Place::new("dies");
    let out = place.dir.join("out");
    let words = ["run", "short.toml", "--runs", "20000", "--set", "duration=20s", "-o", "out"];
    let mut first = begin(&mut place.command(&words));
    locked(&out);
    sleep(Duration::from_millis(100));
    let second = begin(&mut place.command(&["run", "short.toml", "--set", "duration=20s", "-o", "out"]));
    sleep(Duration::from_millis(100));
    first.kill().unwrap();
    first.wait().unwrap();
    Ended::new(end(second)).good();
    assert!(temporaries(&out).is_empty() && !out.join(".lock").exists(), "{:?}", names(&out));
}

#[test]
fn interruption_ends_the_wait_for_the_lock() {
    let place = Place::new("interrupted");
    let words = ["run", "short.toml", "--runs", "20000", "--set", "duration=20s", "-o", "out"];
    let mut first = begin(&mut place.command(&words));
    locked(&place.dir.join("out"));
    // A shell that runs the tests in the background may ignore SIGINT and SIGHUP; children inherit that.
    let report = place.command(&["report", "out"]);
    let mut defaults = Command::new("env");
    defaults.arg("--default-signal=HUP,INT").arg(report.get_program()).args(report.get_args());
    let second = begin(defaults.current_dir(&place.dir));
    sleep(Duration::from_millis(500));
    let signalled = Command::new("kill").args(["-INT", &second.id().to_string()]).status().unwrap();
    let second = Ended::new(end(second));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(signalled.success() && second.code == Some(130), "{second:?}");
}

#[test]
fn file_size_limit_is_an_error_with_reason() {
    let place = Place::new("limit");
    let program = place.command(&["run", "short.toml", "-o", "out"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 8; exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
    let ended = Ended::new(limited.current_dir(&place.dir).output().unwrap());
    assert!(ended.code == Some(1) && ended.stderr.contains("too large"), "{ended:?}");
    assert!(temporaries(&place.dir.join("out")).is_empty());
    place.run(&["run", "short.toml", "-o", "out"]).good();
}

/// After the command, a power failure must not lose a directory whose files are on disk.
#[test]
fn parents_of_a_new_directory_are_synced() {
    let place = Place::new("synced");
    let program = place.command(&["run", "short.toml", "--runs", "1", "-o", "new/parents/out"]);
    let mut watched = Command::new("strace");
    watched.args(["-f", "-y", "-qq", "-e", "trace=mkdir,mkdirat,fsync", "-o", "calls"]).arg(program.get_program());
    match watched.args(program.get_args()).current_dir(&place.dir).output() {
        Err(_) => return skip("strace is not installed"),
        Ok(out) if String::from_utf8_lossy(&out.stderr).contains("strace:") => {
            return skip(String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or_default());
        }
        Ok(out) => Ended::new(out).good(),
    };
    let calls = fs::read_to_string(place.dir.join("calls")).unwrap();
    let here = place.dir.canonicalize().unwrap();
    for (made, parent) in [("new", ""), ("new/parents", "new"), ("new/parents/out", "new/parents")] {
        let made = calls.lines().position(|call| call.contains("mkdir") && call.contains(&format!("\"{made}\"")));
        let made = made.unwrap_or_else(|| panic!("{calls}"));
        let folder = here.join(parent).display().to_string();
        let folder = format!("<{}>", folder.trim_end_matches('/'));
        let synced = |call: &str| call.contains("fsync(") && call.contains(&folder);
        assert!(calls.lines().skip(made).any(synced), "{folder} was not synced: {calls}");
    }
}
