//! One direction of the emulated link: queue, transmitter and delay of the simulator, with frames of this machine in them.
//!
//! It knows no clock: the host says when a frame came and how late it is. Everything in between happens at its own time, so
//! that a host that wakes up late bunches frames but loses no capacity.

use std::collections::VecDeque;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;
use forebay_sim::histogram::Histogram;
use forebay_sim::link::Tag;
use forebay_sim::lone::{Gone, LoneLink};
use forebay_sim::network::LinkSpec;
use forebay_sim::outcome::LinkOutcome;
use forebay_sim::segment::{Kind, Mark, Segment};

use crate::frame::{self, About};

/// An arrival, as it is written down: with these, rate and seed everything that the link did can be repeated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrival {
    /// When, in nanoseconds since the link began.
    pub at: u64,
    /// Bytes of the frame.
    pub len: u16,
    /// What the discipline was told of it.
    pub about: About,
}

impl Arrival {
    /// What it is in a link.
    fn segment(&self, frame: u32) -> (Segment, Tag) {
        let About { flow, pair, ecn, class, colour, proto } = self.about;
        let mark = Mark::data(Kind::Datagram, ecn, false).with_colour(colour);
        let segment = Segment { flow, seq: frame, len: self.len, class, mark, ..Segment::default() };
        (segment, Tag { pair, proto })
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It got through.
    Sent {
        /// With a mark that it got here?
        marked: bool,
    },
    /// The queue dropped it.
    Dropped,
    /// The wire lost it.
    Lost,
}

impl Verdict {
    /// Of a segment that came with that ECN field.
    fn of(segment: &Segment, gone: Gone, before: Ecn) -> Self {
        match gone {
            Gone::Sent => Self::Sent { marked: segment.mark.ecn() != before },
            Gone::Dropped => Self::Dropped,
            Gone::Lost => Self::Lost,
        }
    }
}

/// What is written down of a lane.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Every arrival, in order.
    pub arrivals: Vec<Arrival>,
    /// What became of each; none if it was still on its way.
    pub verdicts: Vec<Option<Verdict>>,
}

/// Frames that wait or travel, in buffers that are used again.
#[derive(Default)]
struct Frames {
    buffers: Vec<Vec<u8>>,
    /// Of each its number in the journal, if there is one, and the ECN field that it came with.
    notes: Vec<(u32, Ecn)>,
    free: Vec<u32>,
}

impl Frames {
    fn store(&mut self, bytes: &[u8], note: (u32, Ecn)) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::with_capacity(2048));
            self.notes.push(note);
            (self.buffers.len() - 1) as u32
        });
        let buffer = &mut self.buffers[at as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.notes[at as usize] = note;
        at
    }
}

/// See the module's text.
pub struct Lane {
    link: LoneLink,
    frames: Frames,
    /// Frames on the wire, in the order in which they get to its end.
    pipe: VecDeque<Segment>,
    journal: Option<Journal>,
    /// How late frames were sent.
    lateness: Histogram,
    delivered: u64,
    delivered_bytes: u64,
}

/// What a lane leaves behind.
pub struct Report {
    /// What the meter of the link says, as that of a simulation.
    pub link: LinkOutcome,
    /// How late frames were sent, in nanoseconds.
    pub lateness: Histogram,
    /// Frames that got to the far end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// What was written down.
    pub journal: Option<Journal>,
}

impl Lane {
    /// The link that `spec` describes, idle at time zero. `sample` is the time between two rows of its series.
    pub fn new(spec: &LinkSpec, seed: u64, sample: Span, horizon: Span, keeps_journal: bool) -> Self {
        Self {
            link: LoneLink::new(spec, seed, sample, horizon),
            frames: Frames::default(),
            pipe: VecDeque::new(),
            journal: keeps_journal.then(Journal::default),
            lateness: Histogram::new(),
            delivered: 0,
            delivered_bytes: 0,
        }
    }

