//! A link by itself: that of a network, driven by packets as they come from outside.
//!
//! The host of one, which has a real clock, tells it of arrivals at their times and lets it run up to the present; between
//! the two everything happens at its own time, as in a `World`, however late the host comes.

use forebay_aqm::base::time::{Instant, Span};

use super::segment::Segment;
use super::{Link, Tag};
use crate::measure::meter::Window;
use crate::measure::outcome::{LinkOutcome, Series};
use crate::network::LinkSpec;

/// What became of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// It is on its way, and will be at the far end at its time `at`.
    Sent,
    /// The queue dropped it.
    Dropped,
    /// The wire lost it.
    Lost,
}

/// The rows of a link's series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Time between two of them at first.
    pub every: Span,
    /// As many are kept at most, at least two, if not all: when there are so many every other one is taken out, and from then on the
    /// time between two is twice as long. A row that stays has the mean queue of both.
    pub most: Option<usize>,
}

impl Rows {
    /// A row each `span`, however many that makes.
    pub const fn all(every: Span) -> Self {
        Self { every, most: None }
    }
}

/// See the module's text.
pub struct LoneLink {
    link: Link,
    name: String,
    now: Instant,
    /// When the transmitter is free, if it sends or waits to.
    free: Option<Instant>,
    tick: Option<Instant>,
    /// Between two rows of the series.
    sample: Span,
    sampled: Instant,
    /// An even number, if there is a bound.
    most_rows: Option<usize>,
    series: Series,
}

impl LoneLink {
    /// The link that `spec` describes, under study and idle at time zero; what happens in `warmup` does not count, and the
    /// series has these `rows`. `horizon` is how long it is used at most; plain drop-tail is a discipline as any other.
    pub fn new(spec: &LinkSpec, seed: u64, (warmup, rows): (Span, Rows), horizon: Span) -> Self {
        let discipline = Some(spec.discipline.clone().unwrap_or_default());
        let spec = LinkSpec { study: true, discipline, ..spec.clone() };
        let link = Link::of(&spec, seed, Window::new(warmup, horizon), None);
        let (sample, most_rows) = (rows.every.max(Span::from_nanos(1)), rows.most.map(|most| most.max(2) & !1));
        let (series, name, tick) = (Series::new(spec.probes()), spec.name, link.next_tick());
        let (now, sampled) = (Instant::ZERO, Instant::ZERO + sample);
        Self { link, name, now, free: None, tick, sample, sampled, most_rows, series }
    }

    /// When something happens next, if nothing arrives.
    pub fn next(&self) -> Option<Instant> {
        match (self.free, self.tick) {
            (Some(free), Some(tick)) => Some(free.min(tick)),
            (free, tick) => free.or(tick),
        }
    }

    /// Everything up to and with `until`; what leaves the queue meanwhile is `gone`.
    pub fn advance(&mut self, until: Instant, gone: &mut dyn FnMut(&Segment, Gone)) {
        loop {
            let next = self.next().filter(|next| *next <= until);
            // A row comes after everything else of its moment, as in a world.
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

    /// A segment arrives at `at`, or now if that has passed.
    pub fn arrive(&mut self, segment: Segment, tag: Tag, at: Instant, gone: &mut dyn FnMut(&Segment, Gone)) {
        self.advance(at, gone);
        let idle = self.link.arrive(segment, tag, self.now, |dropped| gone(dropped, Gone::Dropped));
        if idle {
            match self.link.idles_until(self.now) {
                None => self.serve(gone),
                later => self.free = later,
            }
        }
    }

    /// The transmitter is free.
    fn serve(&mut self, gone: &mut dyn FnMut(&Segment, Gone)) {
        let served = self.link.serve(self.now, |dropped| gone(dropped, Gone::Dropped));
        self.free = served.map(|(_, free)| free);
        if let Some((segment, _)) = served {
            gone(&segment, if self.link.loses(self.now) { Gone::Lost } else { Gone::Sent });
        }
    }

    fn look(&mut self) {
        self.link.look(self.sampled, self.sampled.max(self.now), &mut self.series);
        if self.most_rows.is_some_and(|most| self.series.time_s.len() >= most) {
            thin(&mut self.series);
            self.sample = self.sample * 2;
        }
        self.sampled += self.sample;
    }

    /// The link itself, to be looked at.
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Its books, closed at `end`, which has been reached.
    pub fn finish(mut self, end: Instant) -> LinkOutcome {
        self.advance(end, &mut |_, _| ());
        let (end, sending) = (self.now, self.free.unwrap_or(Instant::ZERO));
        self.link.end(end, sending);
        self.link.outcome(self.name, self.series).unwrap_or_else(|| unreachable!("a link under study has a meter"))
    }
}

/// Takes every other row out, the first one included, of an even number of rows that are equally far apart.
fn thin(series: &mut Series) {
    let Series { time_s, queue_pkts, queue_mean_pkts, probes, .. } = series;
    // A row has the mean since the one before: both are of the same length.
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
