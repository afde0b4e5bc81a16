//! What must be true of the files and of the ends of the commands, whatever the schedule.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use super::schedule::{Action, Fault, Kind, SEEDS, Schedule};
use super::world::{Outcome, World, is_filled};
use crate::common::temporaries;
use crate::kills::results;

/// The directories of results.
const DIRS: [&str; 3] = ["out", "part1", "part2"];

/// Finished runs by directory and name, with their results. Times of the machine are left out.
pub(super) type Runs = BTreeMap<(String, String), Value>;

/// The finished runs that were seen while the actors ran, and what was wrong with files.
#[derive(Default)]
pub(super) struct Record {
    pub(super) seen: Runs,
    pub(super) complaints: Vec<String>,
}

impl Record {
    /// Adds the runs that are now in the directories. A run that was finished must be there and must not change.
    pub(super) fn look(&mut self, dir: &Path) {
        // Listed before reading: what was seen earlier must be in it.
        let mut now = Runs::new();
        for name in DIRS {
            let folder = dir.join(name).join("runs");
            let entries = folder.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path());
            for path in entries.filter(|path| path.extension().is_some_and(|end| end == "json")) {
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                let key = (name.to_string(), file);
                // A file that was replaced since it was listed has the same name.
                let Ok(bytes) = fs::read(&path) else {
                    self.complaints.push(format!("{name}: {} vanished", key.1));
                    continue;
                };
                match run(&bytes) {
                    Some(run) => drop(now.insert(key, run)),
                    None => self.complaints.push(format!("{name}: {} is torn", key.1)),
                }
            }
        }
        for (key, run) in &self.seen {
            if now.get(key) != Some(run) {
                self.complaints.push(format!("{}: the finished run {} is lost or was changed", key.0, key.1));
            }
        }
        self.seen.append(&mut now);
    }
}

/// The results in the file of a run, without the time that they took.
fn run(bytes: &[u8]) -> Option<Value> {
    let mut file: Value = serde_json::from_slice(bytes).ok()?;
    fn without_times(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cpu_seconds");
                fields.values_mut().for_each(without_times);
            }
            Value::Array(values) => values.iter_mut().for_each(without_times),
            _ => {}
        }
    }
    let record = file.get_mut("record")?;
    without_times(record);
    Some(record.take())
}

/// Looks at the runs again and again until the actors have ended.
pub(super) fn watch(dir: &Path, is_over: &AtomicBool) -> Record {
    let mut record = Record::default();
    while !is_over.load(Ordering::Relaxed) {
        record.look(dir);
        sleep(Duration::from_millis(5));
    }
    record.look(dir);
    record
}

/// Undisturbed results of each kind with [`SEEDS`] seeds: the runs, and the files of the directory.
pub(super) struct Reference {
    kind: Kind,
    hash: Option<String>,
    runs: Runs,
    files: Vec<(String, Vec<u8>)>,
}

/// The reference of each kind, in the order of [`Kind::ALL`].
pub(super) fn references() -> Vec<Reference> {
    let make = |kind: Kind| {
        let world = World::new(&format!("{kind:?}"), None).unwrap();
        let outcome = world.undisturbed(&complete(kind));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let mut record = Record::default();
        record.look(&world.dir);
        assert!(record.complaints.is_empty() && !record.seen.is_empty(), "{:?}", record.complaints);
        let out = world.dir.join("out");
        Reference { kind, hash: hash(&out), runs: record.seen, files: results(&out) }
    };
    Kind::ALL.map(make).into()
}

/// The command with all seeds.
fn complete(kind: Kind) -> String {
    format!("{} --runs {SEEDS} --jobs 2 -o out --quiet", kind.words().join(" "))
}

/// Whether a fault can have made this command fail or end early.
fn is_disturbed(outcome: &Outcome, schedule: &Schedule) -> bool {
    let own = matches!(outcome.step.fault, Fault::Signal { .. } | Fault::SmallFiles { .. });
    own || schedule.disk.is_some()
}

/// What is wrong with the end of a command.
pub(super) fn judge_end(outcome: &Outcome, schedule: &Schedule) -> Option<String> {
    let text = &outcome.stderr;
    let names_one = |causes: &[&str]| causes.iter().any(|cause| text.contains(cause));
    let full = ["File too large", "No space left on device"];
    let is_right = match (outcome.code, outcome.step.fault, outcome.step.action) {
        _ if text.contains("panicked") => false,
        (Some(0), ..) => true,
        (None, Fault::Signal { .. }, _) => true,
        // Of a process namespace: unshare(1) ends with the code of the signal.
        (Some(130), Fault::Signal { name: "TERM" | "INT", .. }, _) => true,
        (Some(1 | 4), ..) if is_disturbed(outcome, schedule) && names_one(&full) => names_one(&DIRS),
        (Some(2), _, Action::Simulate { .. }) => names_one(&["out contains the results of another scenario"]),
        (Some(2), _, Action::Part { .. }) => names_one(&["contains another shard of these runs"]),
        (Some(1), _, Action::Report { .. }) => names_one(&["out/runs: no finished run"]),
        (Some(2), _, Action::Report { .. }) => names_one(&["no such directory", "a directory without meta.json"]),
        (Some(1), _, Action::Merge) => names_one(&["runs are missing", "part1", "part2"]),
        (Some(2), _, Action::Merge) => names_one(&["part1", "part2", "out contains the results of another scenario"]),
        _ => false,
    };
    (!is_right).then(|| format!("forebay {} ended with {:?}: {text}", outcome.step.words().join(" "), outcome.code))
}

