//! Recordings of traffic, which a simulated source replays: packets from CSV, pcap, pcapng, flent, ns-2 and ns-3 files, video frames from
//! lists in the formats of TU Berlin and Arizona State University. An item is a packet or a frame.
//!
//! Only times and lengths are read, and types of frames or service classes of packets. For any bytes a reader returns a
//! recording, or an error with the place in the file.
//!
//! A scenario file can have a recording as text (inline) in place of the name of a file.

mod bytes;
pub mod capture;
mod csv;
mod flent;
mod frames;
mod inline;
mod ns;
mod pcap;
mod pcapng;
pub mod pcapng_writer;
mod text;
mod times;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use forebay_aqm::base::time::Span;
use forebay_sim::source::recording::Recording;

use bytes::Bytes;
pub(crate) use times::Field;

use crate::input::Found;

/// Largest number of items in a recording, because a recording is kept in memory and written inline into the scenario
/// that is stored with the results.
pub(crate) const MAX_ITEMS: usize = 500_000;
/// Longest time between the first and the last item of a recording.
pub(crate) const LONGEST: Span = Span::from_millis(1_000_000_000);
/// Largest packet in bytes.
pub(crate) const LONGEST_PACKET: u32 = 65_535;
/// Largest frame in bytes.
pub(crate) const LARGEST_FRAME: u32 = 1 << 24;

/// A packet or a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Time since the first item.
    pub at: Span,
    /// Length in bytes.
    pub size: u32,
    /// Service class of a packet, or letter of a frame's type (I, P or B).
    pub tag: u8,
}

/// A recording: one or more items in order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// Packets or frames.
    pub items: Vec<Item>,
    /// Whether the items are packets with service classes.
    pub has_classes: bool,
}

/// Place of an error in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    /// Line, from 1.
    Line(usize),
    /// Byte offset, from 0.
    Byte(u64),
    /// The file as a whole.
    File,
    /// The file could not be opened.
    Nowhere,
}

/// Why a file is not a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadRecording {
    pub(crate) at: Where,
    /// What was found.
    pub(crate) found: Found,
    /// What is accepted.
    pub(crate) accepts: String,
}

impl BadRecording {
    fn new(at: Where, found: impl Into<String>, accepts: impl Into<String>) -> Self {
        Self { at, found: Found::thing(found), accepts: accepts.into() }
    }
}

impl Recorded {
    /// The recording as inline text for a scenario. A frame is written as nanoseconds, type, bytes; a packet as
    /// nanoseconds, bytes and, if the packets have service classes, its class.
    pub(crate) fn inline(&self) -> String {
        inline::show(self)
    }

    /// Service classes of the packets, ascending; empty if the packets have none.
    pub(crate) fn classes(&self) -> BTreeSet<u8> {
        self.items.iter().filter(|_| self.has_classes).map(|item| item.tag).collect()
    }

    /// Length of the largest item in bytes.
    pub(crate) fn largest(&self) -> u32 {
        self.items.iter().map(|item| item.size).max().unwrap_or(0)
    }

    /// The recording in the form of the simulator: all items, or the packets of one service class. The simulator
    /// repeats a recording; the packets of each class repeat with the period of the complete recording.
    pub(crate) fn recording(&self, class: Option<u8>) -> Option<Recording> {
        let of = |class: Option<u8>| {
            let items = self.items.iter().filter(|item| class.is_none_or(|class| class == item.tag));
            items.map(|item| (item.at, item.size)).collect::<Vec<_>>()
        };
        let all = Recording::new(of(None))?;
        let Some(class) = class else { return Some(all) };
        let part = of(Some(class));
        let first = part.first()?.0;
        Some(Recording::new(part)?.with_period(first, all.period()))
    }
}

/// Reads packets from inline text.
pub(crate) fn inline_packets(text: &str) -> Read<Recorded> {
    inline::packets(text)
}

/// Reads frames from inline text.
pub(crate) fn inline_frames(text: &str) -> Read<Recorded> {
    inline::frames(text)
}

pub(crate) type Read<T> = Result<T, BadRecording>;

