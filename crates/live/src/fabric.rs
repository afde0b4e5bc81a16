//! A network of the simulator's links that carries real frames. In a link a frame is represented by a [`Segment`], the
//! simulator's packet.
//!
//! This network, the fabric, reads no clock: its caller passes the arrival time of each frame and the present time. All
//! events up to then are processed in order and with their own times, as in a simulation. If the caller wakes up late,
//! frames leave in bursts, but the links lose no capacity. Flows that are measured together form a bundle.

use std::collections::VecDeque;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::bundles::Bundles;
use forebay_sim::delays::Delays;
use forebay_sim::engine::due::Due;
use forebay_sim::histogram::Histogram;
use forebay_sim::lone::{Gone, LoneLink, Rows};
use forebay_sim::network::Network;
use forebay_sim::outcome::{LinkOutcome, TrackRow};
use forebay_sim::segment::Segment;
use forebay_sim::tracks::Tracks;

use crate::connections::Connections;
use crate::frame;
use crate::journal::{Arrival, Journal, Verdict};
use crate::round_trips::{Owner, RoundTrips};

/// The client end. A frame that arrives at one end leaves at the other.
pub const NEAR: usize = 0;
/// The server end.
pub const FAR: usize = 1;

/// The route of a frame through the network, and the statistics that include the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Index of the route in the network.
    pub route: usize,
    /// Index of the flow whose counters include the frame; `None`: no flow's, as for an acknowledgement.
    pub flow: Option<usize>,
    /// Index of the bundle whose statistics include the frame. A bundle is a set of flows that are measured together.
    pub bundle: u8,
    /// The properties of the frame that disciplines see.
    pub about: frame::About,
}

/// Frames in queues and on wires, in reused buffers.
#[derive(Default)]
struct Frames {
    buffers: Vec<Vec<u8>>,
    notes: Vec<Note>,
    free: Vec<u32>,
}

/// What the emulated network records about a frame.
#[derive(Clone, Copy, Default)]
struct Note {
    /// The end at which the frame leaves.
    to: usize,
    about: frame::About,
    flow: Option<usize>,
    bundle: u8,
    /// Time at which the frame arrived at the fabric.
    came: Instant,
    /// The frame's index in the journal (list of all arrivals) of the link that it is at.
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

/// A link and the wire behind it.
struct Element {
    link: LoneLink,
    /// Frames on the wire, in the order of their arrival at its end.
    pipe: VecDeque<Segment>,
    study: bool,
    journal: Option<Journal>,
}

/// When the first frame of a wire reaches its end.
fn head(pipe: &VecDeque<Segment>) -> Due {
    Due::from(pipe.front().map(|segment| segment.at))
}

/// Counts of delivered frames: of a flow, of a bundle, or at an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Carried {
    /// Number of frames.
    pub packets: u64,
    /// Bytes of the frames, with all headers.
    pub bytes: u64,
    /// Payload bytes: without the headers of Ethernet, IP and transport.
    pub payload: u64,
}

impl Carried {
    /// Counts a delivered frame.
    fn add(&mut self, frame: &[u8]) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
        self.payload += frame::payload(frame) as u64;
    }
}

/// A frame that has left the queue of a link.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    /// Index of the link.
    pub link: usize,
    /// When its transmission began, or when it was dropped.
    pub at: Instant,
    /// The frame, with the mark that the discipline has set.
    pub frame: &'a [u8],
    /// What became of it.
    pub gone: Gone,
}

