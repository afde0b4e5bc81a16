//! What came over a link and what became of it: with the arrivals, rate and seed everything that the link did can be repeated.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::lone::{Gone, LoneLink, Rows};
use forebay_sim::network::LinkSpec;
use forebay_sim::segment::{Kind, Mark, Segment};

use crate::frame::About;

/// An arrival.
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
    /// What it is in a link, where `number` tells it from others.
    pub(crate) fn segment(&self, number: u32) -> Segment {
        let About { flow, ecn, class, colour, .. } = self.about;
        let mark = Mark::data(Kind::Datagram, ecn, false).with_colour(colour);
        Segment { flow, seq: number, len: self.len, class, mark, ..Segment::default() }
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
    pub(crate) fn of(segment: &Segment, gone: Gone, before: Ecn) -> Self {
        match gone {
            Gone::Sent => Self::Sent { marked: segment.mark.ecn() != before },
            Gone::Dropped => Self::Dropped,
            Gone::Lost => Self::Lost,
        }
    }
}

/// What is written down of a link.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Every arrival, in order.
    pub arrivals: Vec<Arrival>,
    /// What became of each; none if it was still there at the end.
    pub verdicts: Vec<Option<Verdict>>,
}

impl Journal {
    /// Writes an arrival down; its number.
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> usize {
        self.arrivals.push(arrival);
        self.verdicts.push(None);
        self.arrivals.len() - 1
    }
}

/// What becomes of these arrivals in the link that `spec` describes, with this seed: the verdict on each, in order.
pub fn replay(spec: &LinkSpec, seed: u64, arrivals: &[Arrival], end: u64) -> Vec<Option<Verdict>> {
    let never = Span::from_nanos(end + 1);
    let mut link = LoneLink::new(spec, seed, (Span::ZERO, Rows::all(never)), never);
    let mut verdicts = vec![None; arrivals.len()];
    let mut gone = |segment: &Segment, gone: Gone| {
        let number = segment.seq as usize;
        verdicts[number] = Some(Verdict::of(segment, gone, arrivals[number].about.ecn));
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        link.arrive(arrival.segment(number as u32), arrival.about.tag(), Instant::from_nanos(arrival.at), &mut gone);
    }
    link.advance(Instant::from_nanos(end), &mut gone);
    verdicts
}
