//! The directory that the actors share, and the actors.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use super::oracle::{Record, watch};
use super::schedule::{Fault, Schedule, Step};
use crate::common::{Place, SCENARIO};

/// How a step ended.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) step: Step,
    /// `None`: a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
}

/// The directory, which may be a small disk of its own.
pub(super) struct World {
    place: Place,
    /// The process whose mounts have the small disk.
    holder: Option<Child>,
    /// The directory, as this process sees it.
    pub(super) dir: PathBuf,
}

impl World {
    /// `None`: the machine has no namespaces for a small disk.
    pub(super) fn new(name: &str, disk_kib: Option<u64>) -> Option<Self> {
        let place = Place::new(name);
        let Some(kib) = disk_kib else {
            let dir = place.dir.clone();
            return Some(Self { place, holder: None, dir });
        };
        let script = format!("mount -t tmpfs -o size={kib}k none . && echo mounted && read _");
        let mut holder = Command::new("unshare");
        holder.args(["-rm", "sh", "-c", &script]).current_dir(&place.dir);
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = holder.spawn().ok()?;
        let mut said = String::new();
        BufReader::new(holder.stdout.as_mut()?).read_line(&mut said).ok()?;
        // A relative path: `.` of the shell is below the mount.
        let dir = PathBuf::from(format!("/proc/{}/root{}", holder.id(), place.dir.canonicalize().ok()?.display()));
        fs::write(dir.join("short.toml"), SCENARIO).ok().filter(|()| said == "mounted\n")?;
        Some(Self { place, holder: Some(holder), dir })
    }

    /// A program in the directory.
    fn command(&self, program: &str) -> Command {
        let mut command = match &self.holder {
            None => Command::new(program),
            Some(holder) => {
                let mut inside = Command::new("nsenter");
                inside.args(["--preserve-credentials", "-U", "-m", "-t", &holder.id().to_string()]);
                inside.arg(format!("--wd={}", self.dir.display())).arg(program);
                inside
            }
        };
        command.current_dir(&self.place.dir).env("RUST_BACKTRACE", "0").process_group(0);
        command
    }

    fn forebay(&self, words: &[String], fault: Fault) -> Command {
        let program = self.place.command(&[]);
        let program = program.get_program();
        let mut command = match fault {
            Fault::EqualPid => {
                let mut command = self.command("unshare");
                command.args(["-rpf", "--kill-child", "--"]).arg(program);
                command
            }
            Fault::SmallFiles { blocks } => {
                let mut command = self.command("sh");
                command.args(["-c", "ulimit -f \"$1\"; shift; exec \"$@\"", "sh", &blocks.to_string()]).arg(program);
                command
            }
            _ => self.command(&program.to_string_lossy()),
        };
        command.args(words);
        command
    }

    /// Runs the program without faults.
    pub(super) fn undisturbed(&self, words: &str) -> Outcome {
        let words: Vec<String> = words.split(' ').map(str::to_string).collect();
        let output = self.forebay(&words, Fault::None).stdout(Stdio::null()).output().unwrap();
        let action = super::schedule::Action::Merge;
        let step = Step { delay_ms: 0, action, fault: Fault::None };
        Outcome { step, code: output.status.code(), stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    fn act(&self, step: Step) -> Outcome {
        sleep(Duration::from_millis(step.delay_ms));
        let mut command = self.forebay(&step.words(), step.fault);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let group = format!("-{}", child.id());
        let signal = |name: &str| {
            // The process may have ended.
            let _ = Command::new("kill").args(["-s", name, "--", &group]).stderr(Stdio::null()).status();
        };
        match step.fault {
            Fault::Signal { name, after_ms } => {
                sleep(Duration::from_millis(after_ms));
                signal(name);
            }
            Fault::Pause { after_ms, for_ms } => {
                sleep(Duration::from_millis(after_ms));
                signal("STOP");
                sleep(Duration::from_millis(for_ms));
                signal("CONT");
            }
            Fault::None | Fault::EqualPid | Fault::SmallFiles { .. } => {}
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Outcome { step, code: output.status.code(), stderr }
    }

    /// Runs the actors at the same time, and watches the files. Returns how the steps ended.
    pub(super) fn play(&self, schedule: &Schedule) -> (Vec<Outcome>, Record) {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&self.dir, &is_over));
            let act = |steps: &Vec<Step>| steps.iter().map(|step| self.act(*step)).collect::<Vec<_>>();
            let actors: Vec<_> = schedule.actors.iter().map(|steps| scope.spawn(move || act(steps))).collect();
            let outcomes = actors.into_iter().flat_map(|actor| actor.join().unwrap()).collect();
            is_over.store(true, Ordering::Relaxed);
            (outcomes, watcher.join().unwrap())
        })
    }

    /// Enlarges the small disk.
    pub(super) fn enlarge(&self) {
        if self.holder.is_some() {
            let status = self.command("mount").args(["-o", "remount,size=64m", "."]).status().unwrap();
            assert!(status.success());
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}

/// Whether a path is a directory with something in it.
pub(super) fn is_filled(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}
