//! The links of a network with frames of this machine in them.
//!
//! It knows no clock: the host says when a frame came and how late it is. Everything in between happens at its own time and in
//! its order, as in a simulation, so that a host that wakes up late bunches frames but loses no capacity.

use std::collections::VecDeque;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::engine::due::Due;
use forebay_sim::histogram::Histogram;
use forebay_sim::lone::{Gone, LoneLink, Rows};
use forebay_sim::network::Network;
use forebay_sim::outcome::LinkOutcome;
use forebay_sim::segment::Segment;

use crate::frame;
use crate::journal::{Arrival, Journal, Verdict};

/// The two ends of a network: what comes at one leaves at the other, if it does not turn back.
pub const NEAR: usize = 0;
/// See [`NEAR`].
pub const FAR: usize = 1;

/// Which way a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The route of the network.
    pub route: usize,
    /// The flow that it is counted for; none if nobody asks.
    pub flow: Option<usize>,
    /// What disciplines are told of it.
    pub about: frame::About,
}

/// Frames that wait or travel, in buffers that are used again.
#[derive(Default)]
struct Frames {
    buffers: Vec<Vec<u8>>,
    notes: Vec<Note>,
    free: Vec<u32>,
}

/// What is known of a frame.
#[derive(Clone, Copy, Default)]
struct Note {
    /// The end at which it leaves.
    to: usize,
    about: frame::About,
    flow: Option<usize>,
    /// When it came.
    came: Instant,
    /// Its number in the journal of the link where it is.
    entry: usize,
}

impl Frames {
    fn store(&mut self, bytes: &[u8], note: Note) -> u32 {
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

/// A link and the pipe behind it.
struct Element {
    link: LoneLink,
    /// Frames on the wire, in the order in which they get to its end.
    pipe: VecDeque<Segment>,
    study: bool,
    journal: Option<Journal>,
}

/// When the first frame of a pipe is at its end.
fn head(pipe: &VecDeque<Segment>) -> Due {
    Due::from(pipe.front().map(|segment| segment.at))
}

/// What was seen of the frames of a flow that got through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Carried {
    /// Frames.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, payload: what stands behind the headers of TCP, UDP and the like.
    pub payload: u64,
}

impl Carried {
    /// A frame got through.
    fn add(&mut self, frame: &[u8]) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
        self.payload += frame::payload(frame) as u64;
    }
}

/// What the frames of a class met, from end to end.
#[derive(Clone, Debug, Default)]
pub struct Trip {
    /// How long they took.
    pub delay: Histogram,
    /// Sum of the differences between one frame of a flow and the next, in nanoseconds, and how many there were.
    pub jitter: (u64, u64),
}

/// See the module's text.
pub struct Fabric {
    elements: Vec<Element>,
    /// When each link has something to do, and when the head of each pipe is at its end.
    due: Vec<[Due; 2]>,
    /// Where each route begins in the numbers of all its steps, which segments carry.
    starts: Vec<usize>,
    steps: Vec<Option<usize>>,
    frames: Frames,
    /// Frames that are at an end, with the time since when.
    ready: [VecDeque<(Instant, u32)>; 2],
    lateness: [Histogram; 2],
    carried: [Carried; 2],
    flows: Vec<Carried>,
    /// Frames of each flow that came, in the whole run.
    entered: Vec<u64>,
    last_delay: Vec<Option<Span>>,
    trips: Vec<Trip>,
    /// What comes before is not counted in `flows` and `trips`.
    warmup: Instant,
    /// Up to when everything has happened.
    now: Instant,
    /// Does the data of each flow pass a link under study?
    watched: Vec<bool>,
}

