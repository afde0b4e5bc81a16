//! Ctrl-C: finished runs are kept, and the same command continues.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Ended, Place, names, sweep};
use serde_json::Value;

/// 12 runs of 1000 s: several seconds.
const LONG: [&str; 11] =
    ["run", "short.toml", "--set", "duration=1000s", "--runs", "6", "--jobs", "1", "-o", "out", "--quiet"];
/// As many runs, as a sweep.
const SWEEP: [&str; 13] = sweep("duration=1000s", "3", "1");
pub(crate) const TOTAL: usize = 12;

/// Under nohup the program ignores signals: these tests restore their default handling.
fn with_hangup(command: Command) -> Command {
    if !hangup_is_ignored() {
        return command;
    }
    let mut env = Command::new("env");
    env.arg("--default-signal=HUP").arg(command.get_program()).args(command.get_args());
    env.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    env.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    env
}

fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

fn shards(out: &Path) -> Vec<String> {
    let dir = out.join("runs");
    if dir.is_dir() { names(&dir).into_iter().filter(|name| name.ends_with(".json")).collect() } else { Vec::new() }
}

/// Starts a long batch, waits for its first finished run, sends `signal`.
fn interrupted(place: &Place, signal: &str, words: &[&str]) -> Ended {
    let mut command = with_hangup(place.command(words));
    let child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while shards(&place.dir.join("out")).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no run finished");
        sleep(Duration::from_millis(5));
    }
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status().unwrap();
    assert!(sent.success());
    Ended::new(child.wait_with_output().unwrap())
}

#[test]
fn ctrl_c_keeps_finished_runs_for_a_rerun() {
    goes_on(&Place::new("ctrl-c"), &LONG);
    goes_on(&Place::new("ctrl-c-sweep"), &SWEEP);
}

/// Interrupts a batch of [`TOTAL`] runs into `out`, and repeats the command: finished runs stay, the others are added.
pub(crate) fn goes_on(place: &Place, words: &[&str]) {
    let out = place.dir.join("out");
    let ended = interrupted(place, "INT", words);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let kept = shards(&out);
    assert!((1..TOTAL).contains(&kept.len()), "{kept:?}");
    let message =
        format!("error: interrupted: {} of {TOTAL} runs are in out; repeat the command to continue\n", kept.len());
    assert_eq!((ended.stdout.as_str(), ended.stderr), ("", message));
    let summary: Value = serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["runs"].as_array().unwrap().len(), kept.len());
    let changed = |name: &String| fs::metadata(out.join("runs").join(name)).unwrap().modified().unwrap();
    let before: Vec<_> = kept.iter().map(changed).collect();
    for name in &kept {
        let shard: Value = serde_json::from_str(&fs::read_to_string(out.join("runs").join(name)).unwrap()).unwrap();
        assert!(shard["record"]["summary"]["fingerprint"].is_string());
    }

    let resumed = place.run(&[words, &["--json"]].concat()).good().json();
    assert_eq!(resumed["runs"].as_array().unwrap().len(), TOTAL);
    assert_eq!(kept.iter().map(changed).collect::<Vec<_>>(), before, "what was finished was not run again");
    for run in summary["runs"].as_array().unwrap() {
        assert!(resumed["runs"].as_array().unwrap().contains(run));
    }
}

#[test]
fn sigterm_with_json_interrupts_the_runs() {
    let place = Place::new("sigterm");
    let ended = interrupted(&place, "TERM", &[&LONG[..], &["--json"]].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(130), ""), "{ended:?}");
    let error = &ended.json()["error"];
    assert_eq!((&error["kind"], &error["runs_total"]), (&"interrupted".into(), &TOTAL.into()));
    assert_eq!(error["runs_done"], shards(&place.dir.join("out")).len());
}

#[test]
fn ctrl_c_ends_captures() {
    let place = Place::new("ctrl-c-captures");
    place.run(&["run", "short.toml", "--set", "duration=100s", "--runs", "10", "-o", "out", "--quiet"]).good();
    let folder = place.dir.join("out/pcapng");
    let mut command = place.command(&["report", "out", "--pcapng"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !folder.is_dir() || names(&folder).is_empty() {
        sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = Ended::new(child.wait_with_output().unwrap());
    assert!(ended.code == Some(130) && ended.stderr.contains("of 20 captures are complete"), "{ended:?}");
    assert!(names(&folder).len() < 20, "{:?}", names(&folder));
}
