//! Flows of kind `rtp`: video over RTP. The sender scales recorded or synthetic frames by receiver reports, or NADA sets
//! the rate of an encoder.

use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::network::Traffic;
use forebay_sim::rtp;

use super::ecn::ECN;
use super::group::START;
use super::replay::{Play, one_of};
use super::{Part, Source};
use crate::declare::{
    DURATION, Form, Key, Keys, Number, Parsed, Quantity, RATE, Table, Words, duration, inline, may, names, schema,
    table, table_of, whole_number,
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
    /// Video over RTP. With receiver reports each frame is sent at its time in the recording, and the sender lowers its
    /// rate by a fifth if a report has more than 2 % losses. With NADA an encoder sends frames at a rate that follows
    /// queuing delay, losses and marks.
    pub struct Rtp {
        + ECN;
        + START;
        + FILE;
        + FRAMES;
        + SYNTHETIC;
        /// Largest packet in bytes on the wire; default the scenario's packet.
        packet: u32 = whole_number::<u32>(SHORTEST, 65_535), or_else scenarios;
        /// Interval between reports of the receiver; default 900ms, for nada 100ms.
        report: Span = Quantity(report_time, show_span), or_else interval;
        /// Size of a report in bytes on the wire; default 80.
        report_size: u16 = whole_number::<u16>(40, 65_535), or REPORT;
        /// How the sender adapts its rate.
        ..control: Control;
    }
}

/// How the sender adapts its rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// It scales frames by receiver reports.
    ReceiverReports {
        /// Smallest fraction of its full rate that a sender uses.
        floor: f64,
        /// Source of the frames.
        frames: Frames,
    },
    /// NADA sets the rate of an encoder.
    Nada(Nada),
}

table! {
    /// Keys of NADA (RFC 8698), whose defaults are those of the RFC.
    pub struct Nada {
        /// Frames per second of the encoder of nada; default 30.
        fps: f64 = Number(|words| within(words, 0.1..=1000.0, "frames per second, from 0.1 to 1000")), or 30.0;
        /// PRIO of nada: weight of the flow. Without losses, and below max_rate, flows share a bottleneck in proportion to it.
        /// Default 1.
        priority: f64 = Number(|words| within(words, 0.01..=100.0, "a weight from 0.01 to 100")), or 1.0;
        /// RMIN of nada: lowest rate of the encoder, and its first rate; packet headers count. Default 150kbit.
        min_rate: Rate = RATE, or rtp::Nada::default().rmin;
        /// RMAX of nada: highest rate of the encoder; packet headers count. Default 1.5mbit.
        max_rate: Rate = RATE, or rtp::Nada::default().rmax;
        /// XREF of nada: congestion signal at which a flow of priority 1 has its highest rate; default 10ms.
        xref: Span = DURATION, or rtp::Nada::default().xref;
    }
    finish |nada: Nada, table: &Table<'_>| {
        let frame = |rate: Rate| rate.bytes_per_sec() / nada.fps;
        let limits = if nada.min_rate > nada.max_rate {
            format!("min_rate at most max_rate; here {} and {}", show_rate(nada.min_rate), show_rate(nada.max_rate))
        } else if frame(nada.min_rate) < LEAST_FRAME {
            format!("frames of at least {LEAST_FRAME} bytes with headers; this gives {:.3}", frame(nada.min_rate))
        } else if frame(nada.max_rate) > LARGEST_MEAN {
            format!("frames of at most {LARGEST_MEAN} bytes; this gives {:.3}", frame(nada.max_rate))
        } else {
            return Ok(nada);
        };
        let given = ["min_rate", "max_rate", "fps"].into_iter().find(|key| table.get(key).is_some());
        Err(table.bad(given.unwrap_or("min_rate"), BadValue::new(limits)))
    };
}

/// Smallest frame of an encoder in bytes: a packet of headers and one byte.
const LEAST_FRAME: f64 = 41.0;

/// The name of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    ReceiverReports,
    Nada,
}

