//! Behaviour of ns-2 2.35, for comparisons with it.
//!
//! Senders with [`follows_ns2`](super::super::congestion::Profile) follow ns-2, not the RFCs, in these points:
//! - every timeout of the same packet halves the slow-start threshold again;
//! - ECN-Echo after a timeout reduces the window once more;
//! - the loss of the first packet sent after a mark, which has CWR, does not reduce the window;
//! - a mark that closes the window does not restart a running timer;
//! - if the acknowledgement that would end SACK's recovery has ECN-Echo, recovery continues;
//! - without selective acknowledgements, the first two duplicate acknowledgements after a timeout release the next
//!   packet in order, although it is a retransmission (RFC 3042: new data only).
//!
//! [`Ns2Rules`] replace more rules of the RFCs, if the connection's options set them. `Sack1` (`tcp-sack1.cc`) is older
//! than RFC 6675. It differs from the RFC:
//! - a new acknowledgement outside of recovery clears the scoreboard, and its blocks are ignored; so does the
//!   acknowledgement that ends recovery;
//! - blocks between a timeout and the next new acknowledgement are ignored;
//! - after a timeout everything from the first hole on is sent again in order, as without selective acknowledgements;
//! - in recovery each duplicate acknowledgement reduces the pipe by one packet, and each new acknowledgement by two;
//! - a lost packet stays in the pipe, and a hole is retransmitted even without three packets reported above it;
//! - the acknowledgement that ends recovery leaves the window unchanged.

use forebay_aqm::base::time::Instant;

use super::super::congestion::{CongestionControl, Recovery};
use super::super::reports::Block;
use super::super::scoreboard::{Misses, Scoreboard};
use super::super::{Ns2Rules, TcpOptions};
use super::{Cut, DUP_THRESHOLD, Sender};

/// ns-2's replacements of RFC rules that a connection can request, with their state.
#[derive(Clone, Debug)]
pub(super) struct Ns2 {
    cwr: bool,
    sack1: Option<Sack1>,
}

/// State of `Sack1`, in place of RFC 6675's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack1 {
    /// Estimated number of packets in flight, in recovery.
    pipe: i64,
    /// Every hole below this packet number has been retransmitted in this recovery.
    high_rxt: u32,
    /// Are blocks ignored? True from a timeout until the next new acknowledgement.
    is_deaf: bool,
}

impl Ns2 {
    /// The rules that a connection requests. `None`: it requests none.
    pub(super) fn new(options: &TcpOptions) -> Option<Self> {
        let Ns2Rules { cwr, sack1 } = options.ns2;
        let profile = options.variant.profile();
        let sack1 = (sack1 && profile.follows_ns2 && profile.recovery == Recovery::Selective).then(Sack1::default);
        (cwr || sack1.is_some()).then_some(Self { cwr, sack1 })
    }
}

impl Sack1 {
    fn on_new_ack(&mut self, board: &mut Scoreboard) {
        *board = Scoreboard::default();
        self.is_deaf = false;
    }
}

/// The rules in which a sender with `follows_ns2` differs from the RFCs.
impl Sender {
    /// Does every timeout of the same packet halve the slow-start threshold? RFC 5681 section 3.1: only the first. ns-2
    /// and RFC 9260 section 7.2.3: every one.
    pub(super) fn halves_for_each_timeout(&self) -> bool {
        self.follows_ns2 || self.recovery == Recovery::MissReports
    }

    pub(super) const fn duplicates_release_retransmissions(&self) -> bool {
        self.follows_ns2
    }

    pub(super) fn answers_mark_after_timeout(&self) -> bool {
        self.follows_ns2 && self.last_cut == Cut::Timeout
    }

    pub(super) const fn keeps_running_timer(&self) -> bool {
        self.follows_ns2
    }

    pub(super) const fn mark_prolongs_recovery(&self) -> bool {
        self.follows_ns2
    }

    pub(super) const fn cwr_packet_is_of_marked_window(&self) -> bool {
        self.follows_ns2
    }

    pub(super) const fn loss_after_mark_sends_cwr(&self) -> bool {
        self.follows_ns2
    }

    /// Does the retransmission of packet `seq` carry CWR?
    pub(super) fn retransmission_has_cwr(&self, seq: u32) -> bool {
        seq + 1 == self.high && self.ns2.as_ref().is_some_and(|ns2| ns2.cwr)
    }
}

