//! Files one after the other, asked for or not, and the handshakes of their connections.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::call::Call;
use super::draw::Draw;
use crate::engine::due::Due;
use crate::tcp::rtt::RttOptions;

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
pub(super) const SYN: u32 = 1 << 31;
pub(super) const SYN_ACK: u32 = 1 << 30;

/// Does this word answer a SYN? Such words go the other way than all others of their flow.
pub(crate) const fn is_answer(word: u32) -> bool {
    word & SYN_ACK != 0
}

/// The largest file in packets.
const LARGEST: f64 = 1e9;

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
    /// Files still to come, if there is an end to them.
    left: Option<u32>,
    /// When the next file is due.
    next: Due,
    /// When the present file was asked for or begun.
    since: Instant,
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
    pub(super) fn new(files: Files, packet: u16, timer: RttOptions, rng: Rng) -> Self {
        Self {
            files,
            packet: f64::from(packet),
            timer,
            rng,
            state: State::Resting,
            left: files.count,
            next: Due::NEVER,
            since: Instant::ZERO,
            end: 0,
            arrived: false,
            number: 0,
            asks: Box::new(Call::new(PATIENCE)),
            answers: None,
            set_up: None,
        }
    }

    /// When it wants to act next.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let answers = self.answers.as_ref().map_or(Due::NEVER, |answer| answer.due());
        self.next.min(self.asks.due()).min(answers).get()
    }

    /// Begins: the first file at once.
    pub(super) fn start(&mut self, now: Instant) {
        if self.left != Some(0) {
            self.next = Due::at(now);
        }
    }

    /// Acts, for its time has come.
    pub(super) fn wake(&mut self, now: Instant) -> Wish {
        if let Some(answer) = self.answers.as_mut().filter(|answer| answer.due().has_come(now)) {
            answer.send_again(now);
            return self.say_answer();
        }
        match self.state {
            State::Resting => {
                (self.next, self.since) = (Due::NEVER, now);
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
    pub(super) fn heard(&mut self, word: u32, now: Instant) -> Wish {
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
    fn open(&mut self, now: Instant) -> Wish {
        self.state = State::Opening;
        self.asks = self.call();
        self.asks.send(now);
        self.say_syn()
    }

    /// The other end answers a SYN.
    fn answer(&mut self, now: Instant) -> Wish {
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
    fn hear_opener(&mut self, now: Instant) {
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

    fn ask_or_begin(&mut self, now: Instant) -> Wish {
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
    fn rest(&mut self, now: Instant) {
        self.state = State::Resting;
        self.left = self.left.map(|left| left.saturating_sub(1));
        let think = Span::from_secs(self.files.think.next(&mut self.rng));
        self.next = if self.left == Some(0) { Due::NEVER } else { Due::at(now + think) };
    }

    /// Goes away.
    pub(super) fn stop(&mut self) {
        self.next = Due::NEVER;
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

    /// How the handshake of a new connection went for the end that sends its data; once for each.
    pub(super) const fn set_up(&mut self) -> Option<Box<Call>> {
        self.set_up.take()
    }

    /// Packets up to `in_order` have arrived at `now`: how long the file took, if that was the rest.
    #[inline]
    pub(super) fn arrived(&mut self, in_order: u32, now: Instant) -> Option<Span> {
        if self.answers.is_some() && self.state == State::Sending {
            self.hear_opener(now);
        }
        if self.state != State::Sending || self.arrived || in_order < self.end {
            return None;
        }
        self.arrived = true;
        let took = now.since(self.since);
        if self.files.request.is_some() {
            self.rest(now);
        }
        Some(took)
    }

    /// Packets up to `una` are acknowledged at `now`: a sender that nobody asks goes on from here.
    #[inline]
    pub(super) fn acknowledged(&mut self, una: u32, now: Instant) {
        if self.files.request.is_none() && self.state == State::Sending && una >= self.end {
            self.rest(now);
        }
    }
}
