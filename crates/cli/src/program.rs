//! Which program this is, how it was called, and how it is called again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use forebay_lab::plan::build;
use forebay_lab::results::meta::{Origin, Revision};

/// The program that a process runs.
#[derive(Clone, Debug, Default)]
pub struct Program {
    file: Option<PathBuf>,
    start: Vec<OsString>,
    words: Vec<OsString>,
    build: OnceLock<String>,
}

impl Program {
    /// `file` has this code, if that is known; `start` starts it, a program and its first words; `words` come after that.
    pub const fn new(file: Option<PathBuf>, start: Vec<OsString>, words: Vec<OsString>) -> Self {
        Self { file, start, words, build: OnceLock::new() }
    }

    /// A program of its own, as the system started it.
    pub fn own() -> Self {
        let file = std::env::current_exe().ok();
        let start = file.iter().map(|path| path.clone().into_os_string()).collect();
        Self::new(file, start, std::env::args_os().skip(1).collect())
    }

    /// `forebay` and its words, as a parser of arguments takes them.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> + Clone {
        std::iter::once(OsString::from("forebay")).chain(self.words.clone())
    }

    /// The same program again, without words; none if it is not known how.
    pub(crate) fn again(&self) -> Option<Command> {
        let (program, words) = self.start.split_first()?;
        let mut command = Command::new(program);
        command.args(words);
        Some(command)
    }

    /// What tells this build from any other.
    pub(crate) fn build(&self) -> &str {
        self.build.get_or_init(|| build(env!("FOREBAY_REVISION"), self.file.as_deref()))
    }

    /// What `meta.json` says about this program and how it was called.
    pub(crate) fn origin(&self) -> Origin {
        let command: Vec<String> = self.words().map(|word| quote(&word.to_string_lossy())).collect();
        Origin { revision: Some(Revision::of(env!("FOREBAY_REVISION"))), command: Some(command.join(" ")) }
    }
}

/// A word as a shell takes it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
