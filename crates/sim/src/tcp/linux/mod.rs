//! The sender of Linux 6.12: RACK-TLP (RFC 8985), PRR (RFC 6937), undo of spurious reductions, and Linux's timers.
//!
//! The module `ack` processes an acknowledgement in Linux's order, `states` has the congestion states. Packets are counted,
//! not bytes; timers are exact, where Linux has ticks of up to 4 ms.
//!
//! Left out: limits of a host's queue (TSQ), reports that a receiver takes back (reneging),
//! probes of a closed receiver window, and linear timeouts of thin streams.

mod ack;
mod acks;
mod handshake;
mod pacing;
mod packets;
mod pieces;
mod prr;
mod rack;
mod rto;
mod states;
mod timers;
mod undo;
mod validation;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::accecn::Marks;
use super::congestion::{CongestionControl, PathModel, Sent};
use super::control::Control;
use super::gate::Gate;
use super::rtt::Rtt;
use super::sender::{Send, SenderCounts};
use super::window::Window;
use super::{AccEcn, TcpOptions};
use crate::engine::due::Due;
pub(super) use acks::Acks;
use packets::{Departure, Packets};
use pieces::Piece;
use prr::Prr;
use rack::Rack;
use rto::{Estimator, MinRtt};
use timers::Timer;
use undo::Undo;
use validation::Usage;

/// Timeout before the first measurement (`TCP_TIMEOUT_INIT`).
pub(super) const INITIAL_RTO: Span = Span::from_millis(1000);
/// Largest timeout (`TCP_RTO_MAX`).
pub(super) const MAX_RTO: Span = Span::from_millis(120_000);
/// Packets that may be sent before the first acknowledgement (`TCP_INIT_CWND`).
pub(super) const INITIAL_WINDOW: u32 = 10;
/// Smallest number of reported packets above a hole that proves a loss, while no reordering was seen
/// (`sysctl_tcp_reordering`).
const REORDERING: u32 = 3;
/// Largest degree of reordering (`sysctl_tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// Linux's congestion states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    /// Nothing unusual.
    Open,
    /// A packet was reported out of order.
    Disorder,
    /// A mark reduces the window (CWR).
    Reduced,
    /// Lost packets are retransmitted.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// What may be sent after an acknowledgement, besides new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plan {
    /// Nothing.
    New,
    /// New data first; lost packets if there is none (F-RTO).
    NewFirst,
    /// Lost packets first.
    Lost,
}

/// State of a sender.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Lowest packet not acknowledged.
    una: u32,
    /// One above the highest packet ever sent.
    high: u32,
    /// `high` at the last change of state: the state ends when it is acknowledged (`high_seq`).
    point: u32,
    receiver_window: u32,
    window: Window,
    control: Control,
    // Copies of two facts of the profile.
    owns_window: bool,
    mark_is_loss: bool,
    packets: Packets,
    state: State,
    plan: Plan,
    prr: Prr,
    rack: Rack,
    undo: Undo,
    /// Number of packets by which packets are reordered, as far as known; how often reordering was seen.
    reordering: u32,
    reordered: u32,
    timer: Timer,
    timer_at: Due,
    /// A tail loss probe to send.
    probe: Option<u32>,
    /// `high` after the tail loss probe whose outcome is not known yet; whether it repeated a packet.
    probed: Option<u32>,
    probe_repeated: bool,
    /// Timeouts since the cumulative acknowledgement advanced.
    expirations: u32,
    usage: Usage,
    /// New data was sent since `poll` returned nothing.
    has_sent: bool,
    /// Packets reported as having arrived twice.
    duplicates: u32,
    /// Packets delivered, and packets considered lost, modulo 2^32.
    delivered: u32,
    lost: u32,
    rtt: Rtt,
    estimator: Estimator,
    min_rtt: MinRtt,
    gate: Option<Gate>,
    paced: bool,
    marks: Marks,
    /// Packets may be ECN-capable.
    ect: bool,
    ecn: bool,
    sends_cwr: bool,
    ect_retransmissions: bool,
    idle_restart: bool,
    cwr: bool,
    stopped: bool,
    initial_window: u32,
    last_sent: Instant,
    piece: Piece,
    /// Packets sent in this connection.
    sent: u32,
    counts: SenderCounts,
}