/// An item as read: time in nanoseconds as the file has it, length in bytes, and [`Item::tag`].
type Raw = (i128, u32, u8);

/// Reads packets from a file. Its first bytes tell the format: pcap, pcapng, flent (compressed), ns-2 or ns-3, else CSV.
pub(crate) fn packets(file: &Path) -> Read<Recorded> {
    packets_in(&mut open(file)?)
}

/// Reads frames from a file.
pub(crate) fn frames(file: &Path) -> Read<Recorded> {
    frames::read(&mut open(file)?)
}

/// Reads times, such as round-trip times, from the first column of a CSV file, each with its line number.
pub(crate) fn times(file: &Path, field: Field<'_>) -> Read<Vec<(Where, Span)>> {
    times::read(&mut open(file)?, field)
}

/// Reads packets from a file in any of these formats.
fn packets_in<R: std::io::BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let start = bytes.first4()?;
    if start == pcapng::SECTION {
        pcapng::read(bytes)
    } else if pcap::is_magic(start) {
        pcap::read(bytes)
    } else if start.starts_with(&flent::MAGIC) {
        flent::read(bytes)
    } else if ns::is_trace(start) {
        ns::read(bytes)
    } else {
        csv::read(bytes)
    }
}

/// Reads the same bytes with four readers: packets from a file, frames from a file, inline packets, inline frames.
/// Returns the recording or the text of the error of each.
pub fn read_all(bytes: &[u8]) -> [Result<Recorded, String>; 4] {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let readers = [
        packets_in(&mut Bytes::new(bytes)),
        frames::read(&mut Bytes::new(bytes)),
        inline::packets(text),
        inline::frames(text),
    ];
    readers.map(|read| read.map_err(|bad| format!("found {}, expected {}", bad.found.as_str(), bad.accepts)))
}

fn open(file: &Path) -> Read<Bytes<BufReader<File>>> {
    let bad = |error: std::io::Error| {
        let found = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            _ => format!("a file that cannot be read: {error}"),
        };
        BadRecording::new(Where::Nowhere, found, "a recording")
    };
    if !std::fs::metadata(file).map_err(bad)?.is_file() {
        return Err(BadRecording::new(Where::Nowhere, "not a file", "a recording"));
    }
    Ok(Bytes::new(BufReader::new(File::open(file).map_err(bad)?)))
}

/// Sorts items by time, with items of equal time in the order of the file, and makes the times relative to the first
/// item. `what` names the items in errors.
fn gather(mut raw: Vec<Raw>, has_classes: bool, what: &str) -> Read<Recorded> {
    raw.sort_by_key(|item| item.0);
    let Some(&(first, ..)) = raw.first() else {
        return Err(BadRecording::new(Where::File, format!("no {what}"), format!("one or more {what}")));
    };
    let item = |&(at, size, tag): &Raw| {
        let at = u64::try_from(at.checked_sub(first)?).ok().map(Span::from_nanos)?;
        (at <= LONGEST).then_some(Item { at, size, tag })
    };
    let items: Option<Vec<Item>> = raw.iter().map(item).collect();
    let found = || BadRecording::new(Where::File, "a longer time between first and last", "at most 1000000 s");
    Ok(Recorded { items: items.ok_or_else(found)?, has_classes })
}

/// Returns an error if `items` already has [`MAX_ITEMS`], so that one more would be too many.
fn room<T>(items: &[T], at: Where) -> Read<()> {
    if items.len() < MAX_ITEMS {
        return Ok(());
    }
    let found = format!("more than {MAX_ITEMS} of them");
    Err(BadRecording::new(at, found, format!("at most {MAX_ITEMS}; cut out the relevant part")))
}

/// Checks the length of a packet.
fn packet_length(length: u32, at: Where) -> Read<u32> {
    if (1..=LONGEST_PACKET).contains(&length) {
        return Ok(length);
    }
    let accepts = format!("packets of 1 to {LONGEST_PACKET} bytes, recorded without offloading");
    Err(BadRecording::new(at, format!("a packet of {length} bytes"), accepts))
}

#[cfg(test)]
mod tests;
