//! The running simulation: state, main loop, and what each event does.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Proto};
use forebay_aqm::base::port::MAIN;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::parts::token_bucket::TokenBucket;
use forebay_aqm::{AnyDiscipline, Spec};

use crate::agenda::{Agenda, Sources};
use crate::ahead::Ahead;
use crate::app::{End, Wish};
use crate::audit::{self, Books};
use crate::delays::Delays;
use crate::flow::{Body, Flow};
use crate::link::{Link, Tag};
use crate::meter::Window;
use crate::network::{BadNetwork, FlowSpec, LinkId, Network};
use crate::outcome::{LinkOutcome, Outcome, Series};
use crate::over_time::OverTime;
use crate::ring::Ring;
use crate::segment::{Kind, Mark, Segment};
use crate::tcp::receiver::Ack;
use crate::timers::Timers;

/// What the run's owner may do while it runs, once per sampling interval.
pub trait Observer {
    /// The run has come to `now`; false ends it at once.
    fn reached(&mut self, now: Instant) -> bool;
}

/// Watches nothing.
impl Observer for () {
    fn reached(&mut self, _: Instant) -> bool {
        true
    }
}

/// One step of a route: a link, or the end. `ahead`: a link that may be passed at once, or a host that may
/// answer at once (see `Ahead`).
#[derive(Clone, Copy)]
struct Hop {
    link: u32,
    ahead: bool,
}

impl Hop {
    /// Ends every route.
    const END: u32 = u32::MAX;
}

struct Host {
    rng: Rng,
    jitter: u64,
    last: u64,
}

/// A network while it runs.
pub struct World {
    now: u64,
    end: u64,
    warmup: u64,
    sample: u64,
    agenda: Agenda,
    sources: Sources,
    links: Vec<Link>,
    /// Segments that have left a link or host and not yet reached the next element that needs an event,
    /// in order of arrival there.
    pipes: Vec<Ring<Segment>>,
    /// By link, then by host: its pipe, if it needs one.
    pipe_of: Vec<u32>,
    /// Links under a discipline, and by link the place in that list.
    managed: Vec<u32>,
    managed_at: Vec<u32>,
    hops: Vec<Hop>,
    hosts: Vec<Host>,
    markers: Vec<TokenBucket>,
    flows: Vec<Flow>,
    tags: Vec<Tag>,
    timers: Timers,
    delays: Delays,
    series: Vec<Series>,
    studied: Vec<(LinkId, String)>,
    fingerprint: u64,
    events: u64,
    books: Books,
}

/// One packet event as a number. A run's fingerprint is their sum: what happened when, in whatever order it
/// was computed.
#[inline]
const fn trace(at: u64, segment: &Segment, what: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (at ^ ((segment.flow as u64) << 40)).wrapping_mul(ODD);
    let hash = (hash.rotate_left(29) ^ ((segment.seq as u64) << 8 | what)).wrapping_mul(ODD);
    hash ^ (hash >> 32)
}

/// What the trace of a drop or loss says; that of a delivery says the segment's kind.
const DROPPED: u64 = 0xff;

