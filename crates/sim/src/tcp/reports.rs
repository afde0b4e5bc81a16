//! Selective acknowledgements at the receiver (RFC 2018): which runs of early packets to report.

use std::collections::VecDeque;

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

/// The blocks of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    blocks: [Block; MAX_BLOCKS],
    len: u8,
}

/// Chooses blocks, and keeps those of the acknowledgements that are on their way.
///
/// A segment has no room for blocks, so an acknowledgement carries a ticket. Acknowledgements of a connection
/// arrive in the order in which they were sent, if at all: whoever collects a report discards all older ones,
/// and nothing is kept for an acknowledgement that was lost. One that is overtaken all the same arrives
/// without its blocks; newer ones repeated them.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// A packet of each run, the run that changed last at the end.
    recent: Vec<u32>,
    kept: VecDeque<Report>,
    /// Ticket of the first report kept; tickets begin at 1.
    first: u32,
}

impl Reports {
    pub(super) fn new() -> Self {
        Self { first: 1, ..Self::default() }
    }

    /// Packet `seq` beyond `next` has arrived (again, perhaps): its run changed last.
    pub(super) fn note(&mut self, next: u32, seq: u32, early: &BitRing) {
        let run = run_around(next, seq, early);
        self.recent.retain(|other| !(run.start..run.end).contains(other));
        self.recent.push(seq);
    }

    /// The ticket of a report as of now; 0 if there is nothing to report.
    ///
    /// RFC 2018 section 4: the first block is the run that the latest packet belongs to, the others those
    /// that were reported first most recently.
    pub(super) fn ticket(&mut self, next: u32, early: &BitRing) -> u32 {
        self.recent.retain(|&seq| seq > next);
        if self.recent.is_empty() {
            return 0;
        }
        let mut report = Report::default();
        for (block, &seq) in report.blocks.iter_mut().zip(self.recent.iter().rev()) {
            *block = run_around(next, seq, early);
            report.len += 1;
        }
        self.kept.push_back(report);
        self.first + self.kept.len() as u32 - 1
    }

    /// The blocks of the acknowledgement with this ticket, which has arrived.
    pub(super) fn collect(&mut self, ticket: u32) -> &[Block] {
        while self.first < ticket && self.kept.pop_front().is_some() {
            self.first += 1;
        }
        match self.kept.front() {
            Some(report) if self.first == ticket => &report.blocks[..usize::from(report.len)],
            _ => &[],
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }
}

fn run_around(next: u32, seq: u32, early: &BitRing) -> Block {
    // The next packet expected has not arrived: there is a hole below.
    let start = early.clear_up_to(seq, next).map_or(next, |hole| hole + 1);
    Block { start, end: early.clear_from(seq) }
}
