//! The lock of a run directory (a directory of results of runs). It admits one writer at a time among all threads,
//! processes, containers and hosts, if the file system supports locks. The operating system releases the lock when the
//! owner's process ends for any reason.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::disk::store_error::{Owner, StoreError};
use crate::disk::{self, Lock, io_error};

/// Name of the lock file. It is deleted when the lock is released.
pub(crate) const NAME: &str = ".lock";

/// Folders of a run directory in which writers create files; the first is the directory itself.
const FOLDERS: [&str; 4] = ["", "runs", "cases", "shards"];

/// Interval at which a waiting writer tries again.
const EVERY: Duration = Duration::from_millis(50);

/// How to wait for a directory that another writer has locked.
#[derive(Clone, Copy)]
pub struct Wait<'a> {
    /// Set to stop waiting, which gives [`StoreError::Busy`].
    pub stop: &'a AtomicBool,
    /// Called once, before waiting.
    pub begins: &'a (dyn Fn(&Path, &Owner) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(true);

impl Wait<'static> {
    /// Does not wait.
    pub const NEVER: Self = Self { stop: &NEVER, begins: &|_, _| () };
}

/// The right to write into a run directory; dropping it ends the right.
#[derive(Debug)]
pub struct WriteLock {
    dir: PathBuf,
    file: File,
    /// Process id of the owner. A process forked from the owner has another id, and must not release the lock.
    pid: u32,
}

impl WriteLock {
    /// Locks `dir`, which is created if missing, and removes temporary files of killed writers.
    pub fn take(dir: &Path, wait: &Wait<'_>) -> Result<Self, StoreError> {
        let mut told = false;
        loop {
            disk::make_dir(dir)?;
            let owner = match Self::try_take(dir).map_err(io_error(&dir.join(NAME)))? {
                Ok(lock) => {
                    for folder in FOLDERS {
                        disk::remove_orphans(&dir.join(folder));
                    }
                    return Ok(lock);
                }
                Err(owner) => owner,
            };
            if wait.stop.load(Ordering::SeqCst) {
                return Err(StoreError::Busy { dir: dir.to_path_buf(), owner });
            }
            if !told {
                (wait.begins)(dir, &owner);
                told = true;
            }
            std::thread::sleep(EVERY);
        }
    }

    /// Path of the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn try_take(dir: &Path) -> io::Result<Result<Self, Owner>> {
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
            return Ok(Ok(Self { dir: dir.to_path_buf(), file, pid: std::process::id() }));
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            return;
        }
        let path = self.dir.join(NAME);
        if disk::is_at(&self.file, &path) {
            // If the file remains, the next owner finds it unlocked.
            let _ = fs::remove_file(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("forebay-lock-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn second_writer_gets_busy_error_with_owner() {
        let root = place("told");
        let dir = root.join("new/parents");
        let first = WriteLock::take(&dir, &Wait::NEVER).unwrap();
        let second = WriteLock::take(&dir, &Wait::NEVER).unwrap_err();
        assert!(matches!(&second, StoreError::Busy { owner, .. } if *owner == Owner::this()), "{second}");
        drop(first);
        assert!(!dir.join(NAME).exists());
        WriteLock::take(&dir, &Wait::NEVER).unwrap();
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn taking_the_lock_removes_orphaned_temporary_files() {
        let dir = place("orphans");
        let orphans = FOLDERS.map(|folder| dir.join(folder).join(".forebay-0123456789abcdef.tmp"));
        for orphan in &orphans {
            fs::create_dir_all(orphan.parent().unwrap()).unwrap();
            fs::write(orphan, "part").unwrap();
        }
        drop(WriteLock::take(&dir, &Wait::NEVER).unwrap());
        assert!(orphans.iter().all(|orphan| !orphan.exists()));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn lock_admits_one_writer_at_a_time() {
        let dir = place("turns");
        let (stop, inside) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let wait = Wait { stop: &stop, begins: &|_, _| () };
                        let lock = WriteLock::take(&dir, &wait).unwrap();
                        assert!(!inside.swap(true, Ordering::SeqCst), "two writers at once");
                        std::thread::yield_now();
                        inside.store(false, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn symlink_as_lock_file_is_not_followed() {
        let dir = place("link");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("victim"), "precious").unwrap();
        std::os::unix::fs::symlink("victim", dir.join(NAME)).unwrap();
        assert!(matches!(WriteLock::take(&dir, &Wait::NEVER), Err(StoreError::Io { .. })));
        assert_eq!(fs::read_to_string(dir.join("victim")).unwrap(), "precious");
        fs::remove_dir_all(dir).unwrap();
    }
}
