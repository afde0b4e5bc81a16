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
    shortened(&out)
}

/// The first line, and the last one: that of the BPF verifier's log has the reason. Statistics may follow it.
fn shortened(text: &str) -> String {
    const STATISTICS: [&str; 3] = ["processed ", "verification time", "stack depth"];
    let is_empty = |line: &str| line.is_empty() || STATISTICS.iter().any(|words| line.starts_with(words));
    let mut lines = text.lines().map(str::trim).filter(|line| !is_empty(line));
    let first = lines.next().unwrap_or_default();
    lines.next_back().map_or_else(|| first.to_string(), |last| format!("{first} ... {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_the_last_line_of_the_verifier() {
        let log = "refused. Verifier output: func#0 @0\n0: (79) r1 = 1\nunknown func probe#113\nprocessed 7 insns\n";
        assert_eq!(shortened(log), "refused. Verifier output: func#0 @0 ... unknown func probe#113");
        assert_eq!(shortened("one line"), "one line");
        assert_eq!(shortened(""), "");
    }
}
