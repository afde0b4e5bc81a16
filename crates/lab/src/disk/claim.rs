//! The lock file of a run directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::lock::NAME;
use super::store_error::Owner;
use crate::disk::{self, Lock};

/// A lock file that this process has locked; dropping it removes the file.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    file: File,
    /// Process id of the owner. A process forked from the owner has another id, and must not release the lock.
    pid: u32,
}

impl Claim {
    /// Locks the file of `dir`, or returns the owner of the lock.
    pub(super) fn take(dir: &Path) -> io::Result<Result<Self, Owner>> {
        let path = dir.join(NAME);
        loop {
            let Some(mut file) = open(&path)? else { continue };
            if disk::lock(&file)? == Lock::Busy {
                return Ok(Err(read(&mut file).unwrap_or_else(Owner::unknown)));
            }
            // The previous owner has removed the file meanwhile: this lock is on a deleted file.
            if !disk::is_at(&file, &path) {
                continue;
            }
            let text = serde_json::to_string(&Owner::this())?;
            match file.set_len(0).and_then(|()| file.write_all(text.as_bytes())) {
                // Left by another user's killed process: it could only be opened for reading.
                Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::PermissionDenied) => {
                    fs::remove_file(&path)?;
                    continue;
                }
                written => written?,
            }
            return Ok(Ok(Self { path, file, pid: std::process::id() }));
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            return;
        }
        if disk::is_at(&self.file, &self.path) {
            // If the file remains, the next owner finds it unlocked.
            let _ = fs::remove_file(&self.path);
        }
        // Closing is not enough: a forked process may have the file open for longer.
        let _ = self.file.unlock();
    }
}

/// Opens or creates the lock file; `None` if it was removed meanwhile.
fn open(path: &Path) -> io::Result<Option<File>> {
    let create = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    match create {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        file => return file.map(Some),
    }
    let there = |found: io::Result<File>| match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    };
    match path.symlink_metadata() {
        // A link could lead to an unrelated file, and a pipe would block.
        Ok(known) if !known.is_file() => Err(io::Error::new(ErrorKind::InvalidInput, "is not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(_) => match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => there(File::open(path)),
            file => there(file),
        },
    }
}

fn read(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
