//! Applications on top of a TCP connection: files one after the other, asked for or not, and packets written one by
//! one as a source would send them.
//!
//! Sans-IO: told what happened and when, an application says what to do next. A file is a number of packets. Its time
//! runs from the moment it is asked for, or begun if nobody asks, until all of it has arrived in order; where that opens
//! a connection with a handshake, from the first SYN.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use crate::call::Call;
use crate::draw::Draw;
use crate::source::{Pattern, Source};
use crate::tcp::TcpOptions;
use crate::tcp::rtt::RttOptions;

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
    /// A connection begins with a handshake: a SYN from the end that begins, and its answer.
    pub handshake: bool,
}

/// A request's timer where no handshake tells of the round trip: 1 s at first (RFC 6298 rule 2.1), doubled each time; the
/// cap is that of the senders.
const PATIENCE: RttOptions = RttOptions {
    initial: Span::from_millis(1000),
    min_rto: Span::from_nanos(1),
    max_rto: Span::from_millis(60_000),
    tick: Span::from_nanos(1),
    phase: Span::ZERO,
};

/// Length of a SYN, and of the answer to it, on the wire in bytes.
const SYN_LENGTH: u16 = 40;
/// What is added to the number of a file, beyond all of those, to say that its connection be opened, and is.
const SYN: u32 = 1 << 31;
const SYN_ACK: u32 = 1 << 30;

/// Does this word answer a SYN? Such words go the other way than all others of their flow.
pub(crate) const fn is_answer(word: u32) -> bool {
    word & SYN_ACK != 0
}

/// The largest file in packets.
const LARGEST: f64 = 1e9;

/// An application while it runs.
pub(crate) enum App {
    /// See [`Work::Files`].
    Files(Session),
    /// See [`Work::Written`].
    Written(Source),
}

/// One end of a connection, by what becomes of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Sends it.
    Sender,
    /// Receives it.
    Receiver,
}

/// What an application wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Nothing.
    Nothing,
    /// This end says so to the other.
    Say {
        /// Which end.
        end: End,
        /// What it says.
        word: u32,
        /// In how many bytes on the wire.
        length: u16,
    },
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
    /// Has sent a SYN and waits for the answer.
    Opening,
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
    /// How the timers of a handshake are set.
    timer: RttOptions,
    rng: Rng,
    state: State,
    /// Files still to come.
    left: u32,
    /// When the next file is due, in nanoseconds; `u64::MAX` never.
    wakes: u64,
    /// When the present file was asked for or begun.
    since: u64,
    /// Packets of all files so far.
    end: u32,
    /// Has the present file arrived?
    arrived: bool,
    /// Files so far.
    number: u32,
    /// SYN or request of the end that begins.
    asks: Box<Call>,
    /// The other end's answer to a SYN, until it is heard that it has come.
    answers: Option<Box<Call>>,
    /// How the handshake of a connection went for the end that sends its data, until it has been told.
    set_up: Option<Box<Call>>,
}

impl Session {
    fn new(files: Files, packet: u16, timer: RttOptions, rng: Rng) -> Self {
        Self {
            files,
            packet: f64::from(packet),
            timer,
            rng,
            state: State::Resting,
            left: files.count.unwrap_or(u32::MAX),
            wakes: u64::MAX,
            since: 0,
            end: 0,
            arrived: false,
            number: 0,
            asks: Box::new(Call::new(PATIENCE)),
            answers: None,
            set_up: None,
        }
    }

    fn wakes(&self) -> u64 {
        let answers = self.answers.as_ref().map_or(u64::MAX, |answer| answer.due());
        self.wakes.min(self.asks.due()).min(answers)
    }

    fn wake(&mut self, now: u64) -> Wish {
        if let Some(answer) = self.answers.as_mut().filter(|answer| answer.due() <= now) {
            answer.send_again(now);
            return self.say_answer();
        }
        match self.state {
            State::Resting => {
                (self.wakes, self.since) = (u64::MAX, now);
                self.number += 1;
                if self.files.handshake && (self.files.fresh || self.end == 0) {
                    self.open(now)
                } else {
                    self.ask_or_begin(now)
                }
            }
            State::Opening => {
                self.asks.send_again(now);
                self.say_syn()
            }
            State::Asked => {
                self.asks.send_again(now);
                self.say_request()
            }
            State::Sending => Wish::Nothing,
        }
    }

