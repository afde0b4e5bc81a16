//! The path of a packet between its two hosts: links, and the pipes behind them, which hold packets in transit.

use forebay_aqm::base::packet::{Ack, Hosts, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::World;
use super::ahead::Ahead;
use super::capture::Seen;
use crate::engine::index::Index;
use crate::engine::ring::Ring;
use crate::link::segment::{Kind, Segment};
use crate::link::{Link, Tag};
use crate::network::{FlowSpec, HostSpec, LinkId, Network};
use crate::tcp::congestion::Transport;

/// One hop of a route: a link, or the destination if `link` is `None`. `ahead`: the hop needs no event of its own,
/// because its link or host can be computed ahead of time (see `Ahead`).
#[derive(Clone, Copy)]
struct Hop {
    link: Option<Index>,
    ahead: bool,
}

/// What disciplines see of a flow's packets. The packets on the route of the acknowledgements go from the receiving host
/// to the sending one.
struct Origin {
    /// The tag of packets on the data's route.
    tag: Tag,
    /// The two routes of the flow have separate ranges of hops. The first hop of the later range, and whether this
    /// range is the route of the acknowledgements.
    later: u32,
    later_is_back: bool,
    /// Whether its acknowledgements are TCP's.
    acknowledges: bool,
}

impl Origin {
    fn new(flow: &FlowSpec, route_start: &[u32]) -> Self {
        let (forward, back) = (route_start[flow.forward], route_start[flow.back]);
        let tcp = flow.traffic.tcp();
        let proto = if tcp.is_some() { Proto::Tcp } else { Proto::Udp };
        // The id of a host has 16 bits; further hosts share the ids of earlier ones.
        let hosts = Hosts { source: flow.from as u16, destination: flow.to as u16 };
        Self {
            tag: Tag { pair: flow.pair, hosts, ack: Ack::default(), proto, dscp: flow.dscp },
            later: forward.max(back),
            later_is_back: back > forward,
            acknowledges: tcp.is_some_and(|options| options.variant.profile().transport == Transport::Tcp),
        }
    }

    /// The tag of a packet of the flow.
    #[inline]
    fn of(&self, segment: &Segment) -> Tag {
        let mut tag = self.tag;
        if (segment.hop >= self.later) == self.later_is_back {
            tag.hosts = Hosts { source: tag.hosts.destination, destination: tag.hosts.source };
        }
        if self.acknowledges && segment.mark.kind() == Kind::Ack {
            tag.ack = acknowledgement(segment);
        }
        tag
    }
}

/// What an ACK filter sees of an acknowledgement. With the AccECN option it is not a pure one; with the field ACE alone it is if
/// the highest bit, one of the reserved flags of RFC 3168, is clear.
fn acknowledgement(segment: &Segment) -> Ack {
    let (ece, cwr) = match segment.echoes().accurate() {
        None => (segment.mark.ece(), segment.mark.cwr()),
        Some(feedback) if feedback.total().is_some() || feedback.ace() & 4 != 0 => return Ack::default(),
        Some(feedback) => (feedback.ace() & 1 != 0, feedback.ace() & 2 != 0),
    };
    Ack::pure(segment.seq).with_flags(ece, cwr).with_blocks(segment.blocks().is_some())
}

/// A host, where packets enter the network.
struct Host {
    rng: Rng,
    jitter: Span,
    /// Time at which its latest packet was ready for the first link.
    last: Instant,
}

/// The links, pipes and hosts on the path of packets.
pub(super) struct Fabric {
    pub(super) links: Vec<Link>,
    /// Each pipe holds the packets that are on the way to one link or host that needs an event, in order of arrival.
    pub(super) pipes: Vec<Ring<Segment>>,
    /// Index of the pipe behind each link and then each host; `None` if there is no pipe.
    pipe_of: Vec<Option<Index>>,
    /// Links with a discipline.
    managed: Vec<LinkId>,
    /// For each link, its index in `managed`.
    managed_at: Vec<Option<Index>>,
    hops: Vec<Hop>,
    hosts: Vec<Host>,
    /// For each flow, what disciplines see of its packets.
    origins: Vec<Origin>,
}

impl Fabric {
    /// Creates the links, pipes and hosts without packets. Also returns the index of the first hop of each route.
    pub(super) fn new(net: &Network, seed: u64, links: Vec<Link>, ahead: Ahead) -> (Self, Vec<u32>) {
        let Ahead { eager, reflex, pipe_of, pipes } = ahead;
        let mut hops = Vec::new();
        let mut route_start = Vec::new();
        for route in &net.routes {
            route_start.push(hops.len() as u32);
            hops.extend(route.iter().map(|&link| Hop { link: Some(Index::new(link)), ahead: eager[link] }));
            hops.push(Hop { link: None, ahead: false });
        }
        for flow in net.flows.iter().filter(|flow| reflex[flow.to]) {
            hops[route_start[flow.forward] as usize + net.routes[flow.forward].len()].ahead = true;
        }
        let managed: Vec<LinkId> = (0..links.len()).filter(|&link| links[link].is_managed()).collect();
        let mut managed_at = vec![None; links.len()];
        managed.iter().enumerate().for_each(|(i, &link)| managed_at[link] = Some(Index::new(i)));
        let host = |h: &HostSpec| Host {
            rng: Rng::stream(seed, &format!("host/{}", h.name)),
            jitter: h.jitter,
            last: Instant::ZERO,
        };
        let fabric = Self {
            links,
            pipes: (0..pipes).map(|_| Ring::new()).collect(),
            pipe_of,
            managed,
            managed_at,
            hops,
            hosts: net.hosts.iter().map(host).collect(),
            origins: net.flows.iter().map(|flow| Origin::new(flow, &route_start)).collect(),
        };
        (fabric, route_start)
    }

    /// Links with a discipline. A link's index in this list is also the number of its event source.
    pub(super) fn managed(&self) -> &[LinkId] {
        &self.managed
    }

    /// The index of `link` among the links with a discipline.
    pub(super) fn managed_at(&self, link: LinkId) -> Option<usize> {
        self.managed_at.get(link).copied().flatten().map(Index::get)
    }

    #[inline]
    fn hop(&self, segment: &Segment) -> Hop {
        self.hops[segment.hop as usize]
    }
}

impl World {
    /// The first packet in pipe `id` reaches the link or host at the end of the pipe.
    #[inline]
    pub(super) fn pipe_event(&mut self, id: usize) {
        let pipe = &mut self.fabric.pipes[id];
        let Some(&segment) = pipe.front() else { return };
        pipe.skip();
        let next = pipe.front().map(|s| s.at);
        self.agenda.set(self.sources.pipe(id), next);
        match self.fabric.hop(&segment).link {
            None => self.deliver(segment),
            Some(link) => self.forward::<true>(link.get(), segment, self.now),
        }
    }

    /// Forwards `segment`, which reaches `link` at time `at`, up to the first link or host that needs an event.
    /// `ANSWER`: may the receiving host acknowledge the packet ahead of time? False for acknowledgements.
    #[inline(always)]
    fn forward<const ANSWER: bool>(&mut self, mut link: LinkId, mut segment: Segment, mut at: Instant) {
        loop {
            if self.fabric.links[link].is_managed() {
                self.arrive(link, segment);
                return;
            }
            let passed = self.fabric.links[link].pass(segment.len, segment.counted_as(), at, |free, _| free);
            let arrival = match passed {
                Ok(arrival) => arrival,
                Err(at) => return self.lost(segment, at),
            };
            segment.at = arrival;
            segment.hop += 1;
            let Some(next) = self.hand_over::<ANSWER>(link, segment) else { return };
            (link, at) = (next, arrival);
        }
    }

    /// Passes a packet from a link to the next link or host. If that needs an event, the packet enters the pipe. A
    /// host that may answer ahead of time answers here. Returns the next link if it needs no event for the packet.
    #[inline(always)]
    fn hand_over<const ANSWER: bool>(&mut self, link: LinkId, segment: Segment) -> Option<LinkId> {
        let next = self.fabric.hop(&segment);
        if !next.ahead {
            self.push(link, segment);
            return None;
        }
        if ANSWER && next.link.is_none() {
            self.answer(segment);
        }
        next.link.map(Index::get)
    }

    #[inline]
    fn lost(&mut self, segment: Segment, at: Instant) {
        self.ends.release(&segment);
        // The time may be after the end of the run.
        if at <= self.window.to {
            self.record.lost(at, &segment);
        }
    }

    /// Puts `segment` into the pipe behind `feeder`: a link, or a host (hosts are numbered after the links).
    #[inline(always)]
    fn push(&mut self, feeder: usize, segment: Segment) {
        let Some(id) = self.fabric.pipe_of[feeder] else { unreachable!("what feeds an event has a pipe") };
        let pipe = &mut self.fabric.pipes[id.get()];
        debug_assert!(
            segment.at >= self.now && pipe.back().is_none_or(|last| last.at <= segment.at),
            "pipes keep order"
        );
        if pipe.is_empty() {
            self.agenda.set(self.sources.pipe(id.get()), Some(segment.at));
        }
        pipe.push(segment);
    }

    #[inline]
    fn arrive(&mut self, link: LinkId, segment: Segment) {
        let (now, record, ends, capture) = (self.now, &mut self.record, &mut self.ends, &mut self.capture);
        let origins = &self.fabric.origins;
        let tag = origins[segment.flow as usize].of(&segment);
        if let Some(capture) = capture {
            capture.note(link, &segment, tag, now, Seen::Arrived);
        }
        let lost = |s: &Segment| {
            if let Some(capture) = capture {
                capture.note(link, s, origins[s.flow as usize].of(s), now, Seen::Dropped);
            }
            ends.release(s);
            record.lost(now, s);
        };
        let idle = self.fabric.links[link].arrive(segment, tag, now, lost);
        if idle && let Some(managed) = self.fabric.managed_at[link] {
            match self.fabric.links[link].idles_until(now) {
                None => self.serve(managed.get(), now),
                later => self.agenda.set(managed.get(), later),
            }
        }
    }

    /// Sends the next packet of a managed link (a link with a discipline). Called when its transmitter is idle.
    #[inline]
    pub(super) fn serve(&mut self, managed: usize, now: Instant) {
        let link = self.fabric.managed[managed];
        let (record, ends, capture) = (&mut self.record, &mut self.ends, &mut self.capture);
        let origins = &self.fabric.origins;
        let lost = |s: &Segment| {
            if let Some(capture) = capture {
                capture.note(link, s, origins[s.flow as usize].of(s), now, Seen::Dropped);
            }
            ends.release(s);
            record.lost(now, s);
        };
        let served = self.fabric.links[link].serve(now, lost);
        let Some((mut segment, free)) = served else {
            let held = self.fabric.links[link].held_until(now);
            self.agenda.set(managed, held);
            return;
        };
        self.agenda.set(managed, Some(free));
        let is_lost = self.fabric.links[link].loses(now);
        if let Some(capture) = &mut self.capture {
            let what = if is_lost { Seen::Lost } else { Seen::Sent };
            capture.note(link, &segment, self.fabric.origins[segment.flow as usize].of(&segment), now, what);
        }
        if is_lost {
            self.lost(segment, segment.at);
            return;
        }
        segment.hop += 1;
        if let Some(next) = self.hand_over::<true>(link, segment) {
            self.forward::<true>(next, segment, segment.at);
        }
    }

    /// The timer of a discipline has expired.
    pub(super) fn tick_event(&mut self, managed: usize) {
        self.fabric.links[self.fabric.managed[managed]].tick(self.now);
        self.schedule_tick(managed);
    }

    /// Schedules the next expiry of the discipline's timer.
    pub(super) fn schedule_tick(&mut self, managed: usize) {
        let next = self.fabric.links[self.fabric.managed[managed]].next_tick();
        // A timer set to the past would stop the clock: use the next nanosecond.
        let soonest = self.now + Span::from_nanos(1);
        self.agenda.set(self.sources.tick(managed), next.map(|at| at.max(soonest)));
    }

    /// A host sends a packet. The packet reaches the first link after a random processing time; packets keep their
    /// order. The random time breaks ties between packets of different hosts.
    ///
    /// Packets that queue at a host would still leave exactly one packet time apart, in phase with a bottleneck of the
    /// same rate. Therefore each leaves earlier or later by up to half of the host's jitter, at most half a packet time
    /// (serialization jitter). These deviations do not accumulate.
    #[inline(always)]
    pub(super) fn emit<const ANSWER: bool>(&mut self, id: usize, mut segment: Segment, now: Instant) {
        let host = &mut self.fabric.hosts[id];
        let ready = if host.jitter > Span::ZERO { now.plus(host.below(host.jitter)) } else { now };
        host.last = host.last.max(ready);
        segment.at = host.last;
        self.record.counters.emit(now, segment.at);
        let first = self.fabric.hops[segment.hop as usize];
        let link = match first.link {
            Some(link) if first.ahead => link.get(),
            _ => {
                self.push(self.fabric.links.len() + id, segment);
                return;
            }
        };
        let jittered = |free: Instant, time: Span| match host.jitter.min(time) {
            Span::ZERO => free,
            most => free.plus(host.below(most)) - Span::from_nanos(most.nanos() / 2),
        };
        let passed = self.fabric.links[link].pass(segment.len, segment.counted_as(), segment.at, jittered);
        let arrival = match passed {
            Ok(arrival) => arrival,
            Err(at) => return self.lost(segment, at),
        };
        segment.at = arrival;
        segment.hop += 1;
        if let Some(next) = self.hand_over::<ANSWER>(link, segment) {
            self.forward::<ANSWER>(next, segment, arrival);
        }
    }
}

impl Host {
    /// A random time from 0 to `most`.
    #[inline(always)]
    fn below(&mut self, most: Span) -> Span {
        Span::from_nanos(self.rng.below(most.nanos() + 1))
    }
}