impl Sender {
    pub(super) fn new(options: TcpOptions, rng: Rng) -> Self {
        let profile = options.variant.profile();
        let mut window = Window::of_linux(f64::from(options.initial_window));
        let mut control = Control::new(&options, rng);
        control.on_start(&mut window);
        Self {
            una: 0,
            high: 0,
            point: 0,
            receiver_window: options.window.unwrap_or(u32::MAX),
            window,
            control,
            owns_window: profile.owns_window,
            mark_is_loss: profile.mark_is_loss,
            packets: Packets::default(),
            state: State::Open,
            plan: Plan::New,
            prr: Prr::default(),
            rack: Rack::default(),
            undo: Undo::default(),
            reordering: REORDERING,
            reordered: 0,
            timer: Timer::Retransmission,
            timer_at: Due::NEVER,
            probe: None,
            probed: None,
            probe_repeated: false,
            expirations: 0,
            usage: Usage::default(),
            has_sent: false,
            duplicates: 0,
            delivered: 0,
            lost: 0,
            rtt: Rtt::new(options.timer(Span::ZERO)),
            estimator: Estimator::default(),
            min_rtt: MinRtt::default(),
            gate: options.paced().then(|| Gate::new(true, true)),
            paced: options.paced(),
            marks: Marks::default(),
            ect: true,
            ecn: options.answers_echo(),
            sends_cwr: options.answers_echo() && options.accurate() == AccEcn::Off,
            ect_retransmissions: options.repeats_with_ect(),
            idle_restart: options.idle_restart && !profile.owns_window && !options.pipe_ack,
            cwr: false,
            stopped: false,
            initial_window: options.initial_window,
            last_sent: Instant::ZERO,
            piece: Piece::default(),
            sent: 0,
            counts: SenderCounts::default(),
        }
    }

    pub(super) fn renew(&mut self, options: TcpOptions, rng: Rng) {
        let (high, counts, marks, undo) = (self.high, self.counts, self.marks, self.undo.renewed());
        *self = Self { una: high, high, point: high, counts, marks, undo, ..Self::new(options, rng) };
    }

    pub(super) const fn counts(&self) -> &SenderCounts {
        &self.counts
    }

    pub(super) const fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    pub(super) const fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    pub(super) const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    pub(super) const fn acknowledged(&self) -> u32 {
        self.una
    }

    pub(super) const fn take_round_trip(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    pub(super) fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }

    pub(super) fn path_model(&self) -> Option<PathModel> {
        self.control.path_model()
    }

    pub(super) const fn state(&self) -> super::state::State {
        use super::state::State as Seen;
        match self.state {
            State::Open => Seen::Open,
            State::Disorder => Seen::Disorder,
            State::Reduced => Seen::Reduced,
            State::Recovery => Seen::Recovery,
            State::Loss => Seen::Loss,
        }
    }

    pub(super) const fn outstanding(&self) -> super::state::Outstanding {
        super::state::Outstanding {
            sent: self.high - self.una,
            reported: self.packets.reported(),
            lost: self.packets.lost(),
            repeated: self.packets.repeated(),
        }
    }

    pub(super) const fn reordering(&self) -> u32 {
        self.reordering
    }

    pub(super) const fn reordered(&self) -> Option<u32> {
        Some(self.reordered)
    }

    pub(super) const fn announce(&mut self, packets: u32) {
        self.receiver_window = packets;
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.packets.in_flight(self.high - self.una)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let gate = self.gate.as_ref().map_or(Due::NEVER, Gate::deadline);
        gate.min(self.timer_at).get()
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.timer_at = Due::NEVER;
        self.gate = None;
    }

    pub(super) fn offer(&mut self, now: Instant, packets: u32) {
        self.gate.get_or_insert_with(|| Gate::new(false, false)).offer(now, self.high, packets);
        if self.una == self.high && self.high > 0 {
            self.control.on_application_limited(now);
            self.control.on_resume(&mut self.window, now);
            self.restart_after_idle(now);
        }
    }