/// Number of runs by the summary and by its table; an error if they differ or cannot be read.
pub(super) fn agreement(out: &Path) -> Result<usize, String> {
    let summary = fs::read(out.join("summary.json")).map_err(|error| format!("summary.json: {error}"))?;
    let summary: Value = serde_json::from_slice(&summary).map_err(|error| format!("summary.json: {error}"))?;
    let runs = summary["runs"].as_array().map_or(0, Vec::len);
    for name in ["summary.parquet", "series.parquet", "flows.parquet", "traffic.parquet"] {
        let file = fs::File::open(out.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let table = SerializedFileReader::new(file).map_err(|error| format!("{name}: {error}"))?;
        let rows = table.metadata().file_metadata().num_rows() as usize;
        if name == "summary.parquet" && rows != runs {
            return Err(format!("summary.json has {runs} runs, {name} has {rows}"));
        }
    }
    Ok(runs)
}

/// Hash of the scenarios of the directory; `None`: it has no `meta.json`.
fn hash(out: &Path) -> Option<String> {
    let meta: Value = serde_json::from_slice(&fs::read(out.join("meta.json")).ok()?).ok()?;
    meta["hash"].as_str().map(str::to_string)
}

/// Everything that is wrong after a schedule: with the ends of the commands, and with the files. It then completes the
/// results without faults, which must give those of an undisturbed command.
pub(super) fn judge(
    world: &World,
    schedule: &Schedule,
    (outcomes, mut record): (Vec<Outcome>, Record),
    references: &[Reference],
) -> Vec<String> {
    let mut wrong: Vec<String> = outcomes.iter().filter_map(|outcome| judge_end(outcome, schedule)).collect();
    wrong.append(&mut record.complaints);
    let out = world.dir.join("out");
    let is_whole = outcomes.iter().all(|outcome| outcome.code.is_some_and(|code| [0, 2].contains(&code)));
    if is_whole && out.join("meta.json").exists() {
        wrong.extend(agreement(&out).err());
    }
    world.enlarge();
    let found = hash(&out);
    let reference = references.iter().find(|reference| reference.hash == found).unwrap_or(&references[0]);
    // An earlier command may have been killed: the report brings the tables up to the runs.
    if record.seen.keys().any(|(dir, _)| dir == "out") {
        let outcome = world.undisturbed("report out --quiet");
        if outcome.code != Some(0) {
            wrong.push(format!("report afterwards: {outcome:?}"));
        } else if let Err(what) = agreement(&out) {
            wrong.push(format!("after a report: {what}"));
        }
    }
    let outcome = world.undisturbed(&complete(reference.kind));
    if outcome.code != Some(0) {
        wrong.push(format!("{}: {outcome:?}", complete(reference.kind)));
        return wrong;
    }
    record.look(&world.dir);
    wrong.append(&mut record.complaints);
    let of_out = |runs: &Runs| {
        runs.iter().filter(|((dir, _), _)| dir == "out").map(|(k, v)| (k.clone(), v.clone())).collect::<Runs>()
    };
    if of_out(&record.seen) != reference.runs {
        wrong.push("out: other runs than those of an undisturbed command".to_string());
    }
    // The parts have runs of the first kind.
    let foreign = |((dir, file), run): &(&(String, String), &Value)| {
        dir != "out" && references[0].runs.get(&("out".to_string(), file.clone())) != Some(*run)
    };
    wrong.extend(record.seen.iter().filter(foreign).map(|((dir, file), _)| format!("{dir}: {file} is another run")));
    if results(&out) != reference.files {
        wrong.push("out: other tables than those of an undisturbed command".to_string());
    }
    wrong.extend(agreement(&out).err());
    let left: Vec<_> = DIRS
        .iter()
        .filter(|dir| is_filled(&world.dir.join(dir)))
        .flat_map(|dir| temporaries(&world.dir.join(dir)))
        .collect();
    if left.iter().any(|path| path.starts_with(&out))
        || [".lock", ".replacing"].iter().any(|name| out.join(name).exists())
    {
        wrong.push(format!("out: left after the last command: {left:?}"));
    }
    wrong
}
