//! Failures of `forebay attach` and the commands for its devices, in the three classes that have their own exit codes.

use std::error::Error;
use std::fmt;
use std::io;

/// A failure, by the class that decides the exit code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Invalid argument.
    Input {
        /// Name of the argument.
        key: &'static str,
        /// Its value.
        found: String,
        /// What is accepted.
        accepts: String,
    },
    /// Not permitted or not possible on this machine.
    Unavailable(String),
    /// The operation started and then failed.
    Failed(String),
}

impl Fault {
    /// The fault for the argument `key` with the invalid value `found`; `accepts` says what is accepted.
    pub fn input(key: &'static str, found: impl Into<String>, accepts: impl Into<String>) -> Self {
        Self::Input { key, found: found.into(), accepts: accepts.into() }
    }

    /// A system error during `what`, classified by its kind.
    pub fn system(what: impl fmt::Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::Unsupported => {
                Self::Unavailable(format!("{what}: {error}"))
            }
            _ => Self::Failed(format!("{what}: {error}")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { key, found, accepts } => write!(f, "{key}: found '{found}', expected {accepts}"),
            Self::Unavailable(what) | Self::Failed(what) => f.write_str(what),
        }
    }
}

impl Error for Fault {}

/// An error and its causes on one line.
pub(in crate::attach) fn chain(error: &dyn Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some errors already include the text of their cause.
        if !out.contains(&text) {
            out = format!("{out}: {text}");
        }
        cause = error.source();
    }
    // The verifier's log has many lines; the first states the reason.
    out.lines().next().unwrap_or_default().to_string()
}
