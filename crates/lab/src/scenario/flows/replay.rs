//! Flows of kind `trace`: they replay recorded packets.

use std::path::Path;
use std::sync::Arc;

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;
use forebay_sim::network::Traffic;
use forebay_sim::source::Pattern;
use forebay_sim::source::recording::{Recording, Replay};

use super::ecn::ECN;
use super::group::START;
use super::{Part, Source};
use crate::declare::{Flag, Key, Keys, Table, Words, may, schema, table, text};
use crate::document::{Node, Text};
use crate::input::{Found, InputError};
use crate::traces::{self, BadRecording, Read, Recorded, Where};

table! {
    /// How flows replay a recording.
    pub struct Play {
        /// Whether to restart the recording, after a pause of the mean time between its packets or frames; default
        /// false.
        repeat: bool = Flag, or false;
        /// Where each flow begins in the recording. together: at its start. random: at a random time; the part before
        /// that time follows at the end. Default together.
        begin: Begin = BEGIN, or Begin::Together;
    }
}

/// Where the flows of a group begin in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// All flows begin at the start of the recording.
    Together,
    /// Each flow begins at its own random time in the recording.
    Random,
}

const BEGIN: Words<Begin> = Words(&[("together", Begin::Together), ("random", Begin::Random)]);

table! {
    /// Recorded packets over UDP, with their times and sizes.
    pub struct Trace {
        + ECN;
        + START;
        /// The keys that give the recorded packets.
        ..recorded: Packets;
        /// How the recorded packets are replayed.
        ..play: Play;
    }
    finish |trace: Trace, table: &Table<'_>| trace.play.sound(&trace.recorded.0, table).map(|()| trace);
}

/// Recorded packets, from a file or inline.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets(pub Arc<Recorded>);

const KEYS: &[Key] = &[
    may(
        "file",
        schema::text,
        "CSV (time_s,size_bytes and optionally class), pcap, pcapng or .flent.gz file, or a trace of ns-2 or ns-3; relative to this file's folder.",
    ),
    may("packets", schema::text, "Inline packets in place of file: nanoseconds, bytes and optionally class of each."),
];

impl Keys for Packets {
    fn keys() -> Vec<Key> {
        KEYS.to_vec()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        const ACCEPTS: &str = "the name of a CSV, pcap, pcapng or .flent.gz file, or of a trace of ns-2 or ns-3";
        let recorded = one_of(table, ACCEPTS, traces::packets, ("packets", traces::inline_packets))?;
        recorded.map(Self).ok_or_else(|| table.missing("file", &format!("{ACCEPTS}, or packets")))
    }
    /// Writes the packets inline, so that a stored scenario does not depend on other files.
    fn write(&self, out: &mut Text) {
        out.text("packets", &self.0.inline());
    }
}

impl Source for Trace {
    fn packet(&self, _: u32) -> u32 {
        self.recorded.0.largest()
    }
    fn recorded(&self) -> Option<&Recorded> {
        Some(&self.recorded.0)
    }
    /// A flow has one class: a recording with several classes becomes one flow per class, replayed together.
    fn parts(&self, _: bool) -> Vec<Part> {
        let recorded = &self.recorded.0;
        let classes: Vec<Option<u8>> = match recorded.classes() {
            classes if classes.is_empty() => vec![None],
            classes => classes.into_iter().map(Some).collect(),
        };
        let part = |class| {
            let (recording, play) = (Arc::new(recorded.recording(class).unwrap_or_default()), self.play.clone());
            let traffic = move |place| Traffic::Datagrams(Pattern::Replay(play.replay(&recording, place)));
            Part { class, traffic: Box::new(traffic) }
        };
        classes.into_iter().map(part).collect()
    }
}

impl Play {
    /// The replay of `recording` by one flow. If flows begin at random, `place` is the time at which this flow begins,
    /// as a fraction (0 to 1) of the period of the recording.
    pub(super) fn replay(&self, recording: &Arc<Recording>, place: f64) -> Replay {
        let from = match self.begin {
            Begin::Together => Span::ZERO,
            Begin::Random => Span::from_secs(recording.period().secs() * place),
        };
        Replay { recording: recording.clone(), from, repeat: self.repeat }
    }

    /// Refuses to repeat a recording that is shorter than a microsecond per packet or frame.
    pub(super) fn sound(&self, recorded: &Recorded, table: &Table<'_>) -> Result<(), InputError> {
        let lasts = recorded.items.last().map_or(Span::ZERO, |item| item.at);
        if self.repeat && lasts < SHORTEST_GAP * recorded.items.len() as u64 {
            let accepts = "false, or a recording that lasts at least a microsecond per item";
            return Err(table.bad("repeat", BadValue::new(accepts)));
        }
        Ok(())
    }
}

/// Shortest mean time between the packets or frames of a repeated recording.
const SHORTEST_GAP: Span = Span::from_micros(1);

/// Reads a recording from a file or from inline text; `None` if neither key is given.
pub(super) fn one_of(
    table: &Table<'_>,
    accepts: &str,
    from_file: fn(&Path) -> Read<Recorded>,
    (text_key, from_text): (&'static str, fn(&str) -> Read<Recorded>),
) -> Result<Option<Arc<Recorded>>, InputError> {
    let inline = table.get(text_key).map(|node| inline(node, &table.path_of(text_key), from_text)).transpose()?;
    let Some(node) = table.get("file") else { return Ok(inline.map(Arc::new)) };
    if inline.is_some() {
        return Err(table.bad(text_key, BadValue::new(format!("file or {text_key}, not both"))));
    }
    let path = table.path_of("file");
    let file = node.place.beside(text(node, &path)?);
    let recorded = from_file(&file).map(|recorded| Some(Arc::new(recorded)));
    recorded.map_err(|bad| unreadable(node, &path, accepts, &file, bad))
}

/// The error `bad` of the recording in `file`, which the value `node` of the key at `path` names. If the file cannot be
/// opened, the error says that the key accepts `accepts`.
pub(super) fn unreadable(node: &Node, path: &str, accepts: &str, file: &Path, bad: BadRecording) -> InputError {
    let BadRecording { at, found, accepts: needs } = bad;
    let name = file.display().to_string();
    match at {
        Where::Nowhere => node.error(path, accepts).hint(format!("{name}: {found}")),
        Where::File => InputError::new(name, path, found, needs),
        Where::Line(line) => InputError::new(name, path, found, needs).at(line, 1),
        Where::Byte(byte) => {
            let found = Found::thing(format!("{found} at byte {byte}"));
            InputError::new(name, path, found, needs)
        }
    }
}

fn inline(node: &Node, path: &str, read: fn(&str) -> Read<Recorded>) -> Result<Recorded, InputError> {
    read(text(node, path)?).map_err(|bad| {
        let key = match bad.at {
            Where::Line(item) => format!("{path}[{}]", item - 1),
            _ => path.to_string(),
        };
        node.place.error(key, bad.found, bad.accepts)
    })
}
