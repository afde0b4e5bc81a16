//! What happened to the packets of some classes at a link, row by row of its series, from the start of the run on.

use forebay_aqm::base::time::{Instant, Span};

/// What happened to the packets of a class between two rows of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets offered.
    pub offered: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// Packets whose transmission began.
    pub delivered: u32,
    /// Their bytes.
    pub bytes: u64,
    /// How long they had waited together.
    pub sojourn: Span,
}

/// The rows of the classes that are asked for. Drop-tail as arithmetic books ahead of time, so an event goes to the
/// row of its own time and not to the latest one.
#[derive(Clone, Debug)]
pub struct OverTime {
    sample: Span,
    rows: usize,
    classes: Vec<(u8, Vec<Tally>)>,
}

impl OverTime {
    /// A row for each `sample` of `duration`, of each of these classes.
    pub fn new(classes: &[u8], duration: Span, sample: Span) -> Self {
        let sample = sample.max(Span::from_nanos(1));
        let rows = (duration.nanos() / sample.nanos()) as usize;
        Self { sample, rows, classes: classes.iter().map(|&class| (class, Vec::new())).collect() }
    }

    /// Notes an event of this class at `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&mut self, at: Instant, class: u8, event: impl FnOnce(&mut Tally)) {
        if let Some(row) = self.row(at, class) {
            event(row);
        }
    }

    /// The row that an event of this class at `at` belongs to: a row has what came after the one before and up to its
    /// own time. None where the class is not asked for, and after the last row.
    fn row(&mut self, at: Instant, class: u8) -> Option<&mut Tally> {
        let row = (at.nanos().saturating_sub(1) / self.sample.nanos()) as usize;
        if row >= self.rows {
            return None;
        }
        let (_, tallies) = self.classes.iter_mut().find(|(known, _)| *known == class)?;
        if row >= tallies.len() {
            tallies.resize(row + 1, Tally::default());
        }
        Some(&mut tallies[row])
    }

    /// All rows of each class.
    pub fn classes(&self) -> Vec<(u8, Vec<Tally>)> {
        let mut all = self.classes.clone();
        all.iter_mut().for_each(|(_, tallies)| tallies.resize(self.rows, Tally::default()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_came_since_the_one_before() {
        let mut over_time = OverTime::new(&[3, 1], Span::from_nanos(35), Span::from_nanos(10));
        for at in [0, 10, 11, 30, 31] {
            if let Some(tally) = over_time.row(Instant::from_nanos(at), 1) {
                tally.offered += 1;
            }
        }
        assert_eq!(over_time.row(Instant::from_nanos(5), 2), None, "nobody asked for class 2");
        let rows = over_time.classes();
        let offered = |at: usize| rows[at].1.iter().map(|tally| tally.offered).collect::<Vec<_>>();
        assert_eq!((rows[0].0, offered(0)), (3, vec![0, 0, 0]));
        assert_eq!((rows[1].0, offered(1)), (1, vec![2, 1, 1]), "after the last row nothing counts");
    }
}