    /// One end hears a word of the other.
    fn heard(&mut self, word: u32, now: u64) -> Wish {
        match self.state {
            State::Opening if word == SYN | self.number => self.answer(now),
            State::Opening if word == SYN_ACK | self.number => {
                self.asks.answered(now);
                if self.files.request.is_none() {
                    self.set_up = Some(self.asks.clone());
                }
                self.ask_or_begin(now)
            }
            State::Asked if word == self.number => {
                self.asks.drop_timer();
                self.hear_opener(now);
                self.begin()
            }
            // One that was repeated and then arrived after all.
            _ => Wish::Nothing,
        }
    }

    /// The end that begins opens a connection.
    fn open(&mut self, now: u64) -> Wish {
        self.state = State::Opening;
        self.asks = self.call();
        self.asks.send(now);
        self.say_syn()
    }

    /// The other end answers a SYN.
    fn answer(&mut self, now: u64) -> Wish {
        match &mut self.answers {
            Some(answer) => answer.repeat(),
            None => {
                let mut answer = self.call();
                answer.send(now);
                self.answers = Some(answer);
            }
        }
        self.say_answer()
    }

    /// The end that answered a SYN hears from the other again: the connection stands.
    fn hear_opener(&mut self, now: u64) {
        let Some(mut answer) = self.answers.take() else { return };
        answer.answered(now);
        if self.files.request.is_some() {
            self.set_up = Some(answer);
        }
    }

    /// The timers of one end of a new connection.
    fn call(&mut self) -> Box<Call> {
        let phase = Span::from_nanos(self.rng.below(self.timer.tick.nanos()));
        Box::new(Call::new(RttOptions { phase, ..self.timer }))
    }

    fn ask_or_begin(&mut self, now: u64) -> Wish {
        if self.files.request.is_none() {
            return self.begin();
        }
        self.state = State::Asked;
        self.asks.send(now);
        self.say_request()
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

    fn stop(&mut self) {
        self.wakes = u64::MAX;
        self.asks.drop_timer();
        self.answers = None;
        if self.state == State::Opening {
            self.state = State::Resting;
        }
    }

    fn say_syn(&self) -> Wish {
        let end = if self.files.request.is_some() { End::Receiver } else { End::Sender };
        Wish::Say { end, word: SYN | self.number, length: SYN_LENGTH }
    }

    fn say_answer(&self) -> Wish {
        let end = if self.files.request.is_some() { End::Sender } else { End::Receiver };
        Wish::Say { end, word: SYN_ACK | self.number, length: SYN_LENGTH }
    }

    fn say_request(&self) -> Wish {
        let length = self.files.request.unwrap_or(SYN_LENGTH);
        Wish::Say { end: End::Receiver, word: self.number, length }
    }
}

impl App {
    /// One that has not begun, on packets of this length and a connection with these options.
    pub(crate) fn new(work: &Work, packet: u16, options: &TcpOptions, rng: Rng) -> Self {
        match work {
            Work::Files(files) => Self::Files(Session::new(*files, packet, options.timer(Span::ZERO), rng)),
            Work::Written(pattern) => Self::Written(Source::new(pattern.clone(), packet, rng)),
        }
    }

