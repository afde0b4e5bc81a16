//! Runs the program `forebay` in a folder that each test has for itself.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Two contenders, 10 flows, 2 s.
pub(crate) const SCENARIO: &str = include_str!("../data/short.toml");

/// The arguments of a sweep over two points: `duration=TIME`, seeds, jobs.
pub(crate) const fn sweep(duration: &'static str, runs: &'static str, jobs: &'static str) -> [&'static str; 13] {
    let vary = "flows.ftp.count=8,10";
    let file = "short.toml";
    ["sweep", file, "--vary", vary, "--set", duration, "--runs", runs, "--jobs", jobs, "-o", "out", "--quiet"]
}

/// A folder with `short.toml` in it.
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
}

impl Place {
    /// An empty folder but for `short.toml`; `name` is unique among the tests of one file.
    pub(crate) fn new(name: &str) -> Self {
        // The name of a test's thread begins with its file.
        let thread = std::thread::current();
        let file = thread.name().and_then(|test| test.split("::").next()).unwrap_or("all");
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file).join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let place = Self { dir };
        place.write("short.toml", SCENARIO);
        place
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).unwrap();
    }

    /// The program, not started yet, in this folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.current_dir(&self.dir).args(words).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        Ended::new(self.command(words).output().unwrap())
    }

    /// Names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.dir)
    }
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Temporary files anywhere below a folder.
pub(crate) fn temporaries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in dir.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(temporaries(&entry)),
            false if entry.extension().is_some_and(|ending| ending == "tmp") => found.push(entry),
            false => {}
        }
    }
    found
}

/// Result of a run of the program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ended = Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        ended
    }

    /// The exit code was 0.
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Every command listed in the help, with its help.
pub(crate) fn helps(place: &Place) -> Vec<(Vec<String>, String)> {
    let mut all: Vec<(Vec<String>, String)> = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let question: Vec<&str> = words.iter().map(String::as_str).chain(["-h"]).collect();
        let text = place.run(&question).good().stdout;
        let listed =
            text.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
        // Commands are indented by two; deeper lines describe them.
        let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for name in names.filter(|name| !name.is_empty() && *name != "help") {
            open.push([&words[..], &[name.to_string()]].concat());
        }
        all.push((words, text));
    }
    all
}
