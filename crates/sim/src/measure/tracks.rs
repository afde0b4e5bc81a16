//! Time series of chosen sets of flows: windows and packets in flight of the senders, round-trip times, and what
//! reached the receivers.

use forebay_aqm::base::time::{Instant, Span};

use crate::measure::outcome::TrackRow;
use crate::measure::over_time::row;

/// The time series of each set of flows.
pub struct Tracks {
    sample: Span,
    /// Maximum number of rows, even: when it is reached, pairs of rows are joined. `None`: no maximum.
    most: Option<usize>,
    rows: Vec<Vec<TrackRow>>,
    /// The sets of each flow; empty without sets.
    of: Vec<Vec<usize>>,
}

impl Tracks {
    /// Rows every `sample` for each of `sets`, which have indexes of `flows` flows. `most`: maximum number of rows.
    pub fn new(sets: &[Vec<usize>], flows: usize, (sample, most): (Span, Option<usize>)) -> Self {
        let mut of = if sets.is_empty() { Vec::new() } else { vec![Vec::new(); flows] };
        for (set, members) in sets.iter().enumerate() {
            members.iter().for_each(|&flow| of[flow].push(set));
        }
        let (sample, most) = (sample.max(Span::from_nanos(1)), most.map(|most| most.max(2) & !1));
        Self { sample, most, rows: vec![Vec::new(); sets.len()], of }
    }

    /// Is the flow in a set?
    pub fn has(&self, flow: usize) -> bool {
        self.of.get(flow).is_some_and(|sets| !sets.is_empty())
    }

    /// The row of time `at` of a set.
    pub(crate) fn at(&mut self, set: usize, at: Instant) -> &mut TrackRow {
        while self.most.is_some_and(|most| row(at, self.sample) >= most) {
            self.thin();
        }
        let row = row(at, self.sample);
        let rows = &mut self.rows[set];
        if row >= rows.len() {
            rows.resize(row + 1, TrackRow::default());
        }
        &mut rows[row]
    }

    /// Joins pairs of rows: the time between rows doubles.
    fn thin(&mut self) {
        let join = |pair: &[TrackRow]| pair.iter().skip(1).fold(pair[0], |first, second| first.then(second));
        self.rows.iter_mut().for_each(|rows| *rows = rows.chunks(2).map(join).collect());
        self.sample = self.sample * 2;
    }

    fn note(&mut self, flow: usize, at: Instant, event: impl Fn(&mut TrackRow)) {
        let sets = self.of.get(flow).map_or(0, Vec::len);
        for n in 0..sets {
            let set = self.of[flow][n];
            event(self.at(set, at));
        }
    }

    /// The flow's sender has measured this round-trip time.
    pub fn round_trip(&mut self, flow: usize, at: Instant, rtt: Span) {
        self.note(flow, at, |row| {
            row.rtts += 1;
            row.rtt = row.rtt + rtt;
        });
    }

    /// At `at`, a row of the time series, the flow's sender has this congestion window and this number of packets in
    /// flight. One call for each sender that has started and not stopped.
    pub fn sender(&mut self, flow: usize, at: Instant, cwnd_pkts: f64, inflight_pkts: u64) {
        self.note(flow, at, |row| {
            row.senders += 1;
            row.cwnd_pkts += cwnd_pkts;
            row.inflight_pkts += inflight_pkts;
        });
    }

    /// A data packet of the flow has reached its receiver at `at`, perhaps ahead of the simulation.
    #[cold]
    #[inline(never)]
    pub fn arrived(&mut self, flow: usize, at: Instant, len: u16, delay: Span) {
        self.note(flow, at, |row| {
            row.pkts += 1;
            row.bytes += u64::from(len);
            row.delay = row.delay + delay;
        });
    }

    /// The first `rows` rows of each set, `sample` apart: the time between rows at the start, or that after joining.
    pub fn finish(mut self, rows: usize, sample: Span) -> Vec<Vec<TrackRow>> {
        while self.sample < sample {
            self.thin();
        }
        let complete = |mut all: Vec<TrackRow>| {
            all.resize(rows, TrackRow::default());
            all
        };
        self.rows.into_iter().map(complete).collect()
    }
}

impl TrackRow {
    /// This row and the next one as one row: the state of the senders is that of the next.
    fn then(self, next: &Self) -> Self {
        Self {
            rtts: self.rtts + next.rtts,
            rtt: self.rtt + next.rtt,
            pkts: self.pkts + next.pkts,
            bytes: self.bytes + next.bytes,
            delay: self.delay + next.delay,
            ..*next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn flow_in_several_sets_counts_in_each() {
        let nanos = Span::from_nanos;
        let mut tracks = Tracks::new(&[vec![0, 2], vec![2]], 3, (nanos(10), None));
        assert_eq!([0, 1, 2].map(|flow| tracks.has(flow)), [true, false, true]);
        tracks.arrived(0, at(10), 100, nanos(4));
        tracks.arrived(2, at(11), 50, nanos(6));
        tracks.arrived(1, at(11), 9, nanos(9));
        tracks.round_trip(2, at(30), nanos(7));
        let pkts = |rows: &[TrackRow]| rows.iter().map(|row| (row.pkts, row.bytes, row.rtts)).collect::<Vec<_>>();
        let rows = tracks.finish(3, nanos(10));
        assert_eq!(pkts(&rows[0]), [(1, 100, 0), (1, 50, 0), (0, 0, 1)]);
        assert_eq!(pkts(&rows[1]), [(0, 0, 0), (1, 50, 0), (0, 0, 1)]);
    }

    #[test]
    fn reaching_the_row_limit_doubles_row_interval() {
        let nanos = Span::from_nanos;
        let mut tracks = Tracks::new(&[vec![0]], 1, (nanos(10), Some(4)));
        [5, 15, 25, 35].into_iter().for_each(|time| tracks.arrived(0, at(time), 1, nanos(time)));
        tracks.at(0, at(35)).senders = 3;
        tracks.arrived(0, at(41), 1, nanos(0));
        let rows = tracks.finish(3, nanos(20));
        assert_eq!(rows[0].iter().map(|row| row.pkts).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!((rows[0][1].senders, rows[0][1].delay), (3, nanos(60)));
        let tracks = Tracks::new(&[vec![0]], 1, (nanos(10), Some(4)));
        assert_eq!(tracks.finish(2, nanos(20))[0].len(), 2, "joined although nothing came after");
    }
}