/// Loss recovery as in ns-2's `Sack1`.
impl Sender {
    pub(super) fn as_sack1(&self) -> Option<&Sack1> {
        self.ns2.as_ref()?.sack1.as_ref()
    }

    /// Scoreboard and state, if the sender recovers like `Sack1`.
    fn parts<'a>(
        board: &'a mut Option<Box<Scoreboard>>,
        ns2: &'a mut Option<Box<Ns2>>,
    ) -> Option<(&'a mut Scoreboard, &'a mut Sack1)> {
        Some((board.as_deref_mut()?, ns2.as_deref_mut()?.sack1.as_mut()?))
    }

    /// Handles a timeout: clears the scoreboard, and ignores blocks until the next new acknowledgement.
    pub(super) fn forget_reports_as_sack1(&mut self) {
        if let Some((board, sack1)) = Self::parts(&mut self.board, &mut self.ns2) {
            *board = Scoreboard::default();
            sack1.is_deaf = true;
        }
    }

    pub(super) fn has_room_as_sack1(&self, sack1: &Sack1) -> bool {
        match self.in_recovery {
            true => sack1.pipe < self.window.cwnd() as i64,
            false => self.next.wrapping_sub(self.una) < self.allowed(),
        }
    }

    /// The next packet to send. The caller has checked that the window has room for a packet.
    pub(super) fn next_as_sack1(&mut self) -> Option<u32> {
        if !self.in_recovery {
            return self.next_in_order();
        }
        let new_data = self.has_data(self.next) && self.next - self.una < self.receiver_window;
        let (board, sack1) = Self::parts(&mut self.board, &mut self.ns2)?;
        let hole = board.hole_below_reports(sack1.high_rxt.max(self.una));
        let seq = hole.or(new_data.then_some(self.next))?;
        sack1.high_rxt = sack1.high_rxt.max(hole.map_or(0, |hole| hole + 1));
        sack1.pipe += 1;
        self.next = self.next.max(seq + 1);
        Some(seq)
    }

    pub(super) fn on_ack_as_sack1(&mut self, now: Instant, ack: u32, ece: bool, blocks: &[Block]) {
        if ece {
            self.on_mark(now, ack);
        }
        let (una, high) = (self.una, self.high);
        let Some((board, sack1)) = Self::parts(&mut self.board, &mut self.ns2) else { return };
        if self.in_recovery && ack < self.recover {
            sack1.pipe -= 1 + i64::from(ack > una);
            board.advance(una, ack, |_| ());
            board.report((ack, high), blocks, Misses::Packets, |_| ());
            if ack > una {
                self.acknowledge(now, ack, ece);
                self.rtt.end_backoff();
                self.rearm(now);
            }
        } else if self.in_recovery {
            sack1.on_new_ack(board);
            self.in_recovery = false;
            self.recover = 0;
            self.acknowledge(now, ack, ece);
            self.rearm(now);
        } else if ack > una {
            sack1.on_new_ack(board);
            self.on_new_ack(now, ack, ece);
        } else if !sack1.is_deaf && board.report((ack, high), blocks, Misses::Packets, |_| ()).0 > 0 {
            self.dup_acks += 1;
            if self.dup_acks == DUP_THRESHOLD && self.may_fast_retransmit() {
                self.enter_recovery_as_sack1(now);
            }
        }
    }

    fn enter_recovery_as_sack1(&mut self, now: Instant) {
        let (una, outstanding) = (self.una, self.high - self.una);
        let Some((_, sack1)) = Self::parts(&mut self.board, &mut self.ns2) else { return };
        sack1.pipe = i64::from(outstanding) - i64::from(DUP_THRESHOLD);
        sack1.high_rxt = una + 1;
        self.counts.fast_retransmits += 1;
        if self.last_cut == Cut::Mark && una <= self.recover {
            // The mark has halved the window; `recover` stays.
            self.last_cut = Cut::FastRetransmit;
        } else {
            self.control.on_loss(&mut self.window);
            self.recover = self.high;
            self.note_cut(Cut::FastRetransmit, true);
        }
        self.in_recovery = true;
        self.timed = None;
        self.retransmit = Some(una);
        self.rearm(now);
    }
}
