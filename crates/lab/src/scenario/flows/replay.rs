//! Flows of kind `trace`: packets recorded elsewhere.

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
    /// How flows play a recording.
    pub struct Play {
        /// Begin anew after the last, a mean interval later? Default false.
        repeat: bool = Flag, or false;
        /// Where in the recording each flow begins: at its start, or anywhere, and then once around. Default together.
        begin: Begin = BEGIN, or Begin::Together;
    }
}

/// Where in a recording the flows of a group begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// All at its start.
    Together,
    /// Each at a place of its own.
    Random,
}

const BEGIN: Words<Begin> = Words(&[("together", Begin::Together), ("random", Begin::Random)]);

table! {
    /// Packets that were recorded: their times and lengths, over UDP.
    pub struct Trace {
        + ECN;
        + START;
        /// The packets.
        ..recorded: Packets;
        /// How they are played.
        ..play: Play;
    }
    finish |trace: Trace, table: &Table<'_>| trace.play.sound(&trace.recorded.0, table).map(|()| trace);
}

/// Packets that were recorded, from a file or written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets(pub Arc<Recorded>);

const KEYS: &[Key] = &[
    may(
        "file",
        schema::text,
        "A CSV (time_s,size_bytes or with a third column, the class), pcap or pcapng file, from this one's folder.",
    ),
    may(
        "packets",
        schema::text,
        "The packets themselves in place of file: nanoseconds, bytes and, if they have one, class of each.",
    ),
];

impl Keys for Packets {
    fn keys() -> Vec<Key> {
        KEYS.to_vec()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        const ACCEPTS: &str = "the name of a CSV, pcap or pcapng file";
        let recorded = one_of(table, ACCEPTS, traces::packets, ("packets", traces::inline_packets))?;
        recorded.map(Self).ok_or_else(|| table.missing("file", &format!("{ACCEPTS}, or else packets")))
    }
    /// Written out, so that what is on disk depends on its content and on no other file.
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
    /// A flow has one class, so that a recording of several is as many flows, played together.
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
    /// The recording from where a flow begins, which is at the share `place` of it if it is at random.
    pub(super) fn replay(&self, recording: &Arc<Recording>, place: f64) -> Replay {
        let from = match self.begin {
            Begin::Together => Span::ZERO,
            Begin::Random => Span::from_secs(recording.period().secs() * place),
        };
        Replay { recording: recording.clone(), from, repeat: self.repeat }
    }

    /// Refuses to repeat a recording that lasts hardly any time.
    pub(super) fn sound(&self, recorded: &Recorded, table: &Table<'_>) -> Result<(), InputError> {
        let lasts = recorded.items.last().map_or(Span::ZERO, |item| item.at);
        if self.repeat && lasts < SHORTEST_GAP * recorded.items.len() as u64 {
            let accepts = "false, or a recording that lasts a microsecond an item";
            return Err(table.bad("repeat", BadValue::new(accepts)));
        }
        Ok(())
    }
}

/// The shortest mean time between the items of a recording that is repeated.
const SHORTEST_GAP: Span = Span::from_micros(1);

/// The recording of a file or of the scenario itself; `None` if there is neither key.
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
    from_file(&file).map(|recorded| Some(Arc::new(recorded))).map_err(|bad| {
        let BadRecording { at, found, accepts: needs } = bad;
        let name = file.display().to_string();
        match at {
            Where::Nowhere => node.error(&path, accepts).hint(format!("{name}: {found}")),
            Where::File => InputError::new(name, &path, found, needs),
            Where::Line(line) => InputError::new(name, &path, found, needs).at(line, 1),
            Where::Byte(byte) => {
                let found = Found::thing(format!("{found} at byte {byte}"));
                InputError::new(name, &path, found, needs)
            }
        }
    })
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