impl World {
    /// The network at time zero.
    pub fn new(net: &Network, seed: u64) -> Result<Self, BadNetwork> {
        net.check()?;
        let window = Window { from: net.warmup.nanos(), to: net.duration.nanos() };
        let links: Vec<Link> = net.links.iter().map(|spec| Link::of(spec, seed, window, OverTime::of(net))).collect();
        let Ahead { eager, reflex, pipe_of, pipes } = Ahead::new(net);
        let mut hops = Vec::new();
        let mut route_start = Vec::new();
        for route in &net.routes {
            route_start.push(hops.len() as u32);
            hops.extend(route.iter().map(|&link| Hop { link: link as u32, ahead: eager[link] }));
            hops.push(Hop { link: Hop::END, ahead: false });
        }
        for flow in net.flows.iter().filter(|flow| reflex[flow.to]) {
            hops[route_start[flow.forward] as usize + net.routes[flow.forward].len()].ahead = true;
        }
        let managed: Vec<u32> = (0..links.len() as u32).filter(|&l| links[l as usize].is_managed()).collect();
        let mut managed_at = vec![u32::MAX; links.len()];
        managed.iter().enumerate().for_each(|(i, &l)| managed_at[l as usize] = i as u32);
        let sources = Sources { managed: managed.len(), pipes };
        if sources.count() > crate::agenda::MAX_SOURCES {
            let most = crate::agenda::MAX_SOURCES;
            return Err(BadNetwork(format!(
                "more than {most} links with a discipline, and links and hosts to wait behind"
            )));
        }

        let studied = net.links.iter().enumerate().filter(|(_, l)| l.study);
        let series = studied.clone().map(|(_, l)| Series::new(l)).collect();
        let studied = studied.map(|(id, l)| (id, l.name.clone())).collect();
        let tag =
            |f: &FlowSpec| Tag { pair: f.pair, proto: if f.traffic.tcp().is_some() { Proto::Tcp } else { Proto::Udp } };
        let host = |h: &crate::network::HostSpec| Host {
            rng: Rng::stream(seed, &format!("host/{}", h.name)),
            jitter: h.jitter.nanos(),
            last: 0,
        };
        let watched = |f: &FlowSpec| net.routes[f.forward].iter().any(|&link| net.links[link].study);
        let in_order =
            |f: &FlowSpec| [f.forward, f.back].iter().flat_map(|&r| &net.routes[r]).all(|&link| links[link].is_fifo());
        let books = Books::new(net.flows.iter().map(in_order));
        let mut world = Self {
            now: 0,
            end: net.duration.nanos(),
            warmup: net.warmup.nanos(),
            sample: net.sample.nanos(),
            agenda: Agenda::new(sources.count()),
            sources,
            links,
            pipes: (0..pipes).map(|_| Ring::new()).collect(),
            pipe_of,
            managed,
            managed_at,
            hops,
            hosts: net.hosts.iter().map(host).collect(),
            markers: net.markers.iter().map(|marker| TokenBucket::new(marker.cir, marker.cbs)).collect(),
            flows: net.flows.iter().map(|f| Flow::new(f, seed, &route_start, watched(f))).collect(),
            tags: net.flows.iter().map(tag).collect(),
            timers: Timers::new(),
            delays: Delays::default(),
            series,
            studied,
            fingerprint: 0,
            events: 0,
            books,
        };
        world.schedule_first_events();
        Ok(world)
    }

    fn schedule_first_events(&mut self) {
        for flow in 0..self.flows.len() {
            self.arm(flow, self.flows[flow].start);
        }
        for i in 0..self.managed.len() {
            self.schedule_tick(i);
        }
        self.agenda.set(self.sources.window(), Some(self.warmup));
        self.agenda.set(self.sources.sampler(), Some(self.sample));
    }

    /// Runs to the end, or until the observer has enough; `None` in that case.
    pub fn run(mut self, observer: &mut dyn Observer) -> Option<Outcome> {
        self.advance(self.end, observer).then(|| self.finish())
    }

    /// Runs on to `until`, or to the end: for an owner that looks and acts in between. False if the observer has enough before;
    /// a later call goes on from there.
    pub fn run_until(&mut self, until: Instant, observer: &mut dyn Observer) -> bool {
        let until = until.nanos().min(self.end);
        let reached = self.advance(until, observer);
        if reached {
            self.now = until;
        }
        reached
    }

    /// The hash of every packet event so far.
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Events up to and with `until`; false if the observer has enough.
    fn advance(&mut self, until: u64, observer: &mut dyn Observer) -> bool {
        while let Some((at, source)) = self.agenda.first() {
            if at > until {
                break;
            }
            debug_assert!(at >= self.now, "time runs forward");
            self.now = at;
            self.events += 1;
            if source >= self.sources.pipe(0) && source < self.sources.timers() {
                self.pipe_event(source);
            } else if source < self.sources.managed {
                self.serve(self.managed[source] as usize, at);
            } else if source < self.sources.pipe(0) {
                self.tick_event(source - self.sources.managed);
            } else if source == self.sources.timers() {
                self.timer_event();
            } else if source == self.sources.window() {
                self.window_event();
            } else {
                self.sample_event();
                if !observer.reached(Instant::from_nanos(at)) {
                    return false;
                }
            }
        }
        true
    }

