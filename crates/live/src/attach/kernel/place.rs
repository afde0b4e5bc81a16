//! Where an attachment keeps what outlives the daemon: a state file, and pins in a file system for BPF objects.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fault::Fault;
use crate::sys::attach_process::{is_bpffs, mount_bpffs, netns_cookie, unmount, user};

/// The folder of the state files.
pub(in crate::attach) const RUN: &str = "/run/forebay";
/// Whoever changes something holds it.
const LOCK: &str = "/run/forebay/.lock";
/// Where BPF objects are pinned by custom.
const BPFFS: &str = "/sys/fs/bpf";
/// Says that we mounted it, and which it was.
const MOUNTED: &str = "/run/forebay/.bpffs";

/// The network namespace of this process, by number.
pub(in crate::attach) fn netns() -> Result<u64, Fault> {
    let own = "/proc/self/ns/net";
    fs::metadata(own).map(|found| found.ino()).map_err(|error| Fault::system(own, &error))
}

/// What no other namespace ever has, however its number is used again.
pub(in crate::attach) fn cookie() -> Result<u64, Fault> {
    netns_cookie().map_err(|error| Fault::system("the network namespace", &error))
}

/// What tells the attachment of a device from all others: its number, and that of the namespace. Names change.
pub(in crate::attach) fn key(index: u32, netns: u64) -> String {
    format!("{index}@{netns}")
}

/// Holds everybody else off who attaches or detaches, as long as it lives. The folder is there then, and goes with it if
/// nothing is left in it.
pub(in crate::attach) struct Lock {
    _file: File,
}

/// How long others may take.
pub(in crate::attach) const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Waits for the others.
pub(in crate::attach) fn lock() -> Result<Lock, Fault> {
    let begun = Instant::now();
    loop {
        let missing = match try_lock() {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => None,
            // The last one out has just removed the folder: once more.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(error),
            Err(error) => return Err(Fault::system(RUN, &error)),
        };
        if begun.elapsed() > PATIENCE {
            let held = || Fault::Failed(format!("{LOCK}: another forebay attaches or detaches, and does not end"));
            return Err(missing.map_or_else(held, |error| Fault::system(RUN, &error)));
        }
        std::thread::sleep(LOOK);
    }
}

/// The lock, if nobody holds it. Others than root cannot even open it, and so not hold it.
fn try_lock() -> io::Result<Option<Lock>> {
    make_folder(Path::new(RUN), 0o755)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(LOCK)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // It must be the one that the next will find.
    let same = fs::metadata(LOCK)?.ino() == file.metadata()?.ino();
    // Not `then_some`: a `Lock` that is made is also dropped, and would remove what others hold.
    Ok(if same { Some(Lock { _file: file }) } else { None })
}

impl Drop for Lock {
    fn drop(&mut self) {
        let alone = |entry: fs::DirEntry| entry.path() == Path::new(LOCK);
        if fs::read_dir(RUN).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(alone))) {
            // Whatever of it stays is in nobody's way.
            let _ = fs::remove_file(LOCK).and_then(|()| fs::remove_dir(RUN));
        }
    }
}

/// Makes a folder in which nobody else may write, and takes one that is there only if that is so.
fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_ours_alone(folder)? {
        return Ok(());
    }
    let what = "others than this user may write there, so nothing in it is trusted";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Is it a folder in which only root, or this user, may write?
pub(in crate::attach) fn is_ours_alone(folder: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folder)?;
    Ok(found.is_dir() && [0, user()].contains(&found.uid()) && found.mode() & 0o022 == 0)
}

/// Where the pins of an attachment are.
pub(in crate::attach) fn pins(key: &str) -> PathBuf {
    Path::new(BPFFS).join("forebay").join(key)
}

/// Makes the folder for pins, mounting its file system if nobody has.
pub(in crate::attach) fn make_pins(pins: &Path) -> Result<(), Fault> {
    let at = Path::new(BPFFS);
    if !is_bpffs(at) {
        let what = format!("no file system for BPF objects is mounted at {BPFFS}, and mounting it");
        mount_bpffs(at).map_err(|error| Fault::Unavailable(format!("{what}: {error}")))?;
        let number = fs::metadata(at).map(|found| found.dev()).unwrap_or_default();
        // Without the note it only stays mounted.
        let _ = fs::write(MOUNTED, number.to_string());
    }
    let make = |folder: &Path| make_folder(folder, 0o700).map_err(|error| Fault::system(folder.display(), &error));
    [pins.parent(), Some(pins)].into_iter().flatten().try_for_each(make)
}

/// Removes the pins of an attachment, and what only they needed.
pub(in crate::attach) fn remove_pins(pins: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(pins) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Fault::system(pins.display(), &error)),
    }
    // Other attachments may have theirs there.
    let _ = pins.parent().map(fs::remove_dir);
    unmount_ours();
    Ok(())
}

/// Unmounts the file system, if it is the one that we mounted and nobody keeps anything there.
fn unmount_ours() {
    let Ok(noted) = fs::read_to_string(MOUNTED) else { return };
    let at = Path::new(BPFFS);
    let same = is_bpffs(at) && fs::metadata(at).is_ok_and(|found| found.dev().to_string() == noted);
    // The kernel puts two files of its own there, whose names have the dot that nobody else may use.
    let own = |name: &std::ffi::OsStr| name.to_string_lossy().contains('.');
    let empty = || fs::read_dir(at).is_ok_and(|entries| entries.flatten().all(|entry| own(&entry.file_name())));
    // It stays where somebody uses it.
    if !same || empty() && unmount(at).is_ok() {
        let _ = fs::remove_file(MOUNTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_others_are_not_trusted() {
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