    /// A frame came at `at`, in nanoseconds since the link began; what happens before is done first.
    pub fn arrive(&mut self, bytes: &[u8], at: u64) {
        let arrival = Arrival { at, len: bytes.len().min(usize::from(u16::MAX)) as u16, about: frame::about(bytes) };
        let entry = self.journal.as_mut().map_or(0, |journal| {
            journal.arrivals.push(arrival);
            journal.verdicts.push(None);
            journal.arrivals.len() - 1
        });
        let frame = self.frames.store(bytes, (entry as u32, arrival.about.ecn));
        let (segment, tag) = arrival.segment(frame);
        self.with_link(|link, gone| link.arrive(segment, tag, at, gone));
    }

    /// Everything up to `now` happens.
    pub fn advance(&mut self, now: u64) {
        self.with_link(|link, gone| link.advance(now, gone));
    }

    fn with_link<T>(&mut self, act: impl FnOnce(&mut LoneLink, &mut dyn FnMut(&Segment, Gone)) -> T) -> T {
        let Self { link, frames, pipe, journal, .. } = self;
        act(link, &mut |segment, gone| {
            let (entry, before) = frames.notes[segment.seq as usize];
            let verdict = Verdict::of(segment, gone, before);
            if let Some(journal) = journal {
                journal.verdicts[entry as usize] = Some(verdict);
            }
            if gone != Gone::Sent {
                frames.free.push(segment.seq);
                return;
            }
            if verdict == (Verdict::Sent { marked: true }) {
                frame::mark(&mut frames.buffers[segment.seq as usize]);
            }
            pipe.push_back(*segment);
        })
    }

    /// When it next has something to do, if nothing arrives.
    pub fn next(&self) -> Option<u64> {
        let far = self.pipe.front().map(|segment| segment.at);
        match (far, self.link.next()) {
            (Some(far), Some(link)) => Some(far.min(link)),
            (far, link) => far.or(link),
        }
    }

    /// The frames that are at the far end by `now`, at most so many, in order.
    pub fn due(&self, now: u64, most: usize) -> impl Iterator<Item = &[u8]> {
        let due = self.pipe.iter().take(most).take_while(move |segment| segment.at <= now);
        due.map(|segment| self.frames.buffers[segment.seq as usize].as_slice())
    }

    /// The first `count` of them were sent at `now`.
    pub fn sent(&mut self, count: usize, now: u64) {
        for segment in self.pipe.drain(..count.min(self.pipe.len())) {
            self.lateness.add(now.saturating_sub(segment.at));
            self.delivered += 1;
            self.delivered_bytes += u64::from(segment.len);
            self.frames.free.push(segment.seq);
        }
    }

    /// How late frames were sent so far.
    pub const fn lateness(&self) -> &Histogram {
        &self.lateness
    }

    /// The books, closed at `now`.
    pub fn finish(mut self, now: u64) -> Report {
        self.advance(now);
        let Self { link, lateness, delivered, delivered_bytes, journal, .. } = self;
        Report { link: link.finish(now, &mut |_, _| ()), lateness, delivered, delivered_bytes, journal }
    }
}

/// What becomes of these arrivals in the link that `spec` describes, with this seed: the verdict on each, in order.
pub fn replay(spec: &LinkSpec, seed: u64, arrivals: &[Arrival], end: u64) -> Vec<Option<Verdict>> {
    let mut link = LoneLink::new(spec, seed, Span::from_millis(1000), Span::from_nanos(end));
    let mut verdicts = vec![None; arrivals.len()];
    let mut gone = |segment: &Segment, gone: Gone| {
        let before = arrivals[segment.seq as usize].about.ecn;
        verdicts[segment.seq as usize] = Some(Verdict::of(segment, gone, before));
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        let (segment, tag) = arrival.segment(number as u32);
        link.arrive(segment, tag, arrival.at, &mut gone);
    }
    link.advance(end, &mut gone);
    verdicts
}