/// A function that is called for each frame that leaves the queue of a link.
pub type Tap = Box<dyn FnMut(Passed<'_>)>;

/// The links with their frames; see the module's documentation.
pub struct Fabric {
    elements: Vec<Element>,
    /// Per link: time of its next event, and time at which the first frame on its wire arrives.
    due: Vec<[Due; 2]>,
    /// For each route, the index of its first step in `steps`. The `hop` of a frame's `Segment` is the index of its
    /// present step.
    starts: Vec<usize>,
    /// The links of all routes; `None` ends a route.
    steps: Vec<Option<usize>>,
    frames: Frames,
    /// Frames to send at each end, with the times at which they became due.
    ready: [VecDeque<(Instant, u32)>; 2],
    lateness: [Histogram; 2],
    carried: [Carried; 2],
    flows: Vec<Carried>,
    bundles: Vec<Carried>,
    /// Frames of each flow that arrived at the fabric, over the entire run.
    entered: Vec<u64>,
    last_delay: Vec<Option<Span>>,
    delays: Delays,
    round_trips: RoundTrips,
    /// `None`: completion times are not measured.
    connections: Option<Connections>,
    tap: Option<Tap>,
    completions: Vec<Completed>,
    /// The time series of each set of flows (track) for which the description of the network asks.
    tracks: Tracks,
    /// Frames that reach the end of their route before this time are not counted in `flows`, `bundles` and `delays`.
    warmup: Instant,
    /// All events up to this time have happened.
    now: Instant,
    /// For each flow: do its data cross a link whose results are recorded?
    watched: Vec<bool>,
}

/// A TCP connection that is complete: in the direction with more payload, the FIN has been acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// The bundle (flows that are measured together) to which the data of this direction belong.
    pub bundle: u8,
    /// When the acknowledgement of this FIN arrived at the fabric.
    pub at: Instant,
    /// The time from the connection's first SYN to `at`.
    pub took: Span,
}

/// Maximum number of completed connections that are kept one by one, 24 MiB. Further ones count only in the statistics.
const MAX_COMPLETIONS: usize = 1 << 20;

/// The results of a fabric.
pub struct Report {
    /// Statistics of the links under study (those whose results are recorded), as in a simulation.
    pub links: Vec<LinkOutcome>,
    /// The journals (all arrivals, with the verdict on each) of the links under study; `None`: not kept.
    pub journals: Vec<Option<Journal>>,
    /// Lateness of the frames sent at each end, ns: the time from when a frame was due to when it was sent.
    pub lateness: [Histogram; 2],
    /// The frames sent at each end.
    pub carried: [Carried; 2],
    /// Frames delivered after the warm-up, by flow.
    pub flows: Vec<Carried>,
    /// Frames delivered after the warm-up, by bundle; only frames that belong to a flow.
    pub bundles: Vec<Carried>,
    /// Frames of each flow that arrived at the fabric, over the entire run.
    pub entered: Vec<u64>,
    /// End-to-end delays, round-trip times and completion times by bundle.
    pub delays: Delays,
    /// Connections completed after the warm-up; empty without [`Fabric::with_completions`].
    pub completions: Vec<Completed>,
    /// The time series of each set of flows (track) for which the description of the network asks; each has as many
    /// rows as the time series of the links.
    pub tracks: Vec<Vec<TrackRow>>,
}

impl Fabric {
    /// Creates the links of `net`, idle at time zero, for a run of at most `horizon`. `bundles` gives the service
    /// class of each bundle, `rows` the spacing and the number of the rows of the time series. If `keeps` is true, each
    /// link under study keeps a journal of its arrivals and the verdicts on them.
    pub fn new(net: &Network, seed: u64, bundles: &Bundles, (rows, horizon): (Rows, Span), keeps: bool) -> Self {
        let element = |spec: &forebay_sim::network::LinkSpec| Element {
            link: LoneLink::new(spec, seed, (net.warmup, rows), horizon, bundles.clone()),
            pipe: VecDeque::new(),
            study: spec.lane.study,
            journal: (keeps && spec.lane.study).then(Journal::default),
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
            bundles: Vec::new(),
            delays: Delays::default(),
            round_trips: RoundTrips::default(),
            connections: None,
            tap: None,
            completions: Vec::new(),
            tracks: Tracks::new(&net.tracks, net.flows.len(), (rows.every, rows.most)),
            warmup: Instant::ZERO + net.warmup,
            now: Instant::ZERO,
            watched: net
                .flows
                .iter()
                .map(|flow| net.routes[flow.forward].iter().any(|&l| net.links[l].lane.study))
                .collect(),
        }
    }

    /// Measures the completion times of TCP connections too.
    #[must_use]
    pub fn with_completions(self) -> Self {
        Self { connections: Some(Connections::default()), ..self }
    }

