//! The initial file system of a guest, as an archive in the format `newc` of cpio(5).

/// Kinds and permissions of files.
const FOLDER: u32 = 0o40755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o20600;
/// Major and minor number of `/dev/console`.
const CONSOLE: (u32, u32) = (5, 1);

/// An archive with the agent as first program, and its orders.
pub(crate) fn archive(agent: &[u8], orders: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (number, folder) in ["dev", "proc"].into_iter().enumerate() {
        entry(&mut archive, (number as u32 + 1, folder), FOLDER, (0, 0), &[]);
    }
    entry(&mut archive, (3, "dev/console"), CHARACTER_DEVICE, CONSOLE, &[]);
    entry(&mut archive, (4, "init"), PROGRAM, (0, 0), agent);
    entry(&mut archive, (5, "orders"), FILE, (0, 0), orders);
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
        let archive = archive(b"program", b"orders of the run");
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        for part in ["dev/console\0", "init\0", "program", "orders of the run", "TRAILER!!!\0"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("070701").count(), 6);
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
