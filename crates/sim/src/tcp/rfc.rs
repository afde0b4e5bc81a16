//! The sender that follows the RFCs: 5681, 6582, 6675, 3042, 6298 and 3168.
//!
//! Differences from the RFCs (`docs/tcp.md` has the full list):
//! - a reduction halves the congestion window, not the amount in flight;
//! - senders whose profile sets `follows_ns2` behave like ns-2 in the points that the module `ns2` lists.
//!
//! The module `classic` has recovery without selective acknowledgements, `selective` recovery with them. Both call the
//! hooks of the congestion control.

mod classic;
mod ns2;
mod seen;
mod selective;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::accecn::Marks;
use super::congestion::{CongestionControl, Recovery};
use super::control::Control;
use super::gate::{self, Gate};
use super::receiver::Ack;
use super::reports::Block;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::sender::{Handshake, Send, SenderCounts};
use super::window::Window;
use super::{AccEcn, TcpOptions};
use crate::engine::due::Due;
use ns2::Ns2;

/// Number of duplicate acknowledgements that indicate a loss (RFC 5681).
const DUP_THRESHOLD: u32 = 3;

/// Cause of the latest window reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    None,
    FastRetransmit,
    Timeout,
    Mark,
}

/// State of a sender.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Lowest packet not acknowledged.
    una: u32,
    /// Next packet to send; a timeout sets it back to `una`. Unused with selective acknowledgements.
    next: u32,
    /// One above the highest packet ever sent.
    high: u32,
    /// A loss episode ends when all packets below this number are acknowledged ("recover" of RFC 6582, plus one).
    recover: u32,
    /// Receiver's window in packets.
    receiver_window: u32,
    window: Window,
    /// Packets by which duplicate acknowledgements inflate the window in fast recovery.
    inflation: u32,
    recovery: Recovery,
    limited_transmit: bool,
    ecn: bool,
    /// Does a packet with CWR follow a reduction? RFC 9768: not with accurate feedback.
    sends_cwr: bool,
    ect_retransmissions: bool,
    idle_restart: bool,
    // Copies of three facts of the [`Profile`](super::congestion::Profile).
    follows_ns2: bool,
    mark_is_loss: bool,
    tracks_packets: bool,
    /// Fast path: no selective acknowledgements, no calls of the congestion control per packet, and a window that grows
    /// as Reno's.
    is_plain: bool,
    in_recovery: bool,
    partial_seen: bool,
    cwr: bool,
    stopped: bool,
    last_cut: Cut,
    /// The first outstanding packet at the last timeout.
    timed_out: Option<u32>,
    /// The last acknowledgement of new data carried ECN-Echo while the window was one packet.
    marked_at_one: bool,
    dup_acks: u32,
    retransmit: Option<u32>,
    rtt: Rtt,
    timed: Option<(u32, Instant)>,
    /// When the retransmission timer expires.
    rto_at: Due,
    initial_window: u32,
    /// Marked packets known from accurate feedback (RFC 9768).
    marks: Marks,
    board: Option<Box<Scoreboard>>,
    control: Control,
    ns2: Option<Box<Ns2>>,
    gate: Option<Box<Gate>>,
    counts: SenderCounts,
}

