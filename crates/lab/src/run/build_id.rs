//! The GNU build ID of a program: a hash of the program, which the linker writes into it. Two builds have the same ID only
//! if they are the same program. Reading it is faster than hashing the file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that are read. Linkers place the notes near the start of the file.
const HEAD: u64 = 8192;
const PT_NOTE: u64 = 4;
const NT_GNU_BUILD_ID: u64 = 3;

/// The build ID of the 64-bit little-endian ELF file `file`, in hex digits. `None`: another format, or linked without
/// one.
pub(super) fn of(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    in_head(&head)
}

/// `head`: the first bytes of the file. Offsets are those of elf(5).
fn in_head(head: &[u8]) -> Option<String> {
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number(head, 32, 8)?, number(head, 54, 2)?, number(head, 56, 2)?);
    (0..count).find_map(|nth| {
        let entry = table.checked_add(nth * size)?;
        let is_note = number(head, entry, 4)? == PT_NOTE;
        is_note.then(|| in_notes(part(head, number(head, entry + 8, 8)?, number(head, entry + 32, 8)?)?))?
    })
}

fn in_notes(notes: &[u8]) -> Option<String> {
    let [name, content, kind] = [0, 4, 8].map(|at| number(notes, at, 4));
    let (name, content) = (name?, content?);
    let at = 12 + name.next_multiple_of(4);
    if kind? == NT_GNU_BUILD_ID && part(notes, 12, name)? == b"GNU\0" {
        return Some(part(notes, at, content)?.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    in_notes(notes.get(usize::try_from(at + content.next_multiple_of(4)).ok()?..)?)
}

fn part(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let end = at.checked_add(len)?;
    bytes.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?)
}

/// The little-endian number of `len` bytes, at most 8.
fn number(bytes: &[u8], at: u64, len: u64) -> Option<u64> {
    Some(part(bytes, at, len)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with one program header, that of `notes`.
    fn file(notes: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 120];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        [head[32], head[54], head[56]] = [64, 56, 1];
        [head[64], head[72], head[96]] = [4, 120, notes.len() as u8];
        [&head, notes].concat()
    }

    const OTHER: &[u8] = b"\x04\0\0\0\x02\0\0\0\x01\0\0\0GNU\0\x05\x06\0\0";
    const ID: &[u8] = b"\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0\x01\xab\x0f\0";

    #[test]
    fn build_id_is_found_among_notes() {
        assert_eq!(in_head(&file(ID)).as_deref(), Some("01ab0f"));
        assert_eq!(in_head(&file(&[OTHER, ID].concat())).as_deref(), Some("01ab0f"));
        assert_eq!(in_head(&file(OTHER)), None);
        assert_eq!(in_head(b"#!/bin/sh"), None);
    }

    #[test]
    fn damaged_headers_have_no_build_id() {
        let whole = file(&[OTHER, ID].concat());
        for end in 0..whole.len() - 1 {
            assert_eq!(in_head(&whole[..end]), None, "{end}");
        }
        for at in 6..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            let _ = in_head(&damaged);
        }
    }
}
