//! The running program: its file, the arguments with which it was called, and a command that starts it again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use forebay_lab::plan::build;
use forebay_lab::results::meta::{Origin, Revision};

/// The running program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    file: Option<PathBuf>,
    start: Vec<OsString>,
    words: Vec<OsString>,
    build: OnceLock<String>,
}

impl Program {
    /// `file`: the executable or library that holds this code, if known. `start`: the command that starts it,
    /// with leading arguments. `words`: the arguments that follow.
    pub const fn new(file: Option<PathBuf>, start: Vec<OsString>, words: Vec<OsString>) -> Self {
        Self { file, start, words, build: OnceLock::new() }
    }

    /// This executable, with the arguments of the process.
    pub fn own() -> Self {
        let file = std::env::current_exe().ok();
        let start = file.iter().map(|path| path.clone().into_os_string()).collect();
        Self::new(file, start, std::env::args_os().skip(1).collect())
    }

    /// `forebay` and its arguments, as an argument parser takes them.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> + Clone {
        std::iter::once(OsString::from("forebay")).chain(self.words.clone())
    }

    /// A command that starts this program again, without arguments. `None` if the program's path is unknown.
    pub(crate) fn again(&self) -> Option<Command> {
        let (program, words) = self.start.split_first()?;
        let mut command = Command::new(program);
        command.args(words);
        Some(command)
    }

    /// Identifies this build of the program: results of another build are not reused.
    pub(crate) fn build(&self) -> &str {
        self.build.get_or_init(|| build(env!("FOREBAY_REVISION"), self.file.as_deref()))
    }

    /// The build and the command line of the program, for `meta.json`.
    pub(crate) fn origin(&self) -> Origin {
        let command: Vec<String> = self.words().map(|word| quote(&word.to_string_lossy())).collect();
        Origin { revision: Some(Revision::of(env!("FOREBAY_REVISION"))), command: Some(command.join(" ")) }
    }
}

/// Quotes a word for a POSIX shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