    /// The queue of a link that runs a discipline.
    pub fn queue(&self, link: LinkId) -> Option<&Queue<AnyDiscipline>> {
        self.links.get(link)?.managed_queue()
    }

    /// The discipline of that link goes on with the parameters of `spec`; false if it cannot.
    pub fn retune(&mut self, link: LinkId, spec: &Spec) -> bool {
        let Some(queue) = self.links.get_mut(link).and_then(Link::managed_queue_mut) else { return false };
        let served = *queue.port.level(MAIN).link();
        let tuned = queue.discipline_mut().retune(spec, &served);
        if let Some(managed) = self.managed.iter().position(|&managed| managed as usize == link) {
            self.schedule_tick(managed);
        }
        tuned
    }

    /// The head of a pipe has reached its far end.
    #[inline]
    fn pipe_event(&mut self, source: usize) {
        let pipe = &mut self.pipes[source - self.sources.pipe(0)];
        let Some(&segment) = pipe.front() else { return };
        pipe.skip();
        let next = pipe.front().map(|s| s.at);
        self.agenda.set(source, next);
        if self.hop(&segment).link == Hop::END {
            self.deliver(segment);
        } else {
            self.forward::<true>(segment, self.now);
        }
    }

    #[inline]
    fn hop(&self, segment: &Segment) -> Hop {
        self.hops[segment.hop as usize]
    }

    /// Takes `segment`, at the entrance of its next link at time `at`, as far as it goes without an event.
    /// Only what is not itself an answer can be answered.
    #[inline(always)]
    fn forward<const ANSWER: bool>(&mut self, mut segment: Segment, mut at: u64) {
        loop {
            let link = self.hop(&segment).link as usize;
            if self.links[link].is_managed() {
                self.arrive(link, segment);
                return;
            }
            let arrival = match self.links[link].pass(segment.len, segment.counted_as(), at, |_| 0) {
                Ok(arrival) => arrival,
                Err(at) => return self.lost(segment, at),
            };
            segment.at = arrival;
            segment.hop += 1;
            if self.hand_over::<ANSWER>(link, segment) {
                return;
            }
            at = arrival;
        }
    }

    /// A segment has left a link for the element after it: into the pipe, unless that element needs no
    /// event. A host that answers at once does so here; false: a link that may be passed at once.
    #[inline(always)]
    fn hand_over<const ANSWER: bool>(&mut self, link: LinkId, segment: Segment) -> bool {
        let next = self.hop(&segment);
        if !next.ahead {
            self.push(link, segment);
        } else if ANSWER && next.link == Hop::END {
            self.answer(segment);
        } else {
            return false;
        }
        true
    }

    #[inline]
    fn lost(&mut self, segment: Segment, at: u64) {
        // Ahead of time it may be after the end of the run.
        if at <= self.end {
            self.fingerprint = self.fingerprint.wrapping_add(trace(at, &segment, DROPPED));
        }
    }

    /// Puts `segment` into the pipe behind a link (or host, numbered after the links).
    #[inline(always)]
    fn push(&mut self, feeder: usize, segment: Segment) {
        let id = self.pipe_of[feeder] as usize;
        let pipe = &mut self.pipes[id];
        debug_assert!(
            segment.at >= self.now && pipe.back().is_none_or(|last| last.at <= segment.at),
            "pipes keep order"
        );
        if pipe.is_empty() {
            self.agenda.set(self.sources.pipe(id), Some(segment.at));
        }
        pipe.push(segment);
    }

    #[inline]
    fn arrive(&mut self, link: LinkId, segment: Segment) {
        let (now, fingerprint) = (self.now, &mut self.fingerprint);
        let tag = self.tags[segment.flow as usize];
        let lost = |s: &Segment| *fingerprint = fingerprint.wrapping_add(trace(now, s, DROPPED));
        let idle = self.links[link].arrive(segment, tag, now, lost);
        if idle {
            match self.links[link].idles_until(now) {
                None => self.serve(link, now),
                later => self.agenda.set(self.managed_at[link] as usize, later),
            }
        }
    }

