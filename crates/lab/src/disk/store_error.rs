//! Why a directory of results could not be used.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A writer of a directory, as its lock file names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// Its process, as numbered in its own container.
    pub pid: u32,
    /// Its host.
    pub host: String,
}

impl Owner {
    /// This process.
    pub(crate) fn this() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { pid: std::process::id(), host: host.trim().to_string() }
    }

    /// A writer that has not said yet who it is.
    pub(crate) fn unknown() -> Self {
        Self { pid: 0, host: String::new() }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.pid, self.host.as_str()) {
            (0, _) => f.write_str("another process"),
            (pid, "") => write!(f, "process {pid}"),
            (pid, host) => write!(f, "process {pid} on {host}"),
        }
    }
}

/// Why a directory could not be used.
#[derive(Debug)]
pub enum StoreError {
    /// It holds something that must not be mixed or overwritten.
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// What it holds.
        holds: &'static str,
    },
    /// Another writer has it.
    Busy {
        /// The directory.
        dir: PathBuf,
        /// The other writer.
        owner: Owner,
    },
    /// The file system refused.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file cannot be understood.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign { dir, holds } => {
                write!(f, "{} holds {holds}: choose another -o", dir.display())
            }
            Self::Busy { dir, owner } => {
                write!(f, "{} is being written by {owner}: wait for it, or choose another -o", dir.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}
