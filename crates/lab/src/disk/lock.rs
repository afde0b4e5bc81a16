//! The lock of a run directory (a directory of results of runs). It admits one writer at a time among all threads,
//! processes, containers and hosts, if the file system supports locks. The operating system releases the lock when the
//! owner's process ends for any reason.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::disk::store_error::{Owner, StoreError};
use crate::disk::{self, Claim, io_error};

/// Name of the lock file. It is deleted when the lock is released.
pub(crate) const NAME: &str = ".lock";

/// Folders of a run directory in which writers create files; the first is the directory itself.
const FOLDERS: [&str; 7] = ["", "runs", "cases", "shards", "csv", "flent", "pcapng"];

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
    _claim: Claim,
}

impl WriteLock {
    /// Locks `dir`, which is created if missing, and removes temporary files of killed writers.
    pub fn take(dir: &Path, wait: &Wait<'_>) -> Result<Self, StoreError> {
        let mut told = false;
        loop {
            disk::make_dir(dir)?;
            let owner = match Claim::take(dir).map_err(io_error(&dir.join(NAME)))? {
                Ok(claim) => {
                    for folder in FOLDERS {
                        disk::remove_orphans(&dir.join(folder));
                    }
                    return Ok(Self { dir: dir.to_path_buf(), _claim: claim });
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
}

#[cfg(test)]
mod tests {
    use std::fs;

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
