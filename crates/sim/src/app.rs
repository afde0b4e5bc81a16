//! Applications on top of a TCP connection: files one after the other, asked for or not, and packets written one by
//! one as a source would send them.
//!
//! Sans-IO: told what happened and when, an application says what to do next. A file is a number of packets. Its time
//! runs from the moment it is asked for, or begun if nobody asks, until all of it has arrived in order.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use crate::draw::Draw;
use crate::source::{Pattern, Source};

/// What an application does.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Sends files.
    Files(Files),
    /// Writes a packet whenever a source would send one: the connection sends it when it may.
    Written(Pattern),
}

/// Files, one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Files {
    /// Length of a file in bytes on the wire, headers included; rounded up to whole packets.
    pub size: Draw,
    /// Seconds from the end of a file to the next one.
    pub think: Draw,
    /// How many; `None` without end.
    pub count: Option<u32>,
    /// Every file has a connection of its own: slow start from the initial window, no estimate of the round trip.
    pub fresh: bool,
    /// Bytes on the wire of a request, which the receiver sends for each file; `None`: the sender begins by itself.
    pub request: Option<u16>,
}

/// How long the receiver waits for the first packet before it asks again, doubled each time (RFC 6298: 1 s; the cap is
/// that of the senders).
const PATIENCE: Span = Span::from_millis(1000);
const LONGEST_PATIENCE: Span = Span::from_millis(60_000);

/// The largest file in packets.
const LARGEST: f64 = 1e9;

/// An application while it runs.
pub(crate) enum App {
    /// See [`Work::Files`].
    Files(Session),
    /// See [`Work::Written`].
    Written(Source),
}

/// What an application wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Nothing.
    Nothing,
    /// The receiver sends this request, of so many bytes.
    Ask(u32, u16),
    /// The sender has so many packets more, on a connection of their own or not.
    Send {
        /// How many.
        packets: u32,
        /// On a new connection?
        fresh: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Thinks, or has finished.
    Resting,
    /// Has asked and waits for the first packet.
    Asked,
    /// Packets are coming.
    Sending,
}

/// Files, as far as they have come.
pub(crate) struct Session {
    files: Files,
    /// Bytes of a packet.
    packet: f64,
    rng: Rng,
    state: State,
    /// Files still to come.
    left: u32,
    /// When it acts next, in nanoseconds; `u64::MAX` never.
    wakes: u64,
    /// When the present file was asked for or begun.
    since: u64,
    /// Packets of all files so far.
    end: u32,
    /// Has the present file arrived?
    arrived: bool,
    /// Requests so far, and how long to wait for an answer to the last.
    asked: u32,
    patience: Span,
}

impl Session {
    fn new(files: Files, packet: u16, rng: Rng) -> Self {
        Self {
            files,
            packet: f64::from(packet),
            rng,
            state: State::Resting,
            left: files.count.unwrap_or(u32::MAX),
            wakes: u64::MAX,
            since: 0,
            end: 0,
            arrived: false,
            asked: 0,
            patience: PATIENCE,
        }
    }

    fn wake(&mut self, now: u64) -> Wish {
        self.wakes = u64::MAX;
        match (self.state, self.files.request) {
            (State::Resting, None) => {
                self.since = now;
                self.begin()
            }
            (State::Resting, Some(length)) => {
                (self.since, self.patience) = (now, PATIENCE);
                self.asked += 1;
                self.ask(now, length)
            }
            (State::Asked, Some(length)) => {
                self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
                self.ask(now, length)
            }
            _ => Wish::Nothing,
        }
    }

    fn ask(&mut self, now: u64, length: u16) -> Wish {
        self.state = State::Asked;
        self.wakes = now + self.patience.nanos();
        Wish::Ask(self.asked, length)
    }

    fn begin(&mut self) -> Wish {
        let packets = libm::ceil(self.files.size.next(&mut self.rng) / self.packet).clamp(1.0, LARGEST) as u32;
        let fresh = self.files.fresh && self.end > 0;
        self.end = self.end.saturating_add(packets);
        (self.state, self.arrived) = (State::Sending, false);
        Wish::Send { packets, fresh }
    }

    /// The file is over at `now`: the next one after a while, if there is one.
    fn rest(&mut self, now: u64) {
        self.state = State::Resting;
        self.left = self.left.saturating_sub(u32::from(self.files.count.is_some()));
        let think = Span::from_secs(self.files.think.next(&mut self.rng));
        self.wakes = if self.left > 0 { now.saturating_add(think.nanos()) } else { u64::MAX };
    }
}

impl App {
    /// One that has not begun, on packets of this length.
    pub(crate) fn new(work: &Work, packet: u16, rng: Rng) -> Self {
        match work {
            Work::Files(files) => Self::Files(Session::new(*files, packet, rng)),
            Work::Written(pattern) => Self::Written(Source::new(pattern.clone(), packet, rng)),
        }
    }

    /// When it wants to act next, in nanoseconds.
    pub(crate) fn wakes(&self) -> Option<u64> {
        match self {
            Self::Files(session) => Some(session.wakes).filter(|at| *at < u64::MAX),
            Self::Written(source) => source.next().map(Instant::nanos),
        }
    }

