//! Why a command of Forebay failed.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::disk::store_error::StoreError;
use crate::reproduce::ReproduceError;
use crate::run::batch::BatchError;
use crate::scenario::InputError;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A scenario, name or path is wrong.
    Input(InputError),
    /// A directory of results cannot be used.
    Store(StoreError),
    /// The command failed for another reason, which the text names.
    Run(String),
    /// The machine lacks something that the command needs.
    Unavailable(String),
    /// The command was interrupted.
    Interrupted {
        /// Directory of the finished runs; `None`: they are not stored.
        dir: Option<PathBuf>,
        /// Number of finished runs.
        done: usize,
        /// Number of all runs.
        total: usize,
    },
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Run(what) | Self::Unavailable(what) => f.write_str(what),
            Self::Interrupted { dir: None, .. } => {
                f.write_str("interrupted before results were stored; repeat the command to begin again")
            }
            Self::Interrupted { dir: Some(dir), done, total } => {
                write!(
                    f,
                    "interrupted: {done} of {total} runs are in {}; repeat the command to continue",
                    dir.display()
                )
            }
        }
    }
}

impl std::error::Error for Failure {}

/// The `error` of a command's JSON document (`--json`): always `kind` and `message`, and further keys for some errors.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ErrorDocument {
    /// Wrong input.
    Input(InputError),
    /// Any other error.
    Other {
        /// Fixed name of the kind of error.
        kind: &'static str,
        /// Directory or file of the error.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// After an interruption: number of finished runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        runs_done: Option<usize>,
        /// After an interruption: number of all runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        runs_total: Option<usize>,
        /// Message for users.
        message: String,
    },
}

impl ErrorDocument {
    /// An error of this kind without a path.
    pub const fn new(kind: &'static str, message: String) -> Self {
        Self::Other { kind, path: None, runs_done: None, runs_total: None, message }
    }
}

impl Failure {
    /// Converts the error of a batch of runs. `interrupted` returns the failure for an interrupted batch.
    pub fn of_batch(error: BatchError, interrupted: impl FnOnce() -> Self) -> Self {
        match error {
            BatchError::Store(error) => Self::Store(error),
            BatchError::Run(error) => Self::Run(error.to_string()),
            BatchError::Memory { .. } => Self::Run(error.to_string()),
            BatchError::Interrupted => interrupted(),
        }
    }

    /// Converts the error of a reproduction. `interrupted` returns the failure for an interrupted reproduction.
    pub fn of_reproduction(error: ReproduceError, interrupted: impl FnOnce() -> Self) -> Self {
        match error {
            ReproduceError::Batch(error) => Self::of_batch(error, interrupted),
            ReproduceError::Store(error) => Self::Store(error),
            ReproduceError::Input(error) => Self::Input(error),
            ReproduceError::Files(reason) => Self::Run(reason),
        }
    }

    /// The `error` of the command's JSON document.
    pub fn document(&self) -> ErrorDocument {
        let message = self.to_string();
        let with = |kind, path: &PathBuf, runs_done, runs_total| {
            let path = Some(path.display().to_string());
            ErrorDocument::Other { kind, path, runs_done, runs_total, message: message.clone() }
        };
        match self {
            Self::Input(error) => ErrorDocument::Input(error.clone()),
            Self::Store(StoreError::Foreign { dir, .. }) => with("foreign-directory", dir, None, None),
            Self::Store(StoreError::Busy { dir, .. }) => with("busy-directory", dir, None, None),
            Self::Store(StoreError::Io { path, .. }) => with("io", path, None, None),
            Self::Store(StoreError::Damaged { path, .. }) => with("damaged-file", path, None, None),
            Self::Run(_) => ErrorDocument::new("run", message),
            Self::Unavailable(_) => ErrorDocument::new("unavailable", message),
            Self::Interrupted { dir: Some(dir), done, total } => with("interrupted", dir, Some(*done), Some(*total)),
            Self::Interrupted { dir: None, .. } => ErrorDocument::new("interrupted", message),
        }
    }
}
