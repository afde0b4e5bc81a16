//! Recovery with selective acknowledgements as ns-2's `Sack1` has it (`tcp-sack1.cc`), older than RFC 6675.
//!
//! For the comparison with ns-2, where it tells what of a difference is the age of those rules:
//! - blocks are heard of only between two new acknowledgements, each of which clears the scoreboard, and not at all
//!   between a timeout and the next new acknowledgement;
//! - after a timeout everything from the first hole on is sent again in order, as without selective acknowledgements;
//! - in recovery every acknowledgement takes one packet out of the pipe, a new one two. A lost packet stays in it, and
//!   a hole needs no three packets reported above it;
//! - the acknowledgement that ends recovery leaves the window as it is.

use forebay_aqm::base::time::Instant;

use super::super::reports::Block;
use super::super::scoreboard::Misses;
use super::memory::{Sack1, Selective};
use super::{Cut, DUP_THRESHOLD, Sender};

impl Sender {
    pub(super) fn as_sack1(&self) -> Option<&Sack1> {
        self.selective.as_ref()?.sack1.as_ref()
    }

    pub(super) fn has_room_as_sack1(&self, sack1: &Sack1) -> bool {
        match self.in_recovery {
            true => sack1.pipe < self.window.cwnd() as i64,
            false => self.next.wrapping_sub(self.una) < self.allowed(),
        }
    }

    /// The next packet, assuming that there is room.
    pub(super) fn next_as_sack1(&mut self) -> Option<u32> {
        if !self.in_recovery {
            return self.next_in_order();
        }
        let new_data = self.has_data(self.next) && self.next - self.una < self.receiver_window;
        let Selective { board, sack1: Some(sack1), .. } = self.selective.as_deref_mut()? else { return None };
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
        let Some(Selective { board, sack1: Some(sack1), .. }) = self.selective.as_deref_mut() else { return };
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
        let Some(Selective { sack1: Some(sack1), .. }) = self.selective.as_deref_mut() else { return };
        sack1.pipe = i64::from(outstanding) - i64::from(DUP_THRESHOLD);
        sack1.high_rxt = una + 1;
        self.counts.fast_retransmits += 1;
        if self.last_cut == Cut::Mark && una <= self.recover {
            // The mark has halved the window, and `recover` stays where it put it.
            self.last_cut = Cut::FastRetransmit;
        } else {
            self.window.halve();
            self.recover = self.high;
            self.note_cut(Cut::FastRetransmit, true);
        }
        self.in_recovery = true;
        self.timed = None;
        self.retransmit = Some(una);
        self.rearm(now);
    }
}
