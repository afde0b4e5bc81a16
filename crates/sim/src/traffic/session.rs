//! Files sent one after the other, with or without requests, and the handshakes of their connections.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::call::Call;
use super::draw::Draw;
use crate::engine::due::Due;
use crate::tcp::rtt::RttOptions;
use crate::tcp::sender::Handshake;

/// Parameters of files sent one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Files {
    /// Length of a file in bytes on the wire, headers included; rounded up to whole packets.
    pub size: Draw,
    /// Time in seconds from the end of a file to the next one.
    pub think: Draw,
    /// Number of files; `None`: unlimited.
    pub count: Option<u32>,
    /// A new connection for every file: slow start from the initial window, no round-trip estimate.
    pub fresh: bool,
    /// Length on the wire of the request that the receiver sends for each file, in bytes; `None`: the sender starts
    /// by itself.
    pub request: Option<u16>,
    /// How each connection begins.
    pub opening: Opening,
}

/// How a connection begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// It is established from the start.
    Established,
    /// With a handshake: a SYN, and the answer to it.
    Handshake,
    /// With the SYN of ns-2's one-way agents (`Agent/TCP` with `syn_` and `delay_growth_`). The sender of the data opens the
    /// connection, without a request. This differs from a handshake in these rules:
    ///
    /// - only the sender has a timer: the other end answers each SYN that arrives before the data, and does not repeat its
    ///   answer;
    /// - the loss of the SYN counts as a loss of data: slow start ends at two packets;
    /// - the completion time of a file ends when its last acknowledgement arrives.
    Ns2,
}

impl Opening {
    /// Does the connection begin with a SYN?
    pub const fn has_syn(self) -> bool {
        !matches!(self, Self::Established)
    }
}

impl Files {
    /// Unlimited data on one connection that begins with a handshake.
    pub const ENDLESS: Self = Self {
        size: Draw::Constant(f64::INFINITY),
        think: Draw::Constant(0.0),
        count: Some(1),
        fresh: false,
        request: None,
        opening: Opening::Handshake,
    };
}

/// Request timer without a round-trip estimate: 1 s at first (RFC 6298 rule 2.1), doubled at each expiry up to 60 s.
const REQUEST_TIMER: RttOptions = RttOptions {
    initial: Span::from_millis(1000),
    min_rto: Span::from_nanos(1),
    max_rto: Span::from_millis(60_000),
    tick: Span::from_nanos(1),
    phase: Span::ZERO,
};

/// Expirations of the timer of a SYN at which Linux does not double the timeout (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;
/// Length on the wire of a SYN and of the answer to it, in bytes.
const SYN_LENGTH: u16 = 40;
/// Flags in the content of a control packet, next to the number of the connection's file: `SYN`, the answer to it, and the
/// acknowledgement of that; `FIN`, the answer to it, and the acknowledgement of that. File numbers are below all of them.
pub(super) const SYN: u32 = 1 << 31;
pub(super) const SYN_ACK: u32 = 1 << 30;
pub(super) const THIRD: u32 = 1 << 29;
pub(super) const FIN: u32 = 1 << 28;
pub(super) const FIN_ACK: u32 = 1 << 27;
const LAST: u32 = 1 << 26;

/// Is this the content of an answer to a SYN or FIN? Answers go in the opposite direction of all other control packets of
/// their flow.
pub(crate) const fn is_answer(word: u32) -> bool {
    word & (SYN_ACK | FIN_ACK) != 0
}

/// Is this the content of a SYN or of the answer to it?
pub(crate) const fn is_handshake(word: u32) -> bool {
    word & (SYN | SYN_ACK) != 0
}

/// Maximum size of a file in packets; 1.5 TB of packets of 1500 bytes.
const MAX_FILE: f64 = 1e9;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Sends the data.
    Sender,
    /// Receives the data.
    Receiver,
}

/// An action that an application requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// No action.
    Nothing,
    /// Send a control segment to the other end.
    Control {
        /// The end that sends.
        end: End,
        /// Content of the control segment: a file number, perhaps with a flag.
        word: u32,
        /// Length of the control segment on the wire in bytes.
        length: u16,
    },
    /// Send data packets.
    Send {
        /// Number of packets.
        packets: u32,
        /// Are they sent on a new connection?
        fresh: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Waiting for the next file, or finished.
    Resting,
    /// Waiting for the answer to a SYN.
    Opening,
    /// The answer to a SYN is acknowledged.
    Opened,
    /// Waiting for the first packet after a request.
    Asked,
    /// Receiving packets.
    Sending,
}

