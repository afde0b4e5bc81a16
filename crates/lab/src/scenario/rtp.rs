//! Flows of kind `rtp`: video over RTP, recorded or made up, whose sender follows the receiver's reports.

use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;

use super::doc::Node;
use super::ecn::ECN;
use super::error::InputError;
use super::flow_keys::{COMMON, START};
use super::model::{FlowKind, Frames};
use super::replay::{PLAY, one_of, play};
use super::shape::{Kind, Shape, may, need};
use super::table::{Parsed, Table};
use super::values::duration;
use crate::traces::{self, Recorded};

/// Packets: 40 bytes of them are headers.
const SHORTEST: u32 = 100;
/// A receiver report of one source with its SDES, 20 + 8 bytes of IP and UDP before them.
const REPORT: u32 = 80;
/// The largest mean of frames that are made up.
const LARGEST_MEAN: f64 = (1 << 20) as f64;

static SYNTHETIC: Shape = Shape {
    doc: "Frames that are made up: groups of pictures IBBPBBP..., lengths lognormal with means 5 : 2 : 1 for I, P, B.",
    tag: None,
    groups: &[&[
        need("rate", Kind::Quantity, "Mean rate of the frames, headers of packets not counted."),
        may("fps", Kind::Quantity, "Frames per second; default 25."),
        may("gop", Kind::Whole(1, 1000), "Frames from one I to the next; default 12."),
        may("sigma", Kind::Quantity, "Standard deviation of the logarithm of a length, by type; default 0.3."),
    ]],
    later: &[],
};

pub(crate) static RTP: Shape = Shape {
    doc: "Video over RTP: frames at their times; a sender that lowers its rate by a fifth when more than 2 % are lost.",
    tag: Some("rtp"),
    groups: &[
        COMMON,
        ECN,
        &[
            START,
            may(
                "file",
                Kind::Text,
                "A list of frames, from this file's folder: number, type, ms, bytes; or time, type, bytes. Or else synthetic.",
            ),
            may("frames", Kind::Text, "The frames themselves in place of file: nanoseconds, type and bytes of each."),
            may("synthetic", Kind::Table(&SYNTHETIC), "Frames that are made up, in place of file."),
            may("packet", Kind::Whole(100, 65_535), "Longest packet in bytes on the wire; default the scenario's."),
            may("report", Kind::Quantity, "Time between two reports of the receiver; default 900ms."),
            may("report_size", Kind::Whole(40, 65_535), "A report in bytes on the wire; default 80."),
            may(
                "floor",
                Kind::Quantity,
                "The smallest share of its full rate that a sender goes down to; 1 does not listen. Default 0.1.",
            ),
        ],
        PLAY,
    ],
    later: &["rtt", "size", "nack"],
};

/// Reads what such flows send; `packet` is the scenario's.
pub(crate) fn rtp(table: &Table<'_>, packet: u32) -> Result<(FlowKind, Option<Arc<Recorded>>), InputError> {
    const ACCEPTS: &str = "the name of a list of frames";
    let recorded = one_of(table, ACCEPTS, traces::frames, ("frames", traces::inline_frames))?;
    let (frames, recorded) = match (table.get("synthetic"), recorded) {
        (Some(_), Some(_)) => {
            return Err(table.bad("synthetic", BadValue::new("file, frames or synthetic, one of them")));
        }
        (None, None) => return Err(table.missing("file", &format!("{ACCEPTS}, or else synthetic = {{ rate }}"))),
        (Some(node), None) => (made_up(table, node)?, None),
        (None, Some(recorded)) => {
            let (repeat, begin) = play(table, &recorded)?;
            if recorded.largest() == 0 {
                let key = if table.get("file").is_some() { "file" } else { "frames" };
                return Err(table.bad(key, BadValue::new("frames of which one at least is not empty")));
            }
            (Frames::Recorded { repeat, begin }, Some(Arc::new(recorded)))
        }
    };
    let packet = table.whole("packet", packet, SHORTEST..=65_535)?;
    if packet < SHORTEST {
        return Err(table.bad("packet", BadValue::new(format!("at least {SHORTEST}, and the scenario has {packet}"))));
    }
    let kind = FlowKind::Rtp {
        packet,
        report: table.or("report", Span::from_millis(900), report_time)?,
        report_size: table.whole("report_size", REPORT, 40..=65_535)?,
        floor: table.or("floor", 0.1, |words| within(words, 0.001..=1.0, "a share from 0.001 to 1"))?,
        frames,
    };
    Ok((kind, recorded))
}

/// Frames that are made up have no beginning and no end.
fn made_up(table: &Table<'_>, node: &Node) -> Result<Frames, InputError> {
    if let Some(key) = ["repeat", "begin"].into_iter().filter(|key| table.get(key).is_some()).last() {
        return Err(table.bad(key, BadValue::new(format!("no {key} beside synthetic: such frames have no end"))));
    }
    let table = Table::open(node, &table.path_of("synthetic"), &SYNTHETIC)?;
    let rate: Rate = table.need("rate", text::rate)?;
    let fps = table.or("fps", 25.0, |words| within(words, 0.1..=1000.0, "frames per second, from 0.1 to 1000"))?;
    let gop = table.whole("gop", 12, 1..=1000)?;
    let sigma = table.or("sigma", 0.3, |words| within(words, 0.0..=3.0, "a standard deviation from 0 to 3"))?;
    let mean = rate.bytes_per_sec() / fps;
    if !(1.0..=LARGEST_MEAN).contains(&mean) {
        let accepts = format!("frames of 1 to {LARGEST_MEAN} bytes on average, not {mean:.3}");
        return Err(table.bad("rate", BadValue::new(accepts)));
    }
    table.done(&SYNTHETIC);
    Ok(Frames::Synthetic { rate, fps, gop, sigma })
}

/// More reports than this are no packets on the way back, but a stream of its own.
fn report_time(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < Span::from_millis(1) => Err(BadValue::new("a time of at least 1ms")),
        time => Ok(time),
    }
}

fn within(words: &str, range: std::ops::RangeInclusive<f64>, accepts: &'static str) -> Parsed<f64> {
    text::number(words).ok().filter(|x| range.contains(x)).ok_or_else(|| BadValue::new(accepts))
}
