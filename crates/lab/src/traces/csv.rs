//! Reads packets from CSV files with the columns `time_s,size_bytes` or `time_s,size_bytes,class`. The class is the
//! service class of a packet, 0 to 255.

use std::io::BufRead;

use super::bytes::Bytes;
use super::{Raw, Read, Recorded, gather, packet_length, room, text};

const ACCEPTS: &str = "time_s,size_bytes or time_s,size_bytes,class, such as 0.012,1500";

/// Reads the packets. Skips a heading, empty lines and lines that begin with #. Times that decrease are an error.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let text = text::of(bytes)?;
    let mut items: Vec<Raw> = Vec::new();
    let mut columns = None;
    for (at, line) in text::lines(&text) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if columns.is_none() && line.to_ascii_lowercase().starts_with("time") {
            columns = Some(fields.len());
            continue;
        }
        room(&items, at)?;
        let (time, size, class) = match fields.as_slice() {
            [time, size] => (time, size, "0"),
            [time, size, class] => (time, size, *class),
            _ => return Err(text::bad(at, line, ACCEPTS)),
        };
        if *columns.get_or_insert(fields.len()) != fields.len() {
            return Err(text::bad(at, line, "as many columns as in previous lines"));
        }
        let Some(time) = text::decimal(time, 9) else {
            return Err(text::bad(at, time, "a time in seconds of at least 0, such as 0.012"));
        };
        let size = size.parse().map_err(|_| text::bad(at, size, "a length in bytes, such as 1500"))?;
        let class = class.parse().map_err(|_| text::bad(at, class, "a class from 0 to 255"))?;
        if items.last().is_some_and(|before| time < before.0) {
            return Err(text::bad(at, fields[0], "a time at or after that of the previous line"));
        }
        items.push((time, packet_length(size, at)?, class));
    }
    gather(items, columns == Some(3), "packets")
}
