//! Packet counters of each class at a link: one value for each row of its time series, counted since the previous row.
//! They begin with the run, not with the measurement window.

use forebay_aqm::base::time::{Instant, Span};

use crate::measure::bundles::Bundles;

/// Packets of a class between two rows of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets offered.
    pub offered: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// Packets whose transmission began.
    pub delivered: u32,
    /// Bytes of the packets delivered.
    pub bytes: u64,
    /// Sum of the sojourn times of the packets delivered.
    pub sojourn: Span,
}

/// The rows of the requested classes. An event is added to the row of its time, not to the latest row, because
/// drop-tail without events reports transmissions before their time.
#[derive(Clone, Debug)]
pub struct OverTime {
    sample: Span,
    rows: usize,
    classes: Vec<(u8, Vec<Tally>)>,
    bundles: Bundles,
}

impl OverTime {
    /// For each of `classes`: one row every `sample`, until `duration`.
    pub(crate) fn new(classes: &[u8], bundles: Bundles, duration: Span, sample: Span) -> Self {
        let sample = sample.max(Span::from_nanos(1));
        let rows = (duration.nanos() / sample.nanos()) as usize;
        Self { sample, rows, classes: classes.iter().map(|&class| (class, Vec::new())).collect(), bundles }
    }

    /// Adds an event of this bundle at time `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&mut self, at: Instant, bundle: u8, event: impl FnOnce(&mut Tally)) {
        if let Some(row) = self.row(at, self.bundles.class(bundle)) {
            event(row);
        }
    }

    /// The row for an event of this class at `at`. A row covers the time after the previous row up to and including
    /// its own time. `None` if the class was not requested, or after the last row.
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

    /// The rows of each class.
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
    fn row_counts_events_since_the_previous_row() {
        let mut over_time =
            OverTime::new(&[3, 1], Bundles::of(core::iter::empty()), Span::from_nanos(35), Span::from_nanos(10));
        for at in [0, 10, 11, 30, 31] {
            if let Some(tally) = over_time.row(Instant::from_nanos(at), 1) {
                tally.offered += 1;
            }
        }
        assert_eq!(over_time.row(Instant::from_nanos(5), 2), None, "class 2 was not requested");
        let rows = over_time.classes();
        let offered = |at: usize| rows[at].1.iter().map(|tally| tally.offered).collect::<Vec<_>>();
        assert_eq!((rows[0].0, offered(0)), (3, vec![0, 0, 0]));
        assert_eq!((rows[1].0, offered(1)), (1, vec![2, 1, 1]), "events after the last row are not counted");
    }
}
