//! How a command ends: the fixed exit codes, and what is said about a failure.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use forebay_lab::scenario::InputError;
use forebay_lab::store::StoreError;
use serde_json::{Value, json};

use crate::interrupt;

/// The fixed exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// A run failed, or its results could not be kept, or a live run's timing was invalid.
    Failed,
    /// The input is wrong.
    Input,
    /// Under `--strict`: a claim did not hold.
    Claims,
    /// Not permitted or not possible on this machine.
    Unavailable,
    /// Interrupted; results so far are kept.
    Interrupted,
    /// That of the command behind an emulated link.
    Command(u8),
}

impl Exit {
    /// The number that the system is told.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Input => 2,
            Self::Claims => 3,
            Self::Unavailable => 4,
            Self::Interrupted => interrupt::CODE,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A scenario, name or path is wrong.
    Input(InputError),
    /// A run directory cannot be used.
    Store(StoreError),
    /// A run could not be done.
    Run(String),
    /// This machine lacks something.
    Unavailable(String),
    /// Asked to stop.
    Interrupted {
        /// Where the finished runs are.
        dir: PathBuf,
        /// How many are finished.
        done: usize,
        /// How many there are in all.
        total: usize,
    },
    /// The reader of stdout has gone.
    NoReader,
    /// Nothing can be written to stdout.
    Stdout(std::io::Error),
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Run(what) | Self::Unavailable(what) => f.write_str(what),
            Self::Interrupted { dir, done, total } => {
                write!(f, "interrupted: {done} of {total} runs are in {}; the same command goes on", dir.display())
            }
            Self::NoReader => f.write_str("the reader of the output has gone"),
            Self::Stdout(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl Failure {
    /// The exit code that it means.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Store(StoreError::Busy { .. }) if interrupt::flag().load(Ordering::SeqCst) => Exit::Interrupted,
            Self::Input(_) | Self::Store(StoreError::Foreign { .. } | StoreError::Busy { .. }) => Exit::Input,
            Self::Store(StoreError::Io { error, .. })
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Exit::Unavailable
            }
            Self::Store(_) | Self::Run(_) | Self::Stdout(_) => Exit::Failed,
            Self::Unavailable(_) => Exit::Unavailable,
            Self::Interrupted { .. } => Exit::Interrupted,
            // Whoever ends a pipe early has seen enough.
            Self::NoReader => Exit::Done,
        }
    }

    /// The `error` of the JSON document: `kind` and `message` always, more where there is more.
    pub(crate) fn json(&self) -> Value {
        let message = self.to_string();
        match self {
            Self::Input(error) => json!(error),
            Self::Store(error) => {
                let (kind, path) = match error {
                    StoreError::Foreign { dir, .. } => ("foreign-directory", dir),
                    StoreError::Busy { dir, .. } => ("busy-directory", dir),
                    StoreError::Io { path, .. } => ("io", path),
                    StoreError::Damaged { path, .. } => ("damaged-file", path),
                };
                json!({ "kind": kind, "path": path.display().to_string(), "message": message })
            }
            Self::Run(_) => json!({ "kind": "run", "message": message }),
            Self::Unavailable(_) => json!({ "kind": "unavailable", "message": message }),
            Self::Interrupted { dir, done, total } => json!({
                "kind": "interrupted",
                "path": dir.display().to_string(),
                "runs_done": done,
                "runs_total": total,
                "message": message,
            }),
            Self::NoReader | Self::Stdout(_) => json!({ "kind": "output", "message": message }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_has_a_code_of_its_own() {
        let exit = |kind: ErrorKind| Failure::Store(StoreError::Io { path: "out".into(), error: kind.into() }).exit();
        assert_eq!(exit(ErrorKind::PermissionDenied), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::ReadOnlyFilesystem), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::StorageFull), Exit::Failed);
    }
}
