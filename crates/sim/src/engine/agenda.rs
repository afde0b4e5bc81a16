//! The event queue: a winner tree over a fixed set of sources, each with at most one pending event.
//!
//! `Event` lists the sources. The number of pending events thus grows with the number of links, not with the number
//! of packets in flight. A change of the time of one source updates one path from its leaf to the root. It needs no
//! allocation, no removal and no cancelled entries.

use forebay_aqm::base::time::Instant;

/// A node of the tree has a key: the time of an event and its source. Bits of a key that hold the number of the source;
/// the others hold nanoseconds, up to 39 hours.
const SOURCE_BITS: u32 = 17;
/// Maximum number of sources of an agenda.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;
/// Maximum time of a key in nanoseconds.
pub const MAX_NANOS: u64 = (1 << (64 - SOURCE_BITS)) - 2;

/// Key of a source without an event. It sorts last: no time above [`MAX_NANOS`] is used.
const IDLE: u64 = u64::MAX;

/// The next event of each source. Events at equal times are processed in order of source index.
pub struct Agenda {
    /// A complete binary tree: root at 1, leaves from `leaves` on; each node holds the smaller of its children.
    tree: Vec<u64>,
    leaves: usize,
}

impl Agenda {
    /// An agenda of `sources` sources, none pending.
    ///
    /// # Panics
    /// If there are more than [`MAX_SOURCES`].
    pub fn new(sources: usize) -> Self {
        assert!(sources <= MAX_SOURCES, "at most {MAX_SOURCES} event sources");
        let leaves = sources.next_power_of_two();
        Self { tree: vec![IDLE; 2 * leaves], leaves }
    }

    /// Sets the next event of `source`; `None`: no event. Times beyond [`MAX_NANOS`] are clamped to it, because a key
    /// that overflows would sort first. No run is that long.
    #[inline]
    pub fn set(&mut self, source: usize, at: Option<Instant>) {
        let key = match at {
            Some(at) => (at.nanos().min(MAX_NANOS) << SOURCE_BITS) | source as u64,
            None => IDLE,
        };
        // Carry the smaller key along, so that loads of siblings do not depend on each other and no branch depends on
        // keys.
        let (mut at, mut smaller) = (self.leaves + source, key);
        self.tree[at] = smaller;
        while at > 1 {
            smaller = smaller.min(self.tree[at ^ 1]);
            at >>= 1;
            self.tree[at] = smaller;
        }
    }

    /// The earliest event: its time and source.
    #[inline]
    pub fn first(&self) -> Option<(Instant, usize)> {
        let key = self.tree[1];
        (key != IDLE).then_some((Instant::from_nanos(key >> SOURCE_BITS), (key as usize) & (MAX_SOURCES - 1)))
    }
}

/// The event of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The transmitter of this link with a discipline becomes idle.
    Departure(usize),
    /// The timer of this link's discipline expires.
    Tick(usize),
    /// The first segment in transit on this link's wire (pipe) reaches the end of the wire.
    Pipe(usize),
    /// The earliest flow timer expires.
    Timers,
    /// The warm-up ends.
    Window,
    /// The links and flows that have a time series are sampled.
    Sampler,
}

/// Numbering of the event sources, which is their order at equal times: departures, timers of disciplines, wires of
/// links (pipes), timers of flows, end of the warm-up, sampling.
pub(crate) struct Sources {
    pub(crate) managed: usize,
    pub(crate) pipes: usize,
}

impl Sources {
    /// The event of `source`. Wires of links (pipes) are checked first, because most events are theirs.
    #[inline(always)]
    pub(crate) const fn event(&self, source: usize) -> Event {
        let pipe = source.wrapping_sub(self.pipe(0));
        if pipe < self.pipes {
            Event::Pipe(pipe)
        } else if source < self.managed {
            Event::Departure(source)
        } else if source < self.pipe(0) {
            Event::Tick(source - self.managed)
        } else if source == self.timers() {
            Event::Timers
        } else if source == self.window() {
            Event::Window
        } else {
            Event::Sampler
        }
    }

    pub(crate) const fn tick(&self, managed: usize) -> usize {
        self.managed + managed
    }
    pub(crate) const fn pipe(&self, pipe: usize) -> usize {
        2 * self.managed + pipe
    }
    pub(crate) const fn timers(&self) -> usize {
        2 * self.managed + self.pipes
    }
    pub(crate) const fn window(&self) -> usize {
        self.timers() + 1
    }
    pub(crate) const fn sampler(&self) -> usize {
        self.timers() + 2
    }
    pub(crate) const fn count(&self) -> usize {
        self.timers() + 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Option<Instant> {
        Some(Instant::from_nanos(nanos))
    }

    fn event(nanos: u64, source: usize) -> Option<(Instant, usize)> {
        at(nanos).map(|at| (at, source))
    }

    #[test]
    fn source_numbers_map_to_their_events() {
        let sources = Sources { managed: 2, pipes: 1 };
        let events = (0..sources.count()).map(|source| sources.event(source)).collect::<Vec<_>>();
        let links = [Event::Departure(0), Event::Departure(1), Event::Tick(0), Event::Tick(1)];
        assert_eq!(events, [&links[..], &[Event::Pipe(0), Event::Timers, Event::Window, Event::Sampler]].concat());
        assert_eq!((sources.event(sources.tick(1)), sources.event(sources.pipe(0))), (Event::Tick(1), Event::Pipe(0)));
    }

    #[test]
    fn equal_times_are_ordered_by_source() {
        let mut agenda = Agenda::new(5);
        agenda.set(4, at(7));
        agenda.set(2, at(7));
        agenda.set(0, at(9));
        assert_eq!(agenda.first(), event(7, 2));
        agenda.set(2, None);
        assert_eq!(agenda.first(), event(7, 4));
    }

    #[test]
    fn times_beyond_the_maximum_do_not_wrap() {
        let mut agenda = Agenda::new(2);
        agenda.set(0, Some(Instant::NEVER));
        agenda.set(1, at(5));
        assert_eq!(agenda.first(), event(5, 1));
        agenda.set(1, None);
        assert_eq!(agenda.first(), event(MAX_NANOS, 0));
    }

    proptest! {
        #[test]
        fn first_event_of_agenda_is_the_earliest(
            changes in prop::collection::vec((0usize..37, prop::option::of(0u64..1000)), 1..200)
        ) {
            let mut agenda = Agenda::new(37);
            let mut plain = [None; 37];
            for (source, nanos) in changes {
                plain[source] = nanos.map(Instant::from_nanos);
                agenda.set(source, plain[source]);
                let least = plain.iter().enumerate().filter_map(|(i, t)| t.map(|t| (t, i))).min();
                prop_assert_eq!(agenda.first(), least);
            }
        }
    }
}