    /// Calls `tap` for each frame that leaves the queue of a link.
    #[must_use]
    pub fn with_tap(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// Processes all events up to time `at`, and then a frame that came from the client or the server at this time. If
    /// `way` is given, the frame enters the first link of the route that `way` names. Otherwise it crosses no link.
    /// `to` is the receiver: [`NEAR`] for the client, [`FAR`] for the server.
    pub fn arrive(&mut self, bytes: &[u8], way: Option<Way>, to: usize, at: Instant) {
        let about = way.map_or_else(|| frame::about(bytes), |way| way.about);
        let (flow, bundle) = (way.and_then(|way| way.flow), way.map_or(0, |way| way.bundle));
        let note = Note { to, about, flow, bundle, came: at, entry: 0 };
        self.advance(at);
        // A frame that is seen late is treated as arriving now.
        let at = self.now;
        let note = Note { came: at, ..note };
        let frame = self.frames.store(bytes, note);
        let Some(way) = way else { return self.ready[to].push_back((at, frame)) };
        if let Some(flow) = way.flow {
            self.entered[flow] += 1;
            if let Some(segment) = frame::tcp(bytes).filter(|_| self.watched[flow]) {
                let from = (1 - to, Owner { flow, bundle });
                self.round_trips.sent(&segment, from, at);
                let completed = self.connections.as_mut().and_then(|all| all.sent(&segment, from, at));
                if let Some((owner, took)) = completed {
                    self.completed(owner.bundle, at, took);
                }
            }
        }
        let segment =
            Arrival { at: at.nanos(), len: bytes.len().min(usize::from(u16::MAX)) as u16, about }.segment(frame);
        self.enter(Segment { hop: self.starts[way.route] as u32, at, bundle, ..segment });
    }

    /// Records that a connection whose data belong to `bundle` is complete.
    fn completed(&mut self, bundle: u8, at: Instant, took: Span) {
        if at >= self.warmup {
            self.delays.completed(bundle, took);
            if self.completions.len() < MAX_COMPLETIONS {
                self.completions.push(Completed { bundle, at, took });
            }
        }
    }

    /// Passes a frame, represented by `segment`, to the next link of its route, or to [`Self::leave`] after the last
    /// one.
    fn enter(&mut self, segment: Segment) {
        let at = segment.at;
        let Some(number) = self.steps[segment.hop as usize] else { return self.leave(&segment) };
        let element = &mut self.elements[number];
        let note = &mut self.frames.notes[segment.seq as usize];
        if let Some(journal) = &mut element.journal {
            note.entry = journal.arrive(Arrival { at: at.nanos(), len: segment.len, about: note.about });
        }
        let tag = note.about.tag();
        self.with(number, at, |link, gone| link.arrive(segment, tag, at, gone));
    }

    /// Measures a frame, represented by `segment`, that has reached the end of its route, and makes it ready to be
    /// sent.
    fn leave(&mut self, segment: &Segment) {
        let Note { to, flow, came, bundle, .. } = self.frames.notes[segment.seq as usize];
        let bytes = &self.frames.buffers[segment.seq as usize];
        let round_trip = frame::tcp(bytes).and_then(|seen| self.round_trips.received(&seen, to, segment.at));
        if let Some(flow) = flow.filter(|flow| self.tracks.has(*flow)) {
            self.tracks.arrived(flow, segment.at, segment.len, segment.at.since(came));
        }
        if let Some((owner, rtt)) = round_trip {
            self.tracks.round_trip(owner.flow, segment.at, rtt);
        }
        if segment.at >= self.warmup {
            if let Some(flow) = flow {
                self.flows[flow].add(bytes);
                if self.bundles.len() <= usize::from(bundle) {
                    self.bundles.resize(usize::from(bundle) + 1, Carried::default());
                }
                self.bundles[usize::from(bundle)].add(bytes);
            }
            if let Some(flow) = flow.filter(|flow| self.watched[*flow]) {
                self.delays.note(bundle, segment.at.since(came), &mut self.last_delay[flow]);
            }
            if let Some((owner, rtt)) = round_trip {
                self.delays.round_trip(owner.bundle, rtt);
            }
        }
        self.ready[to].push_back((segment.at, segment.seq));
    }

    /// Runs `act`, an event at time `at`, on a link and handles the frames that leave it.
    fn with(&mut self, number: usize, at: Instant, act: impl FnOnce(&mut LoneLink, &mut dyn FnMut(&Segment, Gone))) {
        let Self { elements, frames, due, tap, .. } = self;
        let Element { link, pipe, journal, .. } = &mut elements[number];
        act(link, &mut |segment, gone| {
            let note = &mut frames.notes[segment.seq as usize];
            let verdict = Verdict::of(segment, gone, note.about.ecn);
            if let Some(journal) = journal {
                journal.verdicts[note.entry] = Some(verdict);
            }
            if verdict == (Verdict::Sent { marked: true }) {
                note.about.ecn = Ecn::Ce;
                frame::mark(&mut frames.buffers[segment.seq as usize]);
            }
            if let Some(tap) = tap {
                tap(Passed { link: number, at, frame: &frames.buffers[segment.seq as usize], gone });
            }
            if gone != Gone::Sent {
                frames.free.push(segment.seq);
                return;
            }
            pipe.push_back(Segment { hop: segment.hop + 1, ..*segment });
        });
        due[number] = [Due::from(link.next()), head(pipe)];
    }

    /// The next event: its time, whether it is an arrival at the end of a wire (else an event of a link), and the index
    /// of this link. At equal times events of links come first, as in a simulation.
    fn first(&self) -> Option<(Instant, bool, usize)> {
        let all = self.due.iter().enumerate().flat_map(|(at, due)| [(due[0], false, at), (due[1], true, at)]);
        let (due, is_pipe, at) = all.min()?;
        due.get().map(|due| (due, is_pipe, at))
    }

    /// Processes all events up to `now`.
    pub fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some((at, is_pipe, number)) = self.first().filter(|(at, ..)| *at <= now) {
            if !is_pipe {
                self.with(number, at, |link, gone| link.advance(at, gone));
                continue;
            }
            let pipe = &mut self.elements[number].pipe;
            let Some(segment) = pipe.pop_front() else { break };
            self.due[number][1] = head(pipe);
            self.enter(segment);
        }
    }

