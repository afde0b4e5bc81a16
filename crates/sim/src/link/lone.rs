//! A single link, driven from outside packet by packet.
//!
//! The caller has a real clock. It reports arrivals with their times and advances the link to the present. If the
//! caller is late, the events since its last call are still processed at their exact times, as in a simulation of a
//! network (`World`).

use forebay_aqm::base::time::{Instant, Span};

use super::segment::Segment;
use super::{Link, Tag};
use crate::measure::bundles::Bundles;
use crate::measure::meter::Window;
use crate::measure::outcome::{LinkOutcome, Series};
use crate::network::{Lane, LinkSpec};

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// Sent. The packet's `at` is the time at which it reaches the far end.
    Sent,
    /// Dropped by the queue.
    Dropped,
    /// Lost on the wire after transmission.
    Lost,
}

/// How often a row is added to the time series of a link, and how many rows are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Initial time between rows.
    pub every: Span,
    /// Maximum number of rows, at least 2. `None`: no maximum. When it is reached, every other row is removed, and the
    /// time between rows doubles. The mean queue of a remaining row then also covers the row removed before it.
    pub most: Option<usize>,
}

impl Rows {
    /// A row every `every`, without a maximum.
    pub const fn all(every: Span) -> Self {
        Self { every, most: None }
    }
}

/// A single link without a network. The caller gives it arrivals and the current time.
pub struct LoneLink {
    link: Link,
    name: String,
    now: Instant,
    /// When the transmitter becomes idle, or when the discipline or the rate schedule allows the next transmission;
    /// `None`: it is idle.
    free: Option<Instant>,
    /// When the transmitter becomes idle after the latest transmission.
    ends: Instant,
    tick: Option<Instant>,
    /// Current time between rows of the time series.
    sample: Span,
    sampled: Instant,
    /// Maximum number of rows, even.
    most_rows: Option<usize>,
    series: Series,
    bundles: Bundles,
}

impl LoneLink {
    /// Builds the link of `spec`. It is measured after `warmup`, and idle at time zero. `horizon`: upper bound on the
    /// time at which [`finish`](Self::finish) is called. `bundles`: the service class of each bundle, a group of flows
    /// that are measured together. Drop-tail needs an event for each departure here, unlike in the simulation of a
    /// network (`World`).
    pub fn new(spec: &LinkSpec, seed: u64, (warmup, rows): (Span, Rows), horizon: Span, bundles: Bundles) -> Self {
        let lane = Lane { study: true, ..spec.lane.clone() };
        let spec = LinkSpec { lane, fast_path: false, ..spec.clone() };
        let link = Link::of(&spec, seed, (Window::new(warmup, horizon), rows.every, None), &bundles);
        let (sample, most_rows) = (rows.every.max(Span::from_nanos(1)), rows.most.map(|most| most.max(2) & !1));
        let (series, name, tick) = (Series::new(spec.probes()), spec.name, link.next_tick());
        let (now, sampled) = (Instant::ZERO, Instant::ZERO + sample);
        Self { link, name, now, free: None, ends: now, tick, sample, sampled, most_rows, series, bundles }
    }

    /// Time of the next event if nothing arrives.
    pub fn next(&self) -> Option<Instant> {
        match (self.free, self.tick) {
            (Some(free), Some(tick)) => Some(free.min(tick)),
            (free, tick) => free.or(tick),
        }
    }

    /// Time up to which events have been processed.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Processes events up to and including `until`. Calls `gone` for each packet that leaves the queue.
    pub fn advance(&mut self, until: Instant, gone: &mut dyn FnMut(&Segment, Gone)) {
        loop {
            let next = self.next().filter(|next| *next <= until);
            // As in a world, a row comes after all other events of the same time.
            while self.sampled < next.unwrap_or(until + Span::from_nanos(1)) {
                self.look();
            }
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            if self.free.is_some_and(|free| free <= next) {
                self.serve(gone);
            } else {
                self.link.tick(self.now);
                self.tick = self.link.next_tick().map(|tick| tick.max(self.now + Span::from_nanos(1)));
            }
        }
        self.now = self.now.max(until);
    }

    /// A packet arrives at `at`, or now if `at` has passed.
    pub fn arrive(&mut self, segment: Segment, tag: Tag, at: Instant, gone: &mut dyn FnMut(&Segment, Gone)) {
        self.advance(at, gone);
        let idle = self.link.arrive(segment, tag, self.now, |dropped| gone(dropped, Gone::Dropped));
        if idle {
            match self.link.idles_until(self.now) {
                None => self.serve(gone),
                later => {
                    self.free = later;
                    self.ends = later.unwrap_or(self.ends);
                }
            }
        }
    }

    /// The transmitter is idle: sends the next packet.
    fn serve(&mut self, gone: &mut dyn FnMut(&Segment, Gone)) {
        let served = self.link.serve(self.now, |dropped| gone(dropped, Gone::Dropped));
        self.free = match served {
            Some((_, free)) => {
                self.ends = free;
                Some(free)
            }
            None => self.link.held_until(self.now),
        };
        if let Some((segment, _)) = served {
            gone(&segment, if self.link.loses(self.now) { Gone::Lost } else { Gone::Sent });
        }
    }

    fn look(&mut self) {
        self.link.look(self.sampled, self.sampled.max(self.now), &mut self.series);
        if self.most_rows.is_some_and(|most| self.series.time_s.len() >= most) {
            thin(&mut self.series);
            if let Some(meter) = &mut self.link.meter {
                meter.thin();
            }
            self.sample = self.sample * 2;
        }
        self.sampled += self.sample;
    }

    /// The link, for reading its state.
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Ends the measurement at `end`, or now if `end` has passed, and returns the results.
    pub fn finish(mut self, end: Instant) -> LinkOutcome {
        self.advance(end, &mut |_, _| ());
        let end = self.now;
        self.link.end(end, self.ends);
        self.link
            .outcome(&self.bundles, self.name, self.series)
            .unwrap_or_else(|| unreachable!("a link under study has a meter"))
    }
}

/// Removes every other row, starting with the first. The number of rows must be even, and the rows equally spaced.
fn thin(series: &mut Series) {
    let Series { time_s, queue_pkts, queue_mean_pkts, probes, .. } = series;
    // A row has the mean since the row before it; both intervals have the same length.
    queue_mean_pkts.chunks_exact_mut(2).for_each(|pair| pair[1] = pair[0].midpoint(pair[1]));
    let columns = [time_s, queue_pkts, queue_mean_pkts].into_iter().chain(probes.iter_mut().map(|(_, column)| column));
    for column in columns {
        let mut odd = true;
        column.retain(|_| {
            odd = !odd;
            odd
        });
    }
}
