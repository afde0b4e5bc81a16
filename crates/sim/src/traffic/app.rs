//! Applications on top of a TCP connection: files one after the other, asked for or not, and packets written one by
//! one as a source would send them.
//!
//! Sans-IO: told what happened and when, an application says what to do next. A file is a number of packets. Its time
//! runs from the moment it is asked for, or begun if nobody asks, until all of it has arrived in order; where that opens
//! a connection with a handshake, from the first SYN.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::call::Call;
pub use super::session::Files;
use super::session::{Session, Wish};
use super::source::{Pattern, Source};
use crate::tcp::TcpOptions;

/// What an application does.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Sends files.
    Files(Files),
    /// Writes a packet whenever a source would send one: the connection sends it when it may.
    Written(Pattern),
}

/// An application while it runs.
pub(crate) enum App {
    /// See [`Work::Files`].
    Files(Session),
    /// See [`Work::Written`].
    Written(Source),
}

impl App {
    /// One that has not begun, on packets of this length and a connection with these options.
    pub(crate) fn new(work: &Work, packet: u16, options: &TcpOptions, rng: Rng) -> Self {
        match work {
            Work::Files(files) => Self::Files(Session::new(*files, packet, options.timer(Span::ZERO), rng)),
            Work::Written(pattern) => Self::Written(Source::new(pattern.clone(), packet, rng)),
        }
    }

    /// When it wants to act next.
    pub(crate) fn wakes(&self) -> Option<Instant> {
        match self {
            Self::Files(session) => session.wakes(),
            Self::Written(source) => source.next(),
        }
    }

    /// Begins.
    pub(crate) fn start(&mut self, now: Instant) {
        match self {
            Self::Files(session) => session.start(now),
            Self::Written(source) => source.start(now),
        }
    }

