//! Selective acknowledgements at the receiver (RFC 2018): which runs of early packets to report.

use core::ops::Deref;

use super::bits::BitRing;

/// An option of 40 bytes with a timestamp in it has room for three blocks (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = 3;

/// A run of packets that have arrived beyond the next one expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Its first packet.
    pub start: u32,
    /// The packet after its last.
    pub end: u32,
}

/// The blocks that an acknowledgement carries; a slice of them.
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
    /// A packet of each run, the run that changed last at the end.
    recent: Vec<u32>,
    /// Of the last acknowledgement.
    last: Blocks,
}

impl Reports {
    /// Packet `seq` beyond `next` has arrived (again, perhaps): its run changed last.
    pub(super) fn note(&mut self, next: u32, seq: u32, early: &BitRing) {
        let run = run_around(next, seq, early);
        self.recent.retain(|other| !(run.start..run.end).contains(other));
        self.recent.push(seq);
    }

    /// Chooses the blocks of an acknowledgement that leaves now. False: it has none.
    ///
    /// RFC 2018 section 4: the first block is the run that the latest packet belongs to, the others those
    /// that were reported first most recently.
    pub(super) fn choose(&mut self, next: u32, early: &BitRing) -> bool {
        self.recent.retain(|&seq| seq > next);
        self.last = Blocks::default();
        for (block, &seq) in self.last.blocks.iter_mut().zip(self.recent.iter().rev()) {
            *block = run_around(next, seq, early);
            self.last.len += 1;
        }
        !self.last.is_empty()
    }

    /// Those chosen last.
    pub(super) const fn last(&self) -> Blocks {
        self.last
    }
}

fn run_around(next: u32, seq: u32, early: &BitRing) -> Block {
    // The next packet expected has not arrived: there is a hole below.
    let start = early.clear_up_to(seq, next).map_or(next, |hole| hole + 1);
    Block { start, end: early.clear_from(seq) }
}
