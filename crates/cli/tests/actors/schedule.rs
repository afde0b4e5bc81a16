//! A schedule: what each actor does, after which delay, and what goes wrong meanwhile.

use std::fmt::{Display, Formatter, Result};

use forebay_aqm::base::rng::Rng;

/// Most seeds of a command.
pub(super) const SEEDS: u64 = 4;

/// A scenario, with the arguments that make it another one than that of [`Kind::Run`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Run,
    Longer,
    Sweep,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Run, Self::Longer, Self::Sweep];

    /// The command without number of seeds, directory and shard.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["run", "short.toml"],
            Self::Longer => &["run", "short.toml", "--set", "duration=3s"],
            Self::Sweep => &["sweep", "short.toml", "--vary", "flows.ftp.count=8,10"],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Runs a scenario into `out`.
    Simulate {
        kind: Kind,
        seeds: u64,
        jobs: u64,
    },
    /// Does one of two parts of [`Kind::Run`] into `part1` or `part2`.
    Part {
        part: u64,
        seeds: u64,
    },
    /// Joins both parts into `out`.
    Merge,
    Report {
        csv: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    None,
    /// The process gets this signal after a time.
    Signal {
        name: &'static str,
        after_ms: u64,
    },
    /// The process stops for a time, with the lock if it has it.
    Pause {
        after_ms: u64,
        for_ms: u64,
    },
    /// The process is in its own process namespace, with the number that other actors have in theirs.
    EqualPid,
    /// Files larger than this number of blocks of 512 bytes cannot be written.
    SmallFiles {
        blocks: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) delay_ms: u64,
    pub(super) action: Action,
    pub(super) fault: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    /// Size of the disk in KiB. It is enlarged after the last step. `None`: that of the test.
    pub(super) disk: Option<u64>,
    pub(super) actors: Vec<Vec<Step>>,
}

impl Schedule {
    pub(super) fn random(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "schedule");
        let mut rng = move |below: u64| rng.below(below);
        let disk = (rng(5) == 0).then(|| 60 + rng(400));
        let mut actors = Vec::new();
        for _ in 0..2 + rng(3) {
            let steps = 1 + rng(3);
            actors.push((0..steps).map(|_| Step::random(&mut rng)).collect());
        }
        Self { disk, actors }
    }

    /// Simpler schedules, the simplest first: without an actor, without a step, without a fault.
    pub(super) fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut other = self.clone();
            change(&mut other);
            other.actors.retain(|steps| !steps.is_empty());
            if other != *self && !other.actors.is_empty() {
                all.push(other);
            }
        };
        add(&|schedule| schedule.disk = None);
        for actor in 0..self.actors.len() {
            add(&|schedule| drop(schedule.actors.remove(actor)));
        }
        for actor in 0..self.actors.len() {
            for step in 0..self.actors[actor].len() {
                add(&|schedule| {
                    schedule.actors[actor].remove(step);
                });
                add(&|schedule| schedule.actors[actor][step].fault = Fault::None);
                add(&|schedule| schedule.actors[actor][step].delay_ms = 0);
            }
        }
        all
    }
}

impl Step {
    fn random(rng: &mut impl FnMut(u64) -> u64) -> Self {
        let seeds = 1 + rng(SEEDS);
        let action = match rng(10) {
            0..4 => Action::Simulate { kind: Kind::Run, seeds, jobs: 1 + rng(3) },
            4 => Action::Simulate { kind: Kind::Longer, seeds, jobs: 1 },
            5 => Action::Simulate { kind: Kind::Sweep, seeds: 1 + rng(2), jobs: 2 },
            6 => Action::Part { part: 1 + rng(2), seeds },
            7 => Action::Merge,
            _ => Action::Report { csv: rng(2) == 0 },
        };
        let fault = match rng(10) {
            0..3 => Fault::Signal { name: ["KILL", "KILL", "TERM", "INT"][rng(4) as usize], after_ms: rng(150) },
            3 => Fault::Pause { after_ms: rng(100), for_ms: 20 + rng(200) },
            4..6 => Fault::EqualPid,
            6 => Fault::SmallFiles { blocks: 1 + rng(200) },
            _ => Fault::None,
        };
        Self { delay_ms: rng(60), action, fault }
    }

    /// The arguments of the program.
    pub(super) fn words(&self) -> Vec<String> {
        let text = match self.action {
            Action::Simulate { kind, seeds, jobs } => {
                format!("{} --runs {seeds} --jobs {jobs} -o out --quiet", kind.words().join(" "))
            }
            Action::Part { part, seeds } => {
                let words = Kind::Run.words().join(" ");
                format!("{words} --runs {seeds} --jobs 1 --shard {part}/2 -o part{part} --quiet")
            }
            Action::Merge => "merge part1 part2 -o out --quiet".to_string(),
            Action::Report { csv: true } => "report out --csv --quiet".to_string(),
            Action::Report { csv: false } => "report out --quiet".to_string(),
        };
        text.split(' ').map(str::to_string).collect()
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(kib) = self.disk {
            writeln!(f, "disk of {kib} KiB")?;
        }
        for (number, steps) in self.actors.iter().enumerate() {
            writeln!(f, "actor {}", number + 1)?;
            for step in steps {
                writeln!(f, "    after {} ms: forebay {} ({:?})", step.delay_ms, step.words().join(" "), step.fault)?;
            }
        }
        Ok(())
    }
}
