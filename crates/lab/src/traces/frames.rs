//! Reads lists of video frames, one per line, as in the archives of TU Berlin and Arizona State University. The columns
//! are number, type, time in ms, length in bytes and optional further ones; or only time, type and length.

use std::io::BufRead;

use super::bytes::Bytes;
use super::{LARGEST_FRAME, Raw, Read, Recorded, gather, room, text};

const ACCEPTS: &str = "number, type, time in ms and length in bytes, or time, type and length, such as 1 I 0 5312";

/// Reads the frames. Times may decrease from line to line, because the lines may be in coding order: a P frame comes
/// before the B frames that refer to it.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let text = text::of(bytes)?;
    let mut items: Vec<Raw> = Vec::new();
    let mut has_numbers = None;
    for (at, line) in text::lines(&text) {
        room(&items, at)?;
        let fields: Vec<&str> = line.split([' ', '\t', ',', ';']).filter(|field| !field.is_empty()).collect();
        let (time, kind, size) = match fields.as_slice() {
            [time, kind, size] => (*time, *kind, *size),
            [_, kind, time, size, ..] => (*time, *kind, *size),
            _ => return Err(text::bad(at, line, ACCEPTS)),
        };
        if *has_numbers.get_or_insert(fields.len() > 3) != (fields.len() > 3) {
            return Err(text::bad(at, line, "the columns of previous lines"));
        }
        let Some(tag) = letter(kind) else { return Err(text::bad(at, kind, "a type of frame: I, P or B")) };
        let Some(time) = text::decimal(time, 6) else {
            return Err(text::bad(at, time, "a time in milliseconds of at least 0, such as 40"));
        };
        let size = size.parse().ok().filter(|size| *size <= LARGEST_FRAME);
        let Some(size) = size else {
            return Err(text::bad(at, line, format!("a length of at most {LARGEST_FRAME} bytes")));
        };
        items.push((time, size, tag));
    }
    gather(items, false, "frames")
}

/// Letter of a frame type: I, P or B. `IDR` is an I frame. `None` for an unknown type.
pub(crate) fn letter(kind: &str) -> Option<u8> {
    match kind {
        "I" | "i" | "IDR" => Some(b'I'),
        "P" | "p" => Some(b'P'),
        "B" | "b" => Some(b'B'),
        _ => None,
    }
}
