//! Flows of kind `video`: viewers of adaptive video over HTTP.

use forebay_aqm::base::text::{self, BadValue, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::app::Work;
use forebay_sim::network::Traffic;
use forebay_sim::tcp::TcpOptions;
use forebay_sim::video;

use super::cbr::PACKET;
use super::ecn::ECN;
use super::files::REQUEST;
use super::group::START;
use super::{Part, Source};
use crate::declare::{Custom, Flag, Form, Parsed, Quantities, Quantity, Table, Words, duration, table, whole_number};
use crate::input::InputError;

table! {
    /// Viewers of adaptive video over TCP (DASH): each fetches a video in segments, one after the other, and plays it.
    pub struct Video {
        + START;
        /// Bitrates of the video without packet headers, in ascending order; default 300kbit, 750kbit, 1200kbit, 1850kbit,
        /// 2850kbit and 4300kbit.
        bitrates: Vec<Rate> = BITRATES, or DEFAULT.to_vec();
        /// Playing time of a segment; default 4s.
        segment: Span = SEGMENT, or Span::from_millis(4000);
        /// Most video in a viewer's buffer. A viewer requests a segment as soon as it fits. Default 60s.
        buffer: Span = PLAYED, or Span::from_millis(60_000);
        /// Video in the buffer with which playback starts; default a segment.
        startup: Span = PLAYED, or_else a_segment;
        /// Video in the buffer with which playback resumes after a stall; default a segment.
        resume: Span = PLAYED, or_else a_segment;
        /// How a viewer chooses the bitrate of a segment: "rate" (the highest that is at most the harmonic mean of the
        /// throughputs of the last five segments) or "buffer" (by the video in the buffer, BBA-0 of Huang et al. 2014).
        /// Default rate.
        adapt: Adapt = ADAPT, or Adapt::Rate;
        /// With adapt = "buffer": video in the buffer up to which the bitrate is the lowest; default 37.5 % of
        /// the difference of buffer and segment.
        reservoir: Option<Span> = PLAYED, optional;
        /// With adapt = "buffer": video in the buffer, in addition to reservoir, with which the bitrate is the highest; default
        /// 52.5 % of the difference of buffer and segment.
        cushion: Option<Span> = PLAYED, optional;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: Option<u32> = PACKET, optional;
        /// Whether the connection begins with a SYN handshake. The start-up delay begins with the SYN. Default false.
        handshake: bool = Flag, or false;
        /// Size of a request in bytes on the wire; default 400.
        request: u16 = whole_number::<u16>(40, 65_535), or REQUEST;
        + ECN;
        /// The keys of the scenario file that set the flows' TCP options.
        ..tcp: TcpOptions;
    }
    finish sound;
}

/// The rule by which a viewer chooses bitrates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapt {
    /// By throughput.
    Rate,
    /// By the video in the buffer.
    Buffer,
}

const ADAPT: Words<Adapt> = Words(&[("rate", Adapt::Rate), ("buffer", Adapt::Buffer)]);

/// Bitrates of the videos in Mao et al., "Neural Adaptive Video Streaming with Pensieve", SIGCOMM 2017, section 5.1.
const DEFAULT: [Rate; 6] =
    [Rate(300_000), Rate(750_000), Rate(1_200_000), Rate(1_850_000), Rate(2_850_000), Rate(4_300_000)];

/// Reservoir and cushion of BBA-0 (Huang et al. 2014) as shares of the buffer: 90 s and 126 s of 240 s. Ours: shares of the most
/// video that is in the buffer at a request, so that a short buffer reaches the highest bitrate too.
const RESERVOIR: f64 = 0.375;
const CUSHION: f64 = 0.525;

