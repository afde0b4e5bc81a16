//! Records the packets that arrive at a link, and the verdict on each. Arrivals, description of the link and seed
//! determine all verdicts. [`replay`] computes the verdicts again from these three.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::bundles::Bundles;
use forebay_sim::lone::{Gone, LoneLink, Rows};
use forebay_sim::network::LinkSpec;
use forebay_sim::segment::{Kind, Mark, Segment};

use crate::frame::About;

/// A frame that arrived at a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrival {
    /// Arrival time since the start of the link, ns.
    pub at: u64,
    /// Frame length, bytes.
    pub len: u16,
    /// The properties that the discipline saw.
    pub about: About,
}

impl Arrival {
    /// Converts the arrival into the simulator's packet (`Segment`) with sequence number `number`. Its bundle (set of
    /// flows measured together) has the number of its service class.
    pub(crate) fn segment(&self, number: u32) -> Segment {
        let About { flow, ecn, class, colour, .. } = self.about;
        let mark = Mark::data(Kind::Datagram, ecn, false).with_colour(colour);
        Segment { flow, seq: number, len: self.len, bundle: class, mark, ..Segment::default() }
    }
}

/// The fate of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Sent over the link and delivered.
    Sent {
        /// Was it CE-marked by this link?
        marked: bool,
    },
    /// Dropped by the queue.
    Dropped,
    /// Lost on the wire.
    Lost,
}

impl Verdict {
    /// The verdict on a frame, represented by `segment`, that arrived with ECN field `before`.
    pub(crate) fn of(segment: &Segment, gone: Gone, before: Ecn) -> Self {
        match gone {
            Gone::Sent => Self::Sent { marked: segment.mark.ecn() != before },
            Gone::Dropped => Self::Dropped,
            Gone::Lost => Self::Lost,
        }
    }
}

/// The journal of a link.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// All arrivals, in order.
    pub arrivals: Vec<Arrival>,
    /// The verdict on each arrival; `None` if it was still in the queue at the end.
    pub verdicts: Vec<Option<Verdict>>,
}

impl Journal {
    /// Records an arrival and returns its index.
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> usize {
        self.arrivals.push(arrival);
        self.verdicts.push(None);
        self.arrivals.len() - 1
    }
}

/// Replays arrivals through the link `spec` with this seed, up to `end` ns. Returns the verdict on each, in
/// order.
pub fn replay(spec: &LinkSpec, seed: u64, arrivals: &[Arrival], end: u64) -> Vec<Option<Verdict>> {
    // No row of a time series before the last event.
    let last = arrivals.iter().map(|arrival| arrival.at).fold(end, u64::max);
    let never = Span::from_nanos(last.saturating_add(1));
    let mut link = LoneLink::new(spec, seed, (Span::ZERO, Rows::all(never)), never, Bundles::classes());
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
