//! Flows of kind `trace`: packets recorded elsewhere.

use std::path::Path;
use std::sync::Arc;

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;

use super::doc::Node;
use super::ecn::ECN;
use super::error::{Found, InputError};
use super::flow_keys::{COMMON, START};
use super::model::{Begin, FlowKind};
use super::shape::{Key, Kind, Shape, may};
use super::table::{Table, text};
use crate::traces::{self, BadRecording, Read, Recorded, Where};

/// How flows play a recording.
pub(crate) const PLAY: &[Key] = &[
    may("repeat", Kind::Flag, "Begin anew after the last, a mean interval later? Default false."),
    may(
        "begin",
        Kind::Word(&["together", "random"]),
        "Where in the recording each flow begins: at its start, or anywhere, and then once around. Default together.",
    ),
];

pub(crate) static TRACE: Shape = Shape {
    doc: "Packets that were recorded: their times and lengths, over UDP.",
    tag: Some("trace"),
    groups: &[
        COMMON,
        ECN,
        &[
            START,
            may(
                "file",
                Kind::Text,
                "A CSV (time_s,size_bytes or with a third column, the class), pcap or pcapng file, from this one's folder.",
            ),
            may(
                "packets",
                Kind::Text,
                "The packets themselves in place of file: nanoseconds, bytes and, if they have one, class of each.",
            ),
        ],
        PLAY,
    ],
    later: &["rtt", "size"],
};

/// Reads what such flows send.
pub(crate) fn trace(table: &Table<'_>) -> Result<(FlowKind, Arc<Recorded>), InputError> {
    const ACCEPTS: &str = "the name of a CSV, pcap or pcapng file";
    let recorded = one_of(table, ACCEPTS, traces::packets, ("packets", traces::inline_packets))?;
    let Some(recorded) = recorded else {
        return Err(table.missing("file", &format!("{ACCEPTS}, or else packets")));
    };
    let (repeat, begin) = play(table, &recorded)?;
    Ok((FlowKind::Trace { packet: recorded.largest(), repeat, begin }, Arc::new(recorded)))
}

/// The recording of a file or of the scenario itself; `None` if there is neither key.
pub(crate) fn one_of(
    table: &Table<'_>,
    accepts: &str,
    from_file: fn(&Path) -> Read<Recorded>,
    (text_key, from_text): (&'static str, fn(&str) -> Read<Recorded>),
) -> Result<Option<Recorded>, InputError> {
    let inline = table.get(text_key).map(|node| inline(node, &table.path_of(text_key), from_text)).transpose()?;
    let Some(node) = table.get("file") else { return Ok(inline) };
    if inline.is_some() {
        return Err(table.bad(text_key, BadValue::new(format!("file or {text_key}, not both"))));
    }
    let path = table.path_of("file");
    let file = node.place.beside(text(node, &path)?);
    from_file(&file).map(Some).map_err(|bad| {
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

/// The shortest mean time between the items of a recording that is repeated.
const SHORTEST_GAP: Span = Span::from_micros(1);

/// Is it repeated, and where does it begin?
pub(crate) fn play(table: &Table<'_>, recorded: &Recorded) -> Result<(bool, Begin), InputError> {
    let repeat = table.flag("repeat", false)?;
    let words = [("together", Begin::Together), ("random", Begin::Random)];
    let begin = table.word("begin", Some(Begin::Together), &words, &[])?;
    let lasts = recorded.items.last().map_or(Span::ZERO, |item| item.at);
    if repeat && lasts < SHORTEST_GAP * recorded.items.len() as u64 {
        let accepts = "false, or a recording that lasts a microsecond an item";
        return Err(table.bad("repeat", BadValue::new(accepts)));
    }
    Ok((repeat, begin))
}