const CONTROLS: Words<Name> = Words(&[("receiver-reports", Name::ReceiverReports), ("nada", Name::Nada)]);
const CONTROL: Key = may(
    "control",
    || CONTROLS.schema(),
    "receiver-reports: the sender scales frames by the losses that the receiver reports. nada: RFC 8698, with an encoder \
     in place of frames. Default receiver-reports.",
);
const SHARES: Number = Number(|words| within(words, 0.001..=1.0, "a share from 0.001 to 1"));
const FLOOR: Key = may(
    "floor",
    || SHARES.schema(),
    "Smallest fraction of its full rate that a sender with receiver-reports uses; 1 disables adaptation. Default 0.1.",
);

/// The value of `control`.
fn name(table: &Table<'_>) -> Result<Name, InputError> {
    Ok(table.given(CONTROL.name, &CONTROLS)?.unwrap_or(Name::ReceiverReports))
}

/// The default of `report`: 900 ms, with NADA 100 ms.
fn interval(table: &Table<'_>) -> Result<Span, InputError> {
    Ok(match name(table)? {
        Name::ReceiverReports => Span::from_millis(900),
        Name::Nada => Span::from_millis(100),
    })
}

impl Keys for Control {
    fn keys() -> Vec<Key> {
        [vec![CONTROL, FLOOR], Frames::keys(), Nada::keys()].concat()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        let name = name(table)?;
        let others = match name {
            Name::ReceiverReports => Nada::keys(),
            Name::Nada => [vec![FLOOR, FILE, FRAMES, SYNTHETIC], Frames::keys()].concat(),
        };
        if let Some(key) = names(&others).into_iter().find(|key| table.get(key).is_some()) {
            let accepts = format!("no {key} with control = \"{}\"", CONTROLS.word(name));
            return Err(table.bad(key, BadValue::new(accepts)));
        }
        match name {
            Name::ReceiverReports => {
                let floor = table.given(FLOOR.name, &SHARES)?.unwrap_or(0.1);
                Ok(Self::ReceiverReports { floor, frames: Frames::read(table)? })
            }
            Name::Nada => Nada::read(table).map(Self::Nada),
        }
    }
    fn write(&self, out: &mut Text) {
        match self {
            Self::ReceiverReports { floor, frames } => {
                SHARES.write(out, FLOOR.name, floor);
                frames.write(out);
            }
            Self::Nada(nada) => {
                CONTROLS.write(out, CONTROL.name, &Name::Nada);
                nada.write(out);
            }
        }
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
        match &self.control {
            Control::ReceiverReports { frames: Frames::Recorded(recorded, _), .. } => Some(recorded),
            Control::ReceiverReports { .. } | Control::Nada(_) => None,
        }
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        let Self { report, report_size, .. } = *self;
        let video = move |control| Traffic::Rtp(rtp::Rtp { control, report, report_size });
        match self.control {
            Control::ReceiverReports { floor, ref frames } => {
                let scaled = move |frames| video(rtp::Control::ReceiverReports { frames, floor });
                match frames {
                    Frames::Recorded(recorded, play) => {
                        let (recording, play) = (Arc::new(recorded.recording(None).unwrap_or_default()), play.clone());
                        let traffic = move |place| scaled(rtp::Frames::Recorded(play.replay(&recording, place)));
                        vec![Part { class: None, traffic: Box::new(traffic) }]
                    }
                    Frames::Synthetic(frames) => {
                        let (every, mean) = (Span::from_secs(1.0 / frames.fps), frames.mean());
                        let (gop, sigma) = (frames.gop, frames.sigma);
                        Part::only(scaled(rtp::Frames::Synthetic(rtp::Synthetic { every, gop, mean, sigma })))
                    }
                }
            }
            Control::Nada(Nada { fps, priority: prio, min_rate: rmin, max_rate: rmax, xref }) => {
                Part::only(video(rtp::Control::Nada(rtp::Nada { prio, rmin, rmax, xref, fps })))
            }
        }
    }
}

/// Interval between reports, at least 1 ms: more frequent reports would be a considerable load.
fn report_time(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < Span::from_millis(1) => Err(BadValue::new("a time of at least 1ms")),
        time => Ok(time),
    }
}

pub(super) fn within(words: &str, range: std::ops::RangeInclusive<f64>, accepts: &'static str) -> Parsed<f64> {
    text::number(words).ok().filter(|x| range.contains(x)).ok_or_else(|| BadValue::new(accepts))
}
