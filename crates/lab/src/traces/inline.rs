//! Reads and writes recordings of traffic (packets or video frames) as text inline in a scenario file, in place of the
//! name of a file. Scenarios in result directories always have them inline.

use std::fmt::Write;

use super::{Item, LARGEST_FRAME, Raw, Read, Recorded, Where, gather, packet_length, room, text};

/// The recording as inline text.
pub(super) fn show(recorded: &Recorded) -> String {
    let mut out = String::new();
    for Item { at, size, tag } in &recorded.items {
        let comma = if out.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = match tag {
            tag if recorded.has_classes => write!(out, "{comma}{} {size} {tag}", at.nanos()),
            0 => write!(out, "{comma}{} {size}", at.nanos()),
            letter => write!(out, "{comma}{} {} {size}", at.nanos(), char::from(*letter)),
        };
    }
    out
}

/// Reads items (packets or frames) separated by commas. In errors, the number of the item takes the place of the line
/// number.
fn items(text: &str, read: impl Fn(&[&str], Where) -> Option<Read<Raw>>, accepts: &str) -> Read<Vec<Raw>> {
    let mut out: Vec<Raw> = Vec::new();
    for (i, item) in text.split(',').enumerate() {
        let at = Where::Line(i + 1);
        room(&out, at)?;
        let words: Vec<&str> = item.split_whitespace().collect();
        let raw = read(&words, at).ok_or_else(|| text::bad(at, item.trim(), accepts))??;
        if out.last().is_some_and(|before| raw.0 < before.0) {
            return Err(text::bad(at, item.trim(), "a time at or after that of the previous item"));
        }
        out.push(raw);
    }
    Ok(out)
}

fn nanos(words: &str) -> Option<i128> {
    words.parse::<u64>().ok().map(i128::from)
}

/// Reads packets: `0 1500, 20000000 1500` (nanoseconds, bytes), optionally with the service class as third number.
pub(super) fn packets(text: &str) -> Read<Recorded> {
    let columns = text.split(',').next().map_or(0, |item| item.split_whitespace().count());
    let read = |words: &[&str], at| {
        let [time, size, class @ ..] = words else { return None };
        let class = match class {
            [] if columns == 2 => 0,
            [class] if columns == 3 => class.parse().ok()?,
            _ => return None,
        };
        let (time, size) = (nanos(time)?, size.parse().ok()?);
        Some(packet_length(size, at).map(|size| (time, size, class)))
    };
    let items = items(text, read, "nanoseconds and bytes, or nanoseconds, bytes and class, such as 20000000 1500")?;
    gather(items, columns == 3, "packets")
}

/// Reads video frames: `0 I 5312, 40000000 P 1542` (nanoseconds, type, bytes).
pub(super) fn frames(text: &str) -> Read<Recorded> {
    let read = |words: &[&str], _| {
        let [time, kind, size] = words else { return None };
        let size = size.parse().ok().filter(|size| *size <= LARGEST_FRAME)?;
        Some(Ok((nanos(time)?, size, super::frames::letter(kind)?)))
    };
    gather(items(text, read, "nanoseconds, type and bytes of a frame, such as 40000000 P 1542")?, false, "frames")
}