/// What a fabric leaves behind.
pub struct Report {
    /// What the meters of the links under study say, as those of a simulation.
    pub links: Vec<LinkOutcome>,
    /// What was written down at each of them.
    pub journals: Vec<Option<Journal>>,
    /// How late frames left at each end, in nanoseconds.
    pub lateness: [Histogram; 2],
    /// What left at each end.
    pub carried: [Carried; 2],
    /// What got through of each flow, within the window.
    pub flows: Vec<Carried>,
    /// Frames of each flow that came, in the whole run.
    pub entered: Vec<u64>,
    /// By class.
    pub trips: Vec<Trip>,
}

impl Fabric {
    /// The links of `net`, idle at time zero, used for at most `horizon`; with a journal of links under study if `keeps` says so.
    pub fn new(net: &Network, seed: u64, rows: Rows, horizon: Span, keeps: bool) -> Self {
        let element = |spec: &forebay_sim::network::LinkSpec| Element {
            link: LoneLink::new(spec, seed, (net.warmup, rows), horizon),
            pipe: VecDeque::new(),
            study: spec.study,
            journal: (keeps && spec.study).then(Journal::default),
        };
        let elements: Vec<Element> = net.links.iter().map(element).collect();
        let (mut steps, mut starts) = (Vec::new(), Vec::new());
        for route in &net.routes {
            starts.push(steps.len());
            steps.extend(route.iter().map(|link| Some(*link)).chain([None]));
        }
        Self {
            due: elements.iter().map(|element| [Due::from(element.link.next()), Due::NEVER]).collect(),
            elements,
            starts,
            steps,
            frames: Frames::default(),
            ready: Default::default(),
            lateness: Default::default(),
            carried: Default::default(),
            flows: vec![Carried::default(); net.flows.len()],
            entered: vec![0; net.flows.len()],
            last_delay: vec![None; net.flows.len()],
            trips: Vec::new(),
            warmup: Instant::ZERO + net.warmup,
            now: Instant::ZERO,
            watched: net
                .flows
                .iter()
                .map(|flow| net.routes[flow.forward].iter().any(|&l| net.links[l].study))
                .collect(),
        }
    }

    /// A frame came at `at`, since the network began, at one end; it goes to the other one, `to`. What happens
    /// before is done first. Without a way it is there at once.
    pub fn arrive(&mut self, bytes: &[u8], way: Option<Way>, to: usize, at: Instant) {
        let about = way.map_or_else(|| frame::about(bytes), |way| way.about);
        let note = Note { to, about, flow: way.and_then(|way| way.flow), came: at, entry: 0 };
        self.advance(at);
        // One that is seen only after its time comes now.
        let at = self.now;
        let note = Note { came: at, ..note };
        let frame = self.frames.store(bytes, note);
        let Some(way) = way else { return self.ready[to].push_back((at, frame)) };
        if let Some(flow) = way.flow {
            self.entered[flow] += 1;
        }
        let segment =
            Arrival { at: at.nanos(), len: bytes.len().min(usize::from(u16::MAX)) as u16, about }.segment(frame);
        self.enter(Segment { hop: self.starts[way.route] as u32, at, ..segment });
    }

    /// A segment is at the beginning of a step of its route.
    fn enter(&mut self, segment: Segment) {
        let at = segment.at;
        let Some(number) = self.steps[segment.hop as usize] else { return self.leave(&segment) };
        let element = &mut self.elements[number];
        let note = &mut self.frames.notes[segment.seq as usize];
        if let Some(journal) = &mut element.journal {
            note.entry = journal.arrive(Arrival { at: at.nanos(), len: segment.len, about: note.about });
        }
        let tag = note.about.tag();
        self.with(number, |link, gone| link.arrive(segment, tag, at, gone));
    }

