//! Measurements of a link under study. Updated per packet, without sampling and allocation. The window is the part of
//! the run after the warm-up. A bundle is a group of flows that are measured together; all have the same service class.

use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};

use crate::measure::histogram::{Histogram, Summary};
use crate::measure::over_time::{OverTime, Served, Service, Tally};

/// The measurement window: the time in which the counters of a run count.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its start, the end of the warm-up.
    pub from: Instant,
    /// Its end, the end of the run.
    pub to: Instant,
}

impl Window {
    /// The window after `warmup` in a run of this `duration`.
    pub(crate) fn new(warmup: Span, duration: Span) -> Self {
        Self { from: Instant::ZERO + warmup, to: Instant::ZERO + duration }
    }

    /// The part of [from, to) inside the window.
    pub(crate) fn overlap(&self, from: Instant, to: Instant) -> Span {
        to.min(self.to).since(from.max(self.from))
    }
}

/// Time spent at each queue length in packets.
#[derive(Clone, Debug, Default)]
pub struct QueueTimes {
    times: Vec<Span>,
}

impl QueueTimes {
    #[inline]
    fn add(&mut self, pkts: u32, time: Span) {
        let at = pkts as usize;
        if at >= self.times.len() {
            self.times.resize(at + 64, Span::ZERO);
        }
        self.times[at] = self.times[at] + time;
    }

    /// Fraction of the time at each length, from 0 to the longest.
    pub fn shares(&self) -> Vec<f64> {
        let total: u64 = self.times.iter().map(|time| time.nanos()).sum();
        let longest = self.times.iter().rposition(|&time| time > Span::ZERO).map_or(0, |i| i + 1);
        self.times[..longest].iter().map(|time| time.nanos() as f64 / total.max(1) as f64).collect()
    }

    /// Time-weighted mean, standard deviation and percentiles in packets.
    pub fn summary(&self) -> Summary {
        let shares = self.shares();
        let moment = |k: u32| shares.iter().enumerate().map(|(q, s)| s * (q as f64).powi(k as i32)).sum::<f64>();
        let quantile = |share: f64| {
            let mut below = 0.0;
            let at = shares.iter().position(|s| {
                below += s;
                below >= share
            });
            at.unwrap_or(shares.len().saturating_sub(1)) as f64
        };
        let mean = moment(1);
        Summary {
            mean,
            std: (moment(2) - mean * mean).max(0.0).sqrt(),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: shares.len().saturating_sub(1) as f64,
        }
    }
}

/// Counters of one bundle and colour at the link, within the window.
#[derive(Clone, Debug, Default)]
pub struct BundleMeter {
    /// Packets that arrived at the link.
    pub offered: u64,
    /// Packets dropped early or at a full buffer.
    pub dropped: u64,
    /// Packets that this link marked. The counter of colour IN has the marks of both colours.
    pub marked: u64,
    /// Times from arrival to the start of transmission.
    pub sojourn: Histogram,
}

impl BundleMeter {
    /// Adds the counters of another meter.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.offered += other.offered;
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.sojourn.absorb(&other.sojourn);
    }
}

/// The meter of one link.
#[derive(Clone, Debug)]
pub struct Meter {
    window: Window,
    queue: QueueTimes,
    pkts: u32,
    changed: Instant,
    busy: Span,
    /// Early drops in the window.
    pub early: u64,
    /// Overflow drops in the window.
    pub overflow: u64,
    /// Packets sent in the window and lost on the wire.
    pub lost: u64,
    /// Packets whose transmission began, in the complete run.
    pub served: u64,
    bundles: Vec<BundleMeter>,
    served_over_time: Served,
    /// Counters of service classes for each row of the time series; present if requested.
    over_time: Option<Box<OverTime>>,
    /// Integral of the queue since the last row of the time series (packet-nanoseconds).
    area: u128,
    looked: Instant,
}

/// Cause of a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// An early drop: the discipline decided it.
    Early,
    /// An overflow drop: the buffer was full.
    Overflow,
}