    /// Time of the next event if nothing arrives.
    pub fn next(&self) -> Option<Instant> {
        self.first().map(|(at, ..)| at)
    }

    /// The first frames that are due at an end, at most `most`, in order.
    pub fn ready(&self, end: usize, most: usize) -> impl Iterator<Item = &[u8]> {
        self.ready[end].iter().take(most).map(|(_, frame)| self.frames.buffers[*frame as usize].as_slice())
    }

    /// The first frame that is due at an end, when it arrived at the fabric, and when it became due.
    pub fn first_ready(&self, end: usize) -> Option<(&[u8], [Instant; 2])> {
        let (at, frame) = self.ready[end].front()?;
        Some((&self.frames.buffers[*frame as usize], [self.frames.notes[*frame as usize].came, *at]))
    }

    /// Records that the first `count` due frames were sent at time `now`.
    pub fn sent(&mut self, end: usize, count: usize, now: Instant) {
        let count = count.min(self.ready[end].len());
        for (at, frame) in self.ready[end].drain(..count) {
            self.lateness[end].add(now.since(at));
            self.carried[end].add(&self.frames.buffers[frame as usize]);
            self.frames.free.push(frame);
        }
    }

    /// Records that the interface refused the first due frame, which is lost.
    pub fn refused(&mut self, end: usize) {
        if let Some((_, frame)) = self.ready[end].pop_front() {
            self.frames.free.push(frame);
        }
    }

    /// The results, with statistics closed at `now`.
    pub fn finish(mut self, now: Instant) -> Report {
        self.advance(now);
        let (mut links, mut journals) = (Vec::new(), Vec::new());
        for element in self.elements.into_iter().filter(|element| element.study) {
            links.push(element.link.finish(now));
            journals.push(element.journal);
        }
        let Self { lateness, carried, flows, bundles, entered, delays, completions, tracks, .. } = self;
        let times = links.first().map_or(&[][..], |link: &LinkOutcome| &link.series.time_s);
        let sample = times.first().map_or(Span::ZERO, |first| Span::from_secs(*first));
        let tracks = tracks.finish(times.len(), sample);
        Report { links, journals, lateness, carried, flows, bundles, entered, delays, completions, tracks }
    }
}