    /// The transmitter of a managed link is free.
    #[inline]
    fn serve(&mut self, link: LinkId, now: u64) {
        let fingerprint = &mut self.fingerprint;
        let lost = |s: &Segment| *fingerprint = fingerprint.wrapping_add(trace(now, s, DROPPED));
        let served = self.links[link].serve(now, lost);
        let source = self.managed_at[link] as usize;
        let Some((mut segment, free)) = served else {
            self.agenda.set(source, None);
            return;
        };
        self.agenda.set(source, Some(free));
        if self.links[link].loses(now) {
            self.lost(segment, segment.at);
            return;
        }
        segment.hop += 1;
        if !self.hand_over::<true>(link, segment) {
            self.forward::<true>(segment, segment.at);
        }
    }

    fn tick_event(&mut self, managed: usize) {
        self.links[self.managed[managed] as usize].tick(self.now);
        self.schedule_tick(managed);
    }

    fn schedule_tick(&mut self, managed: usize) {
        let next = self.links[self.managed[managed] as usize].next_tick();
        // A timer that asks for the past would stop the clock: it gets the next nanosecond instead.
        self.agenda.set(self.sources.tick(managed), next.map(|t| t.max(self.now + 1)));
    }

    /// A segment has reached its destination.
    #[inline]
    fn deliver(&mut self, segment: Segment) {
        let now = self.now;
        let id = segment.flow as usize;
        if let (Body::Tcp { sender, receiver }, Kind::Ack) = (&mut self.flows[id].body, segment.mark.kind()) {
            self.fingerprint = self.fingerprint.wrapping_add(trace(now, &segment, Kind::Ack as u64));
            self.books.deliver(&segment, now);
            let blocks = receiver.collect(segment.sent as u32);
            sender.on_ack(Instant::from_nanos(now), segment.seq, segment.mark.ece(), blocks);
            let una = sender.acknowledged();
            self.pump(id);
            if self.flows[id].app.is_some() {
                self.acknowledged(id, una);
            }
            self.audit(id);
            return;
        }
        if segment.mark.kind() == Kind::Control {
            self.control(segment);
            return;
        }
        // Only a receiver with a timer has something to send before it looks at the segment.
        let held = match &mut self.flows[id].body {
            Body::Tcp { receiver, .. } => receiver.before_data(segment.mark.ecn()),
            Body::Datagrams { .. } | Body::Rtp(_) => None,
        };
        if let Some(ack) = held {
            self.send_ack(id, ack, now);
        }
        let ack = self.receive(segment, now);
        if let Body::Tcp { receiver, .. } = &self.flows[id].body
            && let Some(deadline) = receiver.deadline()
        {
            self.arm(id, deadline.nanos());
        }
        if let Some(ack) = ack {
            self.send_ack(id, ack, now);
        }
    }

    /// A segment will reach a host that answers at once: nothing else happens there before.
    #[inline(never)]
    fn answer(&mut self, segment: Segment) {
        let at = segment.at;
        if at > self.end {
            self.books.beyond();
            return;
        }
        let flow = &mut self.flows[segment.flow as usize];
        if at > self.warmup && flow.before_window.is_none() {
            flow.before_window = Some(flow.received());
        }
        if let Some(ack) = self.receive(segment, at) {
            self.send_ack(segment.flow as usize, ack, at);
        }
    }

    /// Data or a datagram reaches its receiver at `at`; the acknowledgement to send at once, if any.
    #[inline]
    fn receive(&mut self, segment: Segment, at: u64) -> Option<Ack> {
        let mark = segment.mark;
        self.fingerprint = self.fingerprint.wrapping_add(trace(at, &segment, mark.kind() as u64));
        self.books.deliver(&segment, at);
        let flow = &mut self.flows[segment.flow as usize];
        if flow.watched && at >= self.warmup {
            self.delays.note(segment.class, at - segment.sent, &mut flow.last_delay);
        }
        match &mut flow.body {
            Body::Tcp { receiver, .. } => {
                let before = receiver.in_order();
                let ack = receiver.on_data(Instant::from_nanos(at), segment.seq, mark.ecn(), mark.cwr());
                debug_assert!(before <= receiver.in_order(), "what is in order stays so");
                debug_assert!(ack.is_none_or(|ack| ack.next <= receiver.in_order()), "acknowledges what has come");
                if flow.app.is_some() {
                    self.arrived(segment.flow as usize, at);
                }
                ack
            }
            Body::Datagrams { received, arrived, .. } => {
                *received += 1;
                // What comes in the warm-up's last nanosecond comes before its end.
                if at > self.warmup {
                    arrived.add(segment.len);
                }
                None
            }
            Body::Rtp(stream) => {
                stream.receive(segment.seq, segment.len, mark.ecn() == Ecn::Ce, at > self.warmup);
                None
            }
        }
    }