impl Meter {
    /// A meter that counts within `window`. Rows of time series are `sample` apart. `over_time`: also counts packets of
    /// service classes for each row.
    pub fn new(window: Window, sample: Span, over_time: Option<OverTime>) -> Self {
        Self {
            window,
            queue: QueueTimes::default(),
            pkts: 0,
            changed: Instant::ZERO,
            busy: Span::ZERO,
            early: 0,
            overflow: 0,
            lost: 0,
            served: 0,
            bundles: Vec::new(),
            served_over_time: Served::new(sample),
            over_time: over_time.map(Box::new),
            area: 0,
            looked: Instant::ZERO,
        }
    }

    #[inline]
    fn counts(&self, now: Instant) -> bool {
        now >= self.window.from
    }

    /// The queue has `pkts` packets from `now` on.
    #[inline]
    pub fn queue_is(&mut self, now: Instant, pkts: u32) {
        let since = self.changed.max(self.window.from);
        if now > since {
            self.queue.add(self.pkts, now.since(since));
        }
        self.area += u128::from(self.pkts) * u128::from(now.since(self.changed).nanos());
        self.pkts = pkts;
        self.changed = now;
    }

    /// Counts a packet that was offered or dropped at time `at` in the row of the time series of its service class, if
    /// such rows were requested. In most runs they are not. `event` adds 1 to the counter.
    #[inline]
    fn note(&mut self, at: Instant, bundle: u8, event: impl FnOnce(&mut Tally)) {
        if let Some(over_time) = &mut self.over_time {
            over_time.note(at, bundle, event);
        }
    }

    /// A packet was offered.
    #[inline]
    pub fn offer(&mut self, now: Instant, counted_as: (u8, Colour)) {
        self.note(now, counted_as.0, |row| row.offered += 1);
        if self.counts(now) {
            self.bundle(counted_as).offered += 1;
        }
    }

    /// A packet was dropped.
    #[inline]
    pub fn lose(&mut self, now: Instant, counted_as: (u8, Colour), loss: Loss) {
        self.note(now, counted_as.0, |row| row.dropped += 1);
        if self.counts(now) {
            match loss {
                Loss::Early => self.early += 1,
                Loss::Overflow => self.overflow += 1,
            }
            self.bundle(counted_as).dropped += 1;
        }
    }

    /// A packet whose transmission begins at `start` will be lost on the wire.
    pub fn lose_sent(&mut self, start: Instant) {
        if self.counts(start) && start <= self.window.to {
            self.lost += 1;
        }
    }

    /// A packet departs with a CE mark that this link's queue set.
    pub fn mark(&mut self, now: Instant, bundle: u8) {
        if self.counts(now) {
            self.bundle((bundle, Colour::In)).marked += 1;
        }
    }

    /// A packet of `len` bytes that waited `sojourn` begins a transmission of duration `busy`.
    #[inline(always)]
    pub fn serve(&mut self, now: Instant, (len, busy): (u16, Span), sojourn: Span, counted_as: (u8, Colour)) {
        // Drop-tail without events reports transmissions ahead of time, possibly after the end of the run.
        if now > self.window.to {
            return;
        }
        self.served += 1;
        self.served_over_time.add(now, counted_as.0, len, sojourn);
        self.busy = self.busy + self.window.overlap(now, now.plus(busy));
        if self.counts(now) {
            self.bundle(counted_as).sojourn.add(sojourn);
        }
    }

    #[inline]
    fn bundle(&mut self, (bundle, colour): (u8, Colour)) -> &mut BundleMeter {
        let at = usize::from(bundle) * 2 + usize::from(colour.bits());
        if at >= self.bundles.len() {
            self.bundles.resize_with(at + 1, BundleMeter::default);
        }
        &mut self.bundles[at]
    }

    /// Counts the time until `now` at the current queue length.
    pub fn close(&mut self, now: Instant) {
        self.queue_is(now, self.pkts);
    }

    /// Ends the window at `end`; `sending`: end of the current transmission.
    pub fn end(&mut self, end: Instant, sending: Instant) {
        self.close(end);
        // Time after the window was never counted.
        self.busy = self.busy - sending.min(self.window.to).since(end);
        self.window.to = end;
    }

