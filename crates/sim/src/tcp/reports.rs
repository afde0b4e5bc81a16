//! Selective acknowledgements at the receiver (RFC 2018): the choice of blocks to report.

use core::ops::Deref;

use super::bits::BitRing;

/// Three blocks fit into a 40-byte option space that also has a timestamp (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = 3;

/// A run of consecutive packets that were received above the next expected packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First packet of the run.
    pub start: u32,
    /// One above the last packet of the run.
    pub end: u32,
}

/// The blocks of an acknowledgement; derefs to a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocks {
    blocks: [Block; MAX_BLOCKS],
    len: u8,
}

impl Deref for Blocks {
    type Target = [Block];

    #[inline]
    fn deref(&self) -> &[Block] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// Chooses the blocks of acknowledgements.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// One packet of each run; the run that changed most recently comes last.
    recent: Vec<u32>,
    /// Blocks of the latest acknowledgement.
    last: Blocks,
}

impl Reports {
    /// Records the arrival of packet `seq` above `next`, possibly a duplicate. Its run of consecutive packets is now
    /// the latest to change.
    pub(super) fn note(&mut self, next: u32, seq: u32, early: &BitRing) {
        let run = run_around(next, seq, early);
        self.recent.retain(|other| !(run.start..run.end).contains(other));
        self.recent.push(seq);
    }

    /// Does packet `seq`, which arrives above `next`, belong to or extend one of the two runs that changed most recently?
    /// Also true if there are fewer than two runs.
    pub(super) fn is_recent(&self, next: u32, seq: u32, early: &BitRing) -> bool {
        let mut runs = self.recent.iter().rev().filter(|&&seq| seq > next).map(|&seq| run_around(next, seq, early));
        let (Some(latest), Some(other)) = (runs.next(), runs.next()) else { return true };
        [latest, other].iter().any(|run| run.start <= seq + 1 && seq <= run.end)
    }

    /// Chooses the blocks of an acknowledgement sent now. Returns false if there are none.
    ///
    /// RFC 2018 section 4: the first block is the run with the latest packet; the others are the most recently
    /// reported first blocks. RFC 2883 section 4: a packet that arrived twice, `duplicate`, goes first.
    pub(super) fn choose(&mut self, next: u32, early: &BitRing, duplicate: Option<Block>) -> bool {
        self.recent.retain(|&seq| seq > next);
        self.last = Blocks::default();
        let runs = self.recent.iter().rev().map(|&seq| run_around(next, seq, early));
        for (place, block) in self.last.blocks.iter_mut().zip(duplicate.into_iter().chain(runs)) {
            *place = block;
            self.last.len += 1;
        }
        !self.last.is_empty()
    }

    /// The blocks chosen most recently.
    pub(super) const fn last(&self) -> Blocks {
        self.last
    }
}

fn run_around(next: u32, seq: u32, early: &BitRing) -> Block {
    // `next` has not arrived, so that there is a hole below the run.
    let start = early.clear_up_to(seq, next).map_or(next, |hole| hole + 1);
    Block { start, end: early.clear_from(seq) }
}
