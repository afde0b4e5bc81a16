//! Exit codes and error messages of a command.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use forebay_lab::commands::failure::{self as commands, ErrorDocument};
use forebay_lab::store::StoreError;

use crate::interrupt;

/// How a command ended; it determines the exit code. This crate's README lists the exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// The command did what it should.
    Done,
    /// A run failed, its results could not be written, an emulated link sent real packets too late, or a packetdrill
    /// script did not pass.
    Failed,
    /// Wrong input.
    Input,
    /// `forebay reproduce --strict`: a claim of a paper did not hold.
    Claims,
    /// Not permitted or not possible on this machine.
    Unavailable,
    /// Interrupted; results so far are kept.
    Interrupted,
    /// Exit code of the command behind an emulated link.
    Command(u8),
}

impl Exit {
    /// The process exit code.
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

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command itself failed.
    Command(commands::Failure),
    /// The reader of stdout closed the pipe.
    NoReader,
    /// Writing to stdout failed.
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
            Self::NoReader => f.write_str("stdout was closed by its reader"),
            Self::Stdout(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl Failure {
    /// The failure for a run that failed for the reason `what`.
    pub(crate) const fn run(what: String) -> Self {
        Self::Command(commands::Failure::Run(what))
    }

    /// The failure if this machine lacks `what`, which the command needs.
    pub(crate) const fn unavailable(what: String) -> Self {
        Self::Command(commands::Failure::Unavailable(what))
    }

    /// The exit code.
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
            // A reader that closes a pipe early (`head`) has read enough.
            Self::NoReader => Exit::Done,
        }
    }

    /// The failure as the key `error` of the JSON document that `--json` prints.
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
    fn permission_and_full_disk_exit_codes_differ() {
        let exit = |kind: ErrorKind| Failure::from(StoreError::Io { path: "out".into(), error: kind.into() }).exit();
        assert_eq!(exit(ErrorKind::PermissionDenied), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::ReadOnlyFilesystem), Exit::Unavailable);
        assert_eq!(exit(ErrorKind::StorageFull), Exit::Failed);
    }
}