    /// The queue in packets now, and its mean since the last call: a row of the time series.
    pub fn look(&mut self, now: Instant) -> (u32, f64) {
        self.queue_is(now, self.pkts);
        let mean = self.area as f64 / now.since(self.looked).nanos().max(1) as f64;
        (self.area, self.looked) = (0, now);
        (self.pkts, mean)
    }

    /// The first `rows` rows of the time series of served packets, by bundle.
    pub(crate) fn served_over_time(&self, rows: usize) -> Vec<(u8, Vec<Service>)> {
        self.served_over_time.bundles(rows)
    }

    /// For each row of the time series, the counters of the requested service classes, with the `served` packets of
    /// their bundles.
    pub(crate) fn over_time(&self, served: &[(u8, Vec<Service>)]) -> Vec<(u8, Vec<Tally>)> {
        self.over_time.as_ref().map_or_else(Vec::new, |over_time| over_time.classes(served))
    }

    /// Joins each pair of rows of the time series of served packets.
    pub(crate) fn thin(&mut self) {
        self.served_over_time.thin();
    }

    /// Time spent at each queue length in the measurement window.
    pub const fn queue(&self) -> &QueueTimes {
        &self.queue
    }

    /// Fraction of the window in which the link was sending.
    pub fn utilisation(&self) -> f64 {
        self.busy.nanos() as f64 / self.window.to.since(self.window.from).nanos().max(1) as f64
    }

    /// Packets offered in the window.
    pub fn offered(&self) -> u64 {
        self.bundles.iter().map(|bundle| bundle.offered).sum()
    }

    /// Marks in the window.
    pub fn marked(&self) -> u64 {
        self.bundles.iter().map(|bundle| bundle.marked).sum()
    }

    /// Times from arrival to the start of transmission of all packets served in the window.
    pub fn sojourn(&self) -> Histogram {
        let mut all = Histogram::new();
        self.bundles.iter().for_each(|bundle| all.absorb(&bundle.sojourn));
        all
    }

    /// The counters of each bundle and colour that had packets.
    pub fn bundles(&self) -> impl Iterator<Item = (u8, Colour, &BundleMeter)> {
        // Packets served in the window may all have arrived before it.
        let seen = |b: &BundleMeter| b.offered + b.dropped + b.sojourn.count() > 0;
        self.bundles.iter().enumerate().filter(move |(_, b)| seen(b)).map(|(at, b)| {
            let colour = if at % 2 == 0 { Colour::In } else { Colour::Out };
            ((at / 2) as u8, colour, b)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn window(from: u64, to: u64) -> Window {
        Window { from: at(from), to: at(to) }
    }

    #[test]
    fn queue_mean_is_time_weighted_after_warmup() {
        let mut m = Meter::new(window(100, 300), Span::from_nanos(100), None);
        m.queue_is(at(0), 50);
        m.queue_is(at(150), 2);
        m.queue_is(at(250), 4);
        m.close(at(300));
        let s = m.queue().summary();
        assert!((s.mean - (50.0 * 50.0 + 2.0 * 100.0 + 4.0 * 50.0) / 200.0).abs() < 1e-9);
        assert_eq!((s.p50, s.p99, s.max), (2.0, 50.0, 50.0), "half of the time 2 or fewer");
    }

    #[test]
    fn busy_time_is_clipped_to_the_window() {
        let mut m = Meter::new(window(100, 200), Span::from_nanos(100), None);
        m.serve(at(90), (1000, Span::from_nanos(20)), Span::ZERO, (0, Colour::In));
        m.serve(at(190), (1000, Span::from_nanos(20)), Span::ZERO, (0, Colour::In));
        assert!((m.utilisation() - 0.2).abs() < 1e-12);
        assert_eq!((m.served, m.sojourn().count()), (2, 1));
    }

    #[test]
    fn time_series_rows_average_queue_since_previous_row() {
        let mut m = Meter::new(window(0, 100), Span::from_nanos(100), None);
        m.queue_is(at(10), 4);
        assert_eq!(m.look(at(20)), (4, 2.0));
        assert_eq!(m.look(at(30)), (4, 4.0));
    }
}
