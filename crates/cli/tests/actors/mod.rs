//! Several processes use the same directories of results, at random times: they run and sweep, with equal and with other
//! arguments, do a part of the runs, merge, and report. They get signals, stop, have equal process numbers, a limit on
//! the size of files, or a full disk. Whatever happens:
//!
//! - a finished run stays, and has the results of an undisturbed command;
//! - no file is torn, and no file contradicts another;
//! - a command that fails names the cause;
//! - a repetition gives the results of an undisturbed command, and leaves no temporary files.
//!
//! A schedule that fails is made simpler as long as it fails, and printed with its seed. The test tries a few schedules;
//! with `FOREBAY_EVERY_FAULT=1` a thousand, with `FOREBAY_SCHEDULES=17..18` that with seed 17.

mod oracle;
mod schedule;
mod world;

use std::env;
use std::fs;
use std::ops::Range;

use oracle::{Record, Reference, agreement, judge, judge_end, references};
use schedule::{Action, Fault, Schedule, Step};
use world::{Outcome, World};

use crate::skips::skip;

/// Schedules of a quick test.
const QUICK: u64 = 12;
const ALL: u64 = 1000;
/// How often a schedule is tried before it counts as right. The times of processes vary.
const TRIES: usize = 4;

fn seeds() -> Range<u64> {
    let named = env::var("FOREBAY_SCHEDULES").ok();
    let named = named.as_deref().and_then(|range| range.split_once(".."));
    if let Some((from, to)) = named.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?))) {
        return from..to;
    }
    if env::var_os("FOREBAY_EVERY_FAULT").is_some() { 1..ALL + 1 } else { 1..QUICK + 1 }
}

/// What is wrong after a schedule; `None`: the machine cannot run it.
fn play(schedule: &Schedule, references: &[Reference]) -> Option<Vec<String>> {
    let world = World::new("world", schedule.disk)?;
    let played = world.play(schedule);
    Some(judge(&world, schedule, played, references))
}

/// The simplest schedule found that fails like `schedule`, and what is wrong with it.
fn shrunk(
    schedule: Schedule,
    wrong: Vec<String>,
    fails: &impl Fn(&Schedule) -> Vec<String>,
) -> (Schedule, Vec<String>) {
    let (mut simplest, mut wrong) = (schedule, wrong);
    'again: loop {
        for simpler in simplest.simpler() {
            let found = (0..TRIES).map(|_| fails(&simpler)).find(|wrong| !wrong.is_empty());
            if let Some(found) = found {
                (simplest, wrong) = (simpler, found);
                continue 'again;
            }
        }
        return (simplest, wrong);
    }
}

#[test]
fn actors_at_random_lose_and_contradict_nothing() {
    if World::new("disk", Some(100)).is_none() {
        return skip("no user namespaces to mount a small disk in");
    }
    let references = references();
    let seeds = seeds();
    let tried = seeds.end.saturating_sub(seeds.start);
    for seed in seeds {
        let schedule = Schedule::random(seed);
        let fails = |schedule: &Schedule| play(schedule, &references).unwrap_or_default();
        let wrong = fails(&schedule);
        if !wrong.is_empty() {
            let printed = schedule.to_string();
            println!("seed {seed}\n{printed}{}", wrong.join("\n"));
            let (simplest, wrong) = shrunk(schedule, wrong, &fails);
            panic!("seed {seed}, simplest schedule:\n{simplest}{}", wrong.join("\n"));
        }
    }
    println!("{tried} schedules");
}

#[test]
fn oracle_finds_planted_faults() {
    let world = World::new("planted", None).unwrap();
    let out = world.dir.join("out");
    assert_eq!(world.undisturbed("run short.toml --runs 1 -o out").code, Some(0));
    let earlier = fs::read(out.join("summary.parquet")).unwrap();
    assert_eq!(world.undisturbed("run short.toml --runs 2 -o out").code, Some(0));
    let file = out.join("runs/case000-aqm00-seed1.json");
    let whole = fs::read_to_string(&file).unwrap();
    let other = fs::read_to_string(out.join("runs/case000-aqm00-seed2.json")).unwrap();
    let mut record = Record::default();
    record.look(&world.dir);
    assert_eq!(record.complaints, [""; 0]);
    // A torn rename, the results of another run, a lost run.
    for (content, complaint) in
        [(Some(&whole[..whole.len() / 2]), "is torn"), (Some(&other), "was changed"), (None, "is lost")]
    {
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        record.complaints.clear();
        record.look(&world.dir);
        assert!(
            record.complaints.iter().any(|found| found.contains(complaint)),
            "{complaint}: {:?}",
            record.complaints
        );
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(agreement(&out), Ok(4));
    fs::write(out.join("summary.parquet"), earlier).unwrap();
    assert_eq!(agreement(&out).unwrap_err(), "summary.json has 4 runs, summary.parquet has 2");
    let schedule = Schedule { disk: None, actors: Vec::new() };
    let step = Step { delay_ms: 0, action: Action::Report { csv: false }, fault: Fault::None };
    let ended = |code, stderr: &str| Outcome { step, code, stderr: stderr.to_string() };
    for (outcome, is_wrong) in [
        (ended(Some(0), ""), false),
        (ended(Some(1), "error: Input/output error"), true),
        (ended(None, ""), true),
        (ended(Some(0), "thread 'main' panicked"), true),
    ] {
        assert_eq!(judge_end(&outcome, &schedule).is_some(), is_wrong, "{outcome:?}");
    }
}

#[test]
fn failing_schedule_is_shrunk() {
    let merges =
        |schedule: &Schedule| schedule.actors.iter().flatten().filter(|step| step.action == Action::Merge).count();
    let with_merge =
        (1..).map(Schedule::random).find(|schedule| merges(schedule) > 0 && schedule.actors.len() > 2).unwrap();
    let fails = |schedule: &Schedule| if merges(schedule) > 0 { vec!["merges".to_string()] } else { Vec::new() };
    let (simplest, wrong) = shrunk(with_merge, Vec::new(), &fails);
    let [steps] = simplest.actors.as_slice() else { panic!("{simplest}") };
    let only = Step { delay_ms: 0, action: Action::Merge, fault: Fault::None };
    assert!(steps == &[only] && simplest.disk.is_none() && wrong == ["merges"], "{simplest}{wrong:?}");
}