    /// Begins: the first file at once.
    pub(crate) fn start(&mut self, now: Instant) {
        match self {
            Self::Files(session) if session.left > 0 => session.wakes = now.nanos(),
            Self::Files(_) => (),
            Self::Written(source) => source.start(now),
        }
    }

    /// Goes away.
    pub(crate) const fn stop(&mut self) {
        match self {
            Self::Files(session) => session.wakes = u64::MAX,
            Self::Written(source) => source.stop(),
        }
    }

    /// What it wants now, if its time has come.
    pub(crate) fn wake(&mut self, now: Instant) -> Wish {
        if self.wakes().is_none_or(|at| at > now.nanos()) {
            return Wish::Nothing;
        }
        match self {
            Self::Files(session) => session.wake(now.nanos()),
            Self::Written(source) => {
                source.send(now);
                Wish::Send { packets: 1, fresh: false }
            }
        }
    }

    /// Request `number` has reached the sender.
    pub(crate) fn requested(&mut self, number: u32) -> Wish {
        match self {
            Self::Files(session) if session.state == State::Asked && number == session.asked => {
                session.wakes = u64::MAX;
                session.begin()
            }
            // A request that was repeated and then arrived after all.
            _ => Wish::Nothing,
        }
    }

    /// Packets up to `in_order` have arrived at `now`: how long the file took, in nanoseconds, if that was the rest.
    #[inline]
    pub(crate) fn arrived(&mut self, in_order: u32, now: u64) -> Option<u64> {
        match self {
            Self::Files(session) if session.state == State::Sending && !session.arrived && in_order >= session.end => {
                session.arrived = true;
                let took = now - session.since;
                if session.files.request.is_some() {
                    session.rest(now);
                }
                Some(took)
            }
            _ => None,
        }
    }

    /// Packets up to `una` are acknowledged at `now`: a sender that nobody asks goes on from here.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u32, now: u64) {
        if let Self::Files(session) = self
            && session.files.request.is_none()
            && session.state == State::Sending
            && una >= session.end
        {
            session.rest(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files =
        Files { size: Draw::Constant(2500.0), think: Draw::Constant(2.0), count: Some(2), fresh: true, request: None };

    fn app(files: Files) -> App {
        let mut app = App::new(&Work::Files(files), 1000, Rng::stream(1, "app"));
        app.start(at(5));
        app
    }

    fn at(secs: u64) -> Instant {
        Instant::from_nanos(secs * 1_000_000_000)
    }

    #[test]
    fn a_sender_that_nobody_asks_sends_file_after_file() {
        let mut app = app(FILES);
        assert_eq!(app.wake(at(4)), Wish::Nothing, "not yet");
        assert_eq!(app.wake(at(5)), Wish::Send { packets: 3, fresh: false }, "2500 bytes are three packets");
        assert_eq!((app.arrived(2, 6), app.wakes()), (None, None));
        assert_eq!(app.arrived(3, at(7).nanos()), Some(2_000_000_000));
        assert_eq!(app.arrived(3, at(7).nanos()), None, "once");
        assert_eq!(app.wakes(), None, "the sender does not know yet");
        app.acknowledged(3, at(8).nanos());
        assert_eq!((app.wakes(), app.wake(at(10))), (Some(at(10).nanos()), Wish::Send { packets: 3, fresh: true }));
        assert_eq!(app.arrived(6, at(13).nanos()), Some(3_000_000_000));
        app.acknowledged(6, at(13).nanos());
        assert_eq!((app.wakes(), app.wake(at(99))), (None, Wish::Nothing), "two files");
    }

    #[test]
    fn a_request_that_is_lost_is_repeated_and_one_that_comes_twice_counts_once() {
        let mut app = app(Files { request: Some(400), fresh: false, count: None, ..FILES });
        assert_eq!(app.wake(at(5)), Wish::Ask(1, 400));
        assert_eq!((app.wake(at(5)), app.wakes()), (Wish::Nothing, Some(at(6).nanos())));
        assert_eq!((app.wake(at(6)), app.wakes()), (Wish::Ask(1, 400), Some(at(8).nanos())), "doubled");
        assert_eq!(app.requested(1), Wish::Send { packets: 3, fresh: false });
        assert_eq!(app.requested(1), Wish::Nothing);
        app.acknowledged(3, at(9).nanos());
        assert_eq!(app.wakes(), None, "the receiver goes on, not the sender");
        assert_eq!(app.arrived(3, at(9).nanos()), Some(4_000_000_000), "since it was asked for first");
        assert_eq!((app.wakes(), app.wake(at(11))), (Some(at(11).nanos()), Wish::Ask(2, 400)));
        assert_eq!(app.requested(1), Wish::Nothing, "an old one");
        app.stop();
        assert_eq!(app.wakes(), None);
    }

    #[test]
    fn a_source_writes_packet_by_packet() {
        let every = Span::from_millis(1000);
        let mut app = App::new(&Work::Written(Pattern::Constant { every }), 1000, Rng::stream(1, "app"));
        app.start(at(0));
        let first = Instant::from_nanos(app.wakes().unwrap());
        assert_eq!(app.wake(first), Wish::Send { packets: 1, fresh: false });
        assert_eq!(app.wakes(), Some((first + every).nanos()));
    }
}
