//! No result is lost by SIGKILL at a random time, damaged files or a full disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{Ended, Place, names, sweep, temporaries};
use crate::skips::skip;
use forebay_aqm::base::rng::Rng;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// 40 runs of about 20 ms.
const SWEEP: [&str; 13] = sweep("duration=20s", "10", "2");
const KILLS: usize = 100;
/// The process is killed within this time after a run has finished.
const WITHIN_MS: u64 = 20;

/// The finished runs of a directory with their bytes. A file that is not JSON is incomplete.
fn runs(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let dir = out.join("runs");
    let all = if dir.is_dir() { names(&dir) } else { Vec::new() };
    let whole = all.into_iter().filter(|name| name.ends_with(".json"));
    let read = |name: String| {
        let bytes = fs::read(dir.join(&name)).unwrap();
        assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "{name} is torn");
        (name, bytes)
    };
    whole.map(read).collect()
}

/// The final content of a directory, without times of the machine.
pub(crate) fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut summary: Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    for run in summary["runs"].as_array_mut().unwrap() {
        run.as_object_mut().unwrap().remove("cpu_seconds").unwrap();
    }
    let mut all = vec![("summary.json".to_string(), summary.to_string().into_bytes())];
    for name in ["scenario.toml", "series.parquet", "flows.parquet"] {
        all.push((name.to_string(), fs::read(out.join(name)).unwrap()));
    }
    all
}

#[test]
fn a_hundred_kills_lose_no_finished_run() {
    let undisturbed = Place::new("kills-none");
    undisturbed.run(&SWEEP).good();
    let expected = results(&undisturbed.dir.join("out"));
    let mut rng = Rng::stream(1, "kills");
    let (mut kills, mut sweeps, mut in_the_middle) = (0, 0, 0);
    while kills < KILLS {
        sweeps += 1;
        let place = Place::new(&format!("kills-{sweeps}"));
        let out = place.dir.join("out");
        let mut kept = BTreeMap::new();
        loop {
            let mut child = place.command(&SWEEP).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let count = || out.join("runs").read_dir().map_or(0, Iterator::count);
            let before = count();
            while count() <= before && child.try_wait().unwrap().is_none() {
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_millis(rng.below(WITHIN_MS)));
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let now = runs(&out);
            for (name, bytes) in &kept {
                assert!(now.get(name) == Some(bytes), "{name} was finished, and is not what it was");
            }
            kept = now;
            match ended {
                Some(status) => {
                    assert!(status.success());
                    break;
                }
                None => {
                    kills += 1;
                    in_the_middle += usize::from((1..40).contains(&kept.len()));
                }
            }
            if kills >= KILLS {
                place.run(&SWEEP).good();
                break;
            }
        }
        assert!(results(&out) == expected, "sweep {sweeps} ended with other results");
        assert!(temporaries(&out).is_empty(), "sweep {sweeps} left temporary files");
        for (name, bytes) in &kept {
            assert!(runs(&out)[name] == *bytes, "{name} was run again");
        }
    }
    println!("{kills} kills, {in_the_middle} of them with some runs finished and some not, {sweeps} sweeps");
    assert!(in_the_middle >= KILLS / 2, "{in_the_middle}");
}

#[test]
fn report_after_a_kill_has_every_finished_run() {
    let place = Place::new("kill-report");
    let out = place.dir.join("out");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    let earlier = fs::read(out.join("summary.parquet")).unwrap();
    let words = ["run", "short.toml", "--runs", "2000", "--jobs", "1", "-o", "out"];
    let mut child = place.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while names(&out.join("runs")).len() < 12 {
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let finished = runs(&out).len();
    let ended = place.run(&["report", "out"]).good();
    assert!(ended.stderr.contains(&format!("out has {finished} of 4000 runs")), "{ended:?}");
    let summary: Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    let table = SerializedFileReader::new(fs::File::open(out.join("summary.parquet")).unwrap()).unwrap();
    assert_eq!(summary["runs"].as_array().unwrap().len(), finished);
    assert_eq!(table.metadata().file_metadata().num_rows() as usize, finished);
    // A table of means over another number of seeds than the tables of the runs would contradict them.
    let all = || (results(&out), ["report.html", "summary.parquet"].map(|name| fs::read(out.join(name)).unwrap()));
    let before = all();
    place.run(&["report", "out"]).good();
    assert!(all() == before);
    // Killed when some of the tables had been replaced.
    fs::write(out.join("summary.parquet"), earlier).unwrap();
    fs::write(out.join(".replacing"), "").unwrap();
    place.run(&["report", "out"]).good();
    assert!(all() == before && !out.join(".replacing").exists());
}

#[test]
fn run_with_damaged_result_file_is_repeated() {
    let place = Place::new("rot");
    let out = place.dir.join("out");
    place.run(&SWEEP).good();
    let expected = results(&out);
    let name = names(&out.join("runs")).into_iter().next().unwrap();
    let file = out.join("runs").join(name);
    let whole = fs::read_to_string(&file).unwrap();
    let at = whole.find("\"mean\":").unwrap() + 8;
    let digit = if &whole[at..=at] == "1" { "2" } else { "1" };
    // A wrong digit leaves valid JSON, a truncated file does not; neither is a result.
    let rotten = format!("{}{digit}{}", &whole[..at], &whole[at + 1..]);
    for bad in [rotten.as_str(), &whole[..whole.len() / 2], ""] {
        fs::write(&file, bad).unwrap();
        place.run(&SWEEP).good();
        assert!(results(&out) == expected);
    }
}

/// Runs a command with `-o out` on a disk that is too small for all of its runs, and again after the disk was enlarged.
/// The first fails and keeps some of the `total` runs, the second succeeds. `None`: there is no small disk.
pub(crate) fn on_a_full_disk(place: &Place, words: &[&str], total: usize) -> Option<Ended> {
    let program = place.command(words);
    let words: Vec<String> = program.get_args().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    // A separate file system that is too small for all runs, and is then enlarged.
    let script = format!(
        "mkdir out && mount -t tmpfs -o size=200k none out || exit 77
        {0} {1} >/dev/null; echo code $?; ls out/runs | grep -c 'json$'; find out -name '*.tmp'
        mount -o remount,size=64m out; {0} {1} >/dev/null; echo code $?; cp -r out kept",
        program.get_program().to_string_lossy(),
        words.join(" "),
    );
    let unshare = Command::new("unshare").args(["-rm", "sh", "-c", &script]).current_dir(&place.dir).output();
    let Some(out) = unshare.ok().filter(|out| out.status.code() != Some(77) && !out.stdout.is_empty()) else {
        skip("no user namespaces to mount a small disk in");
        return None;
    };
    let ended = Ended::new(out);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let [first, kept, second] = lines.as_slice() else { panic!("{ended:?}") };
    assert_eq!((*first, *second), ("code 1", "code 0"), "{ended:?}");
    assert!((1..total).contains(&kept.parse::<usize>().unwrap()), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    Some(ended)
}

#[test]
fn full_disk_is_an_error_and_keeps_files() {
    let place = Place::new("full");
    let Some(ended) = on_a_full_disk(&place, &SWEEP, 40) else { return };
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    let undisturbed = Place::new("full-none");
    undisturbed.run(&SWEEP).good();
    assert!(results(&place.dir.join("kept")) == results(&undisturbed.dir.join("out")));
}
