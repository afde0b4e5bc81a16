//! The sending end of a TCP connection: RFC 5681, 6582, 3042, 6298 and 3168, data without end.
//!
//! Where it differs from them it does as ns-2 does, so that the two can be compared: the window itself is
//! halved, not what is in flight; every timeout of the same packet takes half of the window again as the
//! threshold; fast recovery may begin at a window of one; after a timeout the first two duplicate
//! acknowledgements release the next packet in order, be it new or sent before; retransmissions keep the
//! flow's ECT codepoint.

use forebay_aqm::base::time::Instant;

use super::rtt::{Rtt, RttOptions};
use super::window::Window;
use super::{Recovery, TcpOptions};

/// Duplicate acknowledgements that mean a loss (RFC 5681).
const DUP_THRESHOLD: u32 = 3;

/// One data packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// Its number.
    pub seq: u32,
    /// Congestion Window Reduced flag.
    pub cwr: bool,
}

/// The last thing that made the window shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    None,
    FastRetransmit,
    Timeout,
    Mark,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Window reductions for ECN-Echo.
    pub ecn_cuts: u64,
}

/// State of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Lowest packet not acknowledged.
    una: u32,
    /// Next packet to send; goes back to `una` at a timeout.
    next: u32,
    /// One beyond the highest packet ever sent.
    high: u32,
    /// A loss episode lasts until this is acknowledged ("recover" of RFC 6582, plus one).
    recover: u32,
    window: Window,
    /// Packets by which duplicate acknowledgements inflate the window in fast recovery.
    inflation: f64,
    in_recovery: bool,
    partial_seen: bool,
    dup_acks: u32,
    last_cut: Cut,
    retransmit: Option<u32>,
    cwr: bool,
    rtt: Rtt,
    timed: Option<(u32, Instant)>,
    rto_at: Option<Instant>,
    stopped: bool,
    options: TcpOptions,
    counts: SenderCounts,
}

impl Sender {
    /// A connection that has sent nothing; `phase` is where its clock stands within a tick.
    pub fn new(options: TcpOptions, phase: forebay_aqm::base::time::Span) -> Self {
        Self {
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            window: Window::new(f64::from(options.initial_window), f64::from(options.window)),
            inflation: 0.0,
            in_recovery: false,
            partial_seen: false,
            dup_acks: 0,
            last_cut: Cut::None,
            retransmit: None,
            cwr: false,
            rtt: Rtt::new(RttOptions { min_rto: options.min_rto, tick: options.tick, phase }),
            timed: None,
            rto_at: None,
            stopped: false,
            options,
            counts: SenderCounts::default(),
        }
    }

    /// What it has done so far.
    pub const fn counts(&self) -> &SenderCounts {
        &self.counts
    }

    /// Congestion window in packets.
    pub const fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// Smoothed round-trip time and timeout estimator.
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Packets acknowledged.
    pub const fn acknowledged(&self) -> u32 {
        self.una
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[inline]
    pub const fn deadline(&self) -> Option<Instant> {
        self.rto_at
    }

    /// No new data from now on, nor anything else: the application is gone.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.rto_at = None;
    }

