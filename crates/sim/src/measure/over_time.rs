//! Packet counters at a link, one value for each row of its time series, counted since the previous row: of every
//! bundle (group of flows that are measured together), and in more detail of requested service classes. They begin with
//! the run, not with the measurement window.

use forebay_aqm::base::time::{Instant, Span};

use crate::measure::bundles::Bundles;

/// Packets of a bundle that a link served between two rows of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Packets whose transmission began.
    pub pkts: u32,
    /// Bytes of the packets whose transmission began.
    pub bytes: u64,
    /// Sum of the sojourn times of the packets whose transmission began.
    pub sojourn: Span,
}

impl Service {
    /// Adds the packets of `other`.
    pub fn absorb(&mut self, other: &Self) {
        self.pkts += other.pkts;
        self.bytes += other.bytes;
        self.sojourn = self.sojourn + other.sojourn;
    }
}

/// The rows of the time series of served packets, by bundle. Transmissions of a link begin in order of time, so that
/// only the current row changes.
#[derive(Clone, Debug)]
pub struct Served {
    sample: Span,
    /// Number of the current row.
    row: usize,
    /// End of the current row, which is part of it.
    ends: Instant,
    /// The current row, by bundle.
    current: Vec<Service>,
    /// The rows before it, by bundle, up to the last row with packets.
    past: Vec<Vec<Service>>,
}

impl Served {
    /// Counters without rows; each row covers the time `sample`.
    pub(crate) fn new(sample: Span) -> Self {
        let sample = sample.max(Span::from_nanos(1));
        Self { sample, row: 0, ends: Instant::ZERO + sample, current: Vec::new(), past: Vec::new() }
    }

    /// A packet of `bundle` with `len` bytes that waited `sojourn` begins its transmission at `at`.
    #[inline]
    pub(crate) fn add(&mut self, at: Instant, bundle: u8, len: u16, sojourn: Span) {
        if at > self.ends {
            self.turn(at);
        }
        let bundle = usize::from(bundle);
        if bundle >= self.current.len() {
            self.grow(bundle);
        }
        self.current[bundle].absorb(&Service { pkts: 1, bytes: u64::from(len), sojourn });
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bundle: usize) {
        self.current.resize(bundle + 1, Service::default());
        self.past.resize(bundle + 1, Vec::new());
    }

    /// Begins the row of time `at`, which is after the current row.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, at: Instant) {
        self.keep();
        self.row = row(at, self.sample);
        self.ends = Instant::from_nanos((self.row as u64 + 1).saturating_mul(self.sample.nanos()));
    }

    /// Stores the current row.
    fn keep(&mut self) {
        for (service, past) in self.current.iter_mut().zip(&mut self.past) {
            if service.pkts > 0 {
                past.resize(past.len().max(self.row + 1), Service::default());
                past[self.row].absorb(&core::mem::take(service));
            }
        }
    }

    /// Joins each pair of rows: the time between rows doubles. The number of rows so far is even.
    pub(crate) fn thin(&mut self) {
        self.keep();
        let join = |pair: &[Service]| {
            pair.iter().fold(Service::default(), |mut sum, service| {
                sum.absorb(service);
                sum
            })
        };
        self.past.iter_mut().for_each(|past| *past = past.chunks(2).map(join).collect());
        self.sample = self.sample * 2;
        self.row /= 2;
    }

    /// The first `rows` rows of each bundle that was served.
    pub(crate) fn bundles(&self, rows: usize) -> Vec<(u8, Vec<Service>)> {
        let mut all = self.clone();
        all.keep();
        let complete = |(bundle, mut past): (usize, Vec<Service>)| {
            past.resize(rows, Service::default());
            (bundle as u8, past)
        };
        all.past.into_iter().enumerate().filter(|(_, past)| !past.is_empty()).map(complete).collect()
    }
}

/// The row of time `at`. A row covers the time after the previous row up to and including its own time.
pub(crate) const fn row(at: Instant, sample: Span) -> usize {
    (at.nanos().saturating_sub(1) / sample.nanos()) as usize
}

