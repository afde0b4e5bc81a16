//! Where an attachment keeps what outlives the daemon: a state file, and pins in a file system for BPF objects.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::fault::Fault;
use crate::sys::attach_process::{is_bpffs, mount_bpffs, unmount, user};

/// The folder of the state files.
pub(super) const RUN: &str = "/run/forebay";
/// Where BPF objects are pinned by custom.
const BPFFS: &str = "/sys/fs/bpf";
/// Says that we mounted it, and which it was.
const MOUNTED: &str = "/run/forebay/.bpffs";

/// The network namespace of this process, by number.
pub(super) fn netns() -> Result<u64, Fault> {
    let own = "/proc/self/ns/net";
    fs::metadata(own).map(|found| found.ino()).map_err(|error| Fault::system(own, &error))
}

/// What tells the attachment of a device from all others. It does not ask which namespace is the machine's: not everybody
/// may know.
pub(super) fn key(device: &str, netns: u64) -> String {
    format!("{device}@{netns}")
}

/// Holds everybody else off who attaches or detaches, as long as it lives. The folder is there then.
pub(super) struct Lock {
    _folder: File,
}

/// Waits for the others.
pub(super) fn lock() -> Result<Lock, Fault> {
    let failed = |error: io::Error| Fault::system(RUN, &error);
    loop {
        make_folder(Path::new(RUN), 0o755)?;
        let folder = File::open(RUN).map_err(failed)?;
        folder.lock().map_err(failed)?;
        // The last one out removes it: it must still be the one that the next will find.
        let held = folder.metadata().map_err(failed)?.ino();
        if fs::metadata(RUN).is_ok_and(|found| found.ino() == held) {
            return Ok(Lock { _folder: folder });
        }
    }
}

/// Makes a folder in which nobody else may write, and takes one that is there only if that is so.
fn make_folder(folder: &Path, mode: u32) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::system(folder.display(), &error);
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if found.is_dir() && found.uid() == user() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let what = format!("{}: is not this user's alone to write in; nothing there is trusted", folder.display());
    Err(Fault::Unavailable(what))
}

/// Where the pins of an attachment are. The file system takes no dots, and no device has a colon in its name.
pub(super) fn pins(key: &str) -> PathBuf {
    Path::new(BPFFS).join("forebay").join(key.replace('.', ":"))
}

/// Makes the folder for pins, mounting its file system if nobody has.
pub(super) fn make_pins(pins: &Path) -> Result<(), Fault> {
    let at = Path::new(BPFFS);
    if !is_bpffs(at) {
        let what = format!("no file system for BPF objects is mounted at {BPFFS}, and mounting it");
        mount_bpffs(at).map_err(|error| Fault::Unavailable(format!("{what}: {error}")))?;
        let number = fs::metadata(at).map(|found| found.dev()).unwrap_or_default();
        // Without the note it only stays mounted.
        let _ = fs::write(MOUNTED, number.to_string());
    }
    [pins.parent(), Some(pins)].into_iter().flatten().try_for_each(|folder| make_folder(folder, 0o700))
}

/// Removes the pins of an attachment, and what only they needed.
pub(super) fn remove_pins(pins: &Path) -> Result<(), Fault> {
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
    fn pins_have_no_dots() {
        let key = key("eth0.5", 7);
        assert_eq!(key, "eth0.5@7");
        assert_eq!(pins(&key), Path::new("/sys/fs/bpf/forebay/eth0:5@7"));
    }

    #[test]
    fn folders_of_others_are_not_trusted() {
        let folder = std::env::temp_dir().join(format!("forebay-place-{}", std::process::id()));
        make_folder(&folder, 0o755).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7022, 0);
        make_folder(&folder, 0o755).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let refusal = make_folder(&folder, 0o755).unwrap_err();
        fs::remove_dir(&folder).unwrap();
        assert!(refusal.to_string().contains("is not this user's alone"), "{refusal}");
        fs::write(&folder, "").unwrap();
        assert!(make_folder(&folder, 0o755).is_err());
        fs::remove_file(&folder).unwrap();
    }
}