    /// When it wants to act next, in nanoseconds.
    pub(crate) fn wakes(&self) -> Option<u64> {
        match self {
            Self::Files(session) => Some(session.wakes()).filter(|at| *at < u64::MAX),
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
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Files(session) => session.stop(),
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

    /// A word of one end has reached the other.
    pub(crate) fn heard(&mut self, word: u32, now: u64) -> Wish {
        match self {
            Self::Files(session) => session.heard(word, now),
            Self::Written(_) => Wish::Nothing,
        }
    }

    /// How the handshake of a new connection went for the end that sends its data; once for each.
    pub(crate) const fn set_up(&mut self) -> Option<Box<Call>> {
        match self {
            Self::Files(session) => session.set_up.take(),
            Self::Written(_) => None,
        }
    }

    /// Packets up to `in_order` have arrived at `now`: how long the file took, in nanoseconds, if that was the rest.
    #[inline]
    pub(crate) fn arrived(&mut self, in_order: u32, now: u64) -> Option<u64> {
        if let Self::Files(session) = self
            && session.answers.is_some()
            && session.state == State::Sending
        {
            session.hear_opener(now);
        }
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

    const FILES: Files = Files {
        size: Draw::Constant(2500.0),
        think: Draw::Constant(2.0),
        count: Some(2),
        fresh: true,
        request: None,
        handshake: false,
    };
    const SECOND: u64 = 1_000_000_000;

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
        assert_eq!(app.wake(at(5)), ASK);
        assert_eq!((app.wake(at(5)), app.wakes()), (Wish::Nothing, Some(at(6).nanos())));
        assert_eq!((app.wake(at(6)), app.wakes()), (ASK, Some(at(8).nanos())), "doubled");
        assert_eq!(app.heard(1, 0), Wish::Send { packets: 3, fresh: false });
        assert_eq!(app.heard(1, 0), Wish::Nothing);
        app.acknowledged(3, at(9).nanos());
        assert_eq!(app.wakes(), None, "the receiver goes on, not the sender");
        assert_eq!(app.arrived(3, at(9).nanos()), Some(4_000_000_000), "since it was asked for first");
        assert_eq!(
            (app.wakes(), app.wake(at(11))),
            (Some(at(11).nanos()), Wish::Say { end: End::Receiver, word: 2, length: 400 })
        );
        assert_eq!(app.heard(1, 0), Wish::Nothing, "an old one");
        app.stop();
        assert_eq!(app.wakes(), None);
    }

    /// The end that asks opens; both ends measure the round trip, and the timer of 6 s is that of what is not answered.
    #[test]
    fn a_request_comes_after_the_handshake() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.wakes()), (OPEN, Some(at(11).nanos())));
        assert_eq!(app.heard(1, 0), Wish::Nothing, "not asked yet");
        assert_eq!((app.heard(SYN | 1, at(5).nanos()), app.wakes()), (OPENED, Some(at(11).nanos())));
        // Half a second there and back leaves a timeout of one and a half.
        let half = SECOND / 2;
        assert_eq!(app.heard(SYN_ACK | 1, at(5).nanos() + half), ASK);
        assert_eq!(app.wakes(), Some(at(7).nanos()));
        assert_eq!(app.heard(SYN_ACK | 1, at(5).nanos() + half), Wish::Nothing, "twice");
        assert_eq!(app.heard(SYN | 1, at(5).nanos() + half), Wish::Nothing, "an old one");
        assert_eq!((app.wake(at(7)), app.wakes()), (ASK, Some(at(10).nanos())), "doubled");
        assert_eq!((app.heard(1, at(8).nanos()), app.wakes()), (SEND, None));
        let call = app.set_up().expect("the sender learns of the handshake");
        assert_eq!((call.repeated(), call.rtt().smoothed()), (false, Span::from_millis(3000)), "from 5 s to 8 s");
        assert!(app.set_up().is_none(), "once");
        assert_eq!(app.arrived(3, at(9).nanos()), Some(4 * SECOND), "since the first SYN");
        assert_eq!(app.wake(at(11)), Wish::Say { end: End::Receiver, word: SYN | 2, length: 40 });
        assert_eq!(app.heard(SYN_ACK | 1, at(12).nanos()), Wish::Nothing, "of the connection before");
    }

