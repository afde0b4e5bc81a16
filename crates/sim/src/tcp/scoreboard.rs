//! The sender's record of selective acknowledgements (reports), and the choice of what to send next (RFC 6675).
//!
//! The RFC recomputes `pipe` at each acknowledgement. Here three counters give `pipe`: outstanding packets that are not
//! selectively acknowledged (holes), minus lost holes, plus retransmitted holes.
//!
//! The counters are updated when one of two bounds moves. A hole is lost (`IsLost`: three packets above it are
//! selectively acknowledged) if it is below the third highest of these packets. A hole has been retransmitted if it is
//! below `HighRxt`.

use super::bits::BitRing;
use super::reports::Block;
use super::state::Outstanding;

/// State of a scoreboard. Each bound is one above the last packet it includes; 0 means none.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Packets that the receiver has selectively acknowledged.
    sacked: BitRing,
    /// The three highest selectively acknowledged packets, highest first.
    highest: [u32; 3],
    /// Every hole below this packet number is lost.
    lost_below: u32,
    /// Number of holes below `lost_below`.
    lost: u32,
    /// Every hole below this packet number has been retransmitted (`HighRxt`).
    high_rxt: u32,
    /// Number of holes below `high_rxt`.
    retransmitted: u32,
    /// A rescue retransmission (rule 4 of `NextSeg`) is allowed when `una` is above this (`RescueRxt`).
    rescue: u32,
    /// One above the highest packet outstanding at the last timeout; no fast recovery before it is acknowledged.
    timeout_point: u32,
}

/// Which event counts as a sign that a hole (a packet that is not selectively acknowledged) is lost. Three signs make
/// it lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misses {
    /// Each packet above the hole that is selectively acknowledged (RFC 6675).
    Packets,
    /// Each acknowledgement that selectively acknowledges a new packet above the hole (RFC 9260 section 7.2.4).
    Acknowledgements,
    /// Like `Acknowledgements`, but this acknowledgement is a sign for every hole below the highest selectively
    /// acknowledged packet. RFC 9260 prescribes this in fast recovery for an acknowledgement that advances the
    /// cumulative acknowledgement.
    AllBelow,
}

/// State of the sender that `NextSeg` needs (RFC 6675 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// Lowest packet not acknowledged.
    pub(super) una: u32,
    /// One above the highest packet sent.
    pub(super) high: u32,
    /// Do application and receiver window allow new data?
    pub(super) new_data: bool,
    /// `Some` in fast recovery: recovery ends when all packets below this number are acknowledged. Rules 3 and 4 of
    /// `NextSeg` apply only in fast recovery.
    pub(super) recovery: Option<u32>,
    /// Does rule 1 of `NextSeg` (retransmit lost packets) apply always? If not, only in fast recovery and after a
    /// timeout.
    pub(super) repairs: bool,
}

impl Scoreboard {
    /// Packets between `una` and `high` estimated to be in the network (`SetPipe`).
    pub(super) const fn pipe(&self, una: u32, high: u32) -> u32 {
        high - una - self.sacked.len() - self.lost + self.retransmitted
    }

    /// What the scoreboard knows of the `sent` packets that are not cumulatively acknowledged.
    pub(super) const fn outstanding(&self, sent: u32) -> Outstanding {
        Outstanding { sent, reported: self.sacked.len(), lost: self.lost, repeated: self.retransmitted }
    }

    /// Is the first outstanding packet lost (`IsLost(HighACK + 1)`)?
    pub(super) const fn bottom_is_lost(&self, una: u32) -> bool {
        una < self.lost_below
    }

    /// Are packets still outstanding that were outstanding at the last timeout?
    pub(super) const fn after_timeout(&self, una: u32) -> bool {
        una < self.timeout_point
    }

    /// Removes all packets below `ack`, which are now acknowledged. Calls `arrived` for each that was not selectively
    /// acknowledged before.
    pub(super) fn advance(&mut self, una: u32, ack: u32, mut arrived: impl FnMut(u32)) {
        for seq in una..ack {
            if !self.sacked.remove(seq) {
                self.lost -= u32::from(seq < self.lost_below);
                self.retransmitted -= u32::from(seq < self.high_rxt);
                arrived(seq);
            }
        }
    }

