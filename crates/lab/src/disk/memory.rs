//! Files in memory, for browsers: a program there has no file system, and is the only writer.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store_error::{Owner, StoreError};

/// A file that is being written.
pub(crate) type Output = Vec<u8>;

/// Content of the files, and directories without content, by path.
static ALL: Mutex<BTreeMap<PathBuf, Option<Vec<u8>>>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<PathBuf, Option<Vec<u8>>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to write into a directory, which the only writer always has.
#[derive(Debug)]
pub(super) struct Claim;

impl Claim {
    /// Always succeeds.
    pub(super) fn take(_: &Path) -> io::Result<Result<Self, Owner>> {
        Ok(Ok(Self))
    }
}

/// Does nothing: there are no temporary files.
pub(crate) fn remove_orphans(_: &Path) {}

/// Writes a file with content that `fill` writes in parts.
pub(crate) fn fill_whole(
    path: &Path,
    fill: impl FnOnce(&mut Output) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut content = Vec::new();
    fill(&mut content)?;
    all().insert(path.to_path_buf(), Some(content));
    Ok(())
}

/// Creates a directory.
pub(crate) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    all().entry(dir.to_path_buf()).or_insert(None);
    Ok(())
}

/// Reads a file.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    match all().get(path) {
        Some(Some(content)) => Ok(content.clone()),
        Some(None) => Err(io::Error::new(ErrorKind::InvalidInput, "is not a regular file")),
        None => Err(ErrorKind::NotFound.into()),
    }
}

/// Reads a file; `None` if it has more than `most` bytes.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    Ok(Some(read_regular(path)?).filter(|content| content.len() as u64 <= most))
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    all().remove(path).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
}

/// Whether there is a file or directory at `path`.
pub(crate) fn exists(path: &Path) -> bool {
    all().contains_key(path)
}

/// The paths of the files and directories in `dir`.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    if !exists(dir) {
        return Err(ErrorKind::NotFound.into());
    }
    Ok(all().keys().filter(|path| path.parent() == Some(dir)).cloned().collect())
}

/// The folder for temporary files.
pub(crate) fn temporary_folder() -> PathBuf {
    PathBuf::from("/")
}

/// Creates a directory.
pub(crate) fn make_new_dir(dir: &Path) -> io::Result<()> {
    all().insert(dir.to_path_buf(), None);
    Ok(())
}

/// Removes a directory and everything in it.
pub(crate) fn remove_all(dir: &Path) {
    all().retain(|path, _| !path.starts_with(dir));
}
