//! The file system of the machine.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::store_error::StoreError;
use super::{TEMPORARY, io_error, is_temporary};

/// A file that is being written.
pub(crate) type Output = File;

/// A file with a temporary name, removed on drop unless renamed. It stays locked while it is written, so that
/// [`remove_orphans`] can distinguish it from files of killed writers.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// Creates a temporary file in the folder of the file `neighbour`.
    fn create(neighbour: &Path) -> io::Result<Self> {
        // Keys of `RandomState` come from the system's random source.
        Self::create_as(neighbour, || RandomState::new().hash_one(std::process::id()))
    }

    /// Creates a temporary file whose name contains a number from `numbers`. If a file or link has this name, it uses
    /// the next number: `create_new` does not follow links.
    fn create_as(neighbour: &Path, mut numbers: impl FnMut() -> u64) -> io::Result<Self> {
        loop {
            let random = numbers();
            let path = neighbour.with_file_name(format!("{}{random:016x}{}", TEMPORARY.0, TEMPORARY.1));
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            let temporary = Self { path, file };
            // Between the two calls another process may have removed it as an orphan.
            if !matches!(lock(&temporary.file)?, Lock::Busy) && is_at(&temporary.file, &temporary.path) {
                return Ok(temporary);
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove. Other errors were reported earlier.
        let _ = fs::remove_file(&self.path);
    }
}

/// Result of trying to lock a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lock {
    /// This process has the lock.
    Taken,
    /// Another open file has the lock.
    Busy,
    /// The file system does not support locks.
    Unsupported,
}

/// `ENOLCK`: a network file system whose server does not support locks.
const NO_LOCKS: i32 = if cfg!(target_os = "macos") { 77 } else { 37 };

/// Tries to lock a file. The lock ends with [`File::unlock`], or when the last process closes the file.
pub(crate) fn lock(file: &File) -> io::Result<Lock> {
    match file.try_lock() {
        Ok(()) => Ok(Lock::Taken),
        Err(TryLockError::WouldBlock) => Ok(Lock::Busy),
        Err(TryLockError::Error(error))
            if error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(NO_LOCKS) =>
        {
            Ok(Lock::Unsupported)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether the file at `path` (not the target of a link) is this open file.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let known = |of: fs::Metadata| (of.dev(), of.ino());
    let file = file.metadata().map(known).ok();
    file.is_some() && file == path.symlink_metadata().map(known).ok()
}

/// Whether `path` exists. This suffices if an open file can be neither renamed nor removed, which is assumed for
/// systems other than Unix.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Removes temporary files of killed writers: those that are not locked.
pub(crate) fn remove_orphans(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let ours =
            entry.file_type().is_ok_and(|kind| kind.is_file()) && entry.file_name().to_str().is_some_and(is_temporary);
        // Files that cannot be opened or removed are harmless.
        let Some(file) = ours.then(|| File::open(&path).ok()).flatten() else { continue };
        if lock(&file).is_ok_and(|lock| lock == Lock::Taken) && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Writes a file atomically, with content that `fill` writes in parts.
pub(crate) fn fill_whole(
    path: &Path,
    fill: impl FnOnce(&mut Output) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut part = Temporary::create(path).map_err(io_error(path))?;
    fill(&mut part.file)?;
    part.file.sync_data().and_then(|()| fs::rename(&part.path, path)).map_err(io_error(path))?;
    sync_folder_of(path).map_err(io_error(path))
}

/// Creates a directory and missing parents, and syncs their names to disk.
pub(crate) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    create_synced(dir).map_err(io_error(dir))
}

fn create_synced(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_synced(parent)?;
    }
    match fs::create_dir(dir) {
        // Another process created it first, and may not have synced it yet.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => sync_folder_of(dir),
        made => made.and_then(|()| sync_folder_of(dir)),
    }
}

/// Syncs the folder of `path`, so that its name is on disk. Some systems do not support this.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if [ErrorKind::InvalidInput, ErrorKind::Unsupported, ErrorKind::PermissionDenied]
                .contains(&error.kind()) =>
        {
            Ok(())
        }
        outcome => outcome,
    }
}

/// Reads a regular file. Others are errors: a pipe would block and a device might never end.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    Ok(read_at_most(path, u64::MAX)?.unwrap_or_default())
}

/// Reads a regular file; `None` if it has more than `most` bytes.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let wrong = || io::Error::new(ErrorKind::InvalidInput, "is not a regular file");
    // Checked before opening, which would wait for the writer of a pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(wrong());
    }
    let mut file = File::open(path)?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(wrong());
    }
    if known.len() > most {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The folder for temporary files.
pub(crate) fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// Creates a directory that only this user can read. An error if the path exists.
pub(crate) fn make_new_dir(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(dir);
    #[cfg(not(unix))]
    fs::create_dir(dir)
}

/// Removes a directory and everything in it. Files that cannot be removed stay.
pub(crate) fn remove_all(dir: &Path) {
    let _ = fs::remove_dir_all(dir);
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Whether there is a file or directory at `path`.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}

/// The paths of the files and directories in `dir`.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(dir.read_dir()?.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// An empty folder per test.
    fn place(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("forebay-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_at_temporary_names_are_not_followed() {
        let dir = place("planted");
        fs::write(dir.join("victim"), "precious").unwrap();
        std::os::unix::fs::symlink("victim", dir.join(".forebay-0000000000000001.tmp")).unwrap();
        let mut numbers = 1..;
        let mut part = Temporary::create_as(&dir.join("report.html"), || numbers.next().unwrap()).unwrap();
        part.file.write_all(b"page").unwrap();
        assert!(part.path.ends_with(".forebay-0000000000000002.tmp"), "{:?}", part.path);
        assert_eq!(fs::read_to_string(dir.join("victim")).unwrap(), "precious");
        drop(part);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn only_unlocked_temporary_files_are_removed() {
        let dir = place("orphans");
        let [orphan, foreign] = [".forebay-0123456789abcdef.tmp", "notes.tmp"].map(|name| dir.join(name));
        for path in [&orphan, &foreign] {
            fs::write(path, "part").unwrap();
        }
        let living = Temporary::create(&dir.join("summary.json")).unwrap();
        remove_orphans(&dir);
        assert!(!orphan.exists() && foreign.exists() && living.path.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn temporary_names_are_unique_and_recognised() {
        let dir = place("names");
        let all: Vec<_> = (0..50).map(|_| Temporary::create(&dir.join("summary.json")).unwrap()).collect();
        let names: std::collections::BTreeSet<_> = all.iter().map(|part| part.path.file_name().unwrap()).collect();
        assert_eq!(names.len(), all.len());
        assert!(names.iter().all(|name| is_temporary(name.to_str().unwrap())));
        assert!(!is_temporary("meta.json.77.tmp") && !is_temporary(".forebay-12.tmp"));
        drop(all);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = place("regular");
        assert!(read_regular(Path::new("/dev/zero")).is_err() && read_regular(&dir).is_err());
        fs::write(dir.join("file"), "content").unwrap();
        assert_eq!(read_regular(&dir.join("file")).unwrap(), b"content");
        fs::remove_dir_all(dir).unwrap();
    }
}