    /// Adds the blocks of an acknowledgement. Returns the number of packets that they report for the first time, and
    /// the number of holes newly considered lost. Ignores blocks that start at or below `una` or end beyond `high`.
    pub(super) fn report(
        &mut self,
        (una, high): (u32, u32),
        blocks: &[Block],
        misses: Misses,
        mut arrived: impl FnMut(u32),
    ) -> (u32, u32) {
        let before = self.sacked.len();
        let mut newest = 0;
        let Self { sacked, highest, lost_below, lost, high_rxt, retransmitted, .. } = self;
        for block in blocks.iter().filter(|block| block.start > una && block.end <= high) {
            sacked.insert_run(una, block.start, block.end, |seq| {
                *lost -= u32::from(seq < *lost_below);
                *retransmitted -= u32::from(seq < *high_rxt);
                match misses {
                    Misses::Packets => rank(highest, seq + 1),
                    Misses::Acknowledgements | Misses::AllBelow => newest = newest.max(seq + 1),
                }
                arrived(seq);
            });
        }
        match misses {
            Misses::Packets => {}
            Misses::Acknowledgements => rank(highest, newest),
            Misses::AllBelow => rank(highest, newest.max(highest[0])),
        }
        // DupThresh = 3 packets reported above.
        let bound = self.highest[2].saturating_sub(1);
        let from = self.lost_below.max(una);
        let mut found = 0;
        if bound > from {
            found = self.sacked.count_clear(from, bound);
            self.lost += found;
            self.lost_below = bound;
        }
        (self.sacked.len() - before, found)
    }

    /// Fast recovery begins with the retransmission of `una` (RFC 6675 section 5, step 4.3).
    pub(super) fn enter_recovery(&mut self, una: u32) {
        self.high_rxt = una + 1;
        self.retransmitted = u32::from(self.hole_from(una) == una);
        self.rescue = una + 1;
    }

    /// Sets `HighRxt` to the cumulative acknowledgement (RFC 6675 section 5, step 3.1): no hole counts as
    /// retransmitted.
    pub(super) const fn forget_retransmissions(&mut self, una: u32) {
        self.high_rxt = una;
        self.retransmitted = 0;
    }

    /// Handles a timeout: discards all reports, because the receiver may have discarded the reported packets (RFC 2018
    /// section 8), and counts every outstanding packet as lost.
    pub(super) fn on_timeout(&mut self, una: u32, high: u32) {
        self.sacked.clear();
        self.highest = [0; 3];
        (self.lost_below, self.lost) = (high, high - una);
        self.forget_retransmissions(una);
        self.timeout_point = high;
    }

    /// Handles the expiry of T3-rtx, SCTP's retransmission timer (RFC 9260 section 6.3.3). Keeps the reports, because
    /// this receiver never discards reported packets. Counts every other outstanding packet as lost.
    pub(super) fn on_expiry(&mut self, una: u32, high: u32) {
        (self.lost_below, self.lost) = (high, high - una - self.sacked.len());
        self.forget_retransmissions(una);
        self.timeout_point = high;
    }

    /// The first lost hole that was not retransmitted. Counts it as retransmitted.
    pub(super) fn next_lost(&mut self, una: u32) -> Option<u32> {
        let hole = self.hole_from(self.high_rxt.max(una));
        (hole < self.lost_below).then(|| self.retransmit(hole))
    }

    /// `NextSeg`: the next packet to send. The caller has checked that the window has room.
    pub(super) fn next(&mut self, rules: Rules) -> Option<u32> {
        let Rules { una, high, new_data, recovery, repairs } = rules;
        let repairing = repairs || recovery.is_some() || self.after_timeout(una);
        // Rule 1: the first lost hole that was not retransmitted.
        if repairing && let Some(hole) = self.next_lost(una) {
            return Some(hole);
        }
        // Rule 2: new data.
        if new_data {
            return Some(high);
        }
        let recovery = recovery?;
        let hole = self.hole_from(self.high_rxt.max(una));
        // Rule 3: the first hole below any reported packet, lost or not.
        if hole + 1 < self.highest[0] {
            return Some(self.retransmit(hole));
        }
        // Rule 4: once per recovery, the highest packet not reported; it does not count as retransmitted.
        if una <= self.rescue {
            return None;
        }
        self.rescue = recovery;
        match self.highest[0] {
            top if top < high => Some(high - 1),
            top => self.sacked.clear_up_to(top - 1, una),
        }
    }

