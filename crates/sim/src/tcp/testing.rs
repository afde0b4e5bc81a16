//! The conformance suite of congestion controls, as a library: rules that every control must keep.
//!
//! [`check_control`] runs a sender over random paths and reports the first rule that it breaks.

use std::collections::BTreeMap;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::congestion::EcnUse;
use super::congestion::controller::Decision;
use super::control::take_unsound;
use super::receiver::{Ack, Data, Receiver};
use super::reports::{Block, Blocks};
use super::sender::{Send, Sender};
use super::{Recovery, Stack, TcpOptions, Variant};

/// All data must be acknowledged within this time.
const TIMEOUT: Span = Span::from_millis(100_000_000);
/// A loss or mark must reduce a window of at least this many packets. A smaller window may be at its minimum already.
const LARGE: f64 = 8.0;

/// A random path and a random application.
#[derive(Debug)]
struct Path {
    rng: Rng,
    /// One-way delay.
    delay: Span,
    /// Transmission time of a packet at the bottleneck.
    service: Span,
    /// Buffer of the bottleneck in packets, and the backlog from which on it marks.
    buffer: u64,
    marks_from: u64,
    /// Probability of a random loss, in each direction.
    loss: f64,
    /// Packets per burst of the application, number of bursts, and the time between bursts.
    burst: u32,
    bursts: u32,
    pause: Span,
    /// When the bottleneck will have sent its backlog.
    busy: Instant,
}

impl Path {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "path");
        let buffer = 1 + rng.below(100);
        let mut one_of = |all: [u64; 4]| all[rng.below(4) as usize];
        let delay = Span::from_micros(one_of([10, 1_000, 20_000, 300_000]));
        let service = Span::from_micros(one_of([1, 100, 1_000, 12_000]));
        let loss = one_of([0, 0, 1, 20]) as f64 / 100.0;
        let burst = one_of([1, 30, 500, 2_000]) as u32;
        let bursts = one_of([1, 1, 3, 20]) as u32;
        let pause = Span::from_millis(one_of([10, 100, 1_000, 10_000]));
        let marks_from = one_of([1, 5, 20, 1_000]);
        Self { rng, delay, service, buffer, marks_from, loss, burst, bursts, pause, busy: Instant::ZERO }
    }

    /// Arrival time and codepoint of a data packet; `None`: lost.
    fn data(&mut self, now: Instant, capable: bool) -> Option<(Instant, Ecn)> {
        let waits = self.busy.since(now.min(self.busy));
        let waiting = waits.nanos() / self.service.nanos();
        if waiting >= self.buffer || self.rng.uniform() < self.loss {
            return None;
        }
        self.busy = now.max(self.busy) + self.service;
        let ecn = match (capable, waiting >= self.marks_from) {
            (true, true) => Ecn::Ce,
            (true, false) => Ecn::Ect0,
            (false, _) => Ecn::NotEct,
        };
        Some((self.busy + self.delay, ecn))
    }

    /// Arrival time of an acknowledgement; `None`: lost.
    fn ack(&mut self, now: Instant) -> Option<Instant> {
        (self.rng.uniform() >= self.loss).then(|| now + self.delay)
    }
}

#[derive(Debug)]
enum Event {
    Data(Send, Ecn, Instant),
    Ack(Ack, Blocks),
    Offer,
}

/// A connection and its history.
struct Connection {
    options: TcpOptions,
    path: Path,
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// Pending events, ordered by time, then by insertion.
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    /// One above the highest packet sent.
    high: u32,
    /// End of the window of data in which the window was last reduced.
    reduced_until: u32,
    /// Number of packets above a hole that have left the network, from the number of duplicate acknowledgements. Zero
    /// with selective acknowledgements, because `Sender::in_flight` then excludes these packets.
    left: u32,
    has_mark: bool,
    /// A timer of the Linux stack has expired: a tail loss probe may exceed the window.
    may_probe: bool,
    /// Hash of the sender's actions, in order.
    hash: u64,
}

