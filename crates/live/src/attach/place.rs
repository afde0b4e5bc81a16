//! Where an attachment keeps what outlives the daemon: a state file, and pins in a file system for BPF objects.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use crate::sys::attach_process::{is_bpffs, mount_bpffs, unmount};

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

/// What tells the attachment of a device from all others: its name, in another network namespace than that of the
/// machine with the namespace's number.
pub(super) fn key(device: &str, netns: u64) -> String {
    let first = fs::metadata("/proc/1/ns/net").map(|found| found.ino());
    if first.is_ok_and(|first| first == netns) { device.to_string() } else { format!("{device}@{netns}") }
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
    fs::create_dir_all(pins).map_err(|error| Fault::system(pins.display(), &error))
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
    fn pins_have_no_dots_and_namespaces_do_not_mix() {
        assert_eq!(pins("eth0.5"), Path::new("/sys/fs/bpf/forebay/eth0:5"));
        let here = netns().unwrap();
        assert_ne!(key("eth0", here + 1), key("eth0", here));
        assert!(key("eth0", here + 1).starts_with("eth0@"));
    }
}