    /// Goes away.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Files(session) => session.stop(),
            Self::Written(source) => source.stop(),
        }
    }

    /// What it wants now, if its time has come.
    pub(crate) fn wake(&mut self, now: Instant) -> Wish {
        if self.wakes().is_none_or(|at| at > now) {
            return Wish::Nothing;
        }
        match self {
            Self::Files(session) => session.wake(now),
            Self::Written(source) => {
                source.send(now);
                Wish::Send { packets: 1, fresh: false }
            }
        }
    }

    /// A word of one end has reached the other.
    pub(crate) fn heard(&mut self, word: u32, now: Instant) -> Wish {
        match self {
            Self::Files(session) => session.heard(word, now),
            Self::Written(_) => Wish::Nothing,
        }
    }

    /// How the handshake of a new connection went for the end that sends its data; once for each.
    pub(crate) const fn set_up(&mut self) -> Option<Box<Call>> {
        match self {
            Self::Files(session) => session.set_up(),
            Self::Written(_) => None,
        }
    }

    /// Packets up to `in_order` have arrived at `now`: how long the file took, if that was the rest.
    #[inline]
    pub(crate) fn arrived(&mut self, in_order: u32, now: Instant) -> Option<Span> {
        match self {
            Self::Files(session) => session.arrived(in_order, now),
            Self::Written(_) => None,
        }
    }

    /// Packets up to `una` are acknowledged at `now`.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u32, now: Instant) {
        if let Self::Files(session) = self {
            session.acknowledged(una, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::super::session::{End, SYN, SYN_ACK};
    use super::*;

    const FILES: Files = Files {
        size: Draw::Constant(2500.0),
        think: Draw::Constant(2.0),
        count: Some(2),
        fresh: true,
        request: None,
        handshake: false,
    };
    const SECOND: Span = Span::from_millis(1000);

    fn app(files: Files) -> App {
        let options = TcpOptions { initial_rto: Some(Span::from_millis(6000)), ..TcpOptions::default() };
        let mut app = App::new(&Work::Files(files), 1000, &options, Rng::stream(1, "app"));
        app.start(at(5));
        app
    }

    fn at(secs: u64) -> Instant {
        Instant::from_nanos(secs * 1_000_000_000)
    }

    /// What each packet says in the first file.
    const OPEN: Wish = Wish::Say { end: End::Receiver, word: SYN | 1, length: 40 };
    const OPENED: Wish = Wish::Say { end: End::Sender, word: SYN_ACK | 1, length: 40 };
    const ASK: Wish = Wish::Say { end: End::Receiver, word: 1, length: 400 };
    const SEND: Wish = Wish::Send { packets: 3, fresh: false };

    const PAGES: Files = Files { request: Some(400), handshake: true, ..FILES };

    #[test]
    fn a_sender_that_nobody_asks_sends_file_after_file() {
        let mut app = app(FILES);
        assert_eq!(app.wake(at(4)), Wish::Nothing, "not yet");
        assert_eq!(app.wake(at(5)), Wish::Send { packets: 3, fresh: false }, "2500 bytes are three packets");
        assert_eq!((app.arrived(2, at(6)), app.wakes()), (None, None));
        assert_eq!(app.arrived(3, at(7)), Some(SECOND * 2));
        assert_eq!(app.arrived(3, at(7)), None, "once");
        assert_eq!(app.wakes(), None, "the sender does not know yet");
        app.acknowledged(3, at(8));
        assert_eq!((app.wakes(), app.wake(at(10))), (Some(at(10)), Wish::Send { packets: 3, fresh: true }));
        assert_eq!(app.arrived(6, at(13)), Some(SECOND * 3));
        app.acknowledged(6, at(13));
        assert_eq!((app.wakes(), app.wake(at(99))), (None, Wish::Nothing), "two files");
    }

    #[test]
    fn a_request_that_is_lost_is_repeated_and_one_that_comes_twice_counts_once() {
        let mut app = app(Files { request: Some(400), fresh: false, count: None, ..FILES });
        assert_eq!(app.wake(at(5)), ASK);
        assert_eq!((app.wake(at(5)), app.wakes()), (Wish::Nothing, Some(at(6))));
        assert_eq!((app.wake(at(6)), app.wakes()), (ASK, Some(at(8))), "doubled");
        assert_eq!(app.heard(1, at(0)), Wish::Send { packets: 3, fresh: false });
        assert_eq!(app.heard(1, at(0)), Wish::Nothing);
        app.acknowledged(3, at(9));
        assert_eq!(app.wakes(), None, "the receiver goes on, not the sender");
        assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4), "since it was asked for first");
        assert_eq!(
            (app.wakes(), app.wake(at(11))),
            (Some(at(11)), Wish::Say { end: End::Receiver, word: 2, length: 400 })
        );
        assert_eq!(app.heard(1, at(0)), Wish::Nothing, "an old one");
        app.stop();
        assert_eq!(app.wakes(), None);
    }

    /// The end that asks opens; both ends measure the round trip, and the timer of 6 s is that of what is not answered.
    #[test]
    fn a_request_comes_after_the_handshake() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.wakes()), (OPEN, Some(at(11))));
        assert_eq!(app.heard(1, at(0)), Wish::Nothing, "not asked yet");
        assert_eq!((app.heard(SYN | 1, at(5)), app.wakes()), (OPENED, Some(at(11))));
        // Half a second there and back leaves a timeout of one and a half.
        let half = Span::from_millis(500);
        assert_eq!(app.heard(SYN_ACK | 1, at(5) + half), ASK);
        assert_eq!(app.wakes(), Some(at(7)));
        assert_eq!(app.heard(SYN_ACK | 1, at(5) + half), Wish::Nothing, "twice");
        assert_eq!(app.heard(SYN | 1, at(5) + half), Wish::Nothing, "an old one");
        assert_eq!((app.wake(at(7)), app.wakes()), (ASK, Some(at(10))), "doubled");
        assert_eq!((app.heard(1, at(8)), app.wakes()), (SEND, None));
        let call = app.set_up().expect("the sender learns of the handshake");
        assert_eq!((call.repeated(), call.rtt().smoothed()), (false, Span::from_millis(3000)), "from 5 s to 8 s");
        assert!(app.set_up().is_none(), "once");
        assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4), "since the first SYN");
        assert_eq!(app.wake(at(11)), Wish::Say { end: End::Receiver, word: SYN | 2, length: 40 });
        assert_eq!(app.heard(SYN_ACK | 1, at(12)), Wish::Nothing, "of the connection before");
    }

    /// The SYN is lost, then the answer to the second one, which both ends repeat.
    #[test]
    fn a_handshake_goes_on_whatever_is_lost() {
        let mut app = app(PAGES);
        assert_eq!(app.wake(at(5)), OPEN);
        assert_eq!((app.wake(at(11)), app.wakes()), (OPEN, Some(at(23))), "doubled");
        assert_eq!((app.heard(SYN | 1, at(12)), app.wakes()), (OPENED, Some(at(18))));
        assert_eq!((app.wake(at(18)), app.wakes()), (OPENED, Some(at(23))));
        assert_eq!((app.wake(at(23)), app.wakes()), (OPEN, Some(at(30))));
        assert_eq!((app.heard(SYN | 1, at(24)), app.wakes()), (OPENED, Some(at(30))), "the timer goes on");
        // No round trip is known: the timeout that a SYN would have had (Karn's algorithm).
        assert_eq!(app.heard(SYN_ACK | 1, at(25)), ASK);
        assert_eq!((app.heard(1, at(26)), app.wakes()), (SEND, None));
        let call = app.set_up().unwrap();
        assert_eq!((call.repeated(), call.rtt().smoothed()), (true, Span::ZERO));
        assert_eq!(call.rtt().timeout(), Span::from_millis(12_000), "doubled once by the end that answered");
    }

    #[test]
    fn a_request_after_a_lost_syn_waits_as_long_as_the_syn_would() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.wake(at(11))), (OPEN, OPEN));
        assert_eq!(app.heard(SYN | 1, at(12)), OPENED);
        assert_eq!(app.heard(SYN_ACK | 1, at(13)), ASK);
        assert_eq!(app.wakes(), Some(at(18)), "the answer is not known to have come");
        assert_eq!(app.wake(at(18)), OPENED);
        assert_eq!(app.heard(SYN_ACK | 1, at(19)), Wish::Nothing, "the end that opened knows");
        assert_eq!((app.wake(at(25)), app.wakes()), (ASK, Some(at(30))), "12 s after the first request");
    }

    #[test]
    fn a_sender_that_begins_by_itself_opens_as_well() {
        let mut app = app(Files { handshake: true, fresh: false, ..FILES });
        let (open, opened) = (
            Wish::Say { end: End::Sender, word: SYN | 1, length: 40 },
            Wish::Say { end: End::Receiver, word: SYN_ACK | 1, length: 40 },
        );
        assert_eq!((app.wake(at(5)), app.heard(SYN | 1, at(6))), (open, opened));
        assert_eq!(app.heard(SYN_ACK | 1, at(7)), SEND);
        assert_eq!(app.wakes(), Some(at(12)), "until data comes");
        let call = app.set_up().unwrap();
        assert_eq!((call.repeated(), call.rtt().smoothed()), (false, Span::from_millis(2000)));
        assert_eq!((app.arrived(1, at(8)), app.wakes()), (None, None));
        assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4));
        app.acknowledged(3, at(10));
        assert_eq!(app.wake(at(12)), SEND, "the connection stays");
        assert!(app.set_up().is_none());
    }

    #[test]
    fn one_that_leaves_opens_nothing() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.heard(SYN | 1, at(6))), (OPEN, OPENED));
        app.stop();
        assert_eq!(
            (app.wakes(), app.heard(SYN_ACK | 1, at(7)), app.wake(at(99))),
            (None, Wish::Nothing, Wish::Nothing)
        );
    }

    #[test]
    fn a_source_writes_packet_by_packet() {
        let every = Span::from_millis(1000);
        let mut app =
            App::new(&Work::Written(Pattern::Constant { every }), 1000, &TcpOptions::default(), Rng::stream(1, "app"));
        app.start(at(0));
        let first = app.wakes().unwrap();
        assert_eq!(app.wake(first), Wish::Send { packets: 1, fresh: false });
        assert_eq!(app.wakes(), Some(first + every));
    }
}
