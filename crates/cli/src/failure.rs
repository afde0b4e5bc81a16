//! How a command ends: the fixed exit codes, and what is said about a failure.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use forebay_lab::commands::failure::{self as commands, ErrorDocument};
use forebay_lab::store::StoreError;

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
    /// The command itself failed.
    Command(commands::Failure),
    /// The reader of stdout has gone.
    NoReader,
    /// Nothing can be written to stdout.
    Stdout(std::io::Error),
}

impl<E: Into<commands::Failure>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Command(error.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(failure) => failure.fmt(f),
            Self::NoReader => f.write_str("the reader of the output has gone"),
            Self::Stdout(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl Failure {
    /// A run could not be done.
    pub(crate) const fn run(what: String) -> Self {
        Self::Command(commands::Failure::Run(what))
    }

    /// This machine lacks something.
    pub(crate) const fn unavailable(what: String) -> Self {
        Self::Command(commands::Failure::Unavailable(what))
    }

    /// The exit code that it means.
    pub(crate) fn exit(&self) -> Exit {
        use commands::Failure as Of;
        match self {
            Self::Command(Of::Store(StoreError::Busy { .. })) if interrupt::flag().load(Ordering::SeqCst) => {
                Exit::Interrupted
            }
            Self::Command(Of::Input(_) | Of::Store(StoreError::Foreign { .. } | StoreError::Busy { .. })) => {
                Exit::Input
            }
            Self::Command(Of::Store(StoreError::Io { error, .. }))
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Exit::Unavailable
            }
            Self::Command(Of::Store(_) | Of::Run(_)) | Self::Stdout(_) => Exit::Failed,
            Self::Command(Of::Unavailable(_)) => Exit::Unavailable,
            Self::Command(Of::Interrupted { .. }) => Exit::Interrupted,
            // Whoever ends a pipe early has seen enough.
            Self::NoReader => Exit::Done,
        }
    }

    /// The `error` of the JSON document.
    pub(crate) fn document(&self) -> ErrorDocument {
        match self {
            Self::Command(failure) => failure.document(),
            Self::NoReader | Self::Stdout(_) => ErrorDocument::new("output", self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_has_a_code_of_its_own() {
        let exit = |kind: ErrorKind| Failure::from(StoreError::Io { path: "out".into(), error: kind.into() }).exit();
        assert_eq!(exit(ErrorKind::PermissionDenied), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::ReadOnlyFilesystem), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::StorageFull), Exit::Failed);
    }
}