    /// Has the application handed over packet `seq`?
    fn has_data(&self, seq: u32) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.has(seq))
    }

    /// May new data be sent, as far as application and receiver allow?
    fn has_new(&self) -> bool {
        self.has_data(self.high) && self.high - self.una < self.receiver_window
    }

    /// Does the window leave room for another packet?
    fn has_room(&self) -> bool {
        let in_flight = self.in_flight();
        f64::from(in_flight) + 1.0 <= self.window.cwnd()
            && self.control.burst_limit().is_none_or(|limit| in_flight < limit)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Send> {
        if self.stopped {
            return None;
        }
        if let Some(seq) = self.probe.take()
            && seq >= self.una
        {
            self.probe_repeated = seq < self.high;
            self.piece = Piece::default();
            let send = self.send(now, seq, true);
            self.probed = Some(self.high);
            return Some(send);
        }
        let Some(seq) = self.choose(now) else {
            self.pause(now);
            return None;
        };
        Some(self.send(now, seq, false))
    }

    /// The packet to send next.
    fn choose(&mut self, now: Instant) -> Option<u32> {
        let room = self.has_room();
        let wants = room && (self.plan != Plan::New && self.packets.lost() > self.packets.repeated() || self.has_new());
        if self.gate.as_mut().is_some_and(|gate| !gate.opens(now, wants)) || !room {
            return None;
        }
        if self.plan == Plan::NewFirst && !self.has_new() {
            self.end_new_first();
        }
        if self.plan == Plan::Lost
            && let Some(seq) = self.packets.next_lost(self.una, self.high)
        {
            return Some(seq);
        }
        (self.has_new() && self.has_piece(now)).then_some(self.high)
    }

    /// F-RTO: new data was sent, whose fate will show whether the timeout was spurious; or none can be.
    fn end_new_first(&mut self) {
        let sent = self.high > self.point;
        self.plan = if sent { Plan::New } else { Plan::Lost };
        self.undo.probes_timeout &= sent;
    }

    /// Sends packet `seq`; `probe`: as a tail loss probe.
    fn send(&mut self, now: Instant, seq: u32, probe: bool) -> Send {
        let (again, in_flight) = (seq < self.high, self.in_flight());
        let push = self.ends_piece(again);
        self.control.on_sent(Sent { now, seq, una: self.una, in_flight, again });
        self.counts.sent += 1;
        let stamp = self.undo.stamp(now, again && !probe);
        let departure = Departure { now, delivered: self.delivered, stamp };
        let (mut cwr, mut ect) = (false, self.ect);
        if again {
            self.counts.retransmitted += 1;
            self.packets.resend(seq, departure, !probe);
            ect &= self.ect_retransmissions;
            if seq == self.una && !probe && self.timer != Timer::Reordering {
                self.arm(Timer::Retransmission, now + self.rtt.timeout());
            }
        } else {
            self.packets.send(self.una, seq, departure);
            let is_first = self.high == self.una;
            self.high = seq + 1;
            self.has_sent = true;
            cwr = core::mem::take(&mut self.cwr);
            if is_first || self.timer == Timer::Probe {
                self.rearm(now);
            }
            if !probe {
                self.schedule_probe(now, false);
            }
        }
        if self.is_reducing() {
            self.prr.sent += 1;
        }
        self.last_sent = now;
        if self.gate.is_some() {
            self.pace(now, again);
        }
        Send { seq, cwr, ect, stamp, push }
    }

    /// Nothing more can be sent now.
    fn pause(&mut self, now: Instant) {
        if self.plan == Plan::NewFirst && !self.has_room() {
            self.end_new_first();
        }
        let has_data = self.has_data(self.high);
        if !has_data && self.packets.lost() <= self.packets.repeated() && self.has_room() {
            self.control.on_out_of_data(self.in_flight());
        }
        let is_full = self.piece.waits || f64::from(self.in_flight()) + 1.0 > self.window.cwnd();
        if core::mem::take(&mut self.has_sent) || (has_data && is_full) {
            self.validate_window(now, is_full);
        }
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.una > self.high {
            return Err("una <= high");
        }
        self.packets.check(self.una, self.high)
    }
}
