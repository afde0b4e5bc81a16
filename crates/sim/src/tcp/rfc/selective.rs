//! Recovery with selective acknowledgements: RFC 6675, and RFC 9260 for SCTP.
//!
//! A loss reduces the window at once, and sending resumes when enough packets have left the network. There is no
//! proportional rate reduction (RFC 6937). A lost retransmission is repaired only by the timer.

use forebay_aqm::base::time::{Instant, Span};

use super::super::accecn::Accurate;
use super::super::congestion::{Acked, CongestionControl, Feedback, PathModel, Progress, Recovery, Sent};
use super::super::receiver::Ack;
use super::super::reports::Block;
use super::super::scoreboard::{Misses, Rules};
use super::{Cut, DUP_THRESHOLD, Sender};

impl Sender {
    /// Packets estimated to be in the network; without selective acknowledgements, all outstanding packets.
    pub(in super::super) fn in_flight(&self) -> u32 {
        match &self.board {
            Some(board) => board.pipe(self.una, self.high),
            None => self.high - self.una,
        }
    }

    /// The congestion control's estimate of the fraction of marked packets, 0 to 1, if it has one.
    pub(in super::super) fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }

    /// The congestion control's model of the path, if it has one.
    pub(in super::super) fn path_model(&self) -> Option<PathModel> {
        self.control.path_model()
    }

    fn counts_misses(&self) -> bool {
        self.recovery == Recovery::MissReports
    }

    /// RFC 6675 section 5, step C: is the window at least one packet larger than the pipe? Without limited transmit,
    /// selectively acknowledged packets count as outstanding until recovery begins.
    pub(super) fn has_room_selective(&self) -> bool {
        if let Some(sack1) = self.as_sack1() {
            return self.has_room_as_sack1(sack1);
        }
        if self.counts_misses() {
            // RFC 9260 section 6.1, rules B and D: while less than the window is in flight, a full packet may be sent.
            let in_flight = self.in_flight();
            return f64::from(in_flight) < self.window.cwnd() && self.burst_allows(in_flight);
        }
        let counts_all = !self.limited_transmit && !self.in_recovery && !self.after_timeout();
        let outstanding = if counts_all { self.high - self.una } else { self.in_flight() };
        f64::from(outstanding) + 1.0 <= self.window.cwnd() && self.burst_allows(outstanding)
    }

    /// Does the congestion control's limit on the packets in flight allow another one?
    pub(super) fn burst_allows(&self, in_flight: u32) -> bool {
        self.control.burst_limit().is_none_or(|limit| in_flight < limit)
    }

    fn after_timeout(&self) -> bool {
        self.board.as_ref().is_some_and(|board| board.after_timeout(self.una))
    }

    #[inline(never)]
    pub(super) fn next_selective(&mut self) -> Option<u32> {
        if !self.has_room_selective() {
            return None;
        }
        if self.as_sack1().is_some() {
            return self.next_as_sack1();
        }
        let has_data = self.has_data(self.high);
        // RFC 9260 section 6.1 rule C: lost packets go before new data, at any time; nothing else is retransmitted.
        let repairs = self.counts_misses();
        let rules = Rules {
            una: self.una,
            high: self.high,
            new_data: has_data && self.high - self.una < self.receiver_window,
            recovery: (self.in_recovery && !repairs).then_some(self.recover),
            repairs,
        };
        let board = self.board.as_deref_mut()?;
        let next = board.next(rules);
        if next.is_none() && !has_data && self.tracks_packets {
            self.control.on_out_of_data(board.pipe(self.una, self.high));
        }
        next
    }

    /// Notifies the congestion control of packet `seq` before it is sent. A retransmission is already counted as in
    /// flight.
    #[inline(never)]
    pub(super) fn before_sending(&mut self, now: Instant, seq: u32) {
        let (una, again) = (self.una, seq < self.high);
        let in_flight = self.in_flight().saturating_sub(u32::from(again));
        self.control.on_sent(Sent { now, seq, una, in_flight, again });
    }

    /// Handles an acknowledgement with selective blocks. Of an acknowledgement older than one already received, only
    /// the blocks are used (RFC 6675 section 5: "any ACK containing SACK information"), not the ECN-Echo. SCTP (RFC
    /// 9260 section 6.2.1) and ns-2's Sack1 ignore an old one completely.
    #[inline(never)]
    pub(super) fn on_selective_ack(&mut self, now: Instant, ack: Ack, blocks: &[Block]) {
        let Ack { next: ack, ece, echoes, .. } = ack;
        let is_late = ack < self.una;
        if is_late && (blocks.is_empty() || self.counts_misses() || self.as_sack1().is_some()) {
            return;
        }
        if self.as_sack1().is_some() {
            self.on_ack_as_sack1(now, ack, ece, blocks);
            return;
        }
        let ack = ack.max(self.una);
        let (una, acked, outstanding) = (self.una, ack - self.una, self.high - self.una);
        let (Some(board), control) = (self.board.as_deref_mut(), &mut self.control) else { return };
        let before = board.pipe(una, self.high);
        let was_repairing = self.in_recovery || board.after_timeout(una);
        let mut delivered = 0;
        board.advance(una, ack, |seq| {
            delivered += 1;
            control.on_delivered(now, seq);
        });
        let timed = self.timed;
        let mut timed_arrived = false;
        let misses = match self.recovery {
            Recovery::MissReports if self.in_recovery && acked > 0 => Misses::AllBelow,
            Recovery::MissReports => Misses::Acknowledgements,
            _ => Misses::Packets,
        };
        let (reported, lost) = board.report((ack, self.high), blocks, misses, |seq| {
            timed_arrived |= timed.is_some_and(|(timed, _)| timed == seq);
            control.on_delivered(now, seq);
        });
        delivered += reported;
        let accurate = echoes.accurate();
        let marked = self.count_marks(accurate, delivered, ece && !is_late);
        let ece = (ece && !is_late) || (accurate.is_some() && marked > 0 && self.ecn);
        self.control.on_feedback(Feedback { delivered, marked, una: ack, high: self.high });
        echoes.delay().into_iter().for_each(|delay| self.control.on_delay(now, delay));
        if timed_arrived && let Some((_, sent)) = self.timed.take() {
            // Repairs of earlier packets can take long and would distort the round-trip time.
            self.measure(sent, now);
        }
        if !self.mark_prolongs_recovery() {
            // Check before a mark moves `recover`.
            self.in_recovery &= ack < self.recover;
        }
        if ece {
            self.on_mark(now, ack);
        }
        if acked > 0 {
            self.acknowledge(now, ack, ece);
        }
        self.in_recovery &= ack < self.recover;
        if was_repairing && !self.in_recovery && !self.after_timeout() {
            self.control.on_recovered(&mut self.window);
        }
        // RFC 6675 section 2: an acknowledgement that reports something new is a duplicate acknowledgement.
        if reported > 0 && !self.in_recovery && !self.after_timeout() {
            if !self.counts_misses() {
                self.on_report(now);
            } else if lost > 0 {
                self.on_miss(now);
            }
        }
        if acked > 0 && !self.in_recovery && !ece {
            let limited = self.is_application_limited(outstanding);
            self.used(now, delivered, limited);
        }
        if acked > 0 {
            self.rearm(now);
        }
        let progress = Progress {
            now,
            in_flight: (before, self.in_flight()),
            lost,
            delivered,
            marked,
            is_done: ack == self.high,
            una: self.una,
            high: self.high,
            srtt: self.rtt.precise(),
            is_limited: !self.is_application_limited(outstanding),
            pause: Span::ZERO,
        };
        self.control.after_ack(&mut self.window, progress);
    }

    /// Number of packets that an acknowledgement of `delivered` packets is the first to report as marked.
    fn count_marks(&mut self, accurate: Option<Accurate>, delivered: u32, ece: bool) -> u32 {
        match accurate {
            Some(feedback) if delivered > 0 => self.marks.decode(feedback, delivered),
            None if ece => delivered,
            Some(_) | None => 0,
        }
    }

    /// An acknowledgement of `packets` outside of recovery, without ECN-Echo.
    #[inline(never)]
    pub(super) fn used(&mut self, now: Instant, packets: u32, limited: bool) {
        if limited && !self.control.is_validated(&self.window) {
            self.control.on_application_limited(now);
        } else {
            let acked = Acked { now, packets, srtt: self.rtt.precise() };
            self.control.on_ack(&mut self.window, acked);
        }
    }

    /// RFC 9260 section 7.2.4, outside of recovery: sends at once the first packet reported missing three times that
    /// was not retransmitted. If it is the first outstanding packet, T3-rtx restarts.
    fn on_miss(&mut self, now: Instant) {
        let Some(hole) = self.board.as_mut().and_then(|board| board.next_lost(self.una)) else { return };
        self.control.on_loss(&mut self.window);
        self.counts.fast_retransmits += 1;
        self.recover = self.high;
        self.note_cut(Cut::FastRetransmit, true);
        self.in_recovery = true;
        self.retransmit = Some(hole);
        if hole == self.una {
            self.rearm(now);
        }
    }

    /// Handles an acknowledgement that selectively acknowledges a new packet, outside of recovery: RFC 6675 section 5,
    /// steps 1 to 4.
    fn on_report(&mut self, now: Instant) {
        self.dup_acks += 1;
        // A mark has already reduced the window for packets sent before it.
        let of_marked_window = self.una < self.recover + u32::from(self.cwr_packet_is_of_marked_window());
        let is_reduced = self.mark_counts_as_loss() && of_marked_window;
        let Some(board) = &mut self.board else { return };
        if self.dup_acks < DUP_THRESHOLD && !board.bottom_is_lost(self.una) {
            board.forget_retransmissions(self.una);
            return;
        }
        self.counts.fast_retransmits += 1;
        if !is_reduced {
            self.control.on_loss(&mut self.window);
        }
        board.enter_recovery(self.una);
        self.recover = self.high;
        self.note_cut(Cut::FastRetransmit, !is_reduced || self.loss_after_mark_sends_cwr());
        self.in_recovery = true;
        self.timed = None;
        self.retransmit = Some(self.una);
        self.rearm(now);
    }
}
