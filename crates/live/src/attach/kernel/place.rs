//! Files of an attachment (a control law on a network device) that outlive the daemon of `forebay attach`: a state
//! file, and pins of BPF objects in bpffs.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fault::Fault;
use crate::sys::attach_process::{is_bpffs, mount_bpffs, netns_cookie, unmount, user};

/// Directory of the state files.
pub(in crate::attach) const RUN: &str = "/run/forebay";
/// The lock file. A process locks it while it changes an attachment.
const LOCK: &str = "/run/forebay/.lock";
/// The usual mount point of bpffs.
const BPFFS: &str = "/sys/fs/bpf";
/// The file exists if we mounted bpffs, and has the device number of that mount.
const MOUNTED: &str = "/run/forebay/.bpffs";

/// Inode number of this process's network namespace.
pub(in crate::attach) fn netns() -> Result<u64, Fault> {
    let own = "/proc/self/ns/net";
    fs::metadata(own).map(|found| found.ino()).map_err(|error| Fault::system(own, &error))
}

/// Cookie of the network namespace: unique, unlike the inode number, which is reused.
pub(in crate::attach) fn cookie() -> Result<u64, Fault> {
    netns_cookie().map_err(|error| Fault::system("the network namespace", &error))
}

/// Key of an attachment: index of the device, and inode number of its network namespace. The device's name can change,
/// so it is not part of the key.
pub(in crate::attach) fn key(index: u32, netns: u64) -> String {
    format!("{index}@{netns}")
}

/// While this value exists, other forebay processes wait before they attach or detach. [`lock`] creates the directory
/// [`RUN`]; dropping the value removes the directory if it has only the lock file.
pub(in crate::attach) struct Lock {
    _file: File,
}

/// How long to wait while other processes hold the lock.
pub(in crate::attach) const TIMEOUT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Waits for the lock.
pub(in crate::attach) fn lock() -> Result<Lock, Fault> {
    let begun = Instant::now();
    loop {
        let missing = match try_lock() {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => None,
            // The previous holder has just removed the directory: retry.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(error),
            Err(error) => return Err(Fault::system(RUN, &error)),
        };
        if begun.elapsed() > TIMEOUT {
            let held = || Fault::Failed(format!("{LOCK}: held too long by another forebay attach or detach"));
            return Err(missing.map_or_else(held, |error| Fault::system(RUN, &error)));
        }
        std::thread::sleep(LOOK);
    }
}

/// Takes the lock if it is free. Only root can open the lock file.
fn try_lock() -> io::Result<Option<Lock>> {
    make_folder(Path::new(RUN), 0o755)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(LOCK)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // Another process may have replaced the file.
    let same = fs::metadata(LOCK)?.ino() == file.metadata()?.ino();
    // Not `then_some`: it would construct and drop a `Lock`, and so remove the files of the holder.
    Ok(if same { Some(Lock { _file: file }) } else { None })
}

impl Drop for Lock {
    fn drop(&mut self) {
        let alone = |entry: fs::DirEntry| entry.path() == Path::new(LOCK);
        if fs::read_dir(RUN).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(alone))) {
            // Failing to remove it does no harm.
            let _ = fs::remove_file(LOCK).and_then(|()| fs::remove_dir(RUN));
        }
    }
}

/// Creates a directory that only this user can write, or accepts an existing one with that property.
fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_ours_alone(folder)? {
        return Ok(());
    }
    let what = "other users can write there, so nothing in it is trusted";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Is it a directory that only root or this user can write?
pub(in crate::attach) fn is_ours_alone(folder: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folder)?;
    Ok(found.is_dir() && [0, user()].contains(&found.uid()) && found.mode() & 0o022 == 0)
}

/// Directory of an attachment's pins.
pub(in crate::attach) fn pins(key: &str) -> PathBuf {
    Path::new(BPFFS).join("forebay").join(key)
}

/// Creates the directory for pins. Mounts bpffs if it is not mounted.
pub(in crate::attach) fn make_pins(pins: &Path) -> Result<(), Fault> {
    let at = Path::new(BPFFS);
    if !is_bpffs(at) {
        let what = format!("bpffs is not mounted at {BPFFS}, and mounting it failed");
        mount_bpffs(at).map_err(|error| Fault::Unavailable(format!("{what}: {error}")))?;
        let number = fs::metadata(at).map(|found| found.dev()).unwrap_or_default();
        // Without this note bpffs only stays mounted.
        let _ = fs::write(MOUNTED, number.to_string());
    }
    let make = |folder: &Path| make_folder(folder, 0o700).map_err(|error| Fault::system(folder.display(), &error));
    [pins.parent(), Some(pins)].into_iter().flatten().try_for_each(make)
}

/// Removes the pins of an attachment. Unmounts bpffs if we mounted it and it is empty then.
pub(in crate::attach) fn remove_pins(pins: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(pins) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Fault::system(pins.display(), &error)),
    }
    // Other attachments may have pins there.
    let _ = pins.parent().map(fs::remove_dir);
    unmount_ours();
    Ok(())
}

/// Unmounts bpffs if we mounted it and it is empty.
fn unmount_ours() {
    let Ok(noted) = fs::read_to_string(MOUNTED) else { return };
    let at = Path::new(BPFFS);
    let same = is_bpffs(at) && fs::metadata(at).is_ok_and(|found| found.dev().to_string() == noted);
    // The kernel creates two files there; only the kernel can create names with a dot.
    let own = |name: &std::ffi::OsStr| name.to_string_lossy().contains('.');
    let empty = || fs::read_dir(at).is_ok_and(|entries| entries.flatten().all(|entry| own(&entry.file_name())));
    // The mount stays while it is in use.
    if !same || empty() && unmount(at).is_ok() {
        let _ = fs::remove_file(MOUNTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_writable_by_others_are_refused() {
        let folder = std::env::temp_dir().join(format!("forebay-place-{}", std::process::id()));
        make_folder(&folder, 0o755).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7022, 0);
        make_folder(&folder, 0o755).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let refusal = make_folder(&folder, 0o755).unwrap_err();
        fs::remove_dir(&folder).unwrap();
        assert!(refusal.to_string().contains("nothing in it is trusted"), "{refusal}");
        fs::write(&folder, "").unwrap();
        assert!(make_folder(&folder, 0o755).is_err());
        fs::remove_file(&folder).unwrap();
    }
}