    /// A segment has come to the end of its route.
    fn leave(&mut self, segment: &Segment) {
        let Note { to, flow, came, about, .. } = self.frames.notes[segment.seq as usize];
        if let Some(flow) = flow.filter(|_| segment.at >= self.warmup) {
            self.flows[flow].add(&self.frames.buffers[segment.seq as usize]);
        }
        if let Some(flow) = flow.filter(|flow| segment.at >= self.warmup && self.watched[*flow]) {
            let class = usize::from(about.class);
            if self.trips.len() <= class {
                self.trips.resize_with(class + 1, Trip::default);
            }
            let (trip, delay) = (&mut self.trips[class], segment.at.since(came));
            trip.delay.add(delay);
            if let Some(before) = self.last_delay[flow].replace(delay) {
                trip.jitter = (trip.jitter.0 + delay.abs_diff(before).nanos(), trip.jitter.1 + 1);
            }
        }
        self.ready[to].push_back((segment.at, segment.seq));
    }

    /// Lets a link act, and takes what leaves its queue.
    fn with(&mut self, number: usize, act: impl FnOnce(&mut LoneLink, &mut dyn FnMut(&Segment, Gone))) {
        let Self { elements, frames, due, .. } = self;
        let Element { link, pipe, journal, .. } = &mut elements[number];
        act(link, &mut |segment, gone| {
            let note = &mut frames.notes[segment.seq as usize];
            let verdict = Verdict::of(segment, gone, note.about.ecn);
            if let Some(journal) = journal {
                journal.verdicts[note.entry] = Some(verdict);
            }
            if gone != Gone::Sent {
                frames.free.push(segment.seq);
                return;
            }
            if verdict == (Verdict::Sent { marked: true }) {
                note.about.ecn = Ecn::Ce;
                frame::mark(&mut frames.buffers[segment.seq as usize]);
            }
            pipe.push_back(Segment { hop: segment.hop + 1, ..*segment });
        });
        due[number] = [Due::from(link.next()), head(pipe)];
    }

    /// The first thing to happen: when, at which element, and whether it is its link or its pipe. Links go first, as in a
    /// simulation.
    fn first(&self) -> Option<(Instant, bool, usize)> {
        let all = self.due.iter().enumerate().flat_map(|(at, due)| [(due[0], false, at), (due[1], true, at)]);
        let (due, is_pipe, at) = all.min()?;
        due.get().map(|due| (due, is_pipe, at))
    }

    /// Everything up to `now` happens.
    pub fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some((at, is_pipe, number)) = self.first().filter(|(at, ..)| *at <= now) {
            if !is_pipe {
                self.with(number, |link, gone| link.advance(at, gone));
                continue;
            }
            let pipe = &mut self.elements[number].pipe;
            let Some(segment) = pipe.pop_front() else { break };
            self.due[number][1] = head(pipe);
            self.enter(segment);
        }
    }

    /// When it next has something to do, if nothing arrives.
    pub fn next(&self) -> Option<Instant> {
        self.first().map(|(at, ..)| at)
    }

    /// The frames that are at an end, at most so many, in order.
    pub fn ready(&self, end: usize, most: usize) -> impl Iterator<Item = &[u8]> {
        self.ready[end].iter().take(most).map(|(_, frame)| self.frames.buffers[*frame as usize].as_slice())
    }

    /// The first `count` of them were sent at `now`.
    pub fn sent(&mut self, end: usize, count: usize, now: Instant) {
        let count = count.min(self.ready[end].len());
        for (at, frame) in self.ready[end].drain(..count) {
            self.lateness[end].add(now.since(at));
            self.carried[end].add(&self.frames.buffers[frame as usize]);
            self.frames.free.push(frame);
        }
    }

    /// The first of them was not taken: it is lost.
    pub fn refused(&mut self, end: usize) {
        if let Some((_, frame)) = self.ready[end].pop_front() {
            self.frames.free.push(frame);
        }
    }

    /// The books, closed at `now`.
    pub fn finish(mut self, now: Instant) -> Report {
        self.advance(now);
        let (mut links, mut journals) = (Vec::new(), Vec::new());
        for element in self.elements.into_iter().filter(|element| element.study) {
            links.push(element.link.finish(now));
            journals.push(element.journal);
        }
        let Self { lateness, carried, flows, entered, trips, .. } = self;
        Report { links, journals, lateness, carried, flows, entered, trips }
    }
}