    /// Sends whatever the flow's sender may send now, and keeps its timer armed.
    #[inline]
    fn pump(&mut self, id: usize) {
        let now = Instant::from_nanos(self.now);
        while let Body::Tcp { sender, .. } = &mut self.flows[id].body {
            let Some(send) = sender.poll(now) else {
                if let Some(deadline) = sender.deadline() {
                    self.arm(id, deadline.nanos());
                }
                return;
            };
            let len = self.flows[id].packet;
            self.send_data(id, Kind::Data, len, send.seq, send.cwr);
        }
    }

    #[inline(always)]
    fn send_data(&mut self, id: usize, kind: Kind, len: u16, seq: u32, cwr: bool) {
        let flow = &self.flows[id];
        let mark = Mark::data(kind, flow.ecn, cwr);
        let mark = match self.markers.get_mut(flow.marker as usize) {
            Some(bucket) => mark.with_colour(bucket.colour(u32::from(len), Instant::from_nanos(self.now))),
            None => mark,
        };
        let segment =
            Segment { at: 0, sent: self.now, flow: id as u32, seq, hop: flow.forward, len, class: flow.class, mark };
        self.emit::<true>(flow.from as usize, segment, self.now);
    }

    #[inline(always)]
    fn send_ack(&mut self, id: usize, ack: Ack, now: u64) {
        let flow = &self.flows[id];
        let segment = Segment {
            at: 0,
            sent: u64::from(ack.ticket),
            flow: id as u32,
            seq: ack.next,
            hop: flow.back,
            len: flow.ack,
            class: flow.class,
            mark: Mark::ack(ack.ece),
        };
        self.emit::<false>(flow.to as usize, segment, now);
    }

    /// A host puts a segment on its first link: ready after a random processing time, order kept.
    ///
    /// That breaks ties between packets of different hosts. Packets that queue at a host would still leave
    /// exactly one packet time apart, locked to a bottleneck of the same rate; so the host's line wanders by
    /// as much, without drift.
    #[inline(always)]
    fn emit<const ANSWER: bool>(&mut self, id: usize, mut segment: Segment, now: u64) {
        let host = &mut self.hosts[id];
        let ready = now + if host.jitter > 0 { host.rng.below(host.jitter + 1) } else { 0 };
        host.last = host.last.max(ready);
        segment.at = host.last;
        self.books.emit(now, segment.at);
        let first = self.hops[segment.hop as usize];
        if !first.ahead {
            self.push(self.links.len() + id, segment);
            return;
        }
        let link = first.link as usize;
        let wander = |time: u64| match host.jitter.min(time) {
            0 => 0,
            most => host.rng.below(most + 1) as i64 - (most / 2) as i64,
        };
        let arrival = match self.links[link].pass(segment.len, segment.counted_as(), segment.at, wander) {
            Ok(arrival) => arrival,
            Err(at) => return self.lost(segment, at),
        };
        segment.at = arrival;
        segment.hop += 1;
        if !self.hand_over::<ANSWER>(link, segment) {
            self.forward::<ANSWER>(segment, arrival);
        }
    }

    /// Makes sure that the flow's timer fires at `at` or before.
    #[inline]
    fn arm(&mut self, id: usize, at: u64) {
        if at < self.flows[id].armed {
            self.flows[id].armed = at;
            self.timers.push(at, id);
            self.schedule_timers();
        }
    }

