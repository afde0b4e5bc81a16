//! Flows of kind `rtp`: video over RTP, recorded or synthetic, whose sender follows the receiver's reports.

use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::network::Traffic;
use forebay_sim::rtp;

use super::ecn::ECN;
use super::group::START;
use super::replay::{Play, one_of};
use super::{Part, Source};
use crate::declare::{
    Key, Keys, Number, Parsed, Quantity, RATE, Table, duration, inline, may, names, schema, table, table_of,
    whole_number,
};
use crate::document::Text;
use crate::input::InputError;
use crate::traces::{self, Recorded};

const FILE: Key = may(
    "file",
    schema::text,
    "A list of frames, from this file's folder: number, type, ms, bytes; or time, type, bytes. Or else synthetic.",
);
const FRAMES: Key =
    may("frames", schema::text, "The frames themselves in place of file: nanoseconds, type and bytes of each.");
const SYNTHETIC: Key =
    may("synthetic", || table_of::<Synthetic>(Synthetic::DOC), "Frames that are made up, in place of file.");

table! {
    /// Video over RTP: frames at their times; a sender that lowers its rate by a fifth when more than 2 % are lost.
    pub struct Rtp {
        + ECN;
        + START;
        + FILE;
        + FRAMES;
        + SYNTHETIC;
        /// Longest packet in bytes on the wire; default the scenario's.
        packet: u32 = whole_number::<u32>(SHORTEST, 65_535), or_else scenarios;
        /// Time between two reports of the receiver; default 900ms.
        report: Span = Quantity(report_time, show_span), or Span::from_millis(900);
        /// A report in bytes on the wire; default 80.
        report_size: u16 = whole_number::<u16>(40, 65_535), or REPORT;
        /// The smallest share of its full rate that a sender goes down to; 1 does not listen. Default 0.1.
        floor: f64 = Number(|words| within(words, 0.001..=1.0, "a share from 0.001 to 1")), or 0.1;
        /// Where its frames come from.
        ..frames: Frames;
    }
}

/// Packets: 40 bytes of them are headers.
const SHORTEST: u32 = 100;
/// A receiver report of one source with its SDES, 20 + 8 bytes of IP and UDP before them.
const REPORT: u16 = 80;

/// The scenario's packet, which may be too short.
fn scenarios(table: &Table<'_>) -> Result<u32, InputError> {
    let packet = table.setting.packet;
    if packet >= SHORTEST {
        return Ok(packet);
    }
    Err(table.bad("packet", BadValue::new(format!("at least {SHORTEST}, and the scenario has {packet}"))))
}

/// Where the frames of a video come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Frames {
    /// They were recorded.
    Recorded(Arc<Recorded>, Play),
    /// They are made up.
    Synthetic(Synthetic),
}

table! {
    /// Frames that are made up: groups of pictures IBBPBBP..., lengths lognormal with means 5 : 2 : 1 for I, P, B.
    pub struct Synthetic {
        /// Mean rate of the frames, headers of packets not counted.
        rate: Rate = RATE;
        /// Frames per second; default 25.
        fps: f64 = Number(|words| within(words, 0.1..=1000.0, "frames per second, from 0.1 to 1000")), or 25.0;
        /// Frames from one I to the next; default 12.
        gop: u32 = whole_number::<u32>(1, 1000), or 12;
        /// Standard deviation of the logarithm of a length, by type; default 0.3.
        sigma: f64 = Number(|words| within(words, 0.0..=3.0, "a standard deviation from 0 to 3")), or 0.3;
    }
    finish |synthetic: Synthetic, table: &Table<'_>| match synthetic.mean() {
        mean if (1.0..=LARGEST_MEAN).contains(&mean) => Ok(synthetic),
        mean => {
            let accepts = format!("frames of 1 to {LARGEST_MEAN} bytes on average, not {mean:.3}");
            Err(table.bad("rate", BadValue::new(accepts)))
        }
    };
}

/// The largest mean of frames that are made up.
const LARGEST_MEAN: f64 = (1 << 20) as f64;

impl Synthetic {
    /// The mean length of a frame in bytes.
    fn mean(&self) -> f64 {
        self.rate.bytes_per_sec() / self.fps
    }
}

/// The keys that play a recording; those that say which stand before them in the table.
impl Keys for Frames {
    fn keys() -> Vec<Key> {
        Play::keys()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        const ACCEPTS: &str = "the name of a list of frames";
        let recorded = one_of(table, ACCEPTS, traces::frames, (FRAMES.name, traces::inline_frames))?;
        match (table.get(SYNTHETIC.name), recorded) {
            (Some(_), Some(_)) => {
                Err(table.bad(SYNTHETIC.name, BadValue::new("file, frames or synthetic, one of them")))
            }
            (None, None) => Err(table.missing(FILE.name, &format!("{ACCEPTS}, or else synthetic = {{ rate }}"))),
            (Some(node), None) => {
                if let Some(key) = names(&Play::keys()).into_iter().rfind(|key| table.get(key).is_some()) {
                    let accepts = format!("no {key} beside synthetic: such frames have no end");
                    return Err(table.bad(key, BadValue::new(accepts)));
                }
                Table::whole_of(node, &table.path_of(SYNTHETIC.name), table.setting).map(Self::Synthetic)
            }
            (None, Some(recorded)) => {
                let play = Play::read(table)?;
                play.sound(&recorded, table)?;
                if recorded.largest() == 0 {
                    let key = if table.get(FILE.name).is_some() { FILE.name } else { FRAMES.name };
                    return Err(table.bad(key, BadValue::new("frames of which one at least is not empty")));
                }
                Ok(Self::Recorded(recorded, play))
            }
        }
    }
    fn write(&self, out: &mut Text) {
        match self {
            Self::Recorded(recorded, play) => {
                out.text(FRAMES.name, &recorded.inline());
                play.write(out);
            }
            Self::Synthetic(synthetic) => out.set(SYNTHETIC.name, inline(synthetic)),
        }
    }
}

impl Source for Rtp {
    fn packet(&self, _: u32) -> u32 {
        self.packet
    }
    fn answer(&self) -> u32 {
        u32::from(self.report_size)
    }
    fn recorded(&self) -> Option<&Recorded> {
        match &self.frames {
            Frames::Recorded(recorded, _) => Some(recorded),
            Frames::Synthetic(_) => None,
        }
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        let Self { report, report_size, floor, .. } = *self;
        let video = move |frames| Traffic::Rtp(rtp::Rtp { frames, report, report_size, floor });
        match &self.frames {
            Frames::Recorded(recorded, play) => {
                let (recording, play) = (Arc::new(recorded.recording(None).unwrap_or_default()), play.clone());
                let traffic = move |place| video(rtp::Frames::Recorded(play.replay(&recording, place)));
                vec![Part { class: None, traffic: Box::new(traffic) }]
            }
            Frames::Synthetic(frames) => {
                let (every, mean) = (Span::from_secs(1.0 / frames.fps), frames.mean());
                let (gop, sigma) = (frames.gop, frames.sigma);
                Part::only(video(rtp::Frames::Synthetic(rtp::Synthetic { every, gop, mean, sigma })))
            }
        }
    }
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
