//! Reads lines and numbers of text files that are recordings of traffic, and makes errors with the line.

use std::io::BufRead;

use super::bytes::Bytes;
use super::{BadRecording, Read, Where};
use crate::input::Found;

/// Largest text file in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a recording as text and removes a byte-order mark at its start.
pub(super) fn of<R: BufRead>(bytes: &mut Bytes<R>) -> Read<String> {
    let mut text = bytes.text(MAX_BYTES)?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// The lines with their line numbers. Empty lines and comment lines (`#`) are left out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (Where, &str)> {
    let numbered = text.lines().enumerate().map(|(i, line)| (Where::Line(i + 1), line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// An error at the place `at`: the reader found the text `found` and accepts `accepts`.
pub(super) fn bad(at: Where, found: &str, accepts: impl Into<String>) -> BadRecording {
    BadRecording { at, found: Found::text(found), accepts: accepts.into() }
}

/// Parses a number and returns it times 10^`places`, rounded down; `None` if it is not a number of at least 0. Decimal
/// notation is converted exactly, scientific notation through f64.
pub(super) fn decimal(words: &str, places: usize) -> Option<i128> {
    let (whole, part) = words.split_once('.').unwrap_or((words, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() + part.len() == 0 || whole.len() > 18 {
        return scientific(words, places);
    }
    let part: String = part.chars().chain(std::iter::repeat('0')).take(places).collect();
    format!("{whole}{part}").parse().ok()
}

/// A number in scientific notation such as 1e-3, times 10^`places`.
fn scientific(words: &str, places: usize) -> Option<i128> {
    let number: f64 = words.parse().ok()?;
    let number = number * 10f64.powi(places as i32);
    (words.contains(['e', 'E']) && (0.0..1e27).contains(&number)).then_some(number as i128)
}
