//! The network at run time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use forebay_aqm::base::packet::{Ack, Ecn, Hosts, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::bundles::Bundles;
use forebay_sim::engine::due::Due;
use forebay_sim::link::Tag;
use forebay_sim::lone::{Gone, LoneLink, Rows};
use forebay_sim::network::LinkSpec;
use forebay_sim::segment::{Kind, Mark, Segment};

use crate::log::{Event, Happened};
use crate::topology::{Disorder, NetError, Topology, span};

/// Later than the end of a test: the network runs for at most a year.
const HORIZON: Span = Span::from_nanos(365 * 86_400 * 1_000_000_000);
/// Rows of the time series that each link keeps. Nothing reads them.
const ROWS: Rows = Rows { every: Span::from_nanos(1_000_000_000), most: Some(2) };

/// One of the two ends of a connection. A packet that it sends arrives at its peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint(u32);

impl Endpoint {
    /// The other end of the connection.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Number of the connection, from 0 in the order of [`Net::connect`]. Disciplines that keep flows apart take it as the
    /// flow of packets in both directions.
    pub const fn connection(self) -> u32 {
        self.0 / 2
    }
}

/// Content of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This number of bytes, whose values nobody reads.
    Length(usize),
}

impl Payload {
    /// Number of bytes.
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Length(length) => *length,
        }
    }

    /// Whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes; empty if only a length was sent.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Length(_) => &[],
        }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Payload {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<usize> for Payload {
    fn from(length: usize) -> Self {
        Self::Length(length)
    }
}

/// A packet that has arrived at its receiver.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it arrived, since the start.
    pub at: Duration,
    /// When it was sent.
    pub sent: Duration,
    /// The receiver. [`Endpoint::peer`] is the sender.
    pub to: Endpoint,
    /// Number of the packet, from 0 in the order of [`Net::send`].
    pub packet: u64,
    /// The payload as it was sent.
    pub payload: Payload,
    /// Its ECN codepoint: CE if a queue marked it.
    pub ecn: Ecn,
}

/// Counters of a link, in packets.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets that the queue marked CE.
    pub marked: u64,
    /// Packets that the wire lost.
    pub lost: u64,
    /// Packets that left for the far end; one that is duplicated counts once.
    pub sent: u64,
    /// Packets that the wire duplicated.
    pub duplicated: u64,
    /// Packets that the wire delayed, so that later ones overtake them.
    pub delayed: u64,
}

/// A link and the wire behind it.
struct Element {
    name: Arc<str>,
    link: LoneLink,
    /// Packets on the wire, in the order of their arrival at its end.
    wire: VecDeque<Segment>,
    counters: Counters,
    disorder: Disorder,
    rng: Rng,
    /// Next event of the link, and arrival of the first packet of the wire.
    due: [Due; 2],
}

/// A packet in the network.
#[derive(Clone)]
struct Flying {
    number: u64,
    from: Endpoint,
    sent: Instant,
    ecn: Ecn,
    payload: Payload,
}

/// What all packets of an endpoint have in common.
struct Sender {
    /// Index of the first hop of its route in [`Net::hops`].
    first: u32,
    tag: Tag,
    class: u8,
}

/// A network; see the documentation of the crate.
pub struct Net {
    topology: Topology,
    elements: Vec<Element>,
    /// The links of the routes of all senders, each with `None` at its end.
    hops: Vec<Option<usize>>,
    senders: Vec<Sender>,
    flying: Vec<Option<Flying>>,
    free: Vec<u32>,
    arrived: VecDeque<Arrival>,
    packets: u64,
    now: Instant,
    log: Option<Vec<Event>>,
}

fn duration(at: Instant) -> Duration {
    Duration::from_nanos(at.nanos())
}