    /// The SYN is lost, then the answer to the second one, which both ends repeat.
    #[test]
    fn a_handshake_goes_on_whatever_is_lost() {
        let mut app = app(PAGES);
        assert_eq!(app.wake(at(5)), OPEN);
        assert_eq!((app.wake(at(11)), app.wakes()), (OPEN, Some(at(23).nanos())), "doubled");
        assert_eq!((app.heard(SYN | 1, at(12).nanos()), app.wakes()), (OPENED, Some(at(18).nanos())));
        assert_eq!((app.wake(at(18)), app.wakes()), (OPENED, Some(at(23).nanos())));
        assert_eq!((app.wake(at(23)), app.wakes()), (OPEN, Some(at(30).nanos())));
        assert_eq!(
            (app.heard(SYN | 1, at(24).nanos()), app.wakes()),
            (OPENED, Some(at(30).nanos())),
            "the timer goes on"
        );
        // No round trip is known: the timeout that a SYN would have had (Karn's algorithm).
        assert_eq!(app.heard(SYN_ACK | 1, at(25).nanos()), ASK);
        assert_eq!((app.heard(1, at(26).nanos()), app.wakes()), (SEND, None));
        let call = app.set_up().unwrap();
        assert_eq!((call.repeated(), call.rtt().smoothed()), (true, Span::ZERO));
        assert_eq!(call.rtt().timeout(), Span::from_millis(12_000), "doubled once by the end that answered");
    }

    #[test]
    fn a_request_after_a_lost_syn_waits_as_long_as_the_syn_would() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.wake(at(11))), (OPEN, OPEN));
        assert_eq!(app.heard(SYN | 1, at(12).nanos()), OPENED);
        assert_eq!(app.heard(SYN_ACK | 1, at(13).nanos()), ASK);
        assert_eq!(app.wakes(), Some(at(18).nanos()), "the answer is not known to have come");
        assert_eq!(app.wake(at(18)), OPENED);
        assert_eq!(app.heard(SYN_ACK | 1, at(19).nanos()), Wish::Nothing, "the end that opened knows");
        assert_eq!((app.wake(at(25)), app.wakes()), (ASK, Some(at(30).nanos())), "12 s after the first request");
    }

    #[test]
    fn a_sender_that_begins_by_itself_opens_as_well() {
        let mut app = app(Files { handshake: true, fresh: false, ..FILES });
        let (open, opened) = (
            Wish::Say { end: End::Sender, word: SYN | 1, length: 40 },
            Wish::Say { end: End::Receiver, word: SYN_ACK | 1, length: 40 },
        );
        assert_eq!((app.wake(at(5)), app.heard(SYN | 1, at(6).nanos())), (open, opened));
        assert_eq!(app.heard(SYN_ACK | 1, at(7).nanos()), SEND);
        assert_eq!(app.wakes(), Some(at(12).nanos()), "until data comes");
        let call = app.set_up().unwrap();
        assert_eq!((call.repeated(), call.rtt().smoothed()), (false, Span::from_millis(2000)));
        assert_eq!((app.arrived(1, at(8).nanos()), app.wakes()), (None, None));
        assert_eq!(app.arrived(3, at(9).nanos()), Some(4 * SECOND));
        app.acknowledged(3, at(10).nanos());
        assert_eq!(app.wake(at(12)), SEND, "the connection stays");
        assert!(app.set_up().is_none());
    }

    #[test]
    fn one_that_leaves_opens_nothing() {
        let mut app = app(PAGES);
        assert_eq!((app.wake(at(5)), app.heard(SYN | 1, at(6).nanos())), (OPEN, OPENED));
        app.stop();
        assert_eq!(
            (app.wakes(), app.heard(SYN_ACK | 1, at(7).nanos()), app.wake(at(99))),
            (None, Wish::Nothing, Wish::Nothing)
        );
    }

    #[test]
    fn a_source_writes_packet_by_packet() {
        let every = Span::from_millis(1000);
        let mut app =
            App::new(&Work::Written(Pattern::Constant { every }), 1000, &TcpOptions::default(), Rng::stream(1, "app"));
        app.start(at(0));
        let first = Instant::from_nanos(app.wakes().unwrap());
        assert_eq!(app.wake(first), Wish::Send { packets: 1, fresh: false });
        assert_eq!(app.wakes(), Some((first + every).nanos()));
    }
}
