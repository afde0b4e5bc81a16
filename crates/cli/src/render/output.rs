//! Output streams: results to stdout, notes and errors to stderr, colours only on a terminal.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::AtomicBool;

use console::Term;
use forebay_lab::commands::failure::{self as commands, ErrorDocument};
use forebay_lab::commands::host::{self, Host};
use forebay_lab::render::look::{Look, Tone};
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt;
use crate::program::Program;
use crate::render::progress::Progress;

/// The document that `--json` prints on stdout in place of a result: an error.
#[derive(Serialize)]
struct Refused {
    version: u32,
    error: ErrorDocument,
}

/// Smallest width to which text is wrapped, in columns. A narrower terminal wraps the lines again.
const NARROWEST: usize = 40;

/// Width of the terminal on stdout; `None` if it is not a terminal.
pub(crate) fn columns() -> Option<usize> {
    Term::stdout().size_checked().map(|(_, columns)| usize::from(columns).max(NARROWEST))
}

/// The two output streams and how to write to them.
#[derive(Clone, Debug)]
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    look: Look,
    program: Program,
    colour_err: bool,
}

impl Ui {
    /// Output streams that follow the flags `--json` and `--quiet`, the kind of stdout and stderr, `NO_COLOR` and
    /// `TERM`.
    pub(crate) fn new(json: bool, quiet: bool, program: Program) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let wanted = !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json,
            quiet,
            program,
            look: Look { colours: wanted && io::stdout().is_terminal(), columns: columns() },
            colour_err: wanted && io::stderr().is_terminal(),
        }
    }

    /// The running program.
    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }

    /// Style of text on stdout.
    pub(crate) const fn look(&self) -> Look {
        self.look
    }

    /// Calls `work` with what a command needs of the program: the flag that Ctrl-C sets, notes and progress.
    pub(crate) fn host<T>(&self, work: impl FnOnce(&Host<'_>) -> Result<T, commands::Failure>) -> Result<T, Failure> {
        self.hosted(interrupt::watch(), work)
    }

    /// As [`Ui::host`], without installing a handler for Ctrl-C.
    pub(crate) fn host_without_handler<T>(
        &self,
        work: impl FnOnce(&Host<'_>) -> Result<T, commands::Failure>,
    ) -> Result<T, Failure> {
        self.hosted(interrupt::flag(), work)
    }

    fn hosted<T>(
        &self,
        stop: &AtomicBool,
        work: impl FnOnce(&Host<'_>) -> Result<T, commands::Failure>,
    ) -> Result<T, Failure> {
        let note = |text: &str| self.note(text);
        let host = Host {
            stop,
            notes: (!self.quiet).then_some(&note as &(dyn Fn(&str) + Sync)),
            progress: &|total_s| Box::new(Progress::new(self.quiet, total_s)),
            build: &|| self.program.build().to_string(),
            origin: &self.program.origin(),
            words: &host::OF_THE_TERMINAL,
        };
        Ok(work(&host)?)
    }

    /// Whether one JSON document is all that stdout gets (`--json`).
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// `text` with the emphasis `tone`, for stdout.
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        self.look.tone(tone, text)
    }

    /// Writes `text` to stdout and ends it with a newline.
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

    /// Writes `document` to stdout as JSON.
    pub(crate) fn print_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document).map_err(|error| Failure::Stdout(error.into()))?;
        self.print(&text)
    }

    /// Writes a note to stderr, unless `--quiet` was given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            // If stderr is closed there is no one to report to.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Reports the failure of a command: one message on stderr, or the error document on stdout under `--json`.
    pub(crate) fn fail(&self, failure: &Failure) {
        match failure {
            Failure::NoReader => {}
            _ if self.json => self.error_document(failure.document()),
            _ => self.error_line(&failure.to_string()),
        }
    }

    /// Prints the error document for wrong arguments on stdout.
    pub(crate) fn fail_usage(&self, message: &str) {
        self.error_document(ErrorDocument::new("usage", message.to_string()));
    }

    fn error_document(&self, error: ErrorDocument) {
        if let Err(failure @ Failure::Stdout(_)) = self.print_json(&Refused { version: 1, error }) {
            self.error_line(&failure.to_string());
        }
    }

    fn error_line(&self, message: &str) {
        let _ = writeln!(io::stderr(), "{} {message}", Tone::Bad.paint("error:", self.colour_err));
    }
}
