//! Reads times, such as round-trip times, from the first column of a CSV file.

use std::io::BufRead;

use forebay_aqm::base::time::Span;

use super::bytes::Bytes;
use super::{BadRecording, Read, Where, room, text};

/// A function that parses the first field of a line as a time; its error says what is accepted.
pub(crate) type Field<'a> = &'a dyn Fn(&str) -> Result<Span, String>;

/// Reads the times with their line numbers. Skips a heading (a first line that does not begin with a number), empty
/// lines and lines that begin with #.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>, field: Field<'_>) -> Read<Vec<(Where, Span)>> {
    let text = text::of(bytes)?;
    let mut out = Vec::new();
    for (i, (at, line)) in text::lines(&text).enumerate() {
        let first = line.split(',').next().unwrap_or_default().trim().trim_matches('"').trim();
        let is_number = first.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        if i == 0 && !is_number {
            continue;
        }
        room(&out, at)?;
        out.push((at, field(first).map_err(|accepts| text::bad(at, first, accepts))?));
    }
    if out.is_empty() {
        return Err(BadRecording::new(Where::File, "no times", "one or more lines with a time in the first column"));
    }
    Ok(out)
}