    fn schedule_timers(&mut self) {
        self.agenda.set(self.sources.timers(), self.timers.first());
    }

    /// The earliest of the flows' timers is due. It may have been overtaken (then it is stale), or be
    /// early because the deadline has moved on (then it is armed anew): no entry is ever cancelled.
    fn timer_event(&mut self) {
        let Some((at, id)) = self.timers.pop() else { return };
        self.schedule_timers();
        if self.flows[id].armed != at {
            return;
        }
        self.flows[id].armed = u64::MAX;
        self.run_flow_timers(id);
        self.audit(id);
        if let Some(next) = self.flows[id].next_deadline() {
            self.arm(id, next);
        }
    }

    /// The application's sender hears what is acknowledged.
    #[inline(never)]
    fn acknowledged(&mut self, id: usize, una: u32) {
        let now = self.now;
        let Some(application) = &mut self.flows[id].app else { return };
        application.app.acknowledged(una, now);
        if let Some(at) = application.app.wakes() {
            self.arm(id, at);
        }
    }

    /// The application's receiver sees what has arrived by `at`.
    #[inline(never)]
    fn arrived(&mut self, id: usize, at: u64) {
        let flow = &mut self.flows[id];
        let (Some(application), Body::Tcp { receiver, .. }) = (&mut flow.app, &flow.body) else { return };
        let Some(took) = application.app.arrived(receiver.in_order(), at) else { return };
        let wakes = application.app.wakes();
        if flow.watched && at >= self.warmup {
            self.delays.completed(flow.class, took);
        }
        if let Some(at) = wakes {
            self.arm(id, at);
        }
    }

    /// A request, a report or a packet of a handshake has arrived.
    fn control(&mut self, segment: Segment) {
        let id = segment.flow as usize;
        self.fingerprint = self.fingerprint.wrapping_add(trace(self.now, &segment, Kind::Control as u64));
        self.books.deliver(&segment, self.now);
        if let Body::Rtp(stream) = &mut self.flows[id].body {
            stream.hear(segment.seq);
            return;
        }
        let Some(application) = &mut self.flows[id].app else { return };
        let wish = application.app.heard(segment.seq, self.now);
        let wakes = application.app.wakes();
        self.grant(id, wish);
        self.pump(id);
        if let Some(at) = wakes {
            self.arm(id, at);
        }
    }

    /// Does what an application wants; what its sender has, the next pump sends.
    fn grant(&mut self, id: usize, wish: Wish) {
        let now = self.now;
        let flow = &mut self.flows[id];
        match wish {
            Wish::Nothing => (),
            Wish::Say { end, word, length } => self.send_control(id, end, word, length),
            Wish::Send { packets, fresh } => {
                let (Some(application), Body::Tcp { sender, .. }) = (&mut flow.app, &mut flow.body) else { return };
                if fresh {
                    application.renew(sender);
                }
                if let Some(call) = application.app.set_up() {
                    sender.opened(call.rtt().clone(), call.repeated());
                }
                sender.offer(Instant::from_nanos(now), packets);
            }
        }
    }

    /// One end says something to the other.
    fn send_control(&mut self, id: usize, end: End, seq: u32, len: u16) {
        let (now, flow) = (self.now, &self.flows[id]);
        let (host, hop) = match end {
            End::Sender => (flow.from, flow.forward),
            End::Receiver => (flow.to, flow.back),
        };
        let segment =
            Segment { at: 0, sent: now, flow: id as u32, seq, hop, len, class: flow.class, mark: Mark::control() };
        self.emit::<false>(host as usize, segment, now);
    }

    /// A stream of video sends a packet, its receiver a report.
    #[inline(never)]
    fn run_stream(&mut self, id: usize, starts: bool, stops: bool) {
        let now = Instant::from_nanos(self.now);
        let Body::Rtp(stream) = &mut self.flows[id].body else { return };
        if starts {
            stream.start(now);
        }
        if stops {
            stream.stop();
        }
        let report = if stream.next_report() <= self.now { stream.report() } else { None };
        let packet = stream.next_packet().filter(|at| *at <= now).map(|_| stream.send());
        if let Some(report) = report {
            let len = self.flows[id].ack;
            self.send_control(id, End::Receiver, report, len);
        }
        if let Some((len, seq)) = packet {
            self.send_data(id, Kind::Datagram, len, seq, false);
        }
    }