    /// The first hole at or above `seq` that is below a selectively acknowledged packet.
    pub(super) fn hole_below_reports(&self, seq: u32) -> Option<u32> {
        let hole = self.hole_from(seq);
        (hole < self.highest[0]).then_some(hole)
    }

    /// The first packet at or above `seq` that is not selectively acknowledged.
    fn hole_from(&self, seq: u32) -> u32 {
        if seq < self.highest[0] { self.sacked.clear_from(seq) } else { seq }
    }

    const fn retransmit(&mut self, hole: u32) -> u32 {
        self.high_rxt = hole + 1;
        self.retransmitted += 1;
        hole
    }
}

/// Inserts `bound`, one above a selectively acknowledged packet, into the three highest such numbers, highest first.
fn rank(highest: &mut [u32; 3], bound: u32) {
    if let Some(place) = highest.iter().position(|&other| other < bound) {
        highest[place..].rotate_right(1);
        highest[place] = bound;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Computes `IsLost`, `SetPipe` and `NextSeg` as RFC 6675 defines them, from all packets at each call.
    #[derive(Default)]
    struct Literal {
        sacked: BTreeSet<u32>,
        high_rxt: u32,
    }

    impl Literal {
        fn is_lost(&self, seq: u32) -> bool {
            self.sacked.range(seq + 1..).count() >= 3
        }

        fn pipe(&self, una: u32, high: u32) -> u32 {
            let holes = (una..high).filter(|seq| !self.sacked.contains(seq));
            holes.map(|seq| u32::from(!self.is_lost(seq)) + u32::from(seq < self.high_rxt)).sum()
        }

        fn next(&mut self, rules: Rules) -> Option<u32> {
            let top = self.sacked.last().copied().unwrap_or(0);
            let from = self.high_rxt.max(rules.una);
            let holes = || (from..top).filter(|seq| !self.sacked.contains(seq));
            let first = holes().find(|&seq| self.is_lost(seq));
            let (hole, any) = (first, holes().next());
            if hole.is_none() && rules.new_data {
                return Some(rules.high);
            }
            let seq = hole.or(any)?;
            self.high_rxt = seq + 1;
            Some(seq)
        }
    }

    proptest! {
        /// A window in recovery with random losses and reports in any order.
        #[test]
        fn pipe_and_next_packet_match_literal_rfc_6675(
            steps in prop::collection::vec((0u32..90, 1u32..6, 0u32..4, any::<bool>()), 1..80)
        ) {
            let (mut board, mut literal) = (Scoreboard::default(), Literal::default());
            let (mut una, mut high) = (0u32, 100u32);
            board.enter_recovery(una);
            literal.high_rxt = una + 1;
            for (offset, length, advance, new_data) in steps {
                let start = una + 1 + offset;
                let block = Block { start, end: (start + length).min(high) };
                if block.start < block.end {
                    let fresh = (block.start..block.end).filter(|&seq| literal.sacked.insert(seq)).count() as u32;
                    prop_assert_eq!(board.report((una, high), &[block], Misses::Packets, |_| ()).0, fresh);
                }
                prop_assert_eq!(board.pipe(una, high), literal.pipe(una, high));
                prop_assert_eq!(board.bottom_is_lost(una), !literal.sacked.contains(&una) && literal.is_lost(una));

                // The literal model has no rescue retransmission: keep `una` at or below `rescue` to disable it.
                let rules = Rules { una, high, new_data, recovery: Some(high), repairs: false };
                board.rescue = high;
                let sent = board.next(rules);
                prop_assert_eq!(sent, literal.next(rules));
                high += u32::from(sent == Some(high));
                prop_assert_eq!(board.pipe(una, high), literal.pipe(una, high));

                // The first outstanding packet is always a hole.
                let ack = (una + advance..high).find(|seq| !literal.sacked.contains(seq)).unwrap_or(high);
                let mut arrived = Vec::new();
                board.advance(una, ack, |seq| arrived.push(seq));
                prop_assert_eq!(arrived, (una..ack).filter(|seq| !literal.sacked.contains(seq)).collect::<Vec<_>>());
                literal.sacked = literal.sacked.split_off(&ack);
                una = ack;
            }
        }
    }
}
