//! Applications on a TCP connection. They send files one after the other, with or without a request for each file, or
//! segments of a video that a client requests, or write single packets at the times of a packet source.
//!
//! Applications do no I/O: they receive events with their times and return the action to take. A file is a number of
//! packets. Its completion time ends when all of them have arrived in order ([`Opening::Ns2`]: when they are
//! acknowledged). It begins:
//! - if the file opens a connection with a handshake: with the first SYN;
//! - otherwise, if it has a request: with the first request;
//! - otherwise: when the sender starts the file.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::page::PageConnection;
use super::session::{Action, Session};
pub use super::session::{Files, Opening};
use super::source::{Pattern, Source};
use super::video::{Client, Fetch, Video};
use crate::measure::video::VideoOutcome;
use crate::tcp::sender::Handshake;
use crate::tcp::{Stack, TcpOptions};

/// Kind of an application.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Sends files one after the other.
    Files(Files),
    /// Fetches objects of pages, on one of several connections.
    Page(PageConnection),
    /// Sends segments of a video, which a client requests and plays.
    Video(Video),
    /// Writes a packet at each time at which a source would send one; the connection sends it when it may.
    Written(Pattern),
}

/// State of an application.
pub(crate) enum App {
    /// Sends files: [`Work::Files`].
    Files(Session),
    /// Sends segments of a video: [`Work::Video`].
    Video(Box<Viewer>),
    /// Writes single packets at the times of a packet source: [`Work::Written`].
    Written(Source),
}

/// A client of adaptive video and its connection.
pub(crate) struct Viewer {
    session: Session,
    client: Client,
    /// Bytes of a packet without headers.
    payload: f64,
}

impl Viewer {
    fn request(&mut self, Fetch { at, bytes }: Fetch) {
        self.session.fetch_packets(at, libm::ceil(bytes as f64 / self.payload));
    }

    /// Packets up to `in_order` have arrived by `now`. Returns the time that a segment took if it is now complete.
    #[inline]
    fn arrived(&mut self, in_order: u32, now: Instant) -> Option<Span> {
        let took = self.session.arrived(in_order, now)?;
        if let Some(fetch) = self.client.arrived(now, took) {
            self.request(fetch);
        }
        Some(took)
    }
}

impl App {
    /// An application before its start, for packets of this length and a connection with these options.
    pub(crate) fn new(work: &Work, packet: u16, options: &TcpOptions, rng: Rng) -> Self {
        let opening = (options.timer(Span::ZERO), options.stack() == Stack::Linux);
        match work {
            Work::Files(files) => Self::Files(Session::new(*files, packet, opening, rng)),
            Work::Page(page) => Self::Files(Session::new(page.session(), packet, opening, rng)),
            Work::Video(video) => Self::Video(Box::new(Viewer {
                session: Session::new(video.session(), packet, opening, rng),
                client: Client::new(video),
                payload: f64::from(packet.saturating_sub(options.variant.profile().headers).max(1)),
            })),
            Work::Written(pattern) => Self::Written(Source::new(pattern.clone(), packet, rng)),
        }
    }

    /// The files of the connection, if it has any.
    fn session(&mut self) -> Option<&mut Session> {
        match self {
            Self::Files(session) => Some(session),
            Self::Video(viewer) => Some(&mut viewer.session),
            Self::Written(_) => None,
        }
    }

    /// Time of the application's next action.
    pub(crate) fn wakes(&self) -> Option<Instant> {
        match self {
            Self::Files(session) => session.wakes(),
            Self::Video(viewer) => viewer.session.wakes(),
            Self::Written(source) => source.next(),
        }
    }

    /// Starts the application.
    pub(crate) fn start(&mut self, now: Instant) {
        match self {
            Self::Files(session) => session.start(now),
            Self::Video(viewer) => {
                let first = viewer.client.start(now);
                viewer.request(first);
            }
            Self::Written(source) => source.start(now),
        }
    }

    /// Requests a file at `at`, on a new connection if `fresh`.
    pub(crate) fn fetch(&mut self, at: Instant, fresh: bool) {
        if let Self::Files(session) = self {
            session.fetch(at, fresh);
        }
    }

    /// Stops the application.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Files(session) => session.stop(),
            Self::Video(viewer) => {
                viewer.client.stop();
                viewer.session.stop();
            }
            Self::Written(source) => source.stop(),
        }
    }

    /// The action that is due at `now`.
    pub(crate) fn wake(&mut self, now: Instant) -> Action {
        if self.wakes().is_none_or(|at| at > now) {
            return Action::Nothing;
        }
        match self {
            Self::Files(session) => session.wake(now),
            Self::Video(viewer) => viewer.session.wake(now),
            Self::Written(source) => {
                source.send(now);
                Action::Send { packets: 1, fresh: false }
            }
        }
    }

    /// A control segment (handshake packet or request) with content `word` has reached the end of the connection that
    /// it is for. Returns the action to take.
    pub(crate) fn on_control(&mut self, word: u32, now: Instant) -> Action {
        self.session().map_or(Action::Nothing, |session| session.on_control(word, now))
    }

    /// Returns the result of the latest handshake for the sending end, once per handshake.
    pub(crate) fn set_up(&mut self) -> Option<Box<Handshake>> {
        self.session()?.set_up()
    }

    /// Packets up to `in_order` have arrived by `now`. Returns the file's completion time if it is now complete.
    #[inline]
    pub(crate) fn arrived(&mut self, in_order: u32, now: Instant) -> Option<Span> {
        match self {
            Self::Files(session) => session.arrived(in_order, now),
            Self::Video(viewer) => viewer.arrived(in_order, now),
            Self::Written(_) => None,
        }
    }

    /// Is a file that arrives a result of the run? A segment of a video is not: the results are those of the playback.
    pub(crate) const fn counts_files(&self) -> bool {
        !matches!(self, Self::Video(_))
    }

    /// What a client of adaptive video played; those results that are of a window are from `from` to `to`, the client's end.
    pub(crate) fn video(&self, from: Instant, to: Instant) -> Option<VideoOutcome> {
        if let Self::Video(viewer) = self { viewer.client.outcome(from, to) } else { None }
    }

    /// Is the connection a dialogue: does its receiver send requests on it? Linux then acknowledges no packet at once because of
    /// its flag PSH (`inet_csk_in_pingpong_mode`).
    pub(crate) const fn is_dialogue(&self) -> bool {
        matches!(self, Self::Files(_) | Self::Video(_)) && !self.ends_at_once()
    }

    /// Is the last packet of a file acknowledged at once in the Linux stack?
    pub(crate) const fn ends_at_once(&self) -> bool {
        match self {
            Self::Files(session) => session.ends_at_once(),
            Self::Video(viewer) => viewer.session.ends_at_once(),
            Self::Written(_) => false,
        }
    }

    /// Packets up to `una` are acknowledged at `now`. Returns the completion time of a file that this ends, if its
    /// acknowledgement counts.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u32, now: Instant) -> Option<Span> {
        match self {
            Self::Files(session) => session.acknowledged(una, now),
            Self::Video(viewer) => viewer.session.acknowledged(una, now),
            Self::Written(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
