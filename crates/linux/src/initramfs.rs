//! The initial file system of a guest, as an archive in the format `newc` of cpio(5).

use std::collections::BTreeSet;

/// Kinds and permissions of files.
const FOLDER: u32 = 0o40755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o20600;
/// Major and minor numbers of `/dev/console` and `/dev/null`.
const CONSOLE: (u32, u32) = (5, 1);
const NULL: (u32, u32) = (1, 3);

/// An archive with the agent as first program, its orders, and more files: path without the first `/`, and content.
/// Folders come before what is in them; a file without content whose path ends with `/` is a folder.
pub(crate) fn archive(agent: &[u8], orders: &[u8], files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut number = 0;
    let mut put = |name: &str, mode, device, content: &[u8]| {
        number += 1;
        entry(&mut archive, (number, name), mode, device, content);
    };
    for folder in ["dev", "proc"] {
        put(folder, FOLDER, (0, 0), &[]);
    }
    put("dev/console", CHARACTER_DEVICE, CONSOLE, &[]);
    put("dev/null", CHARACTER_DEVICE, NULL, &[]);
    put("init", PROGRAM, (0, 0), agent);
    put("orders", FILE, (0, 0), orders);
    let mut folders = BTreeSet::new();
    for (path, content) in files {
        for (end, _) in path.match_indices('/').filter(|(end, _)| folders.insert(path[..*end].to_string())) {
            put(&path[..end], FOLDER, (0, 0), &[]);
        }
        if !path.ends_with('/') {
            put(path, PROGRAM, (0, 0), content);
        }
    }
    entry(&mut archive, (0, "TRAILER!!!"), 0, (0, 0), &[]);
    archive
}

fn entry(to: &mut Vec<u8>, (number, name): (u32, &str), mode: u32, device: (u32, u32), content: &[u8]) {
    let (len, name_len) = (content.len() as u32, name.len() as u32 + 1);
    to.extend(b"070701");
    // Inode, mode, owner, group, links, time, length, device of the file system, device of the file, name, checksum.
    for field in [number, mode, 0, 0, 1, 0, len, 0, 0, device.0, device.1, name_len, 0] {
        to.extend(format!("{field:08x}").bytes());
    }
    to.extend(name.bytes());
    to.push(0);
    to.resize(to.len().next_multiple_of(4), 0);
    to.extend(content);
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_has_console_program_and_orders() {
        let archive = archive(b"program", b"orders of the run", &[]);
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        for part in ["dev/console\0", "init\0", "program", "orders of the run", "TRAILER!!!\0"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("070701").count(), 7);
    }

    #[test]
    fn folders_come_once_before_their_files() {
        let files = ["a/b/one", "a/b/two", "a/c/"].map(|path| (path.to_string(), b"content".to_vec()));
        let archive = archive(b"", b"", &files);
        let text = String::from_utf8_lossy(&archive);
        let at = |name: &str| text.find(&format!("{name}\0")).unwrap();
        assert!(at("a") < at("a/b") && at("a/b") < at("a/b/one"), "{text}");
        // Seven, and a, a/b, two files, a/c.
        assert_eq!((text.matches("070701").count(), text.matches("content").count()), (7 + 5, 2));
    }

    #[test]
    fn entry_header_has_110_characters() {
        let mut bytes = Vec::new();
        entry(&mut bytes, (1, "a"), FILE, (0, 0), b"xyz");
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..115], b"xyz");
        assert_eq!(&bytes[54..62], b"00000003");
    }
}