/// Packets of a service class between two rows of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that arrived at the link.
    pub offered: u32,
    /// Packets dropped early or at a full buffer.
    pub dropped: u32,
    /// Packets whose transmission began.
    pub served: Service,
}

/// The time series of the requested service classes. An event is added to the row of its time, not to the latest row,
/// because drop-tail without events reports transmissions before their time.
#[derive(Clone, Debug)]
pub struct OverTime {
    sample: Span,
    rows: usize,
    classes: Vec<(u8, Vec<Tally>)>,
    bundles: Bundles,
}

impl OverTime {
    /// A time series for each of `classes`: one row every `sample`, until `duration`.
    pub(crate) fn new(classes: &[u8], bundles: Bundles, duration: Span, sample: Span) -> Self {
        let sample = sample.max(Span::from_nanos(1));
        let rows = (duration.nanos() / sample.nanos()) as usize;
        Self { sample, rows, classes: classes.iter().map(|&class| (class, Vec::new())).collect(), bundles }
    }

    /// Counts a packet of this bundle that was offered or dropped at time `at`. `event` adds 1 to the counter.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&mut self, at: Instant, bundle: u8, event: impl FnOnce(&mut Tally)) {
        if let Some(row) = self.row(at, self.bundles.class(bundle)) {
            event(row);
        }
    }

    /// The row for an event of this class at `at`. `None` if the class was not requested, or after the last row.
    fn row(&mut self, at: Instant, class: u8) -> Option<&mut Tally> {
        let row = row(at, self.sample);
        if row >= self.rows {
            return None;
        }
        let (_, tallies) = self.classes.iter_mut().find(|(known, _)| *known == class)?;
        if row >= tallies.len() {
            tallies.resize(row + 1, Tally::default());
        }
        Some(&mut tallies[row])
    }

    /// The rows of each class, with the `served` packets of its bundles.
    pub(crate) fn classes(&self, served: &[(u8, Vec<Service>)]) -> Vec<(u8, Vec<Tally>)> {
        let mut all = self.classes.clone();
        for (class, tallies) in &mut all {
            tallies.resize(self.rows, Tally::default());
            for (_, rows) in served.iter().filter(|(bundle, _)| self.bundles.class(*bundle) == *class) {
                tallies.iter_mut().zip(rows).for_each(|(tally, service)| tally.served.absorb(service));
            }
        }
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
        let rows = over_time.classes(&[(1, vec![Service { pkts: 2, ..Service::default() }])]);
        assert_eq!(rows[1].1[0].served.pkts, 2);
        let offered = |at: usize| rows[at].1.iter().map(|tally| tally.offered).collect::<Vec<_>>();
        assert_eq!((rows[0].0, offered(0)), (3, vec![0, 0, 0]));
        assert_eq!((rows[1].0, offered(1)), (1, vec![2, 1, 1]), "events after the last row are not counted");
    }

    #[test]
    fn departures_of_each_bundle_are_counted_per_row() {
        let nanos = Span::from_nanos;
        let mut served = Served::new(nanos(10));
        for (at, bundle) in [(0, 2), (10, 2), (11, 0), (30, 2), (31, 2), (99, 0)] {
            served.add(Instant::from_nanos(at), bundle, 100, nanos(at));
        }
        let service = |pkts, sojourn| Service { pkts, bytes: u64::from(pkts) * 100, sojourn: nanos(sojourn) };
        let none = Service::default();
        let want = [(0, vec![none, service(1, 11), none]), (2, vec![service(2, 10), none, service(1, 30)])];
        assert_eq!(served.bundles(3), want, "events after the last row are not counted, bundle 1 has none");
        served.thin();
        let want = [(0, vec![service(1, 11), none]), (2, vec![service(2, 10), service(2, 61)])];
        assert_eq!(served.bundles(2), want, "rows of 20 ns");
    }
}
