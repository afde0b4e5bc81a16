//! Why something was not done, in the three ways that have an exit code of their own.

use std::error::Error;
use std::fmt;
use std::io;

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// What was asked for makes no sense here.
    Input {
        /// Which word of the command.
        key: &'static str,
        /// What stood there.
        found: String,
        /// What may stand there.
        accepts: String,
    },
    /// This machine does not permit it, or cannot do it.
    Unavailable(String),
    /// It began and then failed.
    Failed(String),
}

impl Fault {
    /// Something wrong with a word of the command.
    pub fn input(key: &'static str, found: impl Into<String>, accepts: impl Into<String>) -> Self {
        Self::Input { key, found: found.into(), accepts: accepts.into() }
    }

    /// What the system said when it was asked for `what`.
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

/// An error and all that caused it, in one line.
pub(in crate::attach) fn chain(error: &dyn Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some say what their cause says.
        if !out.contains(&text) {
            out = format!("{out}: {text}");
        }
        cause = error.source();
    }
    // The verifier's log has many lines; its first says what was refused.
    out.lines().next().unwrap_or_default().to_string()
}