impl Net {
    /// The network of this topology at time 0, with empty queues. The seed determines what is random: disciplines, losses,
    /// jitter, reordering and duplication.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        let topology = topology.clone();
        let network = topology.graph.network(HORIZON, Span::ZERO, ROWS.every);
        let element = |(spec, disorder): (&LinkSpec, &Disorder)| {
            let link = LoneLink::new(spec, seed, (Span::ZERO, ROWS), HORIZON, Bundles::classes());
            let due = [Due::from(link.next()), Due::NEVER];
            let (name, disorder) = (spec.name.as_str().into(), *disorder);
            let rng = Rng::stream(seed, &format!("disorder/{}", spec.name));
            Element { name, link, wire: VecDeque::new(), counters: Counters::default(), disorder, rng, due }
        };
        Self {
            elements: network.links.iter().zip(&topology.disorder).map(element).collect(),
            topology,
            hops: Vec::new(),
            senders: Vec::new(),
            flying: Vec::new(),
            free: Vec::new(),
            arrived: VecDeque::new(),
            packets: 0,
            now: Instant::ZERO,
            log: None,
        }
    }

    /// Keeps a log of all packets from now on.
    #[must_use]
    pub fn with_log(self) -> Self {
        Self { log: Some(Vec::new()), ..self }
    }

    /// Adds a connection between two nodes and returns its two ends. Several connections between the same nodes share the
    /// links as different flows.
    ///
    /// # Errors
    /// A node is unknown, or there is no path in one direction.
    pub fn connect(&mut self, one: &str, other: &str) -> Result<(Endpoint, Endpoint), NetError> {
        self.connect_with(one, other, 0, 0)
    }

    /// As [`connect`](Self::connect), with a Differentiated Services codepoint (0 to 63) and a service class for the
    /// packets in both directions.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), or the codepoint is above 63.
    pub fn connect_with(
        &mut self,
        one: &str,
        other: &str,
        dscp: u8,
        class: u8,
    ) -> Result<(Endpoint, Endpoint), NetError> {
        let node = |name: &str| {
            let known = || self.topology.graph.nodes.join(", ");
            self.topology.node(name).ok_or_else(|| NetError(format!("no node '{name}'; there are: {}", known())))
        };
        let (a, b) = (node(one)?, node(other)?);
        if dscp > 63 {
            return Err(NetError(format!("DSCP {dscp}: accepted is 0 to 63")));
        }
        let first = self.senders.len() as u32;
        let route = |from, to, names: [&str; 2]| {
            let missing = || NetError(format!("no path from '{}' to '{}'", names[0], names[1]));
            self.topology.graph.route(from, to).ok_or_else(missing)
        };
        let routes = [(a, b, route(a, b, [one, other])?), (b, a, route(b, a, [other, one])?)];
        for (from, to, route) in routes {
            let hosts = Hosts { source: from as u16, destination: to as u16 };
            let tag = Tag { pair: first / 2, hosts, ack: Ack::default(), proto: Proto::Udp, dscp };
            self.senders.push(Sender { first: self.hops.len() as u32, tag, class });
            self.hops.extend(route.into_iter().map(Some).chain([None]));
        }
        Ok((Endpoint(first), Endpoint(first + 1)))
    }

    /// `from` sends a packet to its peer. Its length on the wire is that of the payload and the
    /// [overhead](Topology::overhead). Returns the number of the packet. A time before that of an earlier call counts as
    /// the time of that call.
    ///
    /// # Panics
    /// The endpoint is of another network, or the packet has more than 65,535 bytes: errors of the test itself.
    pub fn send(&mut self, now: Duration, from: Endpoint, payload: impl Into<Payload>, ecn: Ecn) -> u64 {
        let payload = payload.into();
        self.advance(Instant::ZERO + span(now));
        let length = payload.len() + self.topology.overhead as usize;
        let len = u16::try_from(length).unwrap_or_else(|_| panic!("a packet of {length} bytes: at most 65535"));
        let Some(Sender { first, class, .. }) = self.senders.get(from.0 as usize) else {
            panic!("{from:?} is of another network");
        };
        let number = self.packets;
        self.packets += 1;
        let mark = Mark::data(Kind::Datagram, ecn, false);
        let segment = Segment {
            at: self.now,
            flow: from.connection(),
            hop: *first,
            len,
            bundle: *class,
            mark,
            ..Segment::default()
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.flying.push(None);
            (self.flying.len() - 1) as u32
        });
        self.flying[place as usize] = Some(Flying { number, from, sent: self.now, ecn, payload });
        self.note(place, self.now, Happened::Sent { length: u32::from(len), ecn });
        self.enter(Segment { seq: place, ..segment });
        number
    }

    /// The next packet that has arrived by `now`, or `None`. Call it until it returns `None`.
    pub fn poll(&mut self, now: Duration) -> Option<Arrival> {
        self.advance(Instant::ZERO + span(now));
        self.arrived.pop_front()
    }

    /// When the next event happens, if nothing else is sent. It need not be an arrival: [`poll`](Self::poll) may then
    /// return `None`. `None`: no packet is in the network.
    pub fn next_time(&self) -> Option<Duration> {
        let arrived = self.arrived.front().map(|arrival| arrival.at);
        let is_empty = self.free.len() == self.flying.len();
        // Without packets only timers of disciplines are left. They are processed when something arrives.
        arrived.or_else(|| self.first().filter(|_| !is_empty).map(|(at, ..)| duration(at)))
    }

    /// The log of all packets so far, in the order of time; empty without [`with_log`](Self::with_log).
    pub fn log(&self) -> &[Event] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Counters of the link from one node to another; `None`: there is no such link.
    pub fn counters(&self, from: &str, to: &str) -> Option<Counters> {
        let graph = &self.topology.graph;
        let (from, to) = (self.topology.node(from)?, self.topology.node(to)?);
        let at = graph.edges.iter().position(|edge| (edge.from, edge.to) == (from, to))?;
        Some(self.elements[at].counters)
    }

    /// Adds an entry to the log about the packet at `place`.
    fn note(&mut self, place: u32, at: Instant, what: Happened) {
        if let Some(log) = &mut self.log
            && let Some(Flying { number, from, .. }) = &self.flying[place as usize]
        {
            log.push(Event { at: duration(at), packet: *number, from: *from, what });
        }
    }

    /// Passes a packet to the next link of its route, or to its receiver.
    fn enter(&mut self, segment: Segment) {
        let Some(number) = self.hops[segment.hop as usize] else { return self.deliver(&segment) };
        if self.log.is_some() {
            let link = self.elements[number].name.clone();
            self.note(segment.seq, segment.at, Happened::Reached { link });
        }
        self.elements[number].counters.arrived += 1;
        let from = self.flying[segment.seq as usize].as_ref().map_or(0, |flying| flying.from.0 as usize);
        let tag = self.senders[from].tag;
        self.with(number, |link, gone| link.arrive(segment, tag, segment.at, gone));
    }

    fn deliver(&mut self, segment: &Segment) {
        self.note(segment.seq, segment.at, Happened::Delivered);
        if let Some(Flying { number, from, sent, payload, .. }) = self.flying[segment.seq as usize].take() {
            let (at, sent, ecn) = (duration(segment.at), duration(sent), segment.mark.ecn());
            self.arrived.push_back(Arrival { at, sent, to: from.peer(), packet: number, payload, ecn });
        }
        self.free.push(segment.seq);
    }

    /// Runs `act` on a link and handles the packets that leave it.
    fn with(&mut self, number: usize, act: impl FnOnce(&mut LoneLink, &mut dyn FnMut(&Segment, Gone))) {
        let Self { elements, flying, free, log, .. } = self;
        let Element { name, link, wire, counters, disorder, rng, due } = &mut elements[number];
        let mut left: Vec<(Segment, Gone)> = Vec::new();
        act(link, &mut |segment, gone| left.push((*segment, gone)));
        let now = link.now();
        for (segment, gone) in left {
            let Some(packet) = &mut flying[segment.seq as usize] else { continue };
            let mut note = |what| {
                if let Some(log) = log {
                    log.push(Event { at: duration(now), packet: packet.number, from: packet.from, what });
                }
            };
            let ecn = segment.mark.ecn();
            if gone != Gone::Dropped && ecn != packet.ecn {
                counters.marked += 1;
                note(Happened::Marked { link: name.clone() });
                packet.ecn = ecn;
            }
            match gone {
                Gone::Sent => {
                    counters.sent += 1;
                    let mut next = Segment { hop: segment.hop + 1, ..segment };
                    if disorder.reordered > 0.0 && rng.uniform() < disorder.reordered {
                        counters.delayed += 1;
                        note(Happened::Delayed { link: name.clone() });
                        next.at += disorder.by;
                    }
                    let place = wire.partition_point(|other| other.at <= next.at);
                    wire.insert(place, next);
                    if disorder.duplicated > 0.0 && rng.uniform() < disorder.duplicated {
                        counters.duplicated += 1;
                        note(Happened::Duplicated { link: name.clone() });
                        let copy = packet.clone();
                        let seq = free.pop().unwrap_or(flying.len() as u32);
                        if seq as usize == flying.len() {
                            flying.push(None);
                        }
                        flying[seq as usize] = Some(copy);
                        wire.insert(place + 1, Segment { seq, ..next });
                    }
                    continue;
                }
                Gone::Dropped => {
                    counters.dropped += 1;
                    note(Happened::Dropped { link: name.clone() });
                }
                Gone::Lost => {
                    counters.lost += 1;
                    note(Happened::Lost { link: name.clone() });
                }
            }
            flying[segment.seq as usize] = None;
            free.push(segment.seq);
        }
        *due = [Due::from(link.next()), Due::from(wire.front().map(|segment| segment.at))];
    }

    /// The next event: its time, whether it is an arrival at the end of a wire, and the index of the link. At equal times
    /// events of links come first, as in a simulation.
    fn first(&self) -> Option<(Instant, bool, usize)> {
        let all = self.elements.iter().enumerate();
        let all = all.flat_map(|(at, element)| [(element.due[0], false, at), (element.due[1], true, at)]);
        let (due, is_wire, at) = all.min()?;
        due.get().map(|due| (due, is_wire, at))
    }

    /// Processes all events up to `now`.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some((at, is_wire, number)) = self.first().filter(|(at, ..)| *at <= self.now) {
            if !is_wire {
                self.with(number, |link, gone| link.advance(at, gone));
                continue;
            }
            let element = &mut self.elements[number];
            let Some(segment) = element.wire.pop_front() else { break };
            element.due[1] = Due::from(element.wire.front().map(|segment| segment.at));
            self.enter(segment);
        }
    }
}