impl Sender {
    /// A connection that has sent nothing and has unlimited data. `phase`: position of the retransmission timer's
    /// coarse clock within its tick at time 0; `rng`: the connection's random stream.
    pub(super) fn new(options: TcpOptions, phase: Span, rng: Rng) -> Self {
        let profile = options.variant.profile();
        let mut window = Window::new(f64::from(options.initial_window), f64::from(options.window.unwrap_or(u32::MAX)));
        let mut control = Control::new(&options, rng);
        control.on_start(&mut window);
        let recovery = profile.recovery;
        let tracks_packets = profile.tracks_packets || options.amends();
        Self {
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            receiver_window: options.window.unwrap_or(u32::MAX),
            window,
            inflation: 0,
            recovery,
            limited_transmit: options.limited_transmit,
            ecn: options.answers_echo(),
            sends_cwr: options.answers_echo() && options.accurate() == AccEcn::Off,
            ect_retransmissions: options.repeats_with_ect(),
            // A control with a path model does not send a burst after a pause, so that it needs no restart.
            idle_restart: options.idle_restart && !profile.paces && !options.pipe_ack,
            mark_is_loss: profile.mark_is_loss,
            tracks_packets,
            is_plain: !recovery.is_selective() && !tracks_packets && profile.is_aimd,
            follows_ns2: profile.follows_ns2,
            in_recovery: false,
            partial_seen: false,
            cwr: false,
            stopped: false,
            last_cut: Cut::None,
            timed_out: None,
            marked_at_one: false,
            dup_acks: 0,
            retransmit: None,
            rtt: Rtt::new(options.timer(phase)),
            timed: None,
            rto_at: Due::NEVER,
            initial_window: options.initial_window,
            gate: options.paced().then(|| Box::new(Gate::new(true, profile.catches_up))),
            marks: Marks::default(),
            board: recovery.is_selective().then(Box::default),
            control,
            ns2: Ns2::new(&options).map(Box::new),
            counts: SenderCounts::default(),
        }
    }

    /// Starts a new connection with the same peer after everything sent is acknowledged. All state is reset except
    /// packet numbers and counters.
    pub(super) fn renew(&mut self, options: TcpOptions, phase: Span, rng: Rng) {
        let (high, counts, marks) = (self.high, self.counts, self.marks);
        let first = Self::new(options, phase, rng);
        *self = Self { una: high, next: high, high, recover: high.saturating_sub(1), counts, marks, ..first };
    }

    /// Ends the handshake. If this end retransmitted its handshake packet, the window starts at one packet (RFC 5681
    /// section 3.1). If the packet counts as data, the slow-start threshold too is that after a timeout.
    pub(super) fn opened(&mut self, _now: Instant, handshake: Handshake) {
        self.rtt = handshake.rtt;
        if handshake.retransmissions > 0 {
            self.window.set(1.0);
            if handshake.counts_as_loss {
                self.window.collapse();
            }
        }
    }

    /// The sender's counters.
    pub(super) const fn counts(&self) -> &SenderCounts {
        &self.counts
    }

