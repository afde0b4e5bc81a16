//! Which program this is, how it was called, and how it is called again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use forebay_lab::plan::hex_hash;
use forebay_lab::results::meta::{Origin, Revision};

/// The program that a process runs.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file that has this code, if that is known.
    pub file: Option<PathBuf>,
    /// What starts it: a program and its first words.
    pub start: Vec<OsString>,
    /// The words after that.
    pub words: Vec<OsString>,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

impl Program {
    /// A program of its own, as the system started it.
    pub fn own() -> Self {
        let file = std::env::current_exe().ok();
        let start = file.iter().map(|path| path.clone().into_os_string()).collect();
        Self { file, start, words: std::env::args_os().skip(1).collect() }
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

    /// What tells this build from any other: its revision and a hash of the program itself, because a revision does not
    /// tell what was changed since.
    pub fn build(&self) -> &str {
        static BUILD: OnceLock<String> = OnceLock::new();
        BUILD.get_or_init(|| self.read_build())
    }

    fn read_build(&self) -> String {
        let hash = self.file.as_ref().and_then(|file| std::fs::read(file).ok()).map_or_else(String::new, hex_hash);
        [env!("FOREBAY_REVISION"), &hash].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".")
    }
}

/// The program of this process from now on; the first one that was set.
pub fn set(program: Program) -> &'static Program {
    PROGRAM.get_or_init(|| program)
}

/// The program of this process.
pub fn this() -> &'static Program {
    PROGRAM.get_or_init(Program::own)
}

/// What `meta.json` says about this program and how it was called.
pub(crate) fn origin() -> Origin {
    let revision = Some(env!("FOREBAY_REVISION")).filter(|revision| !revision.is_empty()).map(str::to_string);
    let command: Vec<String> = this().words().map(|word| quote(&word.to_string_lossy())).collect();
    Origin { revision: Some(Revision(revision)), command: Some(command.join(" ")) }
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
