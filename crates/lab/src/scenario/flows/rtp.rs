//! Flows of kind `rtp`: recorded or synthetic video over RTP. The sender adapts to receiver reports.

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
    "List of frames (number, type, ms, bytes; or time, type, bytes), relative to this file's folder. Or synthetic.",
);
const FRAMES: Key = may("frames", schema::text, "Inline frames in place of file: nanoseconds, type and bytes of each.");
const SYNTHETIC: Key =
    may("synthetic", || table_of::<Synthetic>(Synthetic::DOC), "Synthetic frames, in place of file.");

table! {
    /// Video over RTP: each frame is sent at its time in the recording. The sender lowers its rate by a fifth if a
    /// receiver report has more than 2 % losses.
    pub struct Rtp {
        + ECN;
        + START;
        + FILE;
        + FRAMES;
        + SYNTHETIC;
        /// Largest packet in bytes on the wire; default the scenario's packet.
        packet: u32 = whole_number::<u32>(SHORTEST, 65_535), or_else scenarios;
        /// Interval between receiver reports; default 900ms.
        report: Span = Quantity(report_time, show_span), or Span::from_millis(900);
        /// Size of a report in bytes on the wire; default 80.
        report_size: u16 = whole_number::<u16>(40, 65_535), or REPORT;
        /// Smallest fraction of its full rate that a sender uses; 1 disables adaptation. Default 0.1.
        floor: f64 = Number(|words| within(words, 0.001..=1.0, "a share from 0.001 to 1")), or 0.1;
        /// Source of the frames.
        ..frames: Frames;
    }
}

/// Smallest allowed packet; 40 bytes are headers.
const SHORTEST: u32 = 100;
/// Size of an RTCP receiver report for one source with its source description (SDES), plus 20 + 8 bytes of IP and UDP
/// headers.
const REPORT: u16 = 80;

/// The default of `packet`: the scenario's packet size. An error if that is below 100 bytes ([`SHORTEST`]).
fn scenarios(table: &Table<'_>) -> Result<u32, InputError> {
    let packet = table.setting.packet;
    if packet >= SHORTEST {
        return Ok(packet);
    }
    Err(table.bad("packet", BadValue::new(format!("at least {SHORTEST}; the scenario has {packet}"))))
}

/// Source of the frames of a video.
#[derive(Clone, Debug, PartialEq)]
pub enum Frames {
    /// Recorded frames, and how flows replay them.
    Recorded(Arc<Recorded>, Play),
    /// Frames with random sizes.
    Synthetic(Synthetic),
}

table! {
    /// Synthetic frames: groups of pictures IBBPBBP..., sizes lognormal with means 5 : 2 : 1 for I, P, B.
    pub struct Synthetic {
        /// Mean rate of the frames, without packet headers.
        rate: Rate = RATE;
        /// Frames per second; default 25.
        fps: f64 = Number(|words| within(words, 0.1..=1000.0, "frames per second, from 0.1 to 1000")), or 25.0;
        /// Frames from one I frame to the next; default 12.
        gop: u32 = whole_number::<u32>(1, 1000), or 12;
        /// Standard deviation of the logarithm of the sizes of frames of one type (I, P or B); default 0.3.
        sigma: f64 = Number(|words| within(words, 0.0..=3.0, "a standard deviation from 0 to 3")), or 0.3;
    }
    finish |synthetic: Synthetic, table: &Table<'_>| match synthetic.mean() {
        mean if (1.0..=LARGEST_MEAN).contains(&mean) => Ok(synthetic),
        mean => {
            let accepts = format!("frames of 1 to {LARGEST_MEAN} bytes on average; this gives {mean:.3}");
            Err(table.bad("rate", BadValue::new(accepts)))
        }
    };
}

/// Largest mean size of synthetic frames, in bytes.
const LARGEST_MEAN: f64 = (1 << 20) as f64;

impl Synthetic {
    /// Mean size of a frame in bytes.
    fn mean(&self) -> f64 {
        self.rate.bytes_per_sec() / self.fps
    }
}

/// The keys of [`Play`], which say how a recording is replayed. The keys that select the source of the frames (`file`,
/// `frames`, `synthetic`) are declared in [`Rtp`].
impl Keys for Frames {
    fn keys() -> Vec<Key> {
        Play::keys()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        const ACCEPTS: &str = "the name of a list of frames";
        let recorded = one_of(table, ACCEPTS, traces::frames, (FRAMES.name, traces::inline_frames))?;
        match (table.get(SYNTHETIC.name), recorded) {
            (Some(_), Some(_)) => Err(table.bad(SYNTHETIC.name, BadValue::new("one of file, frames and synthetic"))),
            (None, None) => Err(table.missing(FILE.name, &format!("{ACCEPTS}, or synthetic = {{ rate }}"))),
            (Some(node), None) => {
                if let Some(key) = names(&Play::keys()).into_iter().rfind(|key| table.get(key).is_some()) {
                    let accepts = format!("no {key}, as synthetic frames have no end");
                    return Err(table.bad(key, BadValue::new(accepts)));
                }
                Table::whole_of(node, &table.path_of(SYNTHETIC.name), table.setting).map(Self::Synthetic)
            }
            (None, Some(recorded)) => {
                let play = Play::read(table)?;
                play.sound(&recorded, table)?;
                if recorded.largest() == 0 {
                    let key = if table.get(FILE.name).is_some() { FILE.name } else { FRAMES.name };
                    return Err(table.bad(key, BadValue::new("at least one frame that is not empty")));
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

/// Interval between receiver reports, at least 1 ms: more frequent reports would be a considerable load.
fn report_time(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < Span::from_millis(1) => Err(BadValue::new("a time of at least 1ms")),
        time => Ok(time),
    }
}

pub(super) fn within(words: &str, range: std::ops::RangeInclusive<f64>, accepts: &'static str) -> Parsed<f64> {
    text::number(words).ok().filter(|x| range.contains(x)).ok_or_else(|| BadValue::new(accepts))
}
