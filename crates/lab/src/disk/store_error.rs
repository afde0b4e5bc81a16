//! Errors in using a directory of results, such as another process that writes into it.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The process that writes into a directory of results, as the lock file of the directory identifies it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// Process id as seen by the writer itself; in a container, that of the container's PID namespace.
    pub pid: u32,
    /// Name of the writer's host.
    pub host: String,
}

impl Owner {
    /// This process.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there is one writer"))]
    pub(crate) fn this() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { pid: std::process::id(), host: host.trim().to_string() }
    }

    /// A writer whose identity is not known yet.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there is one writer"))]
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

/// Why a directory of results could not be used.
#[derive(Debug)]
pub enum StoreError {
    /// The directory has content that must not be mixed with these results or overwritten.
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// What it contains.
        holds: &'static str,
    },
    /// Another writer has locked it.
    Busy {
        /// The directory.
        dir: PathBuf,
        /// The process that has the lock.
        owner: Owner,
    },
    /// A file system operation failed.
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file has invalid content.
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Why the content is invalid.
        reason: String,
    },
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign { dir, holds } => {
                write!(f, "{} contains {holds}; choose another -o", dir.display())
            }
            Self::Busy { dir, owner } => {
                write!(f, "{} is locked by {owner}; wait for it, or choose another -o", dir.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}