    /// The next packet that window and recovery allow now, if any.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Send> {
        if self.stopped {
            return None;
        }
        let seq = match self.retransmit.take() {
            Some(seq) => seq,
            None => {
                if self.next.wrapping_sub(self.una) >= self.allowed() {
                    return None;
                }
                self.next += 1;
                self.next - 1
            }
        };
        self.counts.sent += 1;
        let mut cwr = false;
        if seq < self.high {
            self.counts.retransmitted += 1;
        } else {
            self.high = seq + 1;
            cwr = core::mem::take(&mut self.cwr);
            if self.timed.is_none() {
                self.timed = Some((seq, now));
            }
        }
        if self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.timeout());
        }
        Some(Send { seq, cwr })
    }

    /// Packets that may be outstanding now.
    #[inline]
    fn allowed(&self) -> u32 {
        let limited = if self.options.limited_transmit && !self.in_recovery && self.dup_acks < DUP_THRESHOLD {
            self.dup_acks
        } else {
            0
        };
        let window = (self.window.cwnd() + self.inflation) as u32 + limited;
        window.min(self.options.window)
    }

    /// An acknowledgement that expects packet `ack` next has come.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        if self.stopped || ack > self.high {
            return;
        }
        if ece && self.options.ecn {
            self.on_mark(ack);
        }
        if ack > self.una {
            self.on_new_ack(now, ack, ece);
        } else if ack == self.una && self.high > self.una {
            self.on_duplicate(now);
        }
    }

    #[inline]
    fn on_new_ack(&mut self, now: Instant, ack: u32, ece: bool) {
        let acked = ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        self.dup_acks = 0;
        if let Some((seq, sent)) = self.timed
            && ack > seq
        {
            self.timed = None;
            self.rtt.measure(sent, now);
        }
        if self.in_recovery && self.options.recovery == Recovery::NewReno && ack < self.recover {
            self.on_partial_ack(now, acked);
            return;
        }
        self.in_recovery = false;
        self.inflation = 0.0;
        self.rearm(now);
        if !(ece && self.options.ecn) {
            self.window.grow();
        }
    }

    /// RFC 6582 section 3.2 step 3: the next hole is known; retransmit it, deflate by what was
    /// acknowledged less one. Only the first partial acknowledgement restarts the timer.
    fn on_partial_ack(&mut self, now: Instant, acked: u32) {
        if !self.partial_seen {
            self.partial_seen = true;
            self.rearm(now);
        }
        let acked = f64::from(acked);
        if self.inflation > acked {
            self.inflation -= acked - 1.0;
        } else {
            self.window.deflate(acked - self.inflation);
            self.inflation = 1.0;
        }
        self.retransmit = Some(self.una);
    }

    fn on_duplicate(&mut self, now: Instant) {
        self.dup_acks += 1;
        if self.in_recovery {
            self.inflation += 1.0;
        } else if self.dup_acks == DUP_THRESHOLD && self.may_fast_retransmit() {
            self.fast_retransmit(now);
        }
    }

    /// One loss episode, one reduction: not again before all that `recover` stands for is acknowledged
    /// (RFC 6582 section 3.2 step 2). ns-2 holds Reno to it as well: it leaves fast recovery with the first
    /// new acknowledgement, and further holes of the same window wait for the timer.
    fn may_fast_retransmit(&self) -> bool {
        // The window was cut for a mark, nothing has been retransmitted yet.
        let again = self.last_cut == Cut::Mark;
        self.una > self.recover || self.recover == 0 || again
    }

    fn fast_retransmit(&mut self, now: Instant) {
        self.counts.fast_retransmits += 1;
        // A mark in the same window has already halved it.
        if self.last_cut != Cut::Mark || self.una > self.recover {
            self.window.halve();
        }
        self.recover = self.high;
        self.in_recovery = true;
        self.partial_seen = false;
        self.inflation = f64::from(DUP_THRESHOLD);
        self.last_cut = Cut::FastRetransmit;
        self.timed = None;
        self.retransmit = Some(self.una);
        self.rearm(now);
    }

    /// At most one reduction for marks in a window of data (RFC 3168 section 6.1.2).
    fn on_mark(&mut self, ack: u32) {
        if ack <= self.recover && self.last_cut != Cut::Timeout {
            return;
        }
        self.counts.ecn_cuts += 1;
        self.recover = self.high;
        self.last_cut = Cut::Mark;
        self.window.halve();
        self.cwr = true;
    }

    /// The retransmission timer has expired: back to the first hole, slow start from one packet.
    pub fn on_timeout(&mut self, now: Instant) {
        self.rto_at = None;
        if self.stopped || self.high == self.una {
            return;
        }
        self.counts.timeouts += 1;
        self.recover = self.high;
        self.last_cut = Cut::Timeout;
        self.in_recovery = false;
        self.inflation = 0.0;
        self.dup_acks = 0;
        self.window.collapse();
        self.next = self.una;
        self.retransmit = None;
        self.timed = None;
        self.rtt.back_off();
        self.rto_at = Some(now + self.rtt.timeout());
    }

    #[inline]
    fn rearm(&mut self, now: Instant) {
        self.rto_at = (self.high > self.una).then(|| now + self.rtt.timeout());
    }
}