    fn run_flow_timers(&mut self, id: usize) {
        let now = Instant::from_nanos(self.now);
        let due = |deadline: Option<Instant>| deadline.is_some_and(|d| d <= now);
        let flow = &mut self.flows[id];
        let starts = !flow.started && flow.start <= self.now;
        let stops = !flow.stopped && flow.stop <= self.now;
        flow.started |= starts;
        flow.stopped |= stops;
        if let Some(application) = &mut flow.app {
            if starts {
                application.app.start(now);
            }
            if stops {
                application.app.stop();
            }
            let wish = application.app.wake(now);
            self.grant(id, wish);
        }
        let flow = &mut self.flows[id];
        match &mut flow.body {
            Body::Tcp { sender, receiver } => {
                if stops {
                    sender.stop();
                }
                if due(sender.deadline()) {
                    sender.on_deadline(now);
                }
                let ack = due(receiver.deadline()).then(|| receiver.ack());
                if let Some(ack) = ack {
                    self.send_ack(id, ack, self.now);
                }
                self.pump(id);
            }
            Body::Datagrams { source, sent, .. } => {
                if starts {
                    source.start(now);
                }
                if stops {
                    source.stop();
                }
                if due(source.next()) {
                    let len = source.send(now);
                    *sent += 1;
                    let seq = *sent;
                    self.send_data(id, Kind::Datagram, len, seq, false);
                }
            }
            Body::Rtp(_) => self.run_stream(id, starts, stops),
        }
    }

    /// The warm-up is over.
    fn window_event(&mut self) {
        self.agenda.set(self.sources.window(), None);
        for flow in &mut self.flows {
            flow.before_window.get_or_insert(flow.received());
        }
    }

    fn sample_event(&mut self) {
        let next = self.now + self.sample;
        self.agenda.set(self.sources.sampler(), (next <= self.end).then_some(next));
        for (series, (id, _)) in self.series.iter_mut().zip(&self.studied) {
            let link = &mut self.links[*id];
            link.settle(self.now);
            if let Some(meter) = &mut link.meter {
                let (queue, mean) = meter.look(self.now);
                series.time_s.push(self.now as f64 * 1e-9);
                series.queue_pkts.push(f64::from(queue));
                series.queue_mean_pkts.push(mean);
            }
            if let Some(queue) = link.managed_queue() {
                let probes = series.probes.iter_mut().enumerate();
                probes.for_each(|(i, (_, column))| column.push(queue.discipline().probe(i)));
            }
        }
    }

    fn finish(mut self) -> Outcome {
        let end = self.end;
        for link in &mut self.links {
            link.settle(end);
            if let Some(meter) = &mut link.meter {
                meter.close(end);
            }
            debug_assert_eq!(link.check(), Ok(()));
        }
        let dropped: u64 = self.links.iter().map(|link| link.dropped).sum();
        let lost: u64 = self.links.iter().map(Link::lost).sum();
        let queued = self.managed.iter().map(|&link| self.links[link as usize].queued() as u64).sum();
        self.books.balance(dropped + lost, queued, self.pipes.iter().map(|pipe| pipe.len() as u64).sum());
        Outcome {
            links: self.link_outcomes(),
            flows: self.flows.iter().map(|flow| flow.outcome(self.warmup, end)).collect(),
            classes: self.delays.outcomes(),
            events: self.events,
            fingerprint: self.fingerprint,
        }
    }

    /// Checks a connection, in debug builds.
    #[inline(always)]
    fn audit(&self, id: usize) {
        if let Body::Tcp { sender, receiver } = &self.flows[id].body {
            audit::connection(sender, receiver);
        }
    }

    fn link_outcomes(&mut self) -> Vec<LinkOutcome> {
        let series = core::mem::take(&mut self.series);
        let studied = core::mem::take(&mut self.studied);
        let each = studied.into_iter().zip(series);
        each.filter_map(|((id, name), series)| LinkOutcome::of(&self.links[id], name, series)).collect()
    }
}