    /// Congestion window in packets.
    pub(super) const fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// When to call [`on_deadline`](Self::on_deadline): the earlier of retransmission timer and pacer.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = match &self.gate {
            None => self.rto_at,
            Some(gate) => gate.deadline().min(self.rto_at),
        };
        first.get()
    }

    /// Stops the sender for good: the application has closed.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.rto_at = Due::NEVER;
        self.gate = None;
    }

    /// The application hands over data for `packets` more packets. Before the first call data is unlimited; afterwards
    /// there is only what the application handed over.
    ///
    /// RFC 5681 section 4.1: after an idle time longer than the timeout the window becomes the restart window, the
    /// smaller of the initial and the current window. The slow-start threshold stays.
    pub(super) fn offer(&mut self, now: Instant, packets: u32) {
        let gate = self.gate.get_or_insert_with(|| Box::new(Gate::new(false, false)));
        let silent = gate.offer(now, self.high, packets);
        if self.una < self.high || self.high == 0 {
            return;
        }
        self.control.on_application_limited(now);
        self.control.on_resume(&mut self.window, now);
        let restart = f64::from(self.initial_window);
        if self.idle_restart && silent > self.rtt.timeout() && self.window.cwnd() > restart {
            self.window.set(restart);
            self.control.on_restart();
        }
    }

    /// The next packet that window, recovery and pacer allow now.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant) -> Option<Send> {
        if self.stopped || (self.gate.is_some() && !self.gate_opens(now)) {
            return None;
        }
        let seq = match self.retransmit.take() {
            // It may have been acknowledged while the pacer delayed it.
            Some(seq) if seq >= self.una => seq,
            _ if self.is_plain => self.next_in_order()?,
            _ if self.board.is_some() => self.next_selective()?,
            _ => self.next_tracked()?,
        };
        if !self.is_plain && self.tracks_packets {
            self.before_sending(now, seq);
        }
        self.counts.sent += 1;
        let (cwr, ect);
        if seq < self.high {
            self.counts.retransmitted += 1;
            // Karn's algorithm (RFC 6298 section 3): the acknowledgement cannot tell the two transmissions apart.
            self.timed = self.timed.filter(|(timed, _)| *timed != seq);
            cwr = self.ns2.is_some() && self.retransmission_has_cwr(seq) && core::mem::take(&mut self.cwr);
            ect = self.ect_retransmissions;
        } else {
            self.high = seq + 1;
            cwr = core::mem::take(&mut self.cwr);
            ect = true;
            if self.timed.is_none() {
                self.timed = Some((seq, now));
            }
        }
        if self.rto_at.is_never() {
            self.rto_at = Due::at(now + self.rtt.timeout());
        }
        if self.gate.is_some() {
            self.pace(now);
        }
        Some(Send { seq, cwr, ect, stamp: 0, push: false })
    }

    #[inline(never)]
    fn pace(&mut self, now: Instant) {
        let interval =
            self.control.pacing_interval().unwrap_or_else(|| gate::interval(&self.window, self.rtt.precise()));
        if let Some(gate) = &mut self.gate {
            gate.sent(now, interval);
        }
    }

    #[inline(never)]
    fn gate_opens(&mut self, now: Instant) -> bool {
        let wants = self.retransmit.is_some() || self.has_room();
        self.gate.as_mut().is_none_or(|gate| gate.opens(now, wants))
    }

    /// Has the application handed over packet `seq`?
    #[inline]
    fn has_data(&self, seq: u32) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.has(seq))
    }

    /// Does the window leave room for another packet?
    fn has_room(&self) -> bool {
        match &self.board {
            Some(_) => self.has_room_selective(),
            None => self.next.wrapping_sub(self.una) < self.allowed() && self.has_data(self.next),
        }
    }

    /// An acknowledgement arrives; `blocks`: its selective blocks.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, ack: Ack, blocks: &[Block]) {
        if self.stopped || ack.next > self.high {
            return;
        }
        let ece = ack.ece && self.ecn;
        if self.is_plain {
            self.on_classic_ack(now, ack.next, ece);
        } else if self.board.is_some() {
            self.control.on_event(now);
            self.on_selective_ack(now, Ack { ece, ..ack }, blocks);
        } else {
            self.on_tracked_ack(now, ack.next, ece);
        }
    }

    /// Everything below `ack` is acknowledged. Measures the round trip if the timed packet is included.
    #[inline]
    fn acknowledge(&mut self, now: Instant, ack: u32, ece: bool) {
        self.marked_at_one &= ece;
        self.una = ack;
        self.next = self.next.max(ack);
        self.dup_acks = 0;
        if let Some((seq, sent)) = self.timed
            && ack > seq
        {
            self.timed = None;
            self.measure(sent, now);
        }
    }

    /// Measures a round trip. Ends the timer's backoff, unless marks continue at a window of one packet.
    fn measure(&mut self, sent: Instant, now: Instant) {
        self.rtt.measure(sent, now);
        if !self.marked_at_one {
            self.rtt.end_backoff();
        }
    }

    /// Is the number of outstanding packets limited by the application and not by the window? If so, the window does
    /// not grow (RFC 7661 section 4.4, without its pipeACK filter).
    #[inline]
    fn is_application_limited(&self, outstanding: u32) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.can_run_dry()) && f64::from(outstanding + 1) <= self.window.cwnd()
    }

    /// Reacts to ECN-Echo at most once per window of data (RFC 3168 section 6.1.2). At a window of one packet the
    /// reduction can close the window. If the following acknowledgements have ECN-Echo too, the timer backs off.
    fn on_mark(&mut self, now: Instant, ack: u32) {
        if ack <= self.recover && !self.answers_mark_after_timeout() {
            return;
        }
        self.counts.ecn_cuts += 1;
        self.recover = self.high;
        self.note_cut(Cut::Mark, true);
        let at_one = self.window.cwnd() <= 1.0;
        if at_one && self.marked_at_one {
            self.rtt.back_off();
        }
        self.marked_at_one = at_one;
        self.control.on_mark(&mut self.window);
        // Only the timer reopens the window.
        if self.window.is_closed() && (self.rto_at.is_never() || !self.keeps_running_timer()) {
            self.rearm(now);
        }
    }

    /// Was the latest reduction for a mark, and as large as for a loss?
    fn mark_counts_as_loss(&self) -> bool {
        self.last_cut == Cut::Mark && self.mark_is_loss
    }

    /// Records the cause of a reduction. If the window shrinks, the next new packet has CWR, for any cause (RFC 3168
    /// section 6.1.2). Without a reduction no CWR is sent: it would end the echo of a mark to which the sender has not
    /// reacted.
    fn note_cut(&mut self, cut: Cut, shrinks: bool) {
        self.last_cut = cut;
        self.cwr |= self.sends_cwr && shrinks;
    }

    /// Handles an expired [`deadline`](Self::deadline). [`poll`](Self::poll) then returns what the pacer delayed.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        if self.rto_at.has_come(now) {
            self.on_timeout(now);
        }
    }

    /// Handles an expired retransmission timer: slow start from one packet, beginning at the first hole. If nothing is
    /// outstanding, only opens a closed window.
    fn on_timeout(&mut self, now: Instant) {
        self.rto_at = Due::NEVER;
        if self.stopped {
            return;
        }
        if self.high == self.una {
            self.reopen();
            return;
        }
        self.counts.timeouts += 1;
        self.control.on_event(now);
        let ssthresh = self.window.ssthresh();
        let again = self.timed_out.replace(self.una) == Some(self.una) && !self.halves_for_each_timeout();
        let is_reduced = again || self.mark_counts_as_loss() && self.una < self.recover;
        self.recover = self.high;
        self.note_cut(Cut::Timeout, true);
        self.in_recovery = false;
        self.inflation = 0;
        self.dup_acks = 0;
        if let Some(board) = &mut self.board {
            match self.recovery {
                Recovery::MissReports => board.on_expiry(self.una, self.high),
                _ => board.on_timeout(self.una, self.high),
            }
        }
        self.control.on_timeout(&mut self.window, is_reduced);
        self.forget_reports_as_sack1();
        // RFC 3168 section 6.1.2: reduce the threshold once per round trip. RFC 5681 section 3.1: and once per packet.
        if is_reduced {
            self.window.restore_threshold(ssthresh);
        }
        self.next = self.una;
        self.retransmit = None;
        self.timed = None;
        self.rtt.back_off();
        self.rto_at = Due::at(now + self.rtt.timeout());
    }

    /// Opens a window that a mark has closed, so that one packet can be sent. Called when the timer expires.
    fn reopen(&mut self) {
        if self.window.is_closed() {
            self.recover = self.high;
            self.note_cut(Cut::Timeout, true);
            self.timed = None;
            self.window.set(1.0);
        }
    }

    /// Checks the sequence space: `una` <= `next` <= `high`.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.una <= self.next && self.next <= self.high { Ok(()) } else { Err("una <= next <= high") }
    }

    /// Runs the retransmission timer while packets are outstanding (RFC 6298 rules 5.2 and 5.3) or a mark has closed
    /// the window.
    #[inline]
    fn rearm(&mut self, now: Instant) {
        let runs = self.high > self.una || self.window.is_closed();
        self.rto_at = if runs { Due::at(now + self.rtt.timeout()) } else { Due::NEVER };
    }
}
