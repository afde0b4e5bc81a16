//! Files of a run directory (a directory of results of runs). Writes are atomic and durable; only regular files are
//! read. In a browser, where there is no file system, the files are in memory.

#[cfg(not(target_family = "wasm"))]
mod claim;
pub mod lock;
#[cfg(target_family = "wasm")]
mod memory;
pub(crate) mod store_error;
#[cfg(not(target_family = "wasm"))]
mod system;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use store_error::StoreError;

#[cfg(not(target_family = "wasm"))]
use claim::Claim;
#[cfg(target_family = "wasm")]
pub(crate) use memory::*;
#[cfg(not(target_family = "wasm"))]
pub(crate) use system::*;

/// A file system error at `path`.
pub(crate) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Io { path, error }
}

/// The error for a file with invalid content.
pub(crate) fn damaged<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> StoreError {
    let path = path.to_path_buf();
    move |error| StoreError::Damaged { path: path.clone(), reason: error.to_string() }
}

/// Names of temporary files: `.forebay-` + 16 hexadecimal digits + `.tmp`.
const TEMPORARY: (&str, &str) = (".forebay-", ".tmp");

/// Whether `name` is the name of a temporary file of ours.
pub(crate) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(TEMPORARY.0).and_then(|rest| rest.strip_suffix(TEMPORARY.1));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Writes a file atomically: a reader sees either the old or the new content.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fill_whole(path, |file| io::Write::write_all(file, bytes).map_err(io_error(path)))
}

/// Reads a regular text file.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    let bytes = read_regular(path).map_err(io_error(path))?;
    String::from_utf8(bytes).map_err(damaged(path))
}

/// Reads a regular text file; `None` if there is no such file, or if it is not text. A file that cannot be read is an error:
/// else a result could lack its content without a message.
pub(crate) fn text_if_there(path: &Path) -> Result<Option<String>, StoreError> {
    match read_regular(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => Ok(None),
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Writes indented JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_string_pretty(value).map_err(damaged(path))? + "\n";
    write_whole(path, text.as_bytes())
}

/// Reads a value from a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    serde_json::from_str(&read_text(path)?).map_err(damaged(path))
}

/// A new, empty directory, which is removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates it in the folder for temporary files.
    pub(crate) fn new() -> Result<Self, StoreError> {
        let number = RandomState::new().hash_one(0);
        let path = temporary_folder().join(format!("{}{number:016x}", TEMPORARY.0));
        make_new_dir(&path).map_err(io_error(&path))?;
        Ok(Self(path))
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_all(&self.0);
    }
}