const BITRATES: Custom<Vec<Rate>> = Custom {
    schema: || ASCENDING.schema(),
    read: |table, node, path| {
        let rates = ASCENDING.read(table, node, path)?;
        let ascends = rates.iter().zip(rates.iter().skip(1)).all(|(one, next)| one < next);
        if ascends && rates.len() <= MOST_BITRATES { Ok(rates) } else { Err(node.error(path, ASCENDING.1)) }
    },
    show: |rates| ASCENDING.show(rates),
    accepts: ASCENDING.1,
};
const ASCENDING: Quantities<Rate> = Quantities(
    Quantity(bitrate, show_rate),
    "1 to 100 bitrates in ascending order, such as [\"300kbit\", \"1.2mbit\"]",
);
const MOST_BITRATES: usize = 100;

fn bitrate(words: &str) -> Parsed<Rate> {
    let rate = text::rate(words)?;
    let range = Rate(1000)..=Rate(1_000_000_000);
    if range.contains(&rate) { Ok(rate) } else { Err(BadValue::new("a bitrate from 1kbit to 1gbit")) }
}

const SEGMENT: Quantity<Span> = Quantity(segment, show_span);

fn segment(words: &str) -> Parsed<Span> {
    let range = Span::from_millis(100)..=Span::from_millis(60_000);
    match duration(words) {
        Ok(segment) if range.contains(&segment) => Ok(segment),
        other => {
            Err(BadValue { hint: other.err().and_then(|bad| bad.hint), ..BadValue::new("a time from 100ms to 60s") })
        }
    }
}

const PLAYED: Quantity<Span> = Quantity(duration, show_span);

fn a_segment(table: &Table<'_>) -> Result<Span, InputError> {
    Ok(table.given("segment", &SEGMENT)?.unwrap_or(Span::from_millis(4000)))
}

impl Video {
    /// The video of the simulator.
    fn video(&self) -> video::Video {
        let Self { segment, buffer, startup, resume, request, handshake, .. } = *self;
        let share = |share: f64| Span::from_secs((buffer - segment).secs() * share);
        let adapt = match self.adapt {
            Adapt::Rate => video::Adapt::Rate,
            Adapt::Buffer => video::Adapt::Buffer {
                reservoir: self.reservoir.unwrap_or_else(|| share(RESERVOIR)),
                cushion: self.cushion.unwrap_or_else(|| share(CUSHION)),
            },
        };
        video::Video { bitrates: self.bitrates.clone(), segment, buffer, startup, resume, adapt, request, handshake }
    }
}

/// Refuses a buffer that has no room for what playback needs, and parameters of another rule.
fn sound(video: Video, table: &Table<'_>) -> Result<Video, InputError> {
    if video.buffer < video.segment {
        let accepts = format!("at least a segment, {}", show_span(video.segment));
        return Err(table.bad("buffer", BadValue::new(accepts)));
    }
    let most = video.video().fullest();
    for (key, needed) in [("startup", video.startup), ("resume", video.resume)] {
        if needed > most {
            let accepts = format!("at most {}, the whole segments that fit into the buffer", show_span(most));
            return Err(table.bad(key, BadValue::new(accepts)));
        }
    }
    for (key, given) in [("reservoir", video.reservoir), ("cushion", video.cushion)] {
        if given.is_some() && video.adapt == Adapt::Rate {
            return Err(table.bad(key, BadValue::new(format!("no {key}, or adapt = \"buffer\""))));
        }
    }
    if let video::Adapt::Buffer { reservoir, cushion } = video.video().adapt
        && reservoir + cushion > video.buffer - video.segment
    {
        let key = if video.reservoir.is_some() { "reservoir" } else { "cushion" };
        let most = show_span(video.buffer - video.segment);
        let accepts = format!("reservoir and cushion of together at most {most}, the difference of buffer and segment");
        return Err(table.bad(key, BadValue::new(accepts)));
    }
    Ok(video)
}

impl Source for Video {
    fn tcp(&self) -> Option<TcpOptions> {
        Some(self.tcp)
    }
    fn answer(&self) -> u32 {
        u32::from(self.request.max(self.tcp.ack))
    }
    fn packet(&self, default: u32) -> u32 {
        self.packet.unwrap_or(default)
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        Part::only(Traffic::Application(TcpOptions { ecn, ..self.tcp }, Work::Video(self.video())))
    }
}