impl Connection {
    /// `basis`: the options that are not drawn at random.
    fn new(basis: TcpOptions, seed: u64) -> Self {
        let path = Path::new(seed);
        let mut rng = Rng::stream(seed, "options");
        let options = TcpOptions {
            initial_window: 1 + rng.below(10) as u32,
            delayed_ack: rng.below(2) == 0,
            ecn: rng.below(2) == 0,
            pacing: rng.below(4) == 0,
            ..basis
        };
        let mut new = Self {
            now: Instant::ZERO,
            sender: Sender::new(options, Span::ZERO, Rng::stream(seed, "sender")),
            receiver: Receiver::new(&options),
            events: BTreeMap::new(),
            serial: 0,
            high: 0,
            reduced_until: 0,
            left: 0,
            has_mark: false,
            may_probe: false,
            hash: 0,
            options,
            path,
        };
        // `offer` makes the data finite.
        new.sender.offer(Instant::ZERO, new.path.burst);
        for burst in 1..new.path.bursts {
            new.push(Instant::ZERO + new.path.pause * u64::from(burst), Event::Offer);
        }
        new
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    /// Runs the connection from its first packet to the last acknowledgement. Returns the hash of the sender's actions.
    fn run(mut self) -> Result<u64, String> {
        let total = self.path.burst * self.path.bursts;
        self.send()?;
        while self.sender.acknowledged() < total {
            let event = self.events.keys().next().map(|(at, _)| *at);
            let timers = [self.sender.deadline(), self.receiver.deadline()];
            let Some(next) = timers.into_iter().chain([event]).flatten().min() else {
                return Err("stalls: data is outstanding, no timer runs".to_string());
            };
            if next > Instant::ZERO + TIMEOUT {
                return Err(format!("stalls: {} of {total} packets after {TIMEOUT:?}", self.sender.acknowledged()));
            }
            self.now = next.max(self.now);
            if event == Some(next) {
                let event = self.events.pop_first();
                event.map_or(Ok(()), |(_, event)| self.happens(event))?;
            } else if timers[1] == Some(next) {
                let ack = self.receiver.ack();
                self.answer(ack);
            } else {
                self.timer()?;
            }
            self.send()?;
        }
        Ok(self.hash)
    }

    fn happens(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Offer => self.sender.offer(self.now, self.path.burst),
            Event::Ack(ack, blocks) => return self.ack(ack, &blocks),
            Event::Data(send, ecn, sent) => {
                if let Some(ack) = self.receiver.before_data(ecn) {
                    self.answer(ack);
                }
                if let Some(ack) = self.receiver.on_data(self.now, Data::of(send, ecn, self.now.since(sent))) {
                    self.answer(ack);
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, ack: Ack) {
        if let Some(at) = self.path.ack(self.now) {
            self.push(at, Event::Ack(ack, self.receiver.blocks(ack)));
        }
    }

    fn ack(&mut self, ack: Ack, blocks: &[Block]) -> Result<(), String> {
        let (old, una, counts) = (self.window_before(), self.sender.acknowledged(), *self.sender.counts());
        self.has_mark |= ack.ece;
        self.count_left(ack);
        self.sender.on_ack(self.now, ack, blocks);
        let (new, after) = (self.window(), *self.sender.counts());
        let recovers = after.fast_retransmits > counts.fast_retransmits;
        let cuts = after.ecn_cuts > counts.ecn_cuts;
        self.check_floor()?;
        let profile = self.options.variant.profile();
        if cuts && matches!(profile.ecn, EcnUse::Never | EcnUse::Unanswered) {
            return Err("a mark counts as a reduction, of a control that ignores marks".to_string());
        }
        // RFC 6582 section 3.2 step 3: a partial acknowledgement deflates the window by the packets that it covers.
        let covered = ack.next.saturating_sub(una);
        let deflates = profile.recovery == Recovery::PartialAcks
            && !(recovers || cuts)
            && new >= (old - f64::from(covered)).max(1.0);
        // A control with a path model may react otherwise.
        if !profile.paces && !deflates {
            self.check_reaction(recovers, cuts, old, new)?;
        }
        self.sender.check()?;
        self.note(u64::from(ack.next));
        Ok(())
    }

    fn is_linux(&self) -> bool {
        self.options.stack() == Stack::Linux
    }

    /// The window; in the Linux stack the threshold, at which the window ends a recovery, if that is more.
    fn window_before(&self) -> f64 {
        let (cwnd, threshold) = (self.sender.cwnd(), self.sender.ssthresh());
        if self.is_linux() && threshold.is_finite() { cwnd.max(threshold) } else { cwnd }
    }

    /// The window, or in the Linux stack the threshold to which it falls gradually.
    fn window(&self) -> f64 {
        let cwnd = self.sender.cwnd();
        if self.is_linux() { cwnd.min(self.sender.ssthresh()) } else { cwnd }
    }

    /// Updates `left`, the packets above a hole that have left the network. A partial acknowledgement covers a hole and
    /// packets that had left before it: the hole is not subtracted, and at least one packet remains (RFC 6582 section
    /// 3.2 step 3).
    fn count_left(&mut self, ack: Ack) {
        let una = self.sender.acknowledged();
        if self.options.is_selective() {
            return;
        }
        match ack.next.checked_sub(una) {
            Some(0) if self.high > una => self.left += 1,
            Some(_) if ack.next == self.high => self.left = 0,
            Some(acked) if self.left > 0 => self.left = self.left.saturating_sub(acked.saturating_sub(1)).max(1),
            Some(_) | None => {}
        }
    }

    /// Checks that a loss, or a mark that the congestion control reacts to, reduces the window, once per window of
    /// data.
    fn check_reaction(&mut self, recovers: bool, cuts: bool, old: f64, new: f64) -> Result<(), String> {
        let again = self.sender.acknowledged() < self.reduced_until;
        // Linux also reduces the window for the repair by a tail loss probe, and undoes reductions. RFC 7661 section 4.4.1 reduces
        // it at the end of a recovery too, and LEDBAT when the delay is above its target.
        let by_delay = self.options.variant.profile().reports_delay;
        if new < old && !by_delay && !self.is_linux() && !self.options.pipe_ack && !recovers && !cuts && again {
            return Err(format!("the window falls from {old} to {new} a second time in a window of data"));
        }
        // Linux reduces the window for a mark until a packet above this number is acknowledged.
        let again = again || (self.is_linux() && self.sender.acknowledged() == self.reduced_until);
        // There a scalable control rounds the reduction for a mark down.
        let rounds = cuts && !recovers && self.is_linux() && self.options.variant.profile().is_scalable;
        let stays = if rounds { new > old } else { new >= old };
        if (recovers || cuts) && !again && stays && old >= LARGE {
            let why = if recovers { "a loss" } else { "a mark" };
            return Err(format!("{why} leaves the window at {new}, from {old}"));
        }
        if new < old && (recovers || cuts) {
            self.reduced_until = self.high;
        }
        Ok(())
    }

    fn timer(&mut self) -> Result<(), String> {
        let timeouts = self.sender.counts().timeouts;
        self.sender.on_deadline(self.now);
        self.check_floor()?;
        if self.sender.counts().timeouts == timeouts {
            self.may_probe = self.is_linux();
        } else {
            // Linux does not consider packets lost that were sent less than a round trip ago.
            let kept = if self.is_linux() { self.sender.in_flight() } else { 0 };
            if self.sender.cwnd() > f64::from(kept + 1) {
                let cwnd = self.sender.cwnd();
                return Err(format!(
                    "a timeout leaves a window of {cwnd}, more than one packet (RFC 5681 section 3.1)"
                ));
            }
            self.reduced_until = self.high;
        }
        Ok(())
    }

    /// Checks that the window is at least one packet, unless a mark has closed it (RFC 3168 section 6.1.2).
    fn check_floor(&self) -> Result<(), String> {
        let cwnd = self.sender.cwnd();
        let answers = !matches!(self.options.variant.profile().ecn, EcnUse::Never | EcnUse::Unanswered);
        let floor = if self.has_mark && answers { f64::MIN_POSITIVE } else { 1.0 };
        if cwnd.is_finite() && cwnd >= floor { Ok(()) } else { Err(format!("a window of {cwnd}")) }
    }

    /// Sends everything that the sender allows now. Checks that new data fits into the window.
    fn send(&mut self) -> Result<(), String> {
        while let Some(send) = self.sender.poll(self.now) {
            let is_new = send.seq == self.high;
            let (in_flight, cwnd) = (self.sender.in_flight(), self.sender.cwnd());
            // `in_flight` already includes the packet.
            let probes = core::mem::take(&mut self.may_probe);
            if is_new && !probes && f64::from(in_flight.saturating_sub(self.left)) - 1.0 >= cwnd {
                return Err(format!("{in_flight} packets in flight, and a window of {cwnd}"));
            }
            self.high += u32::from(is_new);
            self.note(u64::from(send.seq) << 1 | u64::from(send.cwr));
            if let Some((at, ecn)) = self.path.data(self.now, self.options.ecn_capable()) {
                self.push(at, Event::Data(send, ecn, self.now));
            }
        }
        Ok(())
    }

    /// Adds `word` to the hash of the sender's actions (FNV-1a over 64-bit words).
    fn note(&mut self, word: u64) {
        for word in [self.now.nanos(), word, self.sender.cwnd().to_bits()] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Runs a connection with the congestion control `variant` over each of `paths` random paths. Rules:
/// - all data arrives;
/// - the window is finite and at least one packet, unless a mark has closed it;
/// - new data is sent only while the window has room;
/// - a loss, or a mark that the control reacts to, reduces a large window, but not twice in a window of data (not
///   checked for controls that always [pace](super::congestion::Profile::paces));
/// - a timeout leaves a window of at most one packet, in the Linux stack more than what is not considered lost;
/// - the same path gives the same result;
/// - a [`Controller`](super::congestion::controller::Controller) asks for a window that is a number of at least 1, and a
///   pacing rate that is a number above 0.
///
/// # Errors
/// The first rule that the control breaks, with the path.
pub fn check_control(variant: Variant, paths: u64) -> Result<(), String> {
    check(TcpOptions { variant, ..TcpOptions::default() }, paths)
}

/// As [`check_control`], with the rules of `stack`, which is not for SCTP.
///
/// # Errors
/// The first rule that the control breaks, with the path.
pub fn check_control_on(stack: Stack, variant: Variant, paths: u64) -> Result<(), String> {
    check(TcpOptions { variant, stack: Some(stack), ..TcpOptions::default() }, paths)
}

/// As [`check_control`], over the path of this number.
///
/// # Errors
/// The first rule that the control breaks.
pub fn check_control_over(variant: Variant, path: u64) -> Result<(), String> {
    check_over(TcpOptions { variant, ..TcpOptions::default() }, path)
}

fn check(basis: TcpOptions, paths: u64) -> Result<(), String> {
    (0..paths).try_for_each(|seed| check_over(basis, seed))
}

fn check_over(basis: TcpOptions, seed: u64) -> Result<(), String> {
    let at = |fault: String| format!("{:?} on path {seed}: {fault}", basis.variant);
    let run = || Connection::new(basis, seed).run().map_err(at);
    take_unsound();
    let runs = (run(), run());
    if let Some(Decision { cwnd, pacing_rate }) = take_unsound() {
        let rate = pacing_rate.map_or_else(|| "none".to_string(), |rate| rate.to_string());
        return Err(at(format!("unsound decision: window {cwnd} packets, pacing rate {rate} packets/s")));
    }
    if runs.0? == runs.1? { Ok(()) } else { Err(at("the second run differs from the first".to_string())) }
}

#[cfg(test)]
mod tests;