/// State of the files of a flow.
pub(crate) struct Session {
    files: Files,
    /// Connections have all packets of a real one: the third of the handshake, and those that close it.
    is_whole: bool,
    /// Does the next file open a connection?
    renews: bool,
    /// Length of a packet in bytes.
    packet: f64,
    /// Options of the handshake timers.
    timer: RttOptions,
    rng: Rng,
    state: State,
    /// Files left; `None`: unlimited.
    left: Option<u32>,
    /// Start time of the next file.
    next: Due,
    /// When the connection of the last file is closed.
    closes: Due,
    /// When the current file was requested or started.
    since: Instant,
    /// Number of packets of all files so far, the current one included.
    end: u32,
    /// Has the current file arrived?
    arrived: bool,
    /// Number of the current file, from 1.
    number: u32,
    /// State of the SYN or request that the opening end of the connection sends.
    asks: Box<Call>,
    /// The other end's answer to a SYN, until it is known to have arrived.
    answers: Option<Box<Call>>,
    /// Result of the latest handshake for the sending end. The function `set_up` takes it.
    set_up: Option<Box<Handshake>>,
    /// The connection's SYN was retransmitted.
    syn_lost: bool,
    /// No more files are requested.
    stopped: bool,
}

impl Session {
    pub(super) fn new(files: Files, packet: u16, (timer, is_whole): (RttOptions, bool), rng: Rng) -> Self {
        let request = files.request.filter(|_| files.opening != Opening::Ns2);
        Self {
            files: Files { request, ..files },
            is_whole: is_whole && files.opening == Opening::Handshake,
            renews: files.fresh,
            packet: f64::from(packet),
            timer,
            rng,
            state: State::Resting,
            left: files.count,
            next: Due::NEVER,
            closes: Due::NEVER,
            since: Instant::ZERO,
            end: 0,
            arrived: false,
            number: 0,
            asks: Box::new(Call::new(REQUEST_TIMER, 0)),
            answers: None,
            set_up: None,
            syn_lost: false,
            stopped: false,
        }
    }

