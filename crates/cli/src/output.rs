//! What goes where: results to stdout, notes and errors to stderr, colour only for people.

use std::cell::Cell;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use forebay_lab::load;
use forebay_lab::scenario::{Case, InputError, Overrides};
use forebay_lab::store::Owner;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};

/// How a piece of text stands out on a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    /// Headings, names.
    Strong,
    /// Less important.
    Faint,
    /// Something went wrong.
    Bad,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Bad => "1;31",
        }
    }

    /// `text` in this tone, if colours are `on`.
    fn paint(self, text: &str, on: bool) -> String {
        if on && !text.is_empty() { format!("\x1b[{}m{text}\x1b[0m", self.code()) } else { text.to_string() }
    }
}

/// The two output streams and how the user wants them.
#[derive(Clone, Debug)]
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    colour_out: bool,
    colour_err: bool,
    caught: bool,
    scenario: Option<String>,
}

thread_local! {
    /// The document of a command whose caller wants it as a value.
    static CAUGHT: Cell<Option<Value>> = const { Cell::new(None) };
}

impl Ui {
    /// As the flags, the terminal and `NO_COLOR` say.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let wanted = !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json,
            quiet,
            colour_out: wanted && io::stdout().is_terminal(),
            colour_err: wanted && io::stderr().is_terminal(),
            caught: false,
            scenario: None,
        }
    }

    /// For text that goes elsewhere.
    pub(crate) const fn plain() -> Self {
        Self { json: false, quiet: true, colour_out: false, colour_err: false, caught: false, scenario: None }
    }

    /// One under which `command` writes its document to nobody: it is given. `scenario` stands in place of what is in the
    /// scenario file, whose name then only says beside which files it is.
    pub(crate) fn catch<E>(
        quiet: bool,
        scenario: Option<String>,
        command: impl FnOnce(&Self) -> Result<Exit, E>,
    ) -> Result<Value, E> {
        command(&Self { caught: true, scenario, ..Self::new(true, quiet) })?;
        Ok(CAUGHT.take().unwrap_or_default())
    }

    /// The cases of a scenario file, or of what is given in its place.
    pub(crate) fn cases(&self, file: &Path, overrides: &Overrides) -> Result<Vec<Case>, InputError> {
        match &self.scenario {
            Some(text) => load::parse(&file.display().to_string(), text, overrides),
            None => load::file(file, overrides),
        }
    }

    /// Does a caller in Python have the document?
    pub(crate) const fn caught(&self) -> bool {
        self.caught
    }

    /// Is stdout for one JSON document?
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Are progress and notes unwanted?
    pub(crate) const fn quiet(&self) -> bool {
        self.quiet
    }

    /// `text` in a tone, for stdout.
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        tone.paint(text, self.colour_out)
    }

    /// Writes results for people.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let write = || -> io::Result<()> {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            if !text.ends_with('\n') {
                out.write_all(b"\n")?;
            }
            out.flush()
        };
        write().map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::NoReader,
            _ => Failure::Stdout(error),
        })
    }

    /// Writes the one JSON document.
    pub(crate) fn print_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let failed = |error: serde_json::Error| Failure::Stdout(error.into());
        if self.caught {
            CAUGHT.set(Some(serde_json::to_value(document).map_err(failed)?));
            return Ok(());
        }
        self.print(&serde_json::to_string_pretty(document).map_err(failed)?)
    }

    /// Says something that is not a result.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            // Without a stderr there is nobody to tell.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Says that this command waits for another writer of a directory.
    pub(crate) fn waits(&self, dir: &Path, owner: &Owner) {
        self.note(&format!("{} is being written by {owner}: waiting for it to end", dir.display()));
    }

    /// Says what went wrong: one message on stderr, or the error document on stdout under `--json`.
    pub(crate) fn fail(&self, failure: &Failure) {
        match failure {
            Failure::NoReader => {}
            _ if self.json => self.error_document(failure.json()),
            _ => self.error_line(&failure.to_string()),
        }
    }

    /// The same for words that are no command of ours.
    pub(crate) fn fail_usage(&self, message: &str) {
        self.error_document(json!({ "kind": "usage", "message": message }));
    }

    fn error_document(&self, error: Value) {
        if let Err(failure @ Failure::Stdout(_)) = self.print_json(&json!({ "version": 1, "error": error })) {
            self.error_line(&failure.to_string());
        }
    }

    fn error_line(&self, message: &str) {
        let _ = writeln!(io::stderr(), "{} {message}", Tone::Bad.paint("error:", self.colour_err));
    }
}