    /// Time of the session's next action.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let answers = self.answers.as_ref().map_or(Due::NEVER, |answer| answer.due());
        self.next.min(self.closes).min(self.asks.due()).min(answers).get()
    }

    /// Starts; the first file is due at once.
    pub(super) fn start(&mut self, now: Instant) {
        if self.left != Some(0) {
            self.next = Due::at(now);
        }
    }

    /// Requests a file at `at`, on a new connection if `fresh`. The latest file has ended.
    pub(super) fn fetch(&mut self, at: Instant, fresh: bool) {
        (self.next, self.renews) = (if self.stopped { Due::NEVER } else { Due::at(at) }, fresh);
    }

    /// Requests a file of `packets` at `at`, on the same connection. The latest file has ended.
    pub(super) fn fetch_packets(&mut self, at: Instant, packets: f64) {
        self.files.size = Draw::Constant(packets * self.packet);
        self.fetch(at, false);
    }

    /// Runs the action that is due.
    pub(super) fn wake(&mut self, now: Instant) -> Action {
        if let Some(answer) = self.answers.as_mut().filter(|answer| answer.due().has_come(now)) {
            answer.send_again(now);
            return self.syn_ack();
        }
        if self.closes.has_come(now) {
            self.closes = Due::NEVER;
            return self.by_opener(FIN | self.number);
        }
        match self.state {
            State::Resting => {
                (self.next, self.since) = (Due::NEVER, now);
                self.number += 1;
                if self.files.opening.has_syn() && (self.renews || self.end == 0) {
                    self.open(now)
                } else {
                    self.request_or_begin(now)
                }
            }
            State::Opening => {
                self.asks.send_again(now);
                self.syn_lost = true;
                self.syn()
            }
            State::Opened => {
                self.next = Due::NEVER;
                self.request_or_begin(now)
            }
            State::Asked => {
                self.asks.send_again(now);
                self.request()
            }
            State::Sending => Action::Nothing,
        }
    }

    /// A control segment (handshake packet or request) with content `word` has reached the end of the connection that
    /// it is for. Returns the action to take.
    pub(super) fn on_control(&mut self, word: u32, now: Instant) -> Action {
        match self.state {
            _ if word & FIN != 0 => self.by_other(FIN_ACK | word & !FIN),
            _ if word & FIN_ACK != 0 => self.by_opener(LAST | word & !FIN_ACK),
            _ if word == THIRD | self.number => {
                self.established(now);
                Action::Nothing
            }
            State::Opening if word == SYN | self.number => self.answer(now),
            State::Opening if word == SYN_ACK | self.number => {
                self.asks.answered(now);
                if self.files.request.is_none() {
                    let handshake = self.asks.result(self.syn_lost);
                    let counts_as_loss = self.files.opening == Opening::Ns2;
                    self.set_up = Some(Box::new(Handshake { counts_as_loss, ..handshake }));
                }
                if self.is_whole {
                    (self.state, self.next) = (State::Opened, Due::at(now));
                    return self.by_opener(THIRD | self.number);
                }
                self.request_or_begin(now)
            }
            State::Asked if word == self.number => {
                self.asks.drop_timer();
                self.established(now);
                self.begin()
            }
            // A retransmission of a segment that had arrived.
            _ => Action::Nothing,
        }
    }

    /// The opening end sends a SYN.
    fn open(&mut self, now: Instant) -> Action {
        (self.state, self.syn_lost) = (State::Opening, false);
        self.asks = self.call(if self.is_whole { LINEAR_SYNS } else { 0 });
        self.asks.send(now);
        self.syn()
    }

    /// The other end answers a SYN.
    fn answer(&mut self, now: Instant) -> Action {
        if self.files.opening == Opening::Ns2 {
            return self.syn_ack();
        }
        match &mut self.answers {
            Some(answer) => answer.repeat(now),
            None => {
                let mut answer = self.call(0);
                answer.send(now);
                self.answers = Some(answer);
            }
        }
        self.syn_ack()
    }

    /// Handles the first segment after the answer to a SYN, at the end that sent the answer. It shows that the answer
    /// has arrived: the connection is established.
    fn established(&mut self, now: Instant) {
        let Some(mut answer) = self.answers.take() else { return };
        answer.answered(now);
        if self.files.request.is_some() {
            self.set_up = Some(Box::new(answer.result(self.syn_lost)));
        }
    }

    /// New timer state for one end of a connection. The phase of its clock is random. [`Call::new`] describes `linear`.
    fn call(&mut self, linear: u32) -> Box<Call> {
        let phase = Span::from_nanos(self.rng.below(self.timer.tick.nanos()));
        Box::new(Call::new(RttOptions { phase, ..self.timer }, linear))
    }

    fn request_or_begin(&mut self, now: Instant) -> Action {
        if self.files.request.is_none() {
            return self.begin();
        }
        self.state = State::Asked;
        self.asks.send(now);
        self.request()
    }

    fn begin(&mut self) -> Action {
        let packets = libm::ceil(self.files.size.next(&mut self.rng) / self.packet).clamp(1.0, MAX_FILE) as u32;
        let fresh = self.renews && self.end > 0;
        self.end = self.end.saturating_add(packets);
        (self.state, self.arrived) = (State::Sending, false);
        Action::Send { packets, fresh }
    }

    /// The file has ended at `now`: schedules the next one, if any.
    fn rest(&mut self, now: Instant) {
        self.state = State::Resting;
        self.left = self.left.map(|left| left.saturating_sub(1));
        let think = Span::from_secs(self.files.think.next(&mut self.rng));
        self.next = if self.stopped || self.left == Some(0) { Due::NEVER } else { Due::at(now + think) };
        if self.is_whole && self.files.fresh {
            self.closes = Due::at(now);
        }
    }

    /// Stops sending files.
    pub(super) fn stop(&mut self) {
        (self.stopped, self.next) = (true, Due::NEVER);
        self.asks.drop_timer();
        self.answers = None;
        if matches!(self.state, State::Opening | State::Opened) {
            self.state = State::Resting;
        }
    }

    fn syn(&self) -> Action {
        self.by_opener(SYN | self.number)
    }

    fn syn_ack(&self) -> Action {
        self.by_other(SYN_ACK | self.number)
    }

    /// The end that opens and closes connections sends a packet without data.
    const fn by_opener(&self, word: u32) -> Action {
        let end = if self.files.request.is_some() { End::Receiver } else { End::Sender };
        Action::Control { end, word, length: SYN_LENGTH }
    }

    /// The other end sends a packet without data.
    const fn by_other(&self, word: u32) -> Action {
        let end = if self.files.request.is_some() { End::Sender } else { End::Receiver };
        Action::Control { end, word, length: SYN_LENGTH }
    }

    fn request(&self) -> Action {
        let length = self.files.request.unwrap_or(SYN_LENGTH);
        Action::Control { end: End::Receiver, word: self.number, length }
    }

    /// Returns the result of the latest handshake for the sending end, once per handshake.
    pub(super) const fn set_up(&mut self) -> Option<Box<Handshake>> {
        self.set_up.take()
    }

    /// Packets up to `in_order` have arrived by `now`. Returns the file's completion time if it is now complete.
    #[inline]
    pub(super) fn arrived(&mut self, in_order: u32, now: Instant) -> Option<Span> {
        if self.answers.is_some() && self.state == State::Sending {
            self.established(now);
        }
        if self.state != State::Sending || self.arrived || in_order < self.end {
            return None;
        }
        self.arrived = true;
        let took = now.since(self.since);
        if self.files.request.is_some() {
            self.rest(now);
        }
        (self.files.opening != Opening::Ns2).then_some(took)
    }

    /// Is the last packet of a file acknowledged at once? The end of a write has the flag PSH, which Linux acknowledges when
    /// the application has read everything, unless the connection is a dialogue; a FIN is always acknowledged.
    pub(super) const fn ends_at_once(&self) -> bool {
        self.files.request.is_none() || self.files.fresh
    }

    /// Packets up to `una` are acknowledged at `now`. Without requests this ends the file. Returns the file's completion
    /// time if it ends with the acknowledgement.
    #[inline]
    pub(super) fn acknowledged(&mut self, una: u32, now: Instant) -> Option<Span> {
        if self.files.request.is_some() || self.state != State::Sending || una < self.end {
            return None;
        }
        self.rest(now);
        (self.files.opening == Opening::Ns2).then(|| now.since(self.since))
    }
}
